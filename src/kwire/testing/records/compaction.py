"""Compaction: of each key only the last record stays, at the offset that it had (cleanup.policy=compact).

    goes    a record whose key comes again later; one without a key; one of an aborted transaction
            a record without a value (a tombstone), delete.retention.ms after a compaction has first met it as the last
            of its key
    stays   markers of transactions, and the log's last record: it tells where the log ends
    is not  what lies at or after the offset up to which is compacted
    looked at

A batch that loses records is written anew, with its first and last offset, its producer and its codec. Source: Kafka's
documentation, "Log Compaction"; Kafka's own cleaner drops markers, too, once nothing of their transaction is left.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from kwire import records
from kwire._codec import crc32c
from kwire.testing.records.log import Kept, PartitionLog
from kwire.testing.records.producer_state import Aborted
from kwire.testing.records.record_sets import compression_of

_MAGIC_AT, _CRC_AT, _ATTRIBUTES_AT, _LAST_DELTA_AT, _MAX_TIMESTAMP_AT = 16, 17, 22, 23, 35
_APPEND_TIME_BIT, _TRANSACTIONAL_BIT = 0x08, 0x10
_SEQUENCE_AT = 53


class Compaction:
    """Compacts one log before an offset; `tombstones` are the times (ms) from which on these may go, by offset."""

    def __init__(
        self, log: PartitionLog, aborted: Sequence[Aborted], *, before: int, now_ms: int, delete_retention: int
    ) -> None:
        self._log = log
        self._aborted = aborted
        self._before = before
        self._now_ms = now_ms
        self._delete_retention = delete_retention
        self._last: dict[bytes, int] = {}

    def run(self) -> None:
        """Leaves the log with what stays."""
        entries = [(each, records.decode(each.data)) for each in self._log.entries_before(self._before)]
        for _, decoded in entries:
            if not self._is_hidden(decoded):
                self._last.update((record.key, record.offset) for record in decoded if record.key is not None)
        kept = [stays for each, decoded in entries if (stays := self._cleaned(each, decoded)) is not None]
        self._log.replace_before(self._before, kept)
        left = {record.offset for each in kept for record in records.decode(each.data)}
        known = self._log.tombstones.items()
        self._log.tombstones = {at: deadline for at, deadline in known if at in left or at >= self._before}

    def _is_hidden(self, decoded: records.Records) -> bool:
        """Whether it is a marker, or the batch of an aborted transaction."""
        [batch] = decoded.batches
        return batch.is_control or any(
            each.producer_id == batch.producer_id and each.first_offset <= batch.base_offset < each.last_offset
            for each in self._aborted
        )

    def _cleaned(self, entry: Kept, decoded: records.Records) -> Kept | None:
        """What stays of an entry; None for nothing."""
        if decoded.batches[0].is_control:
            return entry
        end, is_hidden = self._log.end_offset - 1, self._is_hidden(decoded)
        staying = [each for each in decoded if each.offset == end or (not is_hidden and self._stays(each))]
        if not staying:
            return None
        return entry if len(staying) == len(decoded) else _written_anew(entry, staying)

    def _stays(self, record: records.Record) -> bool:
        if record.key is None or self._last.get(record.key) != record.offset:
            return False
        if record.value is not None:
            return True
        deadline = self._log.tombstones.setdefault(record.offset, self._now_ms + self._delete_retention)
        return self._now_ms <= deadline


def _written_anew(entry: Kept, staying: Sequence[records.Record]) -> Kept:
    old = memoryview(entry.data)
    magic, compression = old[_MAGIC_AT], compression_of(old)
    if magic < 2:
        data = records.encode(staying, magic=magic, compression=compression, keep_offsets=True)
        return Kept(data, staying[0].offset, staying[-1].offset, max(record.timestamp for record in staying))
    producer_id, epoch, sequence = struct.unpack_from(">qhi", old, _SEQUENCE_AT - 10)
    made = bytearray(
        records.encode(
            staying,
            compression=compression,
            base_offset=entry.base_offset,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=bool(old[_ATTRIBUTES_AT] & _TRANSACTIONAL_BIT),
            partition_leader_epoch=struct.unpack_from(">i", old, 12)[0],
            keep_offsets=True,
        )
    )
    made[_ATTRIBUTES_AT] |= old[_ATTRIBUTES_AT] & _APPEND_TIME_BIT
    struct.pack_into(">i", made, _LAST_DELTA_AT, entry.last_offset - entry.base_offset)
    struct.pack_into(">I", made, _CRC_AT, crc32c(memoryview(made)[_CRC_AT + 4 :]))
    (max_timestamp,) = struct.unpack_from(">q", made, _MAX_TIMESTAMP_AT)
    return Kept(made, entry.base_offset, entry.last_offset, max_timestamp)
