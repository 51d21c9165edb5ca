"""AddPartitionsToTxn (key 24).

Behaviour
    Makes partitions part of a transaction and begins it with the first ones. All or none: where a partition does not
    exist or may not be written to, it is told so, and the others are answered with OPERATION_NOT_ATTEMPTED.

Version notes
    v2   PRODUCER_FENCED; below it INVALID_PRODUCER_EPOCH
    v4   for brokers: several transactions; with verify_only nothing is added, and TRANSACTION_ABORTABLE is told of
         partitions that are not part of the transaction
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from kwire.testing.answers.transaction_requests import check_coordinator, code_told
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, CLUSTER_ACTION, TOPIC, TRANSACTIONAL_ID, WRITE
from kwire.testing.state.transactions import PartitionKey, ProducerIdAndEpoch

Context = RequestContext[AddPartitionsToTxnRequest]
_Asked = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
_Transaction = AddPartitionsToTxnResponse.AddPartitionsToTxnResult
_TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
_Result = _TopicResult.AddPartitionsToTxnPartitionResult

_FENCED_SINCE = 2
_BATCHED_SINCE = 4


def answer(context: Context) -> AddPartitionsToTxnResponse:
    """A code for each partition."""
    if context.version >= _BATCHED_SINCE and not context.allows(CLUSTER_ACTION, CLUSTER):
        return AddPartitionsToTxnResponse(error_code=codes.CLUSTER_AUTHORIZATION_FAILED.code)
    return _response(context, lambda asked: _codes(context, asked))


def refuse(context: Context, code: int) -> AddPartitionsToTxnResponse:
    """Every partition answered with `code`."""
    return _response(context, lambda asked: dict.fromkeys(_places(asked), code))


def _response(context: Context, codes_of: Callable[[_Asked], dict[PartitionKey, int]]) -> AddPartitionsToTxnResponse:
    if context.version >= _BATCHED_SINCE:
        results = [
            _Transaction(transactional_id=asked.transactional_id, topic_results=_topic_results(asked, codes_of(asked)))
            for asked in context.request.transactions
        ]
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    request = context.request
    asked = _Asked(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_topic_results(asked, codes_of(asked)))


def _topic_results(asked: _Asked, found: dict[PartitionKey, int]) -> list[Any]:
    return [
        _TopicResult(
            name=topic.name,
            results_by_partition=[
                _Result(partition_index=index, partition_error_code=found[topic.name, index])
                for index in topic.partitions
            ],
        )
        for topic in asked.topics
    ]


def _places(asked: _Asked) -> list[PartitionKey]:
    return [(topic.name, index) for topic in asked.topics for index in topic.partitions]


def _codes(context: Context, asked: _Asked) -> dict[PartitionKey, int]:
    places = _places(asked)
    if context.version < _BATCHED_SINCE and not context.allows(WRITE, TRANSACTIONAL_ID, asked.transactional_id):
        return dict.fromkeys(places, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code)
    if wrong := {place: code for place in places if (code := _code_of_place(context, place))}:
        return dict.fromkeys(places, codes.OPERATION_NOT_ATTEMPTED.code) | wrong
    producer = ProducerIdAndEpoch(asked.producer_id, asked.producer_epoch)
    if asked.verify_only:
        return {place: _verified(context, asked.transactional_id, producer, place) for place in places}
    try:
        check_coordinator(context, asked.transactional_id)
        context.cluster.transactions.add(asked.transactional_id, producer, places)
    except BrokerError as refused:
        return dict.fromkeys(places, code_told(context, refused, _FENCED_SINCE))
    return dict.fromkeys(places, 0)


def _code_of_place(context: Context, place: PartitionKey) -> int:
    if context.version < _BATCHED_SINCE and not context.allows(WRITE, TOPIC, place[0]):
        return codes.TOPIC_AUTHORIZATION_FAILED.code
    topic = context.cluster.topics.get(place[0])
    is_there = topic is not None and 0 <= place[1] < len(topic.partitions)
    return 0 if is_there else codes.UNKNOWN_TOPIC_OR_PARTITION.code


def _verified(context: Context, transactional_id: str, producer: ProducerIdAndEpoch, place: PartitionKey) -> int:
    try:
        check_coordinator(context, transactional_id)
        context.cluster.transactions.verify(transactional_id, producer, place)
    except BrokerError as refused:
        return refused.code
    return 0
