"""A slow reading of Protobuf's wire format, from its documentation alone, to values as Spark's from_protobuf has them.

Types are those of google.protobuf's descriptors, which the tests make anyway.
"""

from __future__ import annotations

import struct
from typing import Any

from tests.reference.primitives import unzigzag

VARINTS = ["int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool", "enum"]
SIZED = ["string", "bytes", "message"]
NAMES = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool", 9: "string",
    10: "group", 11: "message", 12: "bytes", 13: "uint32", 14: "enum", 15: "sfixed32", 16: "sfixed64", 17: "sint32",
    18: "sint64",
}  # fmt: skip
FORMATS = {"double": "<d", "float": "<f", "fixed64": "<q", "sfixed64": "<q", "fixed32": "<i", "sfixed32": "<i"}


class UnreadableError(Exception):
    """Bytes that are no message."""


def read(descriptor: Any, data: bytes) -> dict[str, Any]:
    """The message's fields by name, of a google.protobuf Descriptor."""
    return _shown(descriptor, _merged(descriptor, data))


def _merged(descriptor: Any, data: bytes) -> dict[int, Any]:
    """By field number: a value, a list of them, or, of a message, what was merged into it."""
    found: dict[int, Any] = {}
    source = _Source(data)
    while source.at < len(data):
        _take(descriptor, found, source)
    return found


def _take(descriptor: Any, found: dict[int, Any], source: _Source) -> None:
    number, wire = source.tag()
    field = descriptor.fields_by_number.get(number)
    kind = NAMES[field.type] if field is not None else ""
    if wire == 4:
        raise UnreadableError("a group that did not begin")
    if wire == 3:
        body = source.group(number)
        if kind == "group":
            _put_message(field, found, body)
        return
    raw = source.value(wire)
    if field is None:
        return
    repeated = field.is_repeated
    if wire != _wire_of(kind):
        if wire == 2 and repeated and kind not in SIZED and kind != "group":
            packed = _Source(raw)
            while packed.at < len(raw):
                _put(field, found, _convert(field, kind, packed.value(_wire_of(kind))))
        return
    if kind == "message":
        _put_message(field, found, raw)
    else:
        _put(field, found, _convert(field, kind, raw))


def _put_message(field: Any, found: dict[int, Any], raw: bytes) -> None:
    if field.is_repeated:
        _put(field, found, _merged(field.message_type, raw))
        return
    _clear_oneof(field, found)
    inner = _merged(field.message_type, found.get(-field.number, b"") + raw)
    found[-field.number] = found.get(-field.number, b"") + raw
    found[field.number] = inner


def _put(field: Any, found: dict[int, Any], value: Any) -> None:
    if value is None:
        return
    if field.is_repeated:
        found.setdefault(field.number, []).append(value)
        return
    _clear_oneof(field, found)
    if not field.has_presence and value in (0, b"", "") and not _is_negative_zero(value):
        found.pop(field.number, None)
    else:
        found[field.number] = value


def _is_negative_zero(value: Any) -> bool:
    return isinstance(value, float) and struct.pack("<d", value) != bytes(8)


def _clear_oneof(field: Any, found: dict[int, Any]) -> None:
    for other in field.containing_oneof.fields if field.containing_oneof is not None else ():
        if other.number != field.number:
            found.pop(other.number, None)
            found.pop(-other.number, None)


def _wire_of(kind: str) -> int:
    if kind in VARINTS:
        return 0
    if kind in SIZED:
        return 2
    return 5 if kind in ("float", "fixed32", "sfixed32") else 1 if kind in FORMATS else 3


def _convert(field: Any, kind: str, raw: Any) -> Any:
    if kind in FORMATS:
        return struct.unpack(FORMATS[kind], raw)[0]
    if kind in ("int32", "uint32", "enum"):
        return _signed(raw & 0xFFFFFFFF, 32)
    if kind in ("int64", "uint64"):
        return _signed(raw, 64)
    if kind == "sint32":
        return unzigzag(raw & 0xFFFFFFFF)
    if kind == "sint64":
        return unzigzag(raw)
    if kind == "bool":
        return raw != 0
    if kind == "string" and field.file.name.startswith("proto3"):
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise UnreadableError("not UTF-8") from None
    return raw.decode("utf-8", "replace") if kind == "string" else raw


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _shown(descriptor: Any, found: dict[int, Any], in_map: bool = False) -> dict[str, Any]:
    shown = {}
    for field in descriptor.fields:
        value = found.get(field.number)
        if field.is_required and (value is None or _is_unknown(field, value)):
            raise UnreadableError(f"{field.name} is missing")
        if field.message_type is not None and not field.message_type.fields:
            continue
        if field.is_repeated:
            items = [_shown_value(field, item) for item in value or []]
            items = [item for item in items if item is not None]
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                items = [(item["key"], item["value"]) for item in items]
            shown[field.name] = items
            continue
        made = None if value is None else _shown_value(field, value)
        if made is None and (in_map or field.has_default_value):
            made = _default(field)
        shown[field.name] = made
    return shown


def _is_unknown(field: Any, value: Any) -> bool:
    """A number that a closed enum does not have is kept among the unknown fields: the field itself is not set."""
    enum = field.enum_type
    return enum is not None and enum.is_closed and value not in enum.values_by_number


def _shown_value(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return _shown(field.message_type, value, field.message_type.GetOptions().map_entry)
    if field.enum_type is None:
        return value
    symbol = field.enum_type.values_by_number.get(value)
    if symbol is not None:
        return symbol.name
    return None if field.enum_type.is_closed else f"UNKNOWN_ENUM_VALUE_{field.enum_type.name}_{value}"


def _default(field: Any) -> Any:
    if field.message_type is not None:
        return _shown(field.message_type, {})
    if field.enum_type is not None:
        return _shown_value(field, field.default_value)
    if NAMES[field.type] in ("uint32", "uint64", "fixed32", "fixed64"):
        return _signed(field.default_value, 32 if "32" in NAMES[field.type] else 64)
    return field.default_value


class _Source:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise UnreadableError("too few bytes")
        self.at += size
        return self.data[self.at - size : self.at]

    def varint(self, max_bytes: int = 10, bits: int = 64) -> int:
        value = 0
        for i in range(max_bytes):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                if value >> bits:
                    break
                return value
        raise UnreadableError("a varint too long")

    def tag(self) -> tuple[int, int]:
        tag = self.varint(5, 32)
        if not tag >> 3:
            raise UnreadableError("field number 0")
        return tag >> 3, tag & 7

    def value(self, wire: int) -> Any:
        if wire == 0:
            return self.varint()
        if wire in (1, 5):
            return self.take(8 if wire == 1 else 4)
        if wire == 2:
            return self.take(self.varint())
        raise UnreadableError("no such wire type")

    def group(self, number: int) -> bytes:
        """The bytes of a group, without its end."""
        begin = self.at
        while True:
            before = self.at
            inner, wire = self.tag()
            if wire == 4:
                if inner != number:
                    raise UnreadableError("the end of another group")
                return self.data[begin:before]
            if wire == 3:
                self.group(inner)
            else:
                self.value(wire)
