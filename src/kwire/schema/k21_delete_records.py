"""DeleteRecords (key 21), versions 0-2: cuts off the beginning of partitions (KIP-107).

    v1   brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v2).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DeleteRecordsRequest", "DeleteRecordsResponse"]


class DeleteRecordsRequest(Request, key=21, versions="0-2", flexible="2+"):
    """Up to which offset; -1 is the high watermark. Sent to the leaders."""

    class DeleteRecordsTopic(Struct):
        class DeleteRecordsPartition(Struct):
            partition_index: int = i32("0+", default=0)
            offset: int = i64("0+", default=0)

        name: str = string("0+", default="")
        partitions: Sequence[DeleteRecordsPartition] = array(DeleteRecordsPartition, "0+", default=())

    topics: Sequence[DeleteRecordsTopic] = array(DeleteRecordsTopic, "0+", default=())
    timeout_ms: int = i32("0+", default=0)


class DeleteRecordsResponse(Response, key=21, versions="0-2", flexible="2+"):
    """The new first offset of each partition."""

    class DeleteRecordsTopicResult(Struct):
        class DeleteRecordsPartitionResult(Struct):
            partition_index: int = i32("0+", default=0)
            low_watermark: int = i64("0+", default=0)
            error_code: int = i16("0+", default=0)

        name: str = string("0+", default="")
        partitions: Sequence[DeleteRecordsPartitionResult] = array(DeleteRecordsPartitionResult, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    topics: Sequence[DeleteRecordsTopicResult] = array(DeleteRecordsTopicResult, "0+", default=())
