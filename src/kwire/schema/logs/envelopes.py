"""The few numbers that stand before a message in a log and say which message it is, and in which version.

    coordinators          key: type int16; value: version int16
    cluster metadata,     value: frame version uvarint, type uvarint, version uvarint
    tiered storage
    control records       key: version int16; value of a marker: version int16

Sources: Apache's classes CoordinatorRecordSerde, AbstractApiMessageSerde, ControlRecordType and EndTransactionMarker of
4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable

from kwire import errors
from kwire._typing import NamedTuple

__all__ = ["METADATA_FRAME_VERSION", "Word", "int16_word", "read_words", "uvarint_word"]

METADATA_FRAME_VERSION = 1
_MAX_UVARINT_BYTES = 5


class Word(NamedTuple):
    """One number of an envelope: its name, its kind ("int16" or "uvarint"), its value, and its bytes [start, end)."""

    name: str
    kind: str
    value: int
    start: int
    end: int


def int16_word(value: int) -> bytes:
    return value.to_bytes(2, "big", signed=True)


def uvarint_word(value: int) -> bytes:
    low = bytearray()
    while value >= 0x80:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    low.append(value)
    return bytes(low)


def read_words(data: bytes, words: Iterable[tuple[str, str]], into: list[Word]) -> None:
    """Appends to `into` the words (name, kind) that `data` begins with.

    TruncatedError, InvalidLengthError: what was read before stands in `into`.
    """
    for name, kind in words:
        start = into[-1].end if into else 0
        value, end = _int16(data, start, name) if kind == "int16" else _uvarint(data, start, name)
        into.append(Word(name, kind, value, start, end))


def _int16(data: bytes, start: int, name: str) -> tuple[int, int]:
    if len(data) - start < 2:
        raise errors.TruncatedError(f"an int16 needs 2 bytes, {len(data) - start} are left", name, start)
    return int.from_bytes(data[start : start + 2], "big", signed=True), start + 2


def _uvarint(data: bytes, start: int, name: str) -> tuple[int, int]:
    value = 0
    for place, byte in enumerate(data[start : start + _MAX_UVARINT_BYTES]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, start + place + 1
    if len(data) - start < _MAX_UVARINT_BYTES:
        raise errors.TruncatedError("the bytes end within an unsigned varint", name, start)
    raise errors.InvalidLengthError(f"an unsigned varint of more than {_MAX_UVARINT_BYTES} bytes", name, start)
