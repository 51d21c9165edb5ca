"""Record sets as a broker handles them: cut into entries, checked, and given their offsets and append times.

    entry, magic 0 and 1:  offset i64, size i32, crc u32 (CRC-32 from magic on), magic i8, attributes i8,
                           [timestamp i64 in magic 1], key, value
    entry, magic 2:        base_offset i64, length i32, leader_epoch i32, magic i8,
                           crc u32 (CRC-32C from attributes on), attributes i16, last_offset_delta i32,
                           base_timestamp i64, max_timestamp i64, producer_id i64, producer_epoch i16,
                           base_sequence i32, count i32, records
Source: the protocol guide of 0.10.1 ("message set") and KIP-98 (record batch). Offset, size and leader epoch lie
outside every checksum: that is what lets a broker assign offsets without touching the records.

Bytes only: this file knows nothing of topics, versions or requests.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire import errors, records
from kwire._codec import crc32, crc32c
from kwire.compression import CODECS
from kwire.errors import broker as codes

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from kwire.compression import Compression

_ENTRY_HEAD = struct.Struct(">qi")
_BATCH_HEAD = struct.Struct(">qiibIhiqqqhii")
_OVERHEAD = 12
_MAGIC_AT = 16
_BATCH_SIZE_AT_LEAST = 61
_MESSAGE_SIZE_AT_LEAST = 26
_CODEC_BITS = 0x07
_APPEND_TIME_BIT = 0x08
_TRANSACTIONAL_BIT = 0x10
_CONTROL_BIT = 0x20
_CODECS = dict(enumerate(CODECS))


@dataclass(slots=True)
class Entry:
    """One batch (magic 2), one message or one compressed wrapper (magic 0, 1), with its own copy of the bytes."""

    data: bytearray
    magic: int
    compression: Compression
    count: int
    max_timestamp: int
    append_time: bool = False
    transactional: bool = False
    control: bool = False
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    base_offset: int = -1

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.count - 1


def entries_of(record_set: Buffer) -> list[Entry]:
    """Cuts a produced record set into checked entries; an incomplete last one is left out, as Kafka does.

    Raises BrokerError with the code that Kafka answers for what is wrong.
    """
    return [_checked(bytearray(part)) for part in _cut(memoryview(record_set))]


def whole_entries_of(record_set: Buffer) -> list[Entry]:
    """As `entries_of`; raises BrokerError also for an incomplete last entry, and for bytes that are no entries."""
    data = memoryview(record_set).cast("B")
    parts = list(_cut(data))
    left = len(data) - sum(map(len, parts))
    if left:
        raise codes.CORRUPT_MESSAGE(
            f"{left} of {len(data)} bytes are not a whole record batch; give values as a list: [b'...']"
        )
    return [_checked(bytearray(part)) for part in parts]


def stored_entries(stored: Buffer) -> list[Entry]:
    """The entries of bytes that came out of a log, with the offsets that they have there; some may be compacted."""
    entries = [_checked(bytearray(part), may_have_gaps=True) for part in _cut(memoryview(stored).cast("B"))]
    for entry in entries:
        head_offset = int.from_bytes(entry.data[:8], "big", signed=True)
        entry.base_offset = head_offset if entry.magic == 2 else head_offset - entry.count + 1
    return entries


def compression_of(entry: memoryview) -> Compression:
    """The codec that a stored entry names."""
    at = 22 if entry[_MAGIC_AT] == 2 else 17
    return _CODECS[entry[at] & _CODEC_BITS]


def last_offset_of(entry: memoryview) -> int:
    """The last offset of a stored entry."""
    offset = int.from_bytes(entry[:8], "big", signed=True)
    return offset + int.from_bytes(entry[23:27], "big") if entry[_MAGIC_AT] == 2 else offset


def split_stored(data: memoryview) -> Iterator[memoryview]:
    """The entries of bytes that came out of a log, each as a view; an incomplete last one is left out."""
    return _cut(data)


def _cut(data: memoryview) -> Iterator[memoryview]:
    at = 0
    while len(data) - at >= _OVERHEAD:
        _, size = _ENTRY_HEAD.unpack_from(data, at)
        if size < 14:
            raise codes.CORRUPT_MESSAGE(f"an entry at byte {at} claims a size of {size}")
        if at + _OVERHEAD + size > len(data):
            return
        yield data[at : at + _OVERHEAD + size]
        at += _OVERHEAD + size


def _checked(data: bytearray, *, may_have_gaps: bool = False) -> Entry:
    magic = data[_MAGIC_AT]
    if magic > 2:
        raise codes.CORRUPT_MESSAGE(f"a record set of magic {magic}")
    if len(data) < (_BATCH_SIZE_AT_LEAST if magic == 2 else _MESSAGE_SIZE_AT_LEAST):
        raise codes.CORRUPT_MESSAGE(f"an entry of {len(data)} bytes is too short for magic {magic}")
    codec = data[22 if magic == 2 else 17] & _CODEC_BITS
    if codec not in _CODECS:
        raise codes.CORRUPT_MESSAGE(f"compression codec {codec}")
    decoded = _decode(data)
    if magic == 2:
        return _batch(data, decoded, may_have_gaps=may_have_gaps)
    return _message(data, magic, _CODECS[codec], decoded)


def _decode(data: bytearray) -> records.Records:
    try:
        decoded = records.decode(data)
        if decoded.consumed != len(data):
            raise codes.CORRUPT_MESSAGE(f"{len(data) - decoded.consumed} bytes are not a record")
    except errors.UnknownCodecError as error:
        raise codes.UNSUPPORTED_COMPRESSION_TYPE(str(error)) from error
    except errors.CodecError as error:
        raise codes.CORRUPT_MESSAGE(str(error)) from error
    return decoded


def _batch(data: bytearray, decoded: records.Records, *, may_have_gaps: bool) -> Entry:
    head = _BATCH_HEAD.unpack_from(data)
    attributes, last_delta, max_timestamp, producer_id, epoch, sequence, count = head[5], head[6], *head[8:]
    if may_have_gaps:
        count = last_delta + 1
    elif count != len(decoded) or last_delta != count - 1 or count < 1:
        raise codes.INVALID_RECORD(
            f"a batch that claims {count} records and a last offset delta of {last_delta} holds {len(decoded)}",
        )
    if producer_id >= 0 and (epoch < 0 or (sequence < 0 and not attributes & _CONTROL_BIT)):
        raise codes.INVALID_RECORD(f"producer {producer_id}, epoch {epoch}, sequence {sequence}")
    return Entry(
        data,
        2,
        _CODECS[attributes & _CODEC_BITS],
        count,
        max_timestamp,
        bool(attributes & _APPEND_TIME_BIT),
        bool(attributes & _TRANSACTIONAL_BIT),
        bool(attributes & _CONTROL_BIT),
        producer_id,
        epoch,
        sequence,
    )


def _message(data: bytearray, magic: int, compression: Compression, decoded: records.Records) -> Entry:
    if not len(decoded):
        raise codes.CORRUPT_MESSAGE("a compressed message without inner messages")
    inner = list(decoded)
    max_timestamp = max(record.timestamp for record in inner) if magic == 1 else -1
    made = Entry(data, magic, compression, len(inner), max_timestamp, bool(data[17] & _APPEND_TIME_BIT) and magic == 1)
    if compression != "none" and any(record.offset != inner[0].offset + n for n, record in enumerate(inner)):
        made.data = _encoded(inner, made, 0)
    return made


def _encoded(inner: list[records.Record], entry: Entry, base_offset: int) -> bytearray:
    items = [(record.value, record.key, record.timestamp if entry.magic else None) for record in inner]
    return bytearray(records.encode(items, magic=entry.magic, compression=entry.compression, base_offset=base_offset))


def place(entry: Entry, base_offset: int, leader_epoch: int, append_time: int | None) -> None:
    """Gives the entry its offsets, in place where the format allows it, and the append time where the topic wants it.

    A compressed message of magic 0 holds absolute inner offsets, so it is compressed anew.
    """
    entry.base_offset = base_offset
    if entry.magic == 0 and entry.compression != "none":
        entry.data = _encoded(list(records.decode(entry.data)), entry, base_offset)
    head_offset = base_offset if entry.magic == 2 else entry.last_offset
    struct.pack_into(">q", entry.data, 0, head_offset)
    if entry.magic == 2:
        struct.pack_into(">i", entry.data, 12, leader_epoch)
    if append_time is not None and entry.magic:
        _stamp(entry, append_time)


def _stamp(entry: Entry, append_time: int) -> None:
    data = entry.data
    entry.max_timestamp, entry.append_time = append_time, True
    if entry.magic == 2:
        data[22] |= _APPEND_TIME_BIT
        struct.pack_into(">q", data, 35, append_time)
        struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    else:
        data[17] |= _APPEND_TIME_BIT
        struct.pack_into(">q", data, 18, append_time)
        struct.pack_into(">I", data, 12, crc32(memoryview(data)[16:]))
