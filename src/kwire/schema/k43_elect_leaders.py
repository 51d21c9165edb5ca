"""ElectLeaders (key 43), versions 0-2: elects leaders of partitions (KIP-183).

    v1   request: election_type; response: error_code of the whole (KIP-460)
    v2   flexible (KIP-482)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v2).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i16, i32, i32s, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ElectLeadersRequest", "ElectLeadersResponse"]


class ElectLeadersRequest(Request, key=43, versions="0-2", flexible="2+"):
    """`election_type`: 0 preferred, 1 unclean. Partitions None means all."""

    class TopicPartitions(Struct):
        topic: str = string("0+", default="")
        partitions: Sequence[int] = i32s("0+", default=())

    election_type: int = i8("1+", default=0)
    topic_partitions: Sequence[TopicPartitions] | None = array(TopicPartitions, "0+", default=(), nullable="0+")
    timeout_ms: int = i32("0+", default=60000)


class ElectLeadersResponse(Response, key=43, versions="0-2", flexible="2+"):
    """What became of each partition."""

    class ReplicaElectionResult(Struct):
        class PartitionResult(Struct):
            partition_id: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default="", nullable="0+")

        topic: str = string("0+", default="")
        partition_result: Sequence[PartitionResult] = array(PartitionResult, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("1+", default=0)
    replica_election_results: Sequence[ReplicaElectionResult] = array(ReplicaElectionResult, "0+", default=())
