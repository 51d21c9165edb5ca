"""DescribeTopicPartitions (key 75), version 0: partitions of topics, page by page (KIP-966).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, array, bool_, i16, i32, i32s, nullable_struct, string, uuid
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeTopicPartitionsRequest", "DescribeTopicPartitionsResponse"]

_NO_OPERATIONS = -(2**31)


class DescribeTopicPartitionsRequest(Request, key=75, versions="0", flexible="0+"):
    """Which topics, and where the last answer stopped."""

    class TopicRequest(Struct):
        name: str = string("0+", default="")

    class Cursor(Struct):
        topic_name: str = string("0+", default="")
        partition_index: int = i32("0+", default=0)

    topics: Sequence[TopicRequest] = array(TopicRequest, "0+", default=())
    response_partition_limit: int = i32("0+", default=2000)
    cursor: Cursor | None = nullable_struct(Cursor, "0+", default=None, nullable="0+")


class DescribeTopicPartitionsResponse(Response, key=75, versions="0", flexible="0+"):
    """Partitions with their eligible leaders; `next_cursor` None ends the list."""

    class DescribeTopicPartitionsResponseTopic(Struct):
        class DescribeTopicPartitionsResponsePartition(Struct):
            error_code: int = i16("0+", default=0)
            partition_index: int = i32("0+", default=0)
            leader_id: int = i32("0+", default=0)
            leader_epoch: int = i32("0+", default=-1, ignorable=True)
            replica_nodes: Sequence[int] = i32s("0+", default=())
            isr_nodes: Sequence[int] = i32s("0+", default=())
            eligible_leader_replicas: Sequence[int] | None = i32s("0+", default=None, nullable="0+")
            last_known_elr: Sequence[int] | None = i32s("0+", default=None, nullable="0+")
            offline_replicas: Sequence[int] = i32s("0+", default=(), ignorable=True)

        error_code: int = i16("0+", default=0)
        name: str | None = string("0+", default="", nullable="0+")
        topic_id: UUID = uuid("0+", default=NO_UUID, ignorable=True)
        is_internal: bool = bool_("0+", default=False, ignorable=True)
        partitions: Sequence[DescribeTopicPartitionsResponsePartition] = array(
            DescribeTopicPartitionsResponsePartition, "0+", default=()
        )
        topic_authorized_operations: int = i32("0+", default=_NO_OPERATIONS)

    class Cursor(Struct):
        topic_name: str = string("0+", default="")
        partition_index: int = i32("0+", default=0)

    throttle_time_ms: int = i32("0+", default=0, ignorable=True)
    topics: Sequence[DescribeTopicPartitionsResponseTopic] = array(
        DescribeTopicPartitionsResponseTopic, "0+", default=()
    )
    next_cursor: Cursor | None = nullable_struct(Cursor, "0+", default=None, nullable="0+")
