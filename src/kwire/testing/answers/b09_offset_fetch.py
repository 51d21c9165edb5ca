"""OffsetFetch (key 9).

Behaviour
    What groups have committed: offset -1 where there is nothing, whether or not group, topic and partition exist (in
    0.8 it is UNKNOWN_TOPIC_OR_PARTITION where the partition does not). With require_stable a partition that an open
    transaction has committed to is answered with UNSTABLE_OFFSET_COMMIT.

Version notes
    v0     from ZooKeeper, apart from what Kafka stores; UNKNOWN_TOPIC_OR_PARTITION where there is nothing
    v2     null asks for all that the group has committed; the error of the group moves from the partitions to the end
    v5     committed_leader_epoch
    v7     require_stable (KIP-447)
    v8     several groups, each with its error
    v9     member_id and member_epoch of KIP-848: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH
    v10    topics by id; an unknown one is answered with UNKNOWN_TOPIC_ID
"""

from __future__ import annotations

from uuid import UUID

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import OffsetFetchRequest, OffsetFetchResponse
from kwire.schema.fields import NO_UUID
from kwire.testing.answers.group_coordinator import check_coordinator
from kwire.testing.groups.offsets import Committed
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, TOPIC

Context = RequestContext[OffsetFetchRequest]
_Group = OffsetFetchRequest.OffsetFetchRequestGroup
_Topic = OffsetFetchRequest.OffsetFetchRequestGroup.OffsetFetchRequestTopics
_GroupResult = OffsetFetchResponse.OffsetFetchResponseGroup
_TopicResult = OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics
_Result = OffsetFetchResponse.OffsetFetchResponseGroup.OffsetFetchResponseTopics.OffsetFetchResponsePartitions
_OldTopic = OffsetFetchResponse.OffsetFetchResponseTopic
_OldResult = OffsetFetchResponse.OffsetFetchResponseTopic.OffsetFetchResponsePartition


def answer(context: Context) -> OffsetFetchResponse:
    """Reads what is committed."""
    return _response(context, [_group(context, group) for group in _asked(context)])


def refuse(context: Context, code: int) -> OffsetFetchResponse:
    """Every group answered with `code`."""
    return _response(context, [_refused(context, group, code) for group in _asked(context)])


def _asked(context: Context) -> list[_Group]:
    """The groups, as newer versions name them."""
    if context.version >= 8:
        return list(context.request.groups)
    topics = context.request.topics
    asked = None if topics is None else [_Topic(name=t.name, partition_indexes=t.partition_indexes) for t in topics]
    return [_Group(group_id=context.request.group_id, topics=asked)]


def _group(context: Context, group: _Group) -> _GroupResult:
    try:
        if context.version > 0:
            check_coordinator(context, group.group_id, DESCRIBE)
            found = context.cluster.groups.get(group.group_id)
            if found is not None:
                found.check_fetch(group.member_id, group.member_epoch)
    except BrokerError as refused:
        return _refused(context, group, refused.code)
    topics = _every_topic(context, group) if group.topics is None else group.topics
    return _GroupResult(group_id=group.group_id, topics=[_topic(context, group, topic) for topic in topics])


def _every_topic(context: Context, group: _Group) -> list[_Topic]:
    committed: dict[str, list[int]] = {}
    for name, partition in sorted(context.cluster.groups.offsets.of(group.group_id)):
        if not context.allows(DESCRIBE, TOPIC, name):
            continue
        committed.setdefault(name, []).append(partition)
    return [_Topic(name=name, partition_indexes=each) for name, each in committed.items()]


def _topic(context: Context, group: _Group, topic: _Topic) -> _TopicResult:
    try:
        name, topic_id = _identity(context, topic)
        context.require(DESCRIBE, TOPIC, name)
    except BrokerError as refused:
        results = [_nothing(index, refused.code) for index in topic.partition_indexes]
        return _TopicResult(name=topic.name, topic_id=topic.topic_id, partitions=results)
    results = [_partition(context, group.group_id, name, index) for index in topic.partition_indexes]
    return _TopicResult(name=name, topic_id=topic_id, partitions=results)


def _identity(context: Context, topic: _Topic) -> tuple[str, UUID]:
    """Name and id of a topic; a name need not be one of a topic, an id has to."""
    known = context.cluster.topics.get(topic.name)
    if topic.name:
        return topic.name, known.topic_id if known is not None else NO_UUID
    known = context.cluster.topic(None, topic.topic_id)
    return known.name, known.topic_id


def _partition(context: Context, group_id: str, topic: str, partition: int) -> _Result:
    groups = context.cluster.groups
    if context.version == 0:
        found = groups.zookeeper.find(group_id, topic, partition)
        return _nothing(partition, codes.UNKNOWN_TOPIC_OR_PARTITION.code) if found is None else _found(partition, found)
    if context.request.require_stable and groups.offsets.is_pending(group_id, topic, partition):
        return _nothing(partition, codes.UNSTABLE_OFFSET_COMMIT.code)
    if not (context.release.checks_committed_topics or _exists(context, topic, partition)):
        return _nothing(partition, codes.UNKNOWN_TOPIC_OR_PARTITION.code)
    found = groups.offsets.find(group_id, topic, partition)
    return _nothing(partition) if found is None else _found(partition, found)


def _exists(context: Context, topic: str, partition: int) -> bool:
    known = context.cluster.topics.get(topic)
    return known is not None and partition in range(len(known.partitions))


def _found(partition: int, committed: Committed) -> _Result:
    return _Result(
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
    )


def _nothing(partition: int, code: int = 0) -> _Result:
    return _Result(partition_index=partition, committed_offset=-1, metadata="", error_code=code)


def _refused(context: Context, group: _Group, code: int) -> _GroupResult:
    """The error of a group; before v2 it is told for each partition."""
    topics = [
        _TopicResult(name=topic.name, partitions=[_nothing(index, code) for index in topic.partition_indexes])
        for topic in (group.topics or ())
        if context.version < 2
    ]
    return _GroupResult(group_id=group.group_id, topics=topics, error_code=code)


def _response(context: Context, results: list[_GroupResult]) -> OffsetFetchResponse:
    if context.version >= 8:
        return OffsetFetchResponse(groups=results)
    one = results[0]
    return OffsetFetchResponse(topics=[_old_topic(topic) for topic in one.topics], error_code=one.error_code)


def _old_topic(topic: _TopicResult) -> _OldTopic:
    return _OldTopic(
        name=topic.name,
        partitions=[
            _OldResult(
                partition_index=each.partition_index,
                committed_offset=each.committed_offset,
                committed_leader_epoch=each.committed_leader_epoch,
                metadata=each.metadata,
                error_code=each.error_code,
            )
            for each in topic.partitions
        ],
    )
