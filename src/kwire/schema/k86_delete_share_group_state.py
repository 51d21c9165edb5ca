"""DeleteShareGroupState (key 86), version 0: deletes the state of share partitions.

Brokers send it to the share coordinator, which keeps the state of share groups (KIP-932).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, i16, i32, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DeleteShareGroupStateRequest", "DeleteShareGroupStateResponse"]


class DeleteShareGroupStateRequest(Request, key=86, versions="0", flexible="0+"):
    """Which partitions."""

    class DeleteStateData(Struct):
        class PartitionData(Struct):
            partition: int = i32("0+", default=0)

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[PartitionData] = array(PartitionData, "0+", default=())

    group_id: str = string("0+", default="")
    topics: Sequence[DeleteStateData] = array(DeleteStateData, "0+", default=())


class DeleteShareGroupStateResponse(Response, key=86, versions="0", flexible="0+"):
    """What became of each partition."""

    class DeleteStateResult(Struct):
        class PartitionResult(Struct):
            partition: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default=None, nullable="0+")

        topic_id: UUID = uuid("0+", default=NO_UUID)
        partitions: Sequence[PartitionResult] = array(PartitionResult, "0+", default=())

    results: Sequence[DeleteStateResult] = array(DeleteStateResult, "0+", default=())
