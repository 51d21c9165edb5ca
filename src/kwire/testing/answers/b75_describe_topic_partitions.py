"""DescribeTopicPartitions (key 75).

Behaviour
    Topics with their partitions, in order of name, in pages (KIP-966): response_partition_limit partitions, 2000 at
    most, and a cursor to the first one that is left out. All topics are asked for by an empty list. A topic that is
    missing is UNKNOWN_TOPIC_OR_PARTITION, a cursor to a topic that is not asked for INVALID_REQUEST.

Version notes
    there is v0
"""

from __future__ import annotations

from collections.abc import Iterator

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, TOPIC
from kwire.testing.state.nodes import NO_NODE
from kwire.testing.state.partition import Partition, check_topic_name

Context = RequestContext[DescribeTopicPartitionsRequest]
_Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
_Partition = _Topic.DescribeTopicPartitionsResponsePartition
_Cursor = DescribeTopicPartitionsResponse.Cursor
_MAX_PARTITIONS = 2000


def answer(context: Context) -> DescribeTopicPartitionsResponse:
    """One page."""
    request = context.request
    if not _is_valid(context):
        return refuse(context, codes.INVALID_REQUEST.code)
    left = min(max(request.response_partition_limit, 1), _MAX_PARTITIONS)
    topics = []
    for name, first in _from_cursor(context):
        try:
            context.require(DESCRIBE, TOPIC, name)
            if name not in context.cluster.topics:
                check_topic_name(name)
            found = context.cluster.topic(name)
        except BrokerError as refused:
            allowed = context.operations(TOPIC, name)
            topics.append(_Topic(error_code=refused.code, name=name, topic_authorized_operations=allowed))
            continue
        page = found.partitions[first : first + left]
        topics.append(
            _Topic(
                name=name,
                topic_id=found.topic_id,
                is_internal=found.is_internal,
                partitions=[_partition(context, partition) for partition in page],
                topic_authorized_operations=context.operations(TOPIC, name),
            )
        )
        left -= len(page)
        if first + len(page) < len(found.partitions):
            cursor = _Cursor(topic_name=name, partition_index=first + len(page))
            return DescribeTopicPartitionsResponse(topics=topics, next_cursor=cursor)
    return DescribeTopicPartitionsResponse(topics=topics)


def refuse(context: Context, code: int) -> DescribeTopicPartitionsResponse:
    """Every topic asked for answered with `code`."""
    return DescribeTopicPartitionsResponse(
        topics=[_Topic(error_code=code, name=topic.name) for topic in context.request.topics]
    )


def _is_valid(context: Context) -> bool:
    """Whether the cursor is at a topic that is asked for."""
    cursor = context.request.cursor
    if cursor is None:
        return True
    names = {topic.name for topic in context.request.topics}
    return cursor.partition_index >= 0 and (not names or cursor.topic_name in names)


def _from_cursor(context: Context) -> Iterator[tuple[str, int]]:
    """The names of topics from the cursor on, each with its first partition to tell."""
    names = {topic.name for topic in context.request.topics} or {
        name for name in context.cluster.topics if context.allows(DESCRIBE, TOPIC, name)
    }
    cursor = context.request.cursor
    for name in sorted(names):
        if cursor is None or name > cursor.topic_name:
            yield name, 0
        elif name == cursor.topic_name:
            yield name, cursor.partition_index


def _partition(context: Context, partition: Partition) -> _Partition:
    return _Partition(
        error_code=codes.LEADER_NOT_AVAILABLE.code if partition.leader == NO_NODE else 0,
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=partition.elr,
        last_known_elr=[],
        offline_replicas=[each for each in partition.replicas if not context.cluster.nodes.is_alive(each)],
    )
