"""Control batches: the markers that end a transaction in a partition, as Kafka writes and reads them.

    batch   attributes transactional and control, base sequence -1, one record
    key     version i16 = 0, type i16: 0 abort, 1 commit
    value   version i16 = 0, coordinator epoch i32
Source: KIP-98. Bytes only: what a marker does to a partition is in `producer_state.py`.
"""

from __future__ import annotations

import struct

from kwire import records
from kwire.testing.records.record_sets import Entry

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
_ABORT, _COMMIT = 0, 1


def end_marker(producer_id: int, epoch: int, committed: bool, coordinator_epoch: int, timestamp: int) -> Entry:
    """A batch that commits or aborts the transaction of a producer, of the time `timestamp` (ms)."""
    key = _KEY.pack(0, _COMMIT if committed else _ABORT)
    data = records.encode(
        [(_VALUE.pack(0, coordinator_epoch), key, timestamp)],
        producer_id=producer_id,
        producer_epoch=epoch,
        is_transactional=True,
        is_control=True,
    )
    return Entry(
        bytearray(data),
        magic=2,
        compression="none",
        count=1,
        max_timestamp=timestamp,
        transactional=True,
        control=True,
        producer_id=producer_id,
        producer_epoch=epoch,
    )


def read_marker(entry: Entry) -> tuple[bool, int] | None:
    """(committed, coordinator epoch) of a control batch; None for one that ends no transaction."""
    [record] = records.decode(entry.data)
    if record.key is None or record.value is None or len(record.key) < _KEY.size:
        return None
    _, kind = _KEY.unpack_from(record.key)
    if kind not in (_ABORT, _COMMIT) or len(record.value) < _VALUE.size:
        return None
    return kind == _COMMIT, _VALUE.unpack_from(record.value)[1]
