"""WriteTxnMarkers (key 27), versions 0-2: a transaction coordinator ends transactions in partitions by markers
(KIP-98).

    v1   flexible (KIP-482)
    v2   request: transaction_version (KIP-1228)

Sources: Apache's definitions of 3.9.2 (v0-v1) and 4.4.0 (v1-v2).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, i8, i16, i32, i32s, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["WriteTxnMarkersRequest", "WriteTxnMarkersResponse"]


class WriteTxnMarkersRequest(Request, key=27, versions="0-2", flexible="1+"):
    """`transaction_result`: True commits, False aborts."""

    class WritableTxnMarker(Struct):
        class WritableTxnMarkerTopic(Struct):
            name: str = string("0+", default="")
            partition_indexes: Sequence[int] = i32s("0+", default=())

        producer_id: int = i64("0+", default=0)
        producer_epoch: int = i16("0+", default=0)
        transaction_result: bool = bool_("0+", default=False)
        topics: Sequence[WritableTxnMarkerTopic] = array(WritableTxnMarkerTopic, "0+", default=())
        coordinator_epoch: int = i32("0+", default=0)
        transaction_version: int = i8("2+", default=0, ignorable=True)

    markers: Sequence[WritableTxnMarker] = array(WritableTxnMarker, "0+", default=())


class WriteTxnMarkersResponse(Response, key=27, versions="0-2", flexible="1+"):
    """What became of each partition of each producer."""

    class WritableTxnMarkerResult(Struct):
        class WritableTxnMarkerTopicResult(Struct):
            class WritableTxnMarkerPartitionResult(Struct):
                partition_index: int = i32("0+", default=0)
                error_code: int = i16("0+", default=0)

            name: str = string("0+", default="")
            partitions: Sequence[WritableTxnMarkerPartitionResult] = array(
                WritableTxnMarkerPartitionResult, "0+", default=()
            )

        producer_id: int = i64("0+", default=0)
        topics: Sequence[WritableTxnMarkerTopicResult] = array(WritableTxnMarkerTopicResult, "0+", default=())

    markers: Sequence[WritableTxnMarkerResult] = array(WritableTxnMarkerResult, "0+", default=())
