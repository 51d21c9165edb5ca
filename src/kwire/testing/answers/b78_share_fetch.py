"""ShareFetch (key 78).

Behaviour
    Acknowledges records, then acquires others, in a share session (see groups/shares.py). The answer waits until there
    is something to acquire in one of the session's partitions, or something to tell, or max_wait_ms have passed. It has
    whole batches; only the acquired offsets among them are the member's. Partitions take turns at being first.

    INVALID_REQUEST        acknowledgements with epoch 0, or that make no sense; a renewal that fetches, too
    INVALID_RECORD_STATE   the member does not hold the records: nothing of the partition is acknowledged
    UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER: by partition

Version notes
    v1   max_records, and batch_size: how many records an acquired range should have
    v2   is_renew_ack: acknowledgement type 4 extends the lock (KIP-1222); share_acquire_mode 1 keeps to max_records,
         mode 0 takes the rest of the batch, too
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from uuid import UUID

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import ShareFetchRequest, ShareFetchResponse
from kwire.testing.answers.acknowledgements import Context as AnyContext
from kwire.testing.answers.acknowledgements import acknowledge, check_member, name_leaders, share_partition
from kwire.testing.groups.share_partition import Limits, SharePartition
from kwire.testing.groups.shares import LAST_OF_SESSION, NEW_SESSION, ShareSession, TopicIdPartition
from kwire.testing.requests import Flow, RequestContext, Suspend

Context = RequestContext[ShareFetchRequest]
_Topic = ShareFetchResponse.ShareFetchableTopicResponse
_Row = _Topic.PartitionData
_Rows = dict[TopicIdPartition, _Row]
_STRICT = 1


def answer(context: Context) -> Flow[ShareFetchResponse]:
    """Acknowledges, waits, acquires."""
    request = context.request
    try:
        group_id, member_id = check_member(context)
        _check_request(request)
        session = _session(context, group_id, member_id)
    except BrokerError as refused:
        return ShareFetchResponse(error_code=refused.code, error_message=refused.context or refused.text)
    rows: _Rows = {}
    _acknowledge(context, group_id, member_id, rows)
    if request.share_session_epoch == LAST_OF_SESSION:
        context.cluster.groups.shares.end(context.node, group_id, member_id)
    elif not request.is_renew_ack:
        yield from _wait(context, group_id, session)
        _fetch(context, group_id, member_id, session, rows)
    return _response(context, rows)


def refuse(context: Context, code: int) -> ShareFetchResponse:
    """The error of the whole answer."""
    return ShareFetchResponse(error_code=code)


def _check_request(request: ShareFetchRequest) -> None:
    acknowledges = any(each.acknowledgement_batches for topic in request.topics for each in topic.partitions)
    if request.share_session_epoch == NEW_SESSION and acknowledges:
        raise codes.INVALID_REQUEST("a new share session has nothing to acknowledge")
    fetches = request.max_wait_ms or request.min_bytes or request.max_bytes or request.max_records
    if request.is_renew_ack and fetches:
        raise codes.INVALID_REQUEST("a request that renews locks cannot fetch")


def _session(context: Context, group_id: str, member_id: str) -> ShareSession:
    request, shares = context.request, context.cluster.groups.shares
    if request.share_session_epoch == NEW_SESSION:
        session = shares.begin(context.node, group_id, member_id)
        context.session.on_close.append(partial(shares.end, context.node, group_id, member_id, session))
    else:
        session = shares.go_on(context.node, group_id, member_id, request.share_session_epoch)
    for topic in request.forgotten_topics_data:
        for index in topic.partitions:
            session.partitions.pop((topic.topic_id, index), None)
    for wanted in request.topics:
        for each in wanted.partitions:
            session.partitions.setdefault((wanted.topic_id, each.partition_index))
    return session


def _acknowledge(context: Context, group_id: str, member_id: str, rows: _Rows) -> None:
    for topic in context.request.topics:
        for each in topic.partitions:
            if not each.acknowledgement_batches:
                continue
            row = rows.setdefault((topic.topic_id, each.partition_index), _Row(partition_index=each.partition_index))
            refused = acknowledge(
                context, group_id, member_id, topic.topic_id, each.partition_index, each.acknowledgement_batches
            )
            if refused is not None:
                row.acknowledge_error_code = refused.code
                row.acknowledge_error_message = refused.context or refused.text


def _wait(context: Context, group_id: str, session: ShareSession) -> Flow[None]:
    until = context.now() + max(context.request.max_wait_ms, 0) / 1000
    while session.partitions and context.now() < until:
        try:
            shared = list(_shared(context, group_id, session))
        except BrokerError:
            return
        if any(each.has_more() for each in shared):
            return
        yield Suspend(until, frozenset([*shared, *(each.partition for each in shared)]))


def _shared(context: AnyContext, group_id: str, session: ShareSession) -> Iterator[SharePartition]:
    for topic_id, index in session.partitions:
        yield share_partition(context, group_id, topic_id, index)


def _fetch(context: Context, group_id: str, member_id: str, session: ShareSession, rows: _Rows) -> None:
    request = context.request
    bytes_left = request.max_bytes
    records_left = request.max_records if context.version >= 1 else 2**31 - 1
    strict = request.share_acquire_mode == _STRICT
    for key in _in_turn(session):
        row = rows.get(key, _Row(partition_index=key[1]))
        try:
            found = share_partition(context, group_id, *key)
            limits = Limits(bytes_left, records_left, request.batch_size, strict)
            data, acquired = found.acquire(member_id, limits) if bytes_left > 0 else (b"", [])
        except BrokerError as refused:
            row.error_code, row.error_message = refused.code, refused.context or refused.text
            rows[key] = row
            continue
        row.records = data
        row.acquired_records = [
            _Row.AcquiredRecords(first_offset=each.first, last_offset=each.last, delivery_count=each.deliveries)
            for each in acquired
        ]
        bytes_left -= len(data)
        records_left -= sum(each.last - each.first + 1 for each in acquired)
        if acquired or request.share_session_epoch == NEW_SESSION:
            rows[key] = row


def _in_turn(session: ShareSession) -> list[TopicIdPartition]:
    keys = list(session.partitions)
    first = session.epoch % len(keys) if keys else 0
    return keys[first:] + keys[:first]


def _response(context: Context, rows: _Rows) -> ShareFetchResponse:
    topics: dict[UUID, list[_Row]] = {}
    for (topic_id, _), row in rows.items():
        topics.setdefault(topic_id, []).append(row)
    configs = context.cluster.groups.configs
    response = ShareFetchResponse(
        acquisition_lock_timeout_ms=configs.number(context.request.group_id or "", "share.record.lock.duration.ms"),
        responses=[_Topic(topic_id=topic_id, partitions=each) for topic_id, each in topics.items()],
    )
    name_leaders(context, response, ShareFetchResponse.NodeEndpoint)
    return response
