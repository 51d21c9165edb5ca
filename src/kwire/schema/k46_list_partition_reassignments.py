"""ListPartitionReassignments (key 46), version 0: which partitions are on the move (KIP-455).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, i32s, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ListPartitionReassignmentsRequest", "ListPartitionReassignmentsResponse"]


class ListPartitionReassignmentsRequest(Request, key=46, versions="0", flexible="0+"):
    """Which partitions; None asks for all."""

    class ListPartitionReassignmentsTopics(Struct):
        name: str = string("0+", default="")
        partition_indexes: Sequence[int] = i32s("0+", default=())

    timeout_ms: int = i32("0+", default=60000)
    topics: Sequence[ListPartitionReassignmentsTopics] | None = array(
        ListPartitionReassignmentsTopics, "0+", default=None, nullable="0+"
    )


class ListPartitionReassignmentsResponse(Response, key=46, versions="0", flexible="0+"):
    """The replicas of each partition that moves, those that come and those that go."""

    class OngoingTopicReassignment(Struct):
        class OngoingPartitionReassignment(Struct):
            partition_index: int = i32("0+", default=0)
            replicas: Sequence[int] = i32s("0+", default=())
            adding_replicas: Sequence[int] = i32s("0+", default=())
            removing_replicas: Sequence[int] = i32s("0+", default=())

        name: str = string("0+", default="")
        partitions: Sequence[OngoingPartitionReassignment] = array(OngoingPartitionReassignment, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+")
    topics: Sequence[OngoingTopicReassignment] = array(OngoingTopicReassignment, "0+", default=())
