"""Records to and from bytes: what stands in the records field of Produce and Fetch, in a log segment, in a column.

Layer 1, the public face of the codec for record batches (magic 2) and message sets (magic 0 and 1). Knows bytes only:
no topics, no partitions, no sockets.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire._codec import (
    BatchBuilder,
    BatchHeader,
    Record,
    Records,
    decode_records,
    encode,
    encode_arrow,
    scan_generation,
)
from kwire._typing import TYPE_CHECKING
from kwire.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kwire.errors import CodecError, ConfigError

if TYPE_CHECKING:
    from typing_extensions import Buffer as BytesLike

__all__ = ["BatchBuilder", "BatchHeader", "Record", "Records", "decode", "encode", "encode_arrow"]

Sequence.register(Records)


def decode(
    data: BytesLike,
    *,
    check_crc: bool = True,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    generation: str | None = None,
    base_offset: int = 0,
) -> Records:
    """The records in `data`, any bytes-like object: batches and message sets of magic 0, 1 and 2, also mixed.

    The result shares the memory of `data` and keeps it alive, where not all of it is compressed; only what can be
    written to (a bytearray) is copied. A batch that is cut off at the end is left over (`Records.consumed`,
    `Records.needed`): bytes too short for a batch are no records and no error, so compare `consumed` with `len(data)`
    where all of it is meant to be read. Control batches are decoded like any other.

    `check_crc=False` skips the checksums. `max_decompressed_bytes` bounds the memory that one call takes beside `data`:
    all decompressed content, and the index of all records, compressed or not (40 bytes for each, about 140 for each
    batch). LimitError, when more is needed; decode the pieces of `data` one by one, or allow more.

    `generation="0.7"`: `data` are messages of Kafka 0.7, the first of which begins at byte `base_offset` of its
    partition's log. A record's offset is then the byte at which it begins, or at which the compressed message begins
    that holds it: reading goes on at the offset of the next record, or after the last one at `base_offset + consumed`.
    A generation cannot be told from the bytes.

    Raises CorruptError (checksum, structure, compressed data), InvalidLengthError, TruncatedError, UnknownVersionError
    (another magic or generation), UnknownCodecError and LimitError, with the field and the byte offset in `data`.
    """
    try:
        if generation is None:
            return decode_records(data, check_crc, max_decompressed_bytes)
        found, fault = scan_generation(
            generation, data, check_crc, max_decompressed_bytes, base_offset, max_decompressed_bytes
        )
    except OverflowError:
        raise _beyond_int64(max_decompressed_bytes) from None
    if fault is not None:
        raise fault
    return found


def _beyond_int64(max_decompressed_bytes: int) -> ConfigError | CodecError:
    if -(2**63) <= max_decompressed_bytes < 2**63:
        return CodecError("a base offset is a byte position, from 0 to 2**63 - 1", "base_offset")
    return ConfigError("max_decompressed_bytes is beyond 64 bits: 2**63 - 1 is the most")
