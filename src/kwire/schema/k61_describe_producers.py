"""DescribeProducers (key 61), version 0: the producers that have written to partitions (KIP-664).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, i32s, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeProducersRequest", "DescribeProducersResponse"]


class DescribeProducersRequest(Request, key=61, versions="0", flexible="0+"):
    """Which partitions; sent to their leaders."""

    class TopicRequest(Struct):
        name: str = string("0+", default="")
        partition_indexes: Sequence[int] = i32s("0+", default=())

    topics: Sequence[TopicRequest] = array(TopicRequest, "0+", default=())


class DescribeProducersResponse(Response, key=61, versions="0", flexible="0+"):
    """The producers as the leader remembers them. Times in ms."""

    class TopicResponse(Struct):
        class PartitionResponse(Struct):
            class ProducerState(Struct):
                producer_id: int = i64("0+", default=0)
                producer_epoch: int = i32("0+", default=0)
                last_sequence: int = i32("0+", default=-1)
                last_timestamp: int = i64("0+", default=-1)
                coordinator_epoch: int = i32("0+", default=0)
                current_txn_start_offset: int = i64("0+", default=-1)

            partition_index: int = i32("0+", default=0)
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default=None, nullable="0+")
            active_producers: Sequence[ProducerState] = array(ProducerState, "0+", default=())

        name: str = string("0+", default="")
        partitions: Sequence[PartitionResponse] = array(PartitionResponse, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    topics: Sequence[TopicResponse] = array(TopicResponse, "0+", default=())
