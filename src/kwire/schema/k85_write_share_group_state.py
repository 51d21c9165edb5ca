"""WriteShareGroupState (key 85), versions 0-1: writes the state of share partitions.

Brokers send it to the share coordinator, which keeps the state of share groups (KIP-932).

    v1   request: delivery_complete_count (KIP-1226)

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i8, i16, i32, i64, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["WriteShareGroupStateRequest", "WriteShareGroupStateResponse"]


class WriteShareGroupStateRequest(Request, key=85, versions="0-1", flexible="0+"):
    """The first offset, and the records delivered but not done."""

    class WriteStateData(Struct):
        class PartitionData(Struct):
            class StateBatch(Struct):
                first_offset: int = i64("0+", default=0)
                last_offset: int = i64("0+", default=0)
                delivery_state: int = i8("0+", default=0)
                delivery_count: int = i16("0+", default=0)

            partition: int = i32("0+", default=0)
            state_epoch: int = i32("0+", default=0)
            leader_epoch: int = i32("0+", default=0)
            start_offset: int = i64("0+", default=0)
            delivery_complete_count: int = i32("1+", default=-1, ignorable=True)
            state_batches: Sequence[StateBatch] = array(StateBatch, "0+", default=())

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    group_id: str = string("0+", default="")
    topics: Sequence[WriteStateData] = array(WriteStateData, "0+", default=())


class WriteShareGroupStateResponse(Response, key=85, versions="0-1", flexible="0+"):
    """What became of each partition."""

    class WriteStateResult(Struct):
        class PartitionResult(Struct):
            partition: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default=None, nullable="0+")

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[PartitionResult] = array(PartitionResult, "0+", default=())

    results: Sequence[WriteStateResult] = array(WriteStateResult, "0+", default=())
