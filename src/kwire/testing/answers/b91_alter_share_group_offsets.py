"""AlterShareGroupOffsets (key 91).

Behaviour
    Sets where a group without members goes on; a group that is missing is made. Records under way are forgotten. With
    members it is NON_EMPTY_GROUP; a topic or partition that is missing is UNKNOWN_TOPIC_OR_PARTITION.
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse
from kwire.testing.answers.group_coordinator import check_group_id
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import READ, TOPIC

Context = RequestContext[AlterShareGroupOffsetsRequest]
_Asked = AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
_Topic = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic
_Row = _Topic.AlterShareGroupOffsetsResponsePartition


def answer(context: Context) -> AlterShareGroupOffsetsResponse:
    """One result per partition."""
    group_id = context.request.group_id
    try:
        check_group_id(context, group_id)
        group = context.cluster.groups.share(group_id, make_at=context.release.first_group_epoch)
        if group.members:
            raise codes.NON_EMPTY_GROUP(f"Group {group_id} is not empty.")
    except BrokerError as refused:
        return AlterShareGroupOffsetsResponse(error_code=refused.code, error_message=refused.context)
    return AlterShareGroupOffsetsResponse(responses=[_topic(context, topic) for topic in context.request.topics])


def refuse(context: Context, code: int) -> AlterShareGroupOffsetsResponse:
    """The error of the whole answer."""
    return AlterShareGroupOffsetsResponse(error_code=code)


def _topic(context: Context, topic: _Asked) -> _Topic:
    rows = [_altered(context, topic.topic_name, each.partition_index, each.start_offset) for each in topic.partitions]
    known = context.cluster.topics.get(topic.topic_name)
    result = _Topic(topic_name=topic.topic_name, partitions=rows)
    if known is not None:
        result.topic_id = known.topic_id
    return result


def _altered(context: Context, name: str, index: int, offset: int) -> _Row:
    try:
        context.require(READ, TOPIC, name)
        partition = context.cluster.partition(name, None, index)
    except BrokerError as refused:
        return _Row(partition_index=index, error_code=refused.code, error_message=refused.context)
    context.cluster.groups.shares.partition(context.request.group_id, partition).reset(offset)
    return _Row(partition_index=index)
