"""AlterPartitionReassignments (key 45), versions 0-1: moves partitions to other replicas, or takes that back (KIP-455).

    v1   allow_replication_factor_change, both directions (KIP-860)

Sources: Apache's definitions of 3.9.2 (v0) and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i16, i32, i32s, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["AlterPartitionReassignmentsRequest", "AlterPartitionReassignmentsResponse"]


class AlterPartitionReassignmentsRequest(Request, key=45, versions="0-1", flexible="0+"):
    """`replicas` None takes back a move that is in progress."""

    class ReassignableTopic(Struct):
        class ReassignablePartition(Struct):
            partition_index: int = i32("0+", default=0)
            replicas: Sequence[int] | None = i32s("0+", default=None, nullable="0+")

        name: str = string("0+", default="")
        partitions: Sequence[ReassignablePartition] = array(ReassignablePartition, "0+", default=())

    timeout_ms: int = i32("0+", default=60000)
    allow_replication_factor_change: bool = bool_("1+", default=True)
    topics: Sequence[ReassignableTopic] = array(ReassignableTopic, "0+", default=())


class AlterPartitionReassignmentsResponse(Response, key=45, versions="0-1", flexible="0+"):
    """What became of each partition."""

    class ReassignableTopicResponse(Struct):
        class ReassignablePartitionResponse(Struct):
            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default="", nullable="0+")

        name: str = string("0+", default="")
        partitions: Sequence[ReassignablePartitionResponse] = array(ReassignablePartitionResponse, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    allow_replication_factor_change: bool = bool_("1+", default=True, ignorable=True)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+")
    responses: Sequence[ReassignableTopicResponse] = array(ReassignableTopicResponse, "0+", default=())
