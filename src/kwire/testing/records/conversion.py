"""Stored records in an older format, for readers of old Fetch versions.

Releases from 0.10 to 3.9 did this in the broker; 4.0 removed it together with Fetch 0 to 3 (KIP-724). Record headers
and control batches do not exist in the older formats and are left out; they have no zstd.
"""

from __future__ import annotations

from kwire import records
from kwire.errors import broker as codes
from kwire.testing.records.record_sets import compression_of, split_stored

_MAGIC_AT = 16
_NEWEST = 2


def magic_for_fetch(version: int) -> int:
    """The newest record format that a Fetch of `version` may carry."""
    return 0 if version < 2 else 1 if version < 4 else _NEWEST


def down_converted(stored: bytes | memoryview, magic: int, from_offset: int) -> bytes | memoryview:
    """`stored` with every entry in a format of at most `magic`; as it is where nothing is newer.

    Raises BrokerError for what the older format cannot say.
    """
    if magic == _NEWEST:
        return stored
    entries = list(split_stored(memoryview(stored)))
    if all(entry[_MAGIC_AT] <= magic for entry in entries):
        return stored
    return b"".join(entry if entry[_MAGIC_AT] <= magic else _convert(entry, magic, from_offset) for entry in entries)


def _convert(entry: memoryview, magic: int, from_offset: int) -> bytes:
    compression = compression_of(entry)
    if compression == "zstd":
        raise codes.UNSUPPORTED_COMPRESSION_TYPE("zstd needs Fetch 10 or newer")
    decoded = records.decode(entry)
    if any(batch.is_control for batch in decoded.batches):
        return b""
    kept = [record for record in decoded if compression != "none" or record.offset >= from_offset]
    if not kept:
        return b""
    items = [(record.value, record.key, record.timestamp if magic else None) for record in kept]
    return records.encode(items, magic=magic, compression=compression, base_offset=kept[0].offset)
