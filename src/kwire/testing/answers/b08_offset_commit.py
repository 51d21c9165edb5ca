"""OffsetCommit (key 8).

Behaviour
    Without a partition that exists the group is not looked at.
    Stores the offsets of a group: of a member in its generation, or of anyone (generation -1, no member id) while the
    group has no members; such a commit makes a group that does not exist. A commit extends the member's session. Each
    partition has its own error, the first of these that fits:

    UNKNOWN_TOPIC_OR_PARTITION   the topic (from 0.9 on) or the partition (from 2.0 on) is missing; by id
                                 UNKNOWN_TOPIC_ID
    UNKNOWN_MEMBER_ID            not a member, or no member where the group has some
    FENCED_INSTANCE_ID           the instance is another member now
    ILLEGAL_GENERATION           another generation than the group's, or no such group (v9 from 4.0 on:
                                 GROUP_ID_NOT_FOUND)
    REBALANCE_IN_PROGRESS        the assignment of the generation is not there yet
    OFFSET_METADATA_TOO_LARGE    above `offset_metadata_max_bytes` characters

Version notes
    v0     stored in ZooKeeper, apart from what Kafka stores, without metadata; there are no members and no coordinator
    v1     the commit time of each partition, from which its retention is counted
    v2-4   retention_time_ms; -1 is the broker's setting
    v6     committed_leader_epoch; v7 group_instance_id
    v9     member epochs of KIP-848: STALE_MEMBER_EPOCH; from 4.3 on an older one is taken, too, for partitions that the
           member has had since then (KIP-1251)
    v10    topics by id
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import OffsetCommitRequest, OffsetCommitResponse
from kwire.schema.fields import NO_UUID
from kwire.testing.answers.group_coordinator import check_coordinator
from kwire.testing.groups.offsets import Committed
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import GROUP, READ

Context = RequestContext[OffsetCommitRequest]
_Topic = OffsetCommitRequest.OffsetCommitRequestTopic
_Partition = OffsetCommitRequest.OffsetCommitRequestTopic.OffsetCommitRequestPartition
_TopicResult = OffsetCommitResponse.OffsetCommitResponseTopic
_Result = OffsetCommitResponse.OffsetCommitResponseTopic.OffsetCommitResponsePartition


def answer(context: Context) -> OffsetCommitResponse:
    """Stores what may be stored."""
    group_code = 0
    try:
        context.require(READ, GROUP, context.request.group_id)
    except BrokerError as refused:
        return refuse(context, refused.code)
    if context.version > 0 and any(_partitions(context)):
        try:
            _check_group(context)
        except BrokerError as refused:
            group_code = refused.code
    return _results(context, lambda topic, partition: _commit(context, topic, partition, group_code))


def refuse(context: Context, code: int) -> OffsetCommitResponse:
    """Every partition answered with `code`."""
    return _results(context, lambda topic, partition: code)


def _results(context: Context, code_of: Callable[[_Topic, _Partition], int]) -> OffsetCommitResponse:
    return OffsetCommitResponse(
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


def _partitions(context: Context) -> Iterator[tuple[UUID, int]]:
    """Those of the request that exist."""
    for topic in context.request.topics:
        for each in topic.partitions:
            try:
                yield _found(context, topic, each.partition_index)[1]
            except BrokerError:
                continue


def _found(context: Context, topic: _Topic, partition: int) -> tuple[str, tuple[UUID, int]]:
    """(name, (id, partition)) of a partition for which offsets may be committed. Raises BrokerError."""
    if context.release.checks_committed_partitions:
        context.cluster.partition(topic.name, topic.topic_id, partition)
    if context.version > 0 and not context.release.checks_committed_topics:
        return topic.name, (NO_UUID, partition)
    found = context.cluster.topic(topic.name, topic.topic_id)
    return found.name, (found.topic_id, partition)


def _check_group(context: Context) -> None:
    request, groups = context.request, context.cluster.groups
    check_coordinator(context, request.group_id)
    generation = request.generation_id_or_member_epoch
    if generation < 0 and request.group_id not in groups.by_id:
        groups.find_or_make_classic(request.group_id)
    try:
        group = groups.find(request.group_id)
    except codes.GROUP_ID_NOT_FOUND as missing:
        if context.version >= 9 and context.release.has_new_coordinator:
            raise
        raise codes.ILLEGAL_GENERATION(missing.context) from missing
    group.check_commit(
        request.member_id,
        request.group_instance_id,
        generation,
        version=context.version,
        partitions=frozenset(_partitions(context)) if context.release.takes_older_epochs else None,
    )


def _commit(context: Context, topic: _Topic, partition: _Partition, group_code: int) -> int:
    cluster = context.cluster
    try:
        context.require_topic(READ, topic.name, topic.topic_id)
        name, _ = _found(context, topic, partition.partition_index)
    except BrokerError as refused:
        return refused.code
    if group_code:
        return group_code
    if len(partition.committed_metadata or "") > cluster.properties.offset_metadata_max_bytes:
        return codes.OFFSET_METADATA_TOO_LARGE.code
    offsets = cluster.groups.offsets if context.version > 0 else cluster.groups.zookeeper
    offsets.commit(context.request.group_id, name, partition.partition_index, _committed(context, partition))
    return 0


def _committed(context: Context, partition: _Partition) -> Committed:
    now_ms = context.cluster.clock()
    retention_ms = context.request.retention_time_ms
    metadata = partition.committed_metadata if context.version > 0 else ""
    committed_ms = partition.commit_timestamp if partition.commit_timestamp >= 0 else now_ms
    return Committed(
        partition.committed_offset,
        partition.committed_leader_epoch,
        metadata if context.release.keeps_missing_metadata else metadata or "",
        committed_ms,
        now_ms + retention_ms if retention_ms >= 0 else None,
    )
