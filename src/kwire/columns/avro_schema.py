"""Avro schemas, read from their JSON. Knows no columns and no bytes.

Source: Apache Avro specification, "Schema Declaration", "Names", "Aliases", "Logical Types". A logical type that does
not fit its type is ignored, as the specification wants it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from kwire.columns.layout import MAX_DEPTH, name_given_twice
from kwire.errors import ConfigError

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
MAX_SCHEMA_CHARACTERS: Final = 4 << 20
MAX_NAME_CHARACTERS: Final = 255
MAX_FULL_NAME_CHARACTERS: Final = 512
MAX_BRANCHES: Final = 1000
MAX_ALIASES: Final = 10_000
MAX_FIXED: Final = 0x7FFFFFFF
MAX_PRECISION: Final = 38

_SHOWN_BRANCHES: Final = 8
_LOGICAL_OF: Final = {
    "int": {"date", "time-millis"},
    "long": {
        "time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis",
        "local-timestamp-micros", "local-timestamp-nanos",
    },
    "string": {"uuid"},
    "bytes": {"decimal"},
    "fixed": {"decimal", "duration", "uuid"},
}  # fmt: skip
_FIXED_SIZES: Final = {"duration": 12, "uuid": 16}


@dataclass(eq=False)
class AvroField:
    """A field of a record; `default` is the schema's JSON."""

    name: str
    type: AvroType
    aliases: tuple[str, ...] = ()
    has_default: bool = False
    default: Any = None


@dataclass(eq=False)
class AvroType:
    """A schema or a part of one; a record may contain itself."""

    kind: str
    name: str = ""
    aliases: tuple[str, ...] = ()
    fields: tuple[AvroField, ...] = ()
    symbols: tuple[str, ...] = ()
    symbol_default: str | None = None
    size: int = 0
    items: AvroType | None = None
    branches: tuple[AvroType, ...] = ()
    logical: str = ""
    precision: int = 0
    scale: int = 0

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]

    def __str__(self) -> str:
        if self.kind == "union":
            shown = [str(branch) for branch in self.branches[:_SHOWN_BRANCHES]]
            return f"[{', '.join([*shown, '...'] if len(self.branches) > len(shown) else shown)}]"
        return f"{self.kind} {self.name}" if self.name else self.kind


def parse_avro_schema(text: str, known: Mapping[str, AvroType] | None = None) -> AvroType:
    """The schema of that JSON text; ConfigError, with the place in the schema, when it is not one.

    `known` are named types that it may refer to, such as a registry's references.
    """
    if len(text) > MAX_SCHEMA_CHARACTERS:
        raise ConfigError(f"an Avro schema of {len(text)} characters; the maximum is {MAX_SCHEMA_CHARACTERS}")
    stripped = text.strip()
    try:
        declared = stripped if stripped in PRIMITIVES else json.loads(stripped)
    except (ValueError, RecursionError) as fault:
        reason = "it is nested too deeply" if isinstance(fault, RecursionError) else str(fault)
        raise ConfigError(f"the Avro schema is not JSON: {reason}") from None
    return _Parser(known or {}).parse(declared, "", "", 0)


def named_types(schema: AvroType) -> dict[str, AvroType]:
    """All named types of a schema, by their full names."""
    found: dict[str, AvroType] = {}
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if part.name:
            if part.name in found:
                continue
            found[part.name] = part
        waiting += part.branches
        waiting += [field.type for field in part.fields]
        if part.items is not None:
            waiting.append(part.items)
    return found


def _refuse(place: str, text: str) -> NoReturn:
    raise ConfigError(f"Avro schema{f', at {place}' if place else ''}: {text}")


def _is_name(text: str) -> bool:
    """Letters of any script are names here, as Java allows them, too, when it is told not to validate."""
    return text.isidentifier() and len(text) <= MAX_NAME_CHARACTERS


def _names(declared: Any, place: str) -> tuple[str, ...]:
    if not isinstance(declared, list) or not all(isinstance(name, str) for name in declared):
        _refuse(place, "a list of names is needed")
    return tuple(declared)


class _Parser:
    def __init__(self, known: Mapping[str, AvroType]) -> None:
        self._named = dict(known)
        self._aliases = 0

    def parse(self, declared: Any, namespace: str, place: str, depth: int) -> AvroType:
        if depth > MAX_DEPTH:
            _refuse(place, f"it is nested more than {MAX_DEPTH} deep")
        if isinstance(declared, str):
            return self._by_name(declared, namespace, place)
        if isinstance(declared, list):
            return self._union(declared, namespace, place, depth)
        if not isinstance(declared, dict) or "type" not in declared:
            _refuse(place, "a type's name, an object with a type, or a list of types is needed")
        kind = declared["type"]
        if not isinstance(kind, str):
            return self.parse(kind, namespace, place, depth + 1)
        if kind in ("record", "error"):
            return self._record(declared, namespace, place, depth)
        if kind in ("enum", "fixed"):
            return self._enum_or_fixed(kind, declared, namespace, place)
        if kind in ("array", "map"):
            items = "items" if kind == "array" else "values"
            if items not in declared:
                _refuse(place, f"a{'n' if kind == 'array' else ''} {kind} without {items}")
            return AvroType(kind, items=self.parse(declared[items], namespace, f"{place}[]", depth + 1))
        found = self._by_name(kind, namespace, place)
        return _with_logical(AvroType(kind), declared) if kind in PRIMITIVES else found

    def _by_name(self, name: str, namespace: str, place: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        found = None if "." in name or not namespace else self._named.get(f"{namespace}.{name}")
        found = found or self._named.get(name)
        if found is None:
            _refuse(place, f"there is no type {name[:200]!r}")
        return found

    def _union(self, declared: list[Any], namespace: str, place: str, depth: int) -> AvroType:
        if len(declared) > MAX_BRANCHES:
            _refuse(place, f"a union of {len(declared)} branches; the maximum is {MAX_BRANCHES}")
        branches = tuple(self.parse(branch, namespace, place, depth + 1) for branch in declared)
        seen = set()
        for branch in branches:
            if branch.kind == "union":
                _refuse(place, "a union directly inside a union")
            if (branch.kind, branch.name) in seen:
                _refuse(place, f"a union with {branch} twice")
            seen.add((branch.kind, branch.name))
        return AvroType("union", branches=branches)

    def _declare(self, made: AvroType, declared: dict[str, Any], namespace: str, place: str) -> str:
        """Gives `made` its name and aliases, and returns the namespace of what it contains."""
        name = declared.get("name")
        given = declared.get("namespace", namespace)
        if not isinstance(name, str) or not isinstance(given, str) or not name:
            _refuse(place, f"a {made.kind} without a name")
        full = name if "." in name or not given else f"{given}.{name}"
        if len(full) > MAX_FULL_NAME_CHARACTERS:
            _refuse(place, f"a name of {len(full)} characters; the maximum is {MAX_FULL_NAME_CHARACTERS}")
        if not all(map(_is_name, full.split("."))):
            _refuse(place, f"{full[:200]!a} cannot be a name")
        if full in self._named or full in PRIMITIVES:
            _refuse(place, f"{full} is declared twice")
        inside = full.rpartition(".")[0]
        made.name = full
        made.aliases = tuple(
            alias if "." in alias or not inside else f"{inside}.{alias}" for alias in self._aliases_of(declared, place)
        )
        self._named[full] = made
        return inside

    def _aliases_of(self, declared: dict[str, Any], place: str) -> tuple[str, ...]:
        found = _names(declared.get("aliases", []), place)
        self._aliases += len(found)
        if self._aliases > MAX_ALIASES:
            _refuse(place, f"more than {MAX_ALIASES} aliases")
        return found

    def _record(self, declared: dict[str, Any], namespace: str, place: str, depth: int) -> AvroType:
        made = AvroType("record")
        inside = self._declare(made, declared, namespace, place)
        fields = declared.get("fields")
        if not isinstance(fields, list):
            _refuse(place, f"record {made.name} without a list of fields")
        made.fields = tuple(self._field(field, inside, place, depth) for field in fields)
        twice = name_given_twice([field.name for field in made.fields])
        if twice is not None:
            _refuse(place, f"record {made.name} has a field {twice} twice")
        return made

    def _field(self, declared: Any, namespace: str, place: str, depth: int) -> AvroField:
        if not isinstance(declared, dict) or not isinstance(declared.get("name"), str) or "type" not in declared:
            _refuse(place, "a field needs a name and a type")
        name = declared["name"]
        if not _is_name(name):
            _refuse(place, f"{name[:200]!a} cannot be a field's name")
        here = f"{place}.{name}" if place else name
        type_ = self.parse(declared["type"], namespace, here, depth + 1)
        aliases = self._aliases_of(declared, here)
        return AvroField(name, type_, aliases, "default" in declared, declared.get("default"))

    def _enum_or_fixed(self, kind: str, declared: dict[str, Any], namespace: str, place: str) -> AvroType:
        made = AvroType(kind)
        self._declare(made, declared, namespace, place)
        if kind == "fixed":
            size = declared.get("size")
            if type(size) is not int or not 0 <= size <= MAX_FIXED:
                _refuse(place, f"fixed {made.name} needs a size from 0 to {MAX_FIXED}")
            made.size = size
            return _with_logical(made, declared)
        made.symbols = _names(declared.get("symbols"), place)
        if len(set(made.symbols)) < len(made.symbols) or not all(map(_is_name, made.symbols)):
            _refuse(place, f"enum {made.name} has a symbol twice, or one that is not a name")
        made.symbol_default = declared.get("default")
        if made.symbol_default is not None and made.symbol_default not in made.symbols:
            _refuse(place, f"the default of enum {made.name} is not one of its symbols")
        return made


def _with_logical(made: AvroType, declared: dict[str, Any]) -> AvroType:
    logical = declared.get("logicalType")
    if not isinstance(logical, str) or logical not in _LOGICAL_OF.get(made.kind, ()):
        return made
    if made.kind == "fixed" and made.size != _FIXED_SIZES.get(logical, made.size):
        return made
    if logical == "decimal":
        precision, scale = declared.get("precision"), declared.get("scale", 0)
        if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision or precision < 1:
            return made
        if made.kind == "fixed" and precision > _digits(made.size):
            return made
        made.precision, made.scale = precision, scale
    made.logical = logical
    return made


def _digits(size: int) -> int:
    """How many decimal digits all fit into a two's complement integer of that many bytes."""
    return 0 if size == 0 else len(str((1 << (8 * min(size, 64) - 1)) - 1)) - 1
