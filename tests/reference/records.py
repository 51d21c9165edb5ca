"""Record batches and message sets by `struct` alone, both directions: slow, plain, and written from the documents.

Layouts: KIP-98 and KIP-82 (magic 2), KIP-31 and KIP-32 (magic 1), the protocol guide (magic 0). Reads whole, undamaged
bytes only: what is wrong with damaged ones is for kwire to say.
"""

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tests.oracle.damage import crc32c
from tests.reference.compression import compress, decompress
from tests.reference.primitives import read_uvarint, unzigzag, uvarint, zigzag

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True)
class PlainRecord:
    """One record; header keys are bytes, as on the wire."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...] = ()
    timestamp_type: int = 0


@dataclass(frozen=True)
class BatchFields:
    """What the header of a batch of magic 2 says beside its records."""

    codec: str = "none"
    attributes: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    leader_epoch: int = -1
    base_offset: int | None = None
    last_offset: int | None = None
    max_timestamp: int | None = None


# --- magic 2 ---


def varint(value: int) -> bytes:
    return uvarint(zigzag(value))


def _varint_bytes(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record_bytes(record: PlainRecord, base_offset: int, base_timestamp: int) -> bytes:
    body = bytes(1) + varint(record.timestamp - base_timestamp) + varint(record.offset - base_offset)
    body += _varint_bytes(record.key) + _varint_bytes(record.value) + varint(len(record.headers))
    for key, value in record.headers:
        body += _varint_bytes(key) + _varint_bytes(value)
    return varint(len(body)) + body


def batch_of_content(content: bytes, count: int, base_timestamp: int, fields: BatchFields) -> bytes:
    """A batch with a right checksum around any content at all."""
    attributes = fields.attributes | CODECS.index(fields.codec)
    base_offset = fields.base_offset or 0
    last_offset = base_offset + count - 1 if fields.last_offset is None else fields.last_offset
    max_timestamp = base_timestamp if fields.max_timestamp is None else fields.max_timestamp
    checked = struct.pack(
        ">hiqqqhii",
        attributes,
        last_offset - base_offset,
        base_timestamp,
        max_timestamp,
        fields.producer_id,
        fields.producer_epoch,
        fields.base_sequence,
        count,
    )
    checked += content
    rest = struct.pack(">ibI", fields.leader_epoch, 2, crc32c(checked)) + checked
    return struct.pack(">qi", base_offset, len(rest)) + rest


def encode_batch(records: Sequence[PlainRecord], fields: BatchFields | None = None) -> bytes:
    fields = fields or BatchFields()
    base_offset = records[0].offset if fields.base_offset is None else fields.base_offset
    base_timestamp = records[0].timestamp
    fields = replace(
        fields,
        base_offset=base_offset,
        last_offset=records[-1].offset if fields.last_offset is None else fields.last_offset,
        max_timestamp=max(r.timestamp for r in records) if fields.max_timestamp is None else fields.max_timestamp,
    )
    content = b"".join(record_bytes(record, base_offset, base_timestamp) for record in records)
    return batch_of_content(compress(fields.codec, content), len(records), base_timestamp, fields)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value, at = read_uvarint(data, at)
    return unzigzag(value), at


def _read_varint_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = _read_varint(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def decode_batch(batch: bytes) -> Iterator[PlainRecord]:
    base_offset, _, _, _, crc = struct.unpack_from(">qiibI", batch)
    assert crc == crc32c(batch[21:])
    attributes, _, base_timestamp, max_timestamp, _, _, _, count = struct.unpack_from(">hiqqqhii", batch, 21)
    content = decompress(CODECS[attributes & 7], batch[61:])
    appended = bool(attributes & 8)
    at = 0
    for _ in range(count):
        size, at = _read_varint(content, at)
        end = at + size
        timestamp, at = _read_varint(content, at + 1)
        delta, at = _read_varint(content, at)
        key, at = _read_varint_bytes(content, at)
        value, at = _read_varint_bytes(content, at)
        header_count, at = _read_varint(content, at)
        headers = []
        for _ in range(header_count):
            name, at = _read_varint_bytes(content, at)
            header, at = _read_varint_bytes(content, at)
            headers.append((name or b"", header))
        assert at == end
        yield PlainRecord(
            base_offset + delta,
            max_timestamp if appended else base_timestamp + timestamp,
            key,
            value,
            tuple(headers),
            int(appended),
        )
    assert at == len(content)


# --- magic 0 and 1 ---


def _int32_bytes(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def message(
    offset: int, key: bytes | None, value: bytes | None, *, magic: int, attributes: int = 0, timestamp: int = -1
) -> bytes:
    checked = struct.pack(">bb", magic, attributes)
    if magic == 1:
        checked += struct.pack(">q", timestamp)
    checked += _int32_bytes(key) + _int32_bytes(value)
    return struct.pack(">qiI", offset, len(checked) + 4, zlib.crc32(checked)) + checked


def plain_set(records: Iterable[PlainRecord], magic: int, attributes: int = 0, shift: int = 0) -> bytes:
    return b"".join(
        message(r.offset - shift, r.key, r.value, magic=magic, attributes=attributes, timestamp=r.timestamp)
        for r in records
    )


def encode_message_set(
    records: Sequence[PlainRecord], magic: int, codec: str = "none", *, append_time: int | None = None
) -> bytes:
    """A set, or one wrapper with all of it inside; `append_time` marks the wrapper as stamped by the broker."""
    if codec == "none":
        return plain_set(records, magic)
    inner = plain_set(records, magic, shift=records[0].offset if magic == 1 else 0)
    attributes = CODECS.index(codec) | (8 if append_time is not None else 0)
    timestamp = max(r.timestamp for r in records) if append_time is None else append_time
    return message(
        records[-1].offset, None, compress(codec, inner, magic), magic=magic, attributes=attributes, timestamp=timestamp
    )


def _message_fields(data: bytes) -> tuple[PlainRecord, int]:
    """The message as a record, and its codec."""
    offset, _, crc, magic, attributes = struct.unpack_from(">qiIbb", data)
    assert crc == zlib.crc32(data[16:])
    at = 18
    timestamp = -1
    if magic == 1:
        (timestamp,) = struct.unpack_from(">q", data, at)
        at += 8
    fields: list[bytes | None] = []
    for _ in range(2):
        (size,) = struct.unpack_from(">i", data, at)
        at += 4
        fields.append(None if size < 0 else data[at : at + size])
        at += max(size, 0)
    assert at == len(data)
    timestamp_type = (attributes >> 3) & 1 if magic == 1 else -1
    return PlainRecord(offset, timestamp, fields[0], fields[1], timestamp_type=timestamp_type), attributes & 7


def decode_message(data: bytes) -> Iterator[PlainRecord]:
    """One message, or all of those it wraps."""
    wrapper, codec = _message_fields(data)
    if codec == 0:
        yield wrapper
        return
    inner = [_message_fields(part)[0] for part in frames(decompress(CODECS[codec], wrapper.value or b""))]
    shift = wrapper.offset - inner[-1].offset if data[16] == 1 and wrapper.offset else 0
    for record in inner:
        moved = replace(record, offset=record.offset + shift)
        if wrapper.timestamp_type == 1:
            moved = replace(moved, timestamp=wrapper.timestamp, timestamp_type=1)
        yield moved


# --- any of them ---


def frames(data: bytes) -> Iterator[bytes]:
    """The whole batches and messages in `data`."""
    at = 0
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">i", data, at + 8)
        if at + 12 + size > len(data):
            return
        yield data[at : at + 12 + size]
        at += 12 + size


def decode(data: bytes) -> list[PlainRecord]:
    return [record for frame in frames(data) for record in (decode_batch if frame[16] == 2 else decode_message)(frame)]
