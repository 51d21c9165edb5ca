"""Values of Avro out of values of JSON, as `schema_forms.py` shows them: what a schema makes of each, once for all.

A field that is missing takes its default. Of a union the first type is taken that the value fits. ValueError names the
field.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Final

from kwire.cli.usage import with_nearest
from kwire.cli.value_forms import BYTES, given, short_json

Convert = Callable[[Any], Any]

_SPECIAL: Final = ("NaN", "Infinity", "-Infinity")
_BITS: Final = {"int": 31, "long": 63}


def avro_values(schema: Any) -> Convert:
    """What makes a value of a schema that fastavro has parsed."""
    return _Schema().convert(schema)


class _FieldError(ValueError):
    """What is wrong in a field: items[2].price."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path, self.why = path, why


class _Schema:
    def __init__(self) -> None:
        self._named: dict[str, Convert] = {}

    def convert(self, schema: Any) -> Convert:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            return _PRIMITIVE[schema] if schema in _PRIMITIVE else self._named[schema]
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.convert(kind)
        made = self._of_kind(kind, schema)
        logical = _LOGICAL.get(schema.get("logicalType"))
        if logical is not None:
            made = partial(_logical, logical, made)
        if "name" in schema:
            self._named[schema["name"]] = made
        return made

    def _of_kind(self, kind: str, schema: Mapping[str, Any]) -> Convert:
        if kind in ("record", "error"):
            return self._record(schema)
        if kind == "array":
            return partial(_array, self.convert(schema["items"]))
        if kind == "map":
            return partial(_map, self.convert(schema["values"]))
        if kind == "enum":
            return partial(_enum, tuple(schema["symbols"]))
        if kind == "fixed":
            return partial(_fixed, schema["size"])
        return self.convert(kind)

    def _record(self, schema: Mapping[str, Any]) -> Convert:
        converts: dict[str, Convert] = {}
        self._named[schema["name"]] = record = partial(
            _record, converts, frozenset(each["name"] for each in schema["fields"] if "default" not in each)
        )
        for each in schema["fields"]:
            converts[each["name"]] = self.convert(each["type"])
        return record

    def _union(self, branches: list[Any]) -> Convert:
        converts = [(_name_of(each), self.convert(each)) for each in branches]
        others = [each for each in converts if each[0] != "null"]
        has_null = len(others) < len(converts)

        def union(value: Any) -> Any:
            if value is None and has_null:
                return None
            faults: list[ValueError] = []
            for name, convert in others:
                try:
                    found = convert(value)
                except ValueError as fault:
                    faults.append(fault)
                else:
                    return found if name is None else (name, found)
            if len(faults) == 1:
                raise faults[0]
            raise ValueError(f"{short_json(value)} fits no type of the union ({'; '.join(map(str, faults))})")

        return union


def _name_of(schema: Any) -> str | None:
    """By which fastavro finds a named type in a union."""
    if schema == "null" or (isinstance(schema, dict) and schema["type"] == "null"):
        return "null"
    if isinstance(schema, str):
        return schema if schema not in _PRIMITIVE else None
    return schema["name"] if "name" in schema and schema["type"] in ("record", "enum", "fixed", "error") else None


def _record(converts: Mapping[str, Convert], needed: frozenset[str], value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _expected("an object", value)
    if not needed <= value.keys():
        missing = next(name for name in converts if name in needed and name not in value)
        raise _FieldError(missing, "it is missing, and has no default")
    made = {}
    for name, each in value.items():
        convert = converts.get(name)
        if convert is None:
            raise ValueError(f"{with_nearest(name, converts)} is no field of the schema")
        try:
            made[name] = convert(each)
        except ValueError as fault:
            raise _within(name, fault) from None
    return made


def _array(convert: Convert, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _expected("an array", value)
    made: list[Any] = []
    try:
        for each in value:
            made.append(convert(each))
    except ValueError as fault:
        raise _within(f"[{len(made)}]", fault) from None
    return made


def _map(convert: Convert, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _expected("an object", value)
    made = {}
    for name, each in value.items():
        try:
            made[name] = convert(each)
        except ValueError as fault:
            raise _within(name, fault) from None
    return made


def _within(place: str, fault: ValueError) -> _FieldError:
    """The fault with the field around it."""
    if not isinstance(fault, _FieldError):
        return _FieldError(place, str(fault))
    between = "" if fault.path.startswith("[") else "."
    return _FieldError(f"{place}{between}{fault.path}", fault.why)


def _enum(symbols: tuple[str, ...], value: Any) -> Any:
    if value not in symbols:
        raise _expected(f"one of {', '.join(symbols)}", value)
    return value


def _fixed(size: int, value: Any) -> bytes:
    found = _bytes(value)
    if len(found) != size:
        raise ValueError(f"{size} bytes are expected, not {len(found)}")
    return found


def _bytes(value: Any) -> bytes:
    found = given(BYTES, value)
    if found is None:
        raise _expected("a text", value)
    return found


def _logical(read: Callable[[str], Any], convert: Convert, value: Any) -> Any:
    """A logical type by its text; anything else is the value that stands for it."""
    if not isinstance(value, str):
        return convert(value)
    try:
        return read(value)
    except (ValueError, InvalidOperation):
        raise ValueError(f"{short_json(value)} is no {_NAMES[read]}") from None


def _null(value: Any) -> None:
    if value is not None:
        raise _expected("null", value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _expected("true or false", value)
    return value


def _whole(kind: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _expected("a whole number", value)
    if not -(1 << _BITS[kind]) <= value < 1 << _BITS[kind]:
        raise ValueError(f"{short_json(value)} does not fit into {_BITS[kind] + 1} bits")
    return value


def _number(value: Any) -> float:
    if value in _SPECIAL if isinstance(value, str) else isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{short_json(value)} is too large a number") from None
    raise _expected("a number", value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _expected("a text", value)
    return value


def _expected(what: str, value: Any) -> ValueError:
    return ValueError(f"{what} is expected, not {short_json(value)}")


_PRIMITIVE: Final[dict[str, Convert]] = {
    "null": _null,
    "boolean": _boolean,
    "int": partial(_whole, "int"),
    "long": partial(_whole, "long"),
    "float": _number,
    "double": _number,
    "bytes": _bytes,
    "string": _string,
}
_timestamp = datetime.datetime.fromisoformat
_date = datetime.date.fromisoformat
_time = datetime.time.fromisoformat
_LOGICAL: Final[dict[str | None, Callable[[str], Any]]] = {
    **dict.fromkeys(("timestamp-millis", "timestamp-micros"), _timestamp),
    **dict.fromkeys(("local-timestamp-millis", "local-timestamp-micros"), _timestamp),
    **dict.fromkeys(("time-millis", "time-micros"), _time),
    "date": _date,
    "decimal": Decimal,
}
_NAMES: Final[dict[Any, str]] = {
    _timestamp: "time in ISO 8601",
    _date: "date",
    _time: "time of a day",
    Decimal: "decimal",
}
