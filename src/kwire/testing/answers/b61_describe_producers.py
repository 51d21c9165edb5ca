"""DescribeProducers (key 61).

Behaviour
    The idempotent and transactional producers that have written to a partition, with their last batch and their open
    transaction.

Version notes
    only v0
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import DescribeProducersRequest, DescribeProducersResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import READ, TOPIC
from kwire.testing.state.partition import check_topic_name

Context = RequestContext[DescribeProducersRequest]
_Topic = DescribeProducersResponse.TopicResponse
_Partition = _Topic.PartitionResponse
_Producer = _Partition.ProducerState


def answer(context: Context) -> DescribeProducersResponse:
    """The producers of each partition."""
    return DescribeProducersResponse(
        topics=[
            _Topic(
                name=topic.name,
                partitions=[_partition(context, topic.name, index) for index in topic.partition_indexes],
            )
            for topic in context.request.topics
        ]
    )


def refuse(context: Context, code: int) -> DescribeProducersResponse:
    """Every partition answered with `code`."""
    return DescribeProducersResponse(
        topics=[
            _Topic(
                name=topic.name,
                partitions=[_Partition(partition_index=index, error_code=code) for index in topic.partition_indexes],
            )
            for topic in context.request.topics
        ]
    )


def _partition(context: Context, topic: str, index: int) -> _Partition:
    try:
        check_topic_name(topic)
        context.require(READ, TOPIC, topic)
        partition = context.cluster.partition_led_by(context.node, topic, None, index)
    except BrokerError as refused:
        return _Partition(partition_index=index, error_code=refused.code, error_message=refused.context)
    return _Partition(
        partition_index=index,
        active_producers=[
            _Producer(
                producer_id=producer_id,
                producer_epoch=each.epoch,
                last_sequence=each.last_sequence,
                last_timestamp=each.last_timestamp,
                coordinator_epoch=each.coordinator_epoch,
                current_txn_start_offset=-1 if each.transaction_start is None else each.transaction_start,
            )
            for producer_id, each in partition.producers
        ],
    )
