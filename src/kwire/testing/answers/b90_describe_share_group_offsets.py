"""DescribeShareGroupOffsets (key 90).

Behaviour
    The first offset of each partition that the group is not done with, -1 where it has not begun. Without topics, all
    partitions that it was assigned once; of a group that is missing there are none.

Version notes
    v1   lag: how many records are not done
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse
from kwire.testing.answers.group_coordinator import check_group_id
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, TOPIC

Context = RequestContext[DescribeShareGroupOffsetsRequest]
_Asked = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
_Group = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
_Topic = _Group.DescribeShareGroupOffsetsResponseTopic
_Row = _Topic.DescribeShareGroupOffsetsResponsePartition


def answer(context: Context) -> DescribeShareGroupOffsetsResponse:
    """One description per group."""
    return DescribeShareGroupOffsetsResponse(groups=[_described(context, each) for each in context.request.groups])


def refuse(context: Context, code: int) -> DescribeShareGroupOffsetsResponse:
    """Every group answered with `code`."""
    return DescribeShareGroupOffsetsResponse(
        groups=[_Group(group_id=each.group_id, error_code=code) for each in context.request.groups]
    )


def _described(context: Context, asked: _Asked) -> _Group:
    try:
        check_group_id(context, asked.group_id, DESCRIBE)
        context.cluster.groups.share(asked.group_id)
    except codes.GROUP_ID_NOT_FOUND:
        return _Group(group_id=asked.group_id, topics=[])
    except BrokerError as refused:
        return _Group(group_id=asked.group_id, error_code=refused.code, error_message=refused.context)
    topics = (
        _every_topic(context, asked.group_id)
        if asked.topics is None
        else {topic.topic_name: list(topic.partitions) for topic in asked.topics}
    )
    return _Group(
        group_id=asked.group_id,
        topics=[_topic(context, asked.group_id, name, partitions) for name, partitions in topics.items()],
    )


def _every_topic(context: Context, group_id: str) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for each in context.cluster.groups.shares.of_group(group_id):
        if context.allows(DESCRIBE, TOPIC, each.partition.topic.name):
            topics.setdefault(each.partition.topic.name, []).append(each.partition.index)
    return {name: sorted(partitions) for name, partitions in topics.items()}


def _topic(context: Context, group_id: str, name: str, partitions: list[int]) -> _Topic:
    rows = [_row(context, group_id, name, index) for index in partitions]
    known = context.cluster.topics.get(name)
    described = _Topic(topic_name=name, partitions=rows)
    if known is not None:
        described.topic_id = known.topic_id
    return described


def _row(context: Context, group_id: str, name: str, index: int) -> _Row:
    try:
        context.require(DESCRIBE, TOPIC, name)
        partition = context.cluster.partition(name, None, index)
    except BrokerError as refused:
        return _Row(partition_index=index, start_offset=-1, error_code=refused.code, error_message=refused.context)
    found = context.cluster.groups.shares.partition(group_id, partition)
    if found.start is None:
        return _Row(partition_index=index, start_offset=-1)
    return _Row(partition_index=index, start_offset=found.start, leader_epoch=partition.leader_epoch, lag=found.lag)
