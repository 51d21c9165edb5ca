"""What to do with an Avro value: the reader's schema as columns, and the writer's resolved with it into steps.

Types are those of Spark's from_avro: a union with null is its other branch, nullable; int with long is bigint, float
with double is double; any other union is a struct of its branches but null, named member0, member1 and so on; enums are
strings; time-millis is int; time-micros, timestamp-nanos and local-timestamp-nanos are bigint; uuid is what it is
written as; duration is binary.
Source: Apache Avro specification, "Schema Resolution". A record's name is compared within unions only, as in Java.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from kwire._values import AvroPlan
from kwire.columns.avro_defaults import DefaultEncoder, DefaultError
from kwire.columns.avro_schema import MAX_PRECISION, AvroType
from kwire.columns.layout import MAX_DEPTH, ROOT, Layout, RecursiveTypeError, Symbols, place_in
from kwire.errors import ConfigError

MAX_STEPS: Final = 50_000

_Step = tuple[str, int, tuple[int, ...], int, object, str]

_FORMATS: Final = {
    "null": "n",
    "boolean": "b",
    "int": "i",
    "long": "l",
    "float": "f",
    "double": "g",
    "bytes": "z",
    "string": "u",
    "fixed": "z",
    "enum": "u",
}
_LOGICAL_FORMATS: Final = {
    "date": "tdD",
    "timestamp-millis": "tsu:UTC",
    "timestamp-micros": "tsu:UTC",
    "local-timestamp-millis": "tsu:",
    "local-timestamp-micros": "tsu:",
}
_PROMOTIONS: Final = {
    "int": {"int", "long", "float", "double"},
    "long": {"long", "float", "double"},
    "float": {"float", "double"},
    "double": {"double"},
    "bytes": {"bytes", "string"},
    "string": {"string", "bytes"},
}
_MILLIS: Final = {"timestamp-millis", "local-timestamp-millis"}
_MIN_SIZES: Final = {"null": 0, "float": 4, "double": 8, "record": 0}
_NUMBERS: Final = ({"int", "long"}, {"float", "double"})


@dataclass(frozen=True)
class _Column:
    """The column of a part of the reader's schema; `below` are those of its fields, items or branches."""

    node: int
    below: tuple[_Column | None, ...] = ()


class _Mismatch(Exception):  # noqa: N818 - it is caught here, and leaves as a ConfigError
    pass


class AvroReader:
    """The columns of the reader's schema, and the plan by which each writer's values go into them.

    The fields of a record are the columns; a schema that is not a record has the one column `name`. `wanted` are the
    names of the columns that are built, all by default. ConfigError for a schema without a place in columns: one that
    contains itself, or is nested too deeply.
    """

    def __init__(self, schema: AvroType, name: str = "value", wanted: Container[str] | None = None) -> None:
        self.schema = schema
        layout = Layout()
        if schema.kind == "record":
            below = _columns_of_fields(schema, layout, ROOT, "", {schema.name}, 0, wanted)
            self._column = _Column(ROOT, below)
        else:
            is_wanted = wanted is None or name in wanted
            self._column = _Column(ROOT, (_column_of(schema, layout, ROOT, name, name, set()) if is_wanted else None,))
        self.fields = layout.fields()
        self.layout = layout.compiled()

    def plan(self, writer: AvroType) -> AvroPlan:
        """How values of the writer's schema are read; ConfigError when the two do not resolve."""
        resolver = _Resolver()
        try:
            if self.schema.kind == "record":
                resolver.resolve(writer, self.schema, self._column, "")
            else:
                resolver.resolve_alone(writer, self.schema, self._column)
        except (_Mismatch, DefaultError) as fault:
            raise ConfigError(f"the writer's Avro schema cannot be read with the reader's: {fault}") from None
        except RecursionError:
            raise ConfigError("the writer's Avro schema is nested too deeply") from None
        return AvroPlan(self.layout, resolver.steps)


# --- the reader's schema as columns ---


def _columns_of_fields(
    record: AvroType,
    layout: Layout,
    parent: int,
    place: str,
    open_: set[str],
    depth: int,
    wanted: Container[str] | None = None,
) -> tuple[_Column | None, ...]:
    return tuple(
        _column_of(field.type, layout, parent, field.name, place_in(place, field.name), open_, depth + 1)
        if wanted is None or field.name in wanted
        else None
        for field in record.fields
    )


def _column_of(
    part: AvroType, layout: Layout, parent: int, name: str, place: str, open_: set[str], depth: int = 0
) -> _Column:
    """`open_` are the records that this part lies in."""
    if depth > MAX_DEPTH:
        raise ConfigError(f"Avro schema, at {place}: it is nested more than {MAX_DEPTH} deep")
    if part.kind == "union":
        return _column_of_union(part, layout, parent, name, place, open_, depth)
    if part.kind == "record":
        if part.name in open_:
            raise RecursiveTypeError(
                f"Avro schema, at {place}: record {part.name} contains itself, which no column can"
            )
        node = layout.add(parent, name, "+s")
        return _Column(node, _columns_of_fields(part, layout, node, place, open_ | {part.name}, depth))
    if part.items is not None and part.kind == "array":
        node = layout.add(parent, name, "+l")
        return _Column(
            node, (_column_of(part.items, layout, node, "element", place_in(place, "[]"), open_, depth + 1),)
        )
    if part.items is not None:
        node, entries = layout.add_map(parent, name, "u")
        return _Column(
            node, (_column_of(part.items, layout, entries, "value", place_in(place, "[]"), open_, depth + 1),)
        )
    return _Column(layout.add(parent, name, _format_of(part, place)))


def _format_of(part: AvroType, place: str) -> str:
    if part.logical == "decimal":
        if part.precision > MAX_PRECISION:
            raise ConfigError(
                f"Avro schema, at {place}: a decimal of {part.precision} digits; a column has {MAX_PRECISION} at most"
            )
        return f"d:{part.precision},{part.scale}"
    return _LOGICAL_FORMATS.get(part.logical) or _FORMATS[part.kind]


def _column_of_union(
    union: AvroType, layout: Layout, parent: int, name: str, place: str, open_: set[str], depth: int
) -> _Column:
    branches = _not_null(union)
    if not branches:
        return _Column(layout.add(parent, name, "n"))
    if len(branches) == 1:
        return _column_of(branches[0], layout, parent, name, place, open_, depth)
    kinds = {branch.kind for branch in branches}
    if kinds in _NUMBERS:
        return _Column(layout.add(parent, name, "l" if "long" in kinds else "g"))
    node = layout.add(parent, name, "+s")
    below = tuple(
        _column_of(branch, layout, node, f"member{i}", place_in(place, f"member{i}"), open_, depth + 1)
        for i, branch in enumerate(branches)
    )
    return _Column(node, below)


def _not_null(union: AvroType) -> tuple[AvroType, ...]:
    return tuple(branch for branch in union.branches if branch.kind != "null")


# --- the writer's schema as steps ---


class _Resolver:
    """Steps of one plan, the root's first. A part of the writer's schema becomes one step, and those below it."""

    def __init__(self) -> None:
        self.steps: list[_Step] = []
        self._skipped: dict[int, int] = {}
        self._min_sizes: dict[int, int] = {}
        self._defaults = DefaultEncoder()
        self._symbols = Symbols()

    def _begin(self) -> int:
        if len(self.steps) >= MAX_STEPS:
            raise ConfigError(f"the writer's Avro schema has more than {MAX_STEPS} parts")
        self.steps.append(("refuse", -1, (), 0, "", ""))
        return len(self.steps) - 1

    def _add(
        self, op: str, node: int, place: str, children: Sequence[int] = (), size: int = 0, detail: object = None
    ) -> int:
        number = self._begin()
        self.steps[number] = (op, node, tuple(children), size, detail, place)
        return number

    def resolve_alone(self, writer: AvroType, reader: AvroType, column: _Column) -> None:
        """A schema that is not a record: the root is a record with that one field."""
        number = self._begin()
        (below,) = column.below
        child = self.skip(writer, "") if below is None else self.resolve(writer, reader, below, "")
        self.steps[number] = ("record", column.node, (child,), self._min_size(writer), None, "")

    def resolve(self, writer: AvroType, reader: AvroType, column: _Column, place: str) -> int:
        """The step that reads a value of `writer` into `column`, which is that of `reader`."""
        if writer.kind == "union":
            return self._resolve_written_union(writer, reader, column, place)
        if reader.kind == "union":
            return self._resolve_read_union(writer, reader, column, place)
        if reader.kind == "record" and writer.kind == "record":
            return self._resolve_record(writer, reader, column, place)
        if reader.kind in ("array", "map") and writer.kind == reader.kind:
            return self._resolve_items(writer, reader, column, place)
        if reader.kind in _PROMOTIONS.get(writer.kind, ()) or reader.kind == writer.kind != "record":
            return self._resolve_leaf(writer, reader, column.node, place)
        raise _Mismatch(f"{_at(place)}{writer} cannot be read as {reader}")

    def _resolve_written_union(self, writer: AvroType, reader: AvroType, column: _Column, place: str) -> int:
        number = self._begin()
        children: list[int] = []
        refused: list[str] = []
        for branch in writer.branches:
            try:
                children.append(self.resolve(branch, reader, column, place))
            except _Mismatch as fault:
                refused.append(str(fault))
                children.append(self._add("refuse", -1, place, detail=str(fault)))
        if len(refused) == len(children) > 0:
            raise _Mismatch(refused[0])
        self.steps[number] = ("union", -1, tuple(children), 0, None, place)
        return number

    def _resolve_read_union(self, writer: AvroType, reader: AvroType, column: _Column, place: str) -> int:
        branch = _best_branch(writer, reader)
        if branch is None:
            raise _Mismatch(f"{_at(place)}{writer} is not a branch of {reader}")
        if branch.kind == "null":
            return self._add("null", column.node, place)
        branches = _not_null(reader)
        if len(branches) == 1:
            return self.resolve(writer, branch, column, place)
        if {other.kind for other in branches} in _NUMBERS:
            return self.resolve(writer, AvroType(branch.kind), column, place)  # a number, whatever it is a time of
        member = branches.index(branch)
        below = column.below[member]
        assert below is not None
        number = self._begin()
        child = self.resolve(writer, branch, below, place)
        self.steps[number] = ("member", column.node, (child,), member, None, place)
        return number

    def _resolve_record(self, writer: AvroType, reader: AvroType, column: _Column, place: str) -> int:
        number = self._begin()
        children: list[int] = []
        targets = _matched_fields(writer, reader)
        for field in writer.fields:
            target = targets.get(field.name)
            below = None if target is None else column.below[target]
            here = place_in(place, field.name)
            if target is not None and below is not None:
                children.append(self.resolve(field.type, reader.fields[target].type, below, here))
            elif not _takes_no_bytes(field.type):
                children.append(self.skip(field.type, here))
        taken = frozenset(targets.values())
        for i, field in enumerate(reader.fields):
            below = column.below[i]
            if i not in taken and below is not None:
                here = place_in(place, field.name)
                if not field.has_default:
                    raise _Mismatch(f"{here}: the writer has no such field, and the reader's has no default")
                constant = self._defaults.encode(field.type, field.default, here)
                child = self.resolve(field.type, field.type, below, here)
                children.append(self._add("constant", below.node, here, (child,), detail=constant))
        self.steps[number] = ("record", column.node, tuple(children), self._min_size(writer), None, place)
        return number

    def _resolve_items(self, writer: AvroType, reader: AvroType, column: _Column, place: str) -> int:
        assert writer.items is not None
        assert reader.items is not None
        (items,) = column.below
        assert items is not None
        number = self._begin()
        child = self.resolve(writer.items, reader.items, items, place_in(place, "[]"))
        self.steps[number] = (writer.kind, column.node, (child,), self._item_size(writer), None, place)
        return number

    def _resolve_leaf(self, writer: AvroType, reader: AvroType, node: int, place: str) -> int:
        if writer.logical and reader.logical and _unit(writer) != _unit(reader):
            raise _Mismatch(f"{_at(place)}{_unit(writer)} cannot be read as {_unit(reader)}")
        if writer.kind in ("enum", "fixed") and not _same_name(writer, reader):
            raise _Mismatch(f"{_at(place)}{writer} cannot be read as {reader}, which has another name and no alias")
        if writer.kind == "enum":
            self._symbols.take(len(writer.symbols) + len(reader.symbols), place)
            known = frozenset(reader.symbols)
            symbols = [s if s in known else reader.symbol_default for s in writer.symbols]
            return self._add("enum", node, place, detail=symbols)
        if writer.kind == "fixed" and writer.size != reader.size:
            raise _Mismatch(f"{_at(place)}{writer} of {writer.size} bytes cannot be read as one of {reader.size}")
        if reader.logical == "decimal":
            read = "decimal_fixed" if writer.kind == "fixed" else "decimal_bytes"  # strings are read as bytes are
            return self._add(read, node, place, size=reader.precision, detail=writer.size)
        if writer.kind == "fixed":
            return self._add("fixed", node, place, size=writer.size)
        if reader.kind == "string":
            return self._add("text", node, place)
        if writer.kind == "string":
            return self._add("bytes", node, place)
        return self._add(writer.kind, node, place, size=1000 if reader.logical in _MILLIS else 1)

    # --- what is read over ---

    def skip(self, writer: AvroType, place: str) -> int:
        """The step that reads over a value; one for each named type, so that a recursive one is finite here."""
        found = self._skipped.get(id(writer))
        if found is not None:
            return found
        number = self._skipped[id(writer)] = self._begin()
        self.steps[number] = self._skipping(writer, place)
        return number

    def _skipping(self, writer: AvroType, place: str) -> _Step:
        if writer.kind == "record":
            fields = [field for field in writer.fields if not _takes_no_bytes(field.type)]
            children = tuple(self.skip(field.type, place_in(place, field.name)) for field in fields)
            return "record", -1, children, self._min_size(writer), None, place
        if writer.kind == "union":
            return "union", -1, tuple(self.skip(branch, place) for branch in writer.branches), 0, None, place
        if writer.items is not None:
            child = self.skip(writer.items, place_in(place, "[]"))
            return writer.kind, -1, (child,), self._item_size(writer), None, place
        if writer.kind == "enum":
            return "enum", -1, (), 0, list(writer.symbols), place
        if writer.kind == "fixed":
            return "fixed", -1, (), writer.size, None, place
        return "bytes" if writer.kind == "string" else writer.kind, -1, (), 0, None, place

    def _item_size(self, writer: AvroType) -> int:
        assert writer.items is not None
        return self._min_size(writer.items) + (writer.kind == "map")

    def _min_size(self, writer: AvroType) -> int:
        """How many bytes a value takes at least; what contains itself counts as nothing within itself."""
        if writer.kind == "fixed":
            return writer.size
        if writer.kind == "union":
            return 1 + min((self._min_size(branch) for branch in writer.branches), default=0)
        if writer.kind != "record":
            return _MIN_SIZES.get(writer.kind, 1)
        if id(writer) not in self._min_sizes:
            self._min_sizes[id(writer)] = 0
            self._min_sizes[id(writer)] = min(sum(self._min_size(field.type) for field in writer.fields), 1 << 40)
        return self._min_sizes[id(writer)]


def _takes_no_bytes(writer: AvroType) -> bool:
    return writer.kind == "null" or (writer.kind == "fixed" and writer.size == 0)


def _matched_fields(writer: AvroType, reader: AvroType) -> dict[str, int]:
    """The writer's field -> the place of the reader's field that takes it: by name, else by one of its aliases."""
    names = {field.name for field in writer.fields}
    found = {field.name: i for i, field in enumerate(reader.fields) if field.name in names}
    for i, field in enumerate(reader.fields):
        if field.name not in names:
            alias = next((alias for alias in field.aliases if alias in names and alias not in found), None)
            if alias is not None:
                found[alias] = i
    return found


def _best_branch(writer: AvroType, reader: AvroType) -> AvroType | None:
    """The reader's branch for a value that was written without a union: the same type, else one it is promoted to."""
    same = [branch for branch in reader.branches if branch.kind == writer.kind]
    if writer.name:
        full = [branch for branch in same if writer.name in (branch.name, *branch.aliases)]
        short = [branch for branch in same if _same_name(writer, branch)]
        return next(iter((*full, *short)), same[0] if len(same) == 1 and writer.kind == "record" else None)
    if same:
        return same[0]
    return next((branch for branch in reader.branches if branch.kind in _PROMOTIONS.get(writer.kind, ())), None)


def _same_name(writer: AvroType, reader: AvroType) -> bool:
    return writer.short_name == reader.short_name or writer.name in reader.aliases


def _unit(part: AvroType) -> str:
    """A logical type as far as it changes what the number means."""
    return f"decimal with scale {part.scale}" if part.logical == "decimal" else part.logical


def _at(place: str) -> str:
    return f"{place}: " if place else ""
