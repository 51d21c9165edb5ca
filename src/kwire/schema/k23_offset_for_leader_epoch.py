"""OffsetForLeaderEpoch (key 23), versions 0-4: where the records of a leader epoch end (KIP-101).

    v1   response: leader_epoch (KIP-279)
    v2   request: current_leader_epoch, which fences; response: throttle_time_ms (KIP-320)
    v3   request: replica_id (KIP-392)
    v4   flexible (KIP-482)

Sources: Apache's definitions of 3.9.2 (v0-v4) and 4.4.0 (v2-v4).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["OffsetForLeaderEpochRequest", "OffsetForLeaderEpochResponse"]


class OffsetForLeaderEpochRequest(Request, key=23, versions="0-4", flexible="4+"):
    """Which epochs. Consumers send replica_id -1."""

    class OffsetForLeaderTopic(Struct):
        class OffsetForLeaderPartition(Struct):
            partition: int = i32("0+", default=0)
            current_leader_epoch: int = i32("2+", default=-1, ignorable=True)
            leader_epoch: int = i32("0+", default=0)

        topic: str = string("0+", default="")
        partitions: Sequence[OffsetForLeaderPartition] = array(OffsetForLeaderPartition, "0+", default=())

    replica_id: int = i32("3+", default=-2, ignorable=True)
    topics: Sequence[OffsetForLeaderTopic] = array(OffsetForLeaderTopic, "0+", default=())


class OffsetForLeaderEpochResponse(Response, key=23, versions="0-4", flexible="4+"):
    """The largest epoch up to the one asked, and its end offset; -1 where there is none."""

    class OffsetForLeaderTopicResult(Struct):
        class EpochEndOffset(Struct):
            error_code: int = i16("0+", default=0)
            partition: int = i32("0+", default=0)
            leader_epoch: int = i32("1+", default=-1, ignorable=True)
            end_offset: int = i64("0+", default=-1)

        topic: str = string("0+", default="")
        partitions: Sequence[EpochEndOffset] = array(EpochEndOffset, "0+", default=())

    throttle_time_ms: int = i32("2+", default=0, ignorable=True)
    topics: Sequence[OffsetForLeaderTopicResult] = array(OffsetForLeaderTopicResult, "0+", default=())
