"""Defaults of Avro fields: from the JSON of the schema to the bytes that a writer would have written.

Source: Apache Avro specification, "Complex Types, Records", the table of default values. A union's default is
one of its first branch that can have it.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NoReturn

from kwire.columns.avro_schema import AvroType

_RANGES: Final = {"int": 1 << 31, "long": 1 << 63}
_EMPTY: Final = b"\0"


class DefaultError(Exception):
    """A default that its type cannot have."""


def encode_default(part: AvroType, value: Any, place: str) -> bytes:
    """The default of a field at `place`, in Avro's binary encoding; DefaultError when its type does not fit."""
    if part.kind == "union":
        return _encode_union(part, value, place)
    if part.kind == "record":
        return _encode_record(part, value, place)
    if part.kind == "array":
        return _encode_items(part, [(b"", item) for item in value] if isinstance(value, list) else None, place)
    if part.kind == "map":
        entries = [(_sized(key.encode()), item) for key, item in value.items()] if isinstance(value, dict) else None
        return _encode_items(part, entries, place)
    encoded = _encode_leaf(part, value)
    if encoded is None:
        _refuse(part, place)
    return encoded


def _refuse(part: AvroType, place: str) -> NoReturn:
    raise DefaultError(f"{place}: its default cannot be that of {part}")


def _encode_leaf(part: AvroType, value: Any) -> bytes | None:
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
    if part.kind == "enum":
        return _long(part.symbols.index(value)) if value in part.symbols else None
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


def _encode_union(part: AvroType, value: Any, place: str) -> bytes:
    for i, branch in enumerate(part.branches):
        try:
            return _long(i) + encode_default(branch, value, place)
        except DefaultError:
            continue
    _refuse(part, place)


def _encode_record(part: AvroType, value: Any, place: str) -> bytes:
    if not isinstance(value, dict):
        _refuse(part, place)
    parts = []
    for field in part.fields:
        if field.name not in value and not field.has_default:
            _refuse(part, place)
        parts.append(encode_default(field.type, value.get(field.name, field.default), f"{place}.{field.name}"))
    return b"".join(parts)


def _encode_items(part: AvroType, items: list[tuple[bytes, Any]] | None, place: str) -> bytes:
    if items is None or part.items is None:
        _refuse(part, place)
    if not items:
        return _EMPTY
    body = b"".join(key + encode_default(part.items, item, f"{place}[]") for key, item in items)
    return _long(len(items)) + body + _EMPTY


def _sized(raw: bytes) -> bytes:
    return _long(len(raw)) + raw


def _long(value: int) -> bytes:
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])
