"""How a record says which schema its key or value was written with.

    in front of the value      0, the schema's id (4 bytes, big-endian)
    in a header                1, the schema's GUID (16 bytes), under __key_schema_id or __value_schema_id; the value
                               then has nothing in front. A GUID in front of the value is read, too
    of Protobuf, after that    which message of the schema: how many indexes, then each, as zigzag varints; the first
                               message of the file, [0], is a 0 alone

Confluent's serializers write the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

from kwire.errors import SerializationError

Framing = Literal["prefix", "header"]
FRAMINGS: Final = ("prefix", "header")
HEADERS: Final = {"key": "__key_schema_id", "value": "__value_schema_id"}

_ID, _GUID = 0, 1
ID_FRAME_SIZE: Final = 5
_GUID_END = 17
_MAX_INDEXES: Final = 1000
_MAX_VARINT: Final = 5


class Framed(NamedTuple):
    """A schema's id or GUID, and the bytes after it; with a header, `frame` has what stands there after the GUID."""

    id: int | str
    payload: bytes
    frame: bytes | None = None


def id_frame(id_: int) -> bytes:
    return b"\0" + id_.to_bytes(4, "big")


def guid_frame(guid: str) -> bytes:
    return b"\1" + UUID(guid).bytes


def unframed(raw: bytes, context: Any) -> Framed:
    """The schema that a value names, in a header or in front of it; SerializationError where it names none."""
    for name, value in getattr(context, "headers", None) or ():
        if value is not None and name == HEADERS.get(str(context.field)):
            id_, rest = _id(value)
            return Framed(id_, raw, rest)
    return Framed(*_id(raw))


def header_id(value: bytes | None) -> str | None:
    """The GUID in a header; None where there is none."""
    try:
        found = _id(value or b"")[0]
    except SerializationError:
        return None
    return found if isinstance(found, str) else None


def _id(data: bytes) -> tuple[int | str, bytes]:
    kind = data[0] if data else None
    if kind == _ID and len(data) >= ID_FRAME_SIZE:
        return int.from_bytes(data[1:ID_FRAME_SIZE], "big"), data[ID_FRAME_SIZE:]
    if kind == _GUID and len(data) >= _GUID_END:
        return str(UUID(bytes=data[1:_GUID_END])), data[_GUID_END:]
    raise SerializationError("it has no schema id in front: was it written with a schema registry?")


def index_frame(indexes: Sequence[int]) -> bytes:
    """Which message of a Protobuf schema: the position in the file, then in the message around it."""
    if list(indexes) == [0]:
        return b"\0"
    return b"".join(_varint(each) for each in (len(indexes), *indexes))


def read_indexes(data: bytes) -> tuple[list[int], int]:
    """The indexes at the beginning of `data`, and where they end."""
    count, at = _read_varint(data, 0)
    if not 0 <= count <= _MAX_INDEXES:
        raise SerializationError(f"it has {count} message indexes")
    indexes = []
    for _ in range(count):
        index, at = _read_varint(data, at)
        indexes.append(index)
    return indexes or [0], at


def _varint(value: int) -> bytes:
    left, made = value << 1, bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for i, byte in enumerate(data[at : at + _MAX_VARINT]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at + i + 1
    raise SerializationError("its message indexes end early")
