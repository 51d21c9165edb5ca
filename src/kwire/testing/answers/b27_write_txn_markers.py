"""WriteTxnMarkers (key 27).

Behaviour
    Ends transactions in partitions by markers, without asking a coordinator: what brokers send to each other, and what
    Admin.abortTransaction sends for a transaction that no coordinator knows any more. A partition that does not exist
    is answered with UNKNOWN_TOPIC_OR_PARTITION, one that another node leads with NOT_LEADER_OR_FOLLOWER.

Version notes
    v2   transaction_version: from 2 on the marker's epoch must be a newer one than that of the producer's batches
         (KIP-1228)
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import ALTER, CLUSTER, CLUSTER_ACTION

Context = RequestContext[WriteTxnMarkersRequest]
_Marker = WriteTxnMarkersRequest.WritableTxnMarker
_Result = WriteTxnMarkersResponse.WritableTxnMarkerResult
_TopicResult = _Result.WritableTxnMarkerTopicResult
_PartitionResult = _TopicResult.WritableTxnMarkerPartitionResult


def answer(context: Context) -> WriteTxnMarkersResponse:
    """A code for each partition of each marker."""
    if not context.allows(ALTER, CLUSTER) and not context.allows(CLUSTER_ACTION, CLUSTER):
        return refuse(context, codes.CLUSTER_AUTHORIZATION_FAILED.code)
    return WriteTxnMarkersResponse(markers=[_result(context, marker) for marker in context.request.markers])


def refuse(context: Context, code: int) -> WriteTxnMarkersResponse:
    """Every partition answered with `code`."""
    return WriteTxnMarkersResponse(markers=[_result(context, marker, code) for marker in context.request.markers])


def _result(context: Context, marker: _Marker, refused_code: int | None = None) -> _Result:
    topics = [
        _TopicResult(
            name=topic.name,
            partitions=[
                _PartitionResult(
                    partition_index=index,
                    error_code=_code(context, marker, topic.name, index) if refused_code is None else refused_code,
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in marker.topics
    ]
    return _Result(producer_id=marker.producer_id, topics=topics)


def _code(context: Context, marker: _Marker, topic: str, index: int) -> int:
    try:
        partition = context.cluster.partition_led_by(context.node, topic, None, index)
        partition.end_transaction(
            marker.producer_id,
            marker.producer_epoch,
            commit=marker.transaction_result,
            coordinator_epoch=marker.coordinator_epoch,
            raises_epoch=marker.transaction_version >= 2,
            timestamp=context.cluster.clock(),
        )
    except BrokerError as refused:
        return refused.code
    context.cluster.appended(partition)
    return 0
