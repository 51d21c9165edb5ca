"""`__share_group_state`: what of a partition was delivered to a share group and acknowledged (KIP-932).

    key     type int16, then the fields of the key
    value   version int16, then the fields of the value (flexible from version 0 on); none deletes what the key names

    type 0  a snapshot of the whole state; type 1 a change to it

Source: Apache's definitions of 4.4.0 (version 0). The early access of 3.9 and 4.0 wrote a uint16 snapshot epoch under
the same version; such bytes are refused or misread.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i8, i16, i32, i64, string, uuid
from kwire.schema.logs.base import RecordKey, RecordValue
from kwire.schema.messages import Struct

__all__ = [
    "ShareSnapshotKey",
    "ShareSnapshotValue",
    "ShareUpdateKey",
    "ShareUpdateValue",
]


class ShareSnapshotKey(RecordKey, key=0, versions="0"):
    """Type 0: which group and partition."""

    group_id: str = string("0", default="")
    topic_id: UUID = uuid("0", default=NO_UUID)
    partition: int = i32("0", default=0)


class ShareSnapshotValue(RecordValue, key=0, versions="0", flexible="0+"):
    """The whole state. `delivery_state` of a batch: 0 available, 2 acknowledged, 4 archived."""

    class StateBatch(Struct):
        first_offset: int = i64("0+", default=0)
        last_offset: int = i64("0+", default=0)
        delivery_state: int = i8("0+", default=0)
        delivery_count: int = i16("0+", default=0)

    snapshot_epoch: int = i32("0+", default=0)
    state_epoch: int = i32("0+", default=0)
    leader_epoch: int = i32("0+", default=0)
    start_offset: int = i64("0+", default=0)
    delivery_complete_count: int = i32("0+", default=-1, tag=0)
    create_timestamp: int = i64("0+", default=0)
    write_timestamp: int = i64("0+", default=0)
    state_batches: Sequence[StateBatch] = array(StateBatch, "0+", default=())


class ShareUpdateKey(RecordKey, key=1, versions="0"):
    """Type 1: which group and partition."""

    group_id: str = string("0", default="")
    topic_id: UUID = uuid("0", default=NO_UUID)
    partition: int = i32("0", default=0)


class ShareUpdateValue(RecordValue, key=1, versions="0", flexible="0+"):
    """The batches that changed since the snapshot of this epoch."""

    class StateBatch(Struct):
        first_offset: int = i64("0+", default=0)
        last_offset: int = i64("0+", default=0)
        delivery_state: int = i8("0+", default=0)
        delivery_count: int = i16("0+", default=0)

    snapshot_epoch: int = i32("0+", default=0)
    leader_epoch: int = i32("0+", default=0)
    start_offset: int = i64("0+", default=0)
    delivery_complete_count: int = i32("0+", default=-1, tag=0)
    state_batches: Sequence[StateBatch] = array(StateBatch, "0+", default=())
