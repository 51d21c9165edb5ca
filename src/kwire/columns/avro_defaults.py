"""Defaults of Avro fields: from the JSON of the schema to the bytes that a writer would have written.

Source: Apache Avro specification, "Complex Types, Records", the table of default values. A union's default is
one of its first branch that can have it.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NoReturn

from kwire.columns.avro_schema import AvroType
from kwire.columns.layout import MAX_DEPTH, place_in
from kwire.errors import ConfigError

MAX_BYTES: Final = 1 << 20
MAX_VALUES: Final = 100_000
_MAX_NESTING: Final = 2 * MAX_DEPTH
"""A union around a part counts, too."""

_RANGES: Final = {"int": 1 << 31, "long": 1 << 63}
_EMPTY: Final = b"\0"


class DefaultError(Exception):
    """A default that its type cannot have."""


def _refuse(part: AvroType, place: str) -> NoReturn:
    raise DefaultError(f"{place}: its default cannot be that of {part}")


class DefaultEncoder:
    """Encodes the defaults of one plan, with one budget for all of them.

    A record's default leaves out fields that have defaults of their own: a schema of a few lines may stand for
    gigabytes. ConfigError where the budget ends.
    """

    def __init__(self) -> None:
        self._values = 0
        self._bytes = 0
        self._indices: dict[int, dict[str, int]] = {}

    def encode(self, part: AvroType, value: Any, place: str, depth: int = 0) -> bytes:
        """The default of a field at `place`, in Avro's binary encoding; DefaultError when its type does not fit."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise ConfigError(f"{place}: the defaults of the Avro schema have more than {MAX_VALUES} values")
        if depth > _MAX_NESTING:
            raise ConfigError(f"{place}: the default is nested more than {_MAX_NESTING} deep")
        if part.kind == "union":
            return self._encode_union(part, value, place, depth)
        if part.kind == "record":
            return self._encode_record(part, value, place, depth)
        if part.kind == "array":
            items = [(b"", item) for item in value] if isinstance(value, list) else None
            return self._encode_items(part, items, place, depth)
        if part.kind == "map":
            return self._encode_items(part, _entries(part, value, place), place, depth)
        encoded = self._encode_leaf(part, value)
        if encoded is None:
            _refuse(part, place)
        return self._counted(encoded, place)

    def _counted(self, encoded: bytes, place: str) -> bytes:
        self._bytes += len(encoded)
        if self._bytes > MAX_BYTES:
            raise ConfigError(f"{place}: the defaults of the Avro schema take more than {MAX_BYTES} bytes")
        return encoded

    def _encode_leaf(self, part: AvroType, value: Any) -> bytes | None:
        if part.kind == "enum":
            index = self._symbols(part).get(value) if isinstance(value, str) else None
            return None if index is None else _long(index)
        return _encode_scalar(part, value)

    def _symbols(self, part: AvroType) -> dict[str, int]:
        found = self._indices.get(id(part))
        if found is None:
            found = self._indices[id(part)] = {symbol: i for i, symbol in enumerate(part.symbols)}
        return found

    def _encode_union(self, part: AvroType, value: Any, place: str, depth: int) -> bytes:
        for i, branch in enumerate(part.branches):
            try:
                return _long(i) + self.encode(branch, value, place, depth + 1)
            except DefaultError:
                continue
        _refuse(part, place)

    def _encode_record(self, part: AvroType, value: Any, place: str, depth: int) -> bytes:
        if not isinstance(value, dict):
            _refuse(part, place)
        parts = []
        for field in part.fields:
            if field.name not in value and not field.has_default:
                _refuse(part, place)
            given = value.get(field.name, field.default)
            parts.append(self.encode(field.type, given, place_in(place, field.name), depth + 1))
        return b"".join(parts)

    def _encode_items(self, part: AvroType, items: list[tuple[bytes, Any]] | None, place: str, depth: int) -> bytes:
        if items is None or part.items is None:
            _refuse(part, place)
        if not items:
            return _EMPTY
        encoded = []
        for key, item in items:
            encoded += [self._counted(key, place), self.encode(part.items, item, place_in(place, "[]"), depth + 1)]
        return _long(len(items)) + b"".join(encoded) + _EMPTY


def _entries(part: AvroType, value: Any, place: str) -> list[tuple[bytes, Any]] | None:
    if not isinstance(value, dict):
        return None
    try:
        return [(_sized(key.encode()), item) for key, item in value.items()]
    except UnicodeEncodeError:
        _refuse(part, place)


def _encode_scalar(part: AvroType, value: Any) -> bytes | None:
    if part.kind == "null":
        return b"" if value is None else None
    if part.kind == "boolean":
        return bytes([value]) if isinstance(value, bool) else None
    if part.kind in _RANGES:
        fits = type(value) is int and -_RANGES[part.kind] <= value < _RANGES[part.kind]
        return _long(value) if fits else None
    if part.kind in ("float", "double"):
        return _encode_float(part, value)
    if not isinstance(value, str):
        return None
    try:
        raw = value.encode("utf-8" if part.kind == "string" else "latin-1")
    except UnicodeEncodeError:
        return None
    if part.kind == "fixed":
        return raw if len(raw) == part.size else None
    return _sized(raw)


def _encode_float(part: AvroType, value: Any) -> bytes | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return struct.pack("<f" if part.kind == "float" else "<d", value)
    except OverflowError:
        return None


def _sized(raw: bytes) -> bytes:
    return _long(len(raw)) + raw


def _long(value: int) -> bytes:
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])
