"""InitializeShareGroupState (key 83), version 0: begins the state of share partitions.

Brokers send it to the share coordinator, which keeps the state of share groups (KIP-932).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, i64, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["InitializeShareGroupStateRequest", "InitializeShareGroupStateResponse"]


class InitializeShareGroupStateRequest(Request, key=83, versions="0", flexible="0+"):
    """The partitions, with the epoch and the first offset of each."""

    class InitializeStateData(Struct):
        class PartitionData(Struct):
            partition: int = i32("0+", default=0)
            state_epoch: int = i32("0+", default=0)
            start_offset: int = i64("0+", default=0)

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    group_id: str = string("0+", default="")
    topics: Sequence[InitializeStateData] = array(InitializeStateData, "0+", default=())


class InitializeShareGroupStateResponse(Response, key=83, versions="0", flexible="0+"):
    """What became of each partition."""

    class InitializeStateResult(Struct):
        class PartitionResult(Struct):
            partition: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default=None, nullable="0+")

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[PartitionResult] = array(PartitionResult, "0+", default=())

    results: Sequence[InitializeStateResult] = array(InitializeStateResult, "0+", default=())
