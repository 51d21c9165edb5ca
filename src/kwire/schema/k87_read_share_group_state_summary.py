"""ReadShareGroupStateSummary (key 87), versions 0-1: the state of share partitions without their records.

Brokers send it to the share coordinator, which keeps the state of share groups (KIP-932).
v0 of the response has leader_epoch as 4.x has it; the early access of 3.9 lacked it.

    v1   response: delivery_complete_count (KIP-1226)

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i64, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ReadShareGroupStateSummaryRequest", "ReadShareGroupStateSummaryResponse"]


class ReadShareGroupStateSummaryRequest(Request, key=87, versions="0-1", flexible="0+"):
    """Which partitions."""

    class ReadStateSummaryData(Struct):
        class PartitionData(Struct):
            partition: int = i32("0+", default=0)
            leader_epoch: int = i32("0+", default=0)

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    group_id: str = string("0+", default="")
    topics: Sequence[ReadStateSummaryData] = array(ReadStateSummaryData, "0+", default=())


class ReadShareGroupStateSummaryResponse(Response, key=87, versions="0-1", flexible="0+"):
    """Epochs and the first offset of each."""

    class ReadStateSummaryResult(Struct):
        class PartitionResult(Struct):
            partition: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default=None, nullable="0+")
            state_epoch: int = i32("0+", default=0)
            leader_epoch: int = i32("0+", default=0)
            start_offset: int = i64("0+", default=0)
            delivery_complete_count: int = i32("1+", default=-1, ignorable=True)

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[PartitionResult] = array(PartitionResult, "0+", default=())

    results: Sequence[ReadStateSummaryResult] = array(ReadStateSummaryResult, "0+", default=())
