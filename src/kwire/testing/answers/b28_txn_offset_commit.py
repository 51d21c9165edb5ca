"""TxnOffsetCommit (key 28).

Behaviour
    Holds offsets of a group until the producer's transaction ends: they are the group's once it is committed, dropped
    when it is aborted. Before that a reader that asks for stable offsets is told UNSTABLE_OFFSET_COMMIT. From 3.6 on
    the offsets of the group must be part of the transaction (AddOffsetsToTxn): else INVALID_TXN_STATE. The group is
    checked as by OffsetCommit, but for a commit that names neither a member nor a generation.

Version notes
    v3   member, instance and generation (KIP-447)
    v4   TRANSACTION_ABORTABLE instead of INVALID_TXN_STATE
    v5   the offsets become part of the transaction by this request; until then a transaction that is about to end is
         told as COORDINATOR_LOAD_IN_PROGRESS, from here on as CONCURRENT_TRANSACTIONS
    v6   topics by id; STALE_MEMBER_EPOCH for a member of another epoch, below it ILLEGAL_GENERATION
"""

from __future__ import annotations

from collections.abc import Callable

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from kwire.testing.answers.group_coordinator import check_coordinator
from kwire.testing.groups.offsets import Committed
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import GROUP as GROUP_RESOURCE
from kwire.testing.state.authorizer import READ, TRANSACTIONAL_ID, WRITE
from kwire.testing.state.coordinators import GROUP
from kwire.testing.state.partition import Partition
from kwire.testing.state.transactions import OFFSETS_TOPIC, ProducerIdAndEpoch

Context = RequestContext[TxnOffsetCommitRequest]
_Topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
_Asked = _Topic.TxnOffsetCommitRequestPartition
_TopicResult = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
_Result = _TopicResult.TxnOffsetCommitResponsePartition

_ABORTABLE_SINCE = 4
_ADDS_OFFSETS_SINCE = 5
_MEMBER_EPOCHS_SINCE = 6


def answer(context: Context) -> TxnOffsetCommitResponse:
    """Holds what may be held."""
    group_code = 0
    if any(_find(context, topic, each) for topic in context.request.topics for each in topic.partitions):
        try:
            _check(context)
        except BrokerError as refused:
            group_code = _code_told(refused.code, context.version)
    return _results(context, lambda topic, asked: _hold(context, topic, asked, group_code))


def refuse(context: Context, code: int) -> TxnOffsetCommitResponse:
    """Every partition answered with `code`."""
    return _results(context, lambda topic, asked: code)


def _results(context: Context, code_of: Callable[[_Topic, _Asked], int]) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            _TopicResult(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    _Result(partition_index=each.partition_index, error_code=code_of(topic, each))
                    for each in topic.partitions
                ],
            )
            for topic in context.request.topics
        ]
    )


def _find(context: Context, topic: _Topic, asked: _Asked) -> Partition | None:
    try:
        context.require_topic(READ, topic.name, topic.topic_id)
        return context.cluster.partition(topic.name, topic.topic_id, asked.partition_index)
    except BrokerError:
        return None


def _check(context: Context) -> None:
    """Raises BrokerError unless the producer and the member may commit for the group."""
    request = context.request
    context.require(WRITE, TRANSACTIONAL_ID, request.transactional_id)
    context.require(READ, GROUP_RESOURCE, request.group_id)
    if not request.group_id:
        raise codes.INVALID_GROUP_ID("a group id is empty")
    check_coordinator(context, request.group_id)
    _check_transaction(context)
    context.cluster.groups.check_transactional_commit(
        request.group_id, request.member_id, request.group_instance_id, request.generation_id_or_member_epoch
    )


def _check_transaction(context: Context) -> None:
    request, transactions = context.request, context.cluster.transactions
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    place = OFFSETS_TOPIC, context.cluster.coordinators.slot(GROUP, request.group_id).slot
    if context.version >= _ADDS_OFFSETS_SINCE:
        transactions.add(request.transactional_id, producer, [place])
    elif context.release.verifies_transactions:
        transactions.verify(request.transactional_id, producer, place)


def _code_told(code: int, version: int) -> int:
    """The coordinator's error as the version has it."""
    if code == codes.PRODUCER_FENCED.code:
        return codes.INVALID_PRODUCER_EPOCH.code
    if code == codes.TRANSACTION_ABORTABLE.code and version < _ABORTABLE_SINCE:
        return codes.INVALID_TXN_STATE.code
    if code == codes.STALE_MEMBER_EPOCH.code and version < _MEMBER_EPOCHS_SINCE:
        return codes.ILLEGAL_GENERATION.code
    if code == codes.CONCURRENT_TRANSACTIONS.code and version < _ADDS_OFFSETS_SINCE:
        return codes.COORDINATOR_LOAD_IN_PROGRESS.code
    return code


def _hold(context: Context, topic: _Topic, asked: _Asked, group_code: int) -> int:
    cluster, request = context.cluster, context.request
    try:
        context.require_topic(READ, topic.name, topic.topic_id)
        found = cluster.partition(topic.name, topic.topic_id, asked.partition_index)
    except BrokerError as refused:
        return refused.code
    if group_code:
        return group_code
    metadata = asked.committed_metadata or ""
    if len(metadata) > cluster.properties.offset_metadata_max_bytes:
        return codes.OFFSET_METADATA_TOO_LARGE.code
    committed = Committed(asked.committed_offset, asked.committed_leader_epoch, metadata, cluster.clock())
    cluster.groups.offsets.add_pending(request.producer_id, request.group_id, found.topic.name, found.index, committed)
    return 0
