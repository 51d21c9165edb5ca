"""What a reader of committed records gets of the bytes of a whole log, by its markers alone."""

from __future__ import annotations

from kwire import records

_COMMIT = b"\0\0\0\1"


def committed(record_set: bytes) -> list[tuple[bytes | None, bytes | None]]:
    """The keys and values, in order of offset."""
    decoded = records.decode(record_set)
    by_offset = {record.offset: (record.key, record.value) for record in decoded}
    open_offsets: dict[int, list[int]] = {}
    kept: list[int] = []
    for batch in decoded.batches:
        offsets = [offset for offset in range(batch.base_offset, batch.last_offset + 1) if offset in by_offset]
        if batch.is_control:
            ended = open_offsets.pop(batch.producer_id, [])
            kept += ended if by_offset[batch.base_offset][0] == _COMMIT else []
        elif batch.is_transactional:
            open_offsets.setdefault(batch.producer_id, []).extend(offsets)
        else:
            kept += offsets
    return [by_offset[offset] for offset in sorted(kept)]


def committed_values(record_set: bytes) -> list[bytes | None]:
    return [value for _, value in committed(record_set)]
