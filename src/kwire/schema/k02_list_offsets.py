"""ListOffsets (key 2), versions 0-11: offsets of partitions by time. The guides call it "Offsets".

`timestamp` is a time in ms since the epoch, or: -1 latest, -2 earliest, -3 of the greatest timestamp (v7, KIP-734),
-4 earliest that is still local (v8, KIP-405), -5 last that was tiered (v9, KIP-1005), -6 earliest that waits for its
upload (v11, KIP-1023). The answer is the first offset whose timestamp is not earlier.

    v0   up to max_num_offsets segment starts, descending, in old_style_offsets; the log's end first
    v1   one offset with its timestamp (KIP-79)
    v2   request: isolation_level; response: throttle_time_ms (KIP-98)
    v3   brokers answer before they throttle (KIP-219)
    v4   request: current_leader_epoch, which fences; response: leader_epoch (KIP-320)
    v5   OFFSET_NOT_AVAILABLE may be answered (KIP-207)
    v6   flexible (KIP-482)
    v7   timestamp -3
    v8   timestamp -4
    v9   timestamp -5
    v10  request: timeout_ms, for brokers that must ask the remote storage (KIP-1075)
    v11  timestamp -6

Sources: the protocol guides of 0.9 and 0.10.1 (v0-v1), Apache's definitions of 3.9.2 (v0-v9) and 4.4.0 (v1-v11).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i16, i32, i64, i64s, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ListOffsetsRequest", "ListOffsetsResponse"]


class ListOffsetsRequest(Request, key=2, versions="0-11", flexible="6+"):
    """Which times to look up. Clients send replica_id -1."""

    class ListOffsetsTopic(Struct):
        class ListOffsetsPartition(Struct):
            partition_index: int = i32("0+", default=0)
            current_leader_epoch: int = i32("4+", default=-1, ignorable=True)
            timestamp: int = i64("0+", default=0)
            max_num_offsets: int = i32("0", default=1)

        name: str = string("0+", default="")
        partitions: Sequence[ListOffsetsPartition] = array(ListOffsetsPartition, "0+", default=())

    replica_id: int = i32("0+", default=0)
    isolation_level: int = i8("2+", default=0)
    topics: Sequence[ListOffsetsTopic] = array(ListOffsetsTopic, "0+", default=())
    timeout_ms: int = i32("10+", default=0, ignorable=True)


class ListOffsetsResponse(Response, key=2, versions="0-11", flexible="6+"):
    """The offsets; -1 where no record is that late."""

    class ListOffsetsTopicResponse(Struct):
        class ListOffsetsPartitionResponse(Struct):
            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            old_style_offsets: Sequence[int] = i64s("0", default=())
            timestamp: int = i64("1+", default=-1)
            offset: int = i64("1+", default=-1)
            leader_epoch: int = i32("4+", default=-1)

        name: str = string("0+", default="")
        partitions: Sequence[ListOffsetsPartitionResponse] = array(ListOffsetsPartitionResponse, "0+", default=())

    throttle_time_ms: int = i32("2+", default=0, ignorable=True)
    topics: Sequence[ListOffsetsTopicResponse] = array(ListOffsetsTopicResponse, "0+", default=())
