"""OffsetDelete (key 47).

Behaviour
    Forgets committed offsets; where there is none, that is no error. Before 4.0 an empty group goes with its last one.
    A group's error is that of the whole answer:
    GROUP_ID_NOT_FOUND, or NON_EMPTY_GROUP for members that are no consumers. A partition's own:

    UNKNOWN_TOPIC_OR_PARTITION   the topic or partition is missing
    GROUP_SUBSCRIBED_TO_TOPIC    a member reads the topic
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import OffsetDeleteRequest, OffsetDeleteResponse
from kwire.testing.answers.group_coordinator import check_coordinator
from kwire.testing.groups.groups import AnyGroup
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DELETE, READ, TOPIC

Context = RequestContext[OffsetDeleteRequest]
_Topic = OffsetDeleteRequest.OffsetDeleteRequestTopic
_TopicResult = OffsetDeleteResponse.OffsetDeleteResponseTopic
_Result = OffsetDeleteResponse.OffsetDeleteResponseTopic.OffsetDeleteResponsePartition


def answer(context: Context) -> OffsetDeleteResponse:
    """One result per partition."""
    try:
        check_coordinator(context, context.request.group_id, DELETE)
        group = context.cluster.groups.find(context.request.group_id)
        group.check_offset_delete()
    except BrokerError as refused:
        return refuse(context, refused.code)
    response = OffsetDeleteResponse(topics=[_topic(context, group, topic) for topic in context.request.topics])
    groups = context.cluster.groups
    if not (context.release.has_new_coordinator or group.members or groups.offsets.of(group.group_id)):
        groups.forget(group)
    return response


def refuse(context: Context, code: int) -> OffsetDeleteResponse:
    """The error of the whole answer."""
    return OffsetDeleteResponse(error_code=code)


def _topic(context: Context, group: AnyGroup, topic: _Topic) -> _TopicResult:
    results = [
        _Result(
            partition_index=each.partition_index, error_code=_delete(context, group, topic.name, each.partition_index)
        )
        for each in topic.partitions
    ]
    return _TopicResult(name=topic.name, partitions=results)


def _delete(context: Context, group: AnyGroup, topic: str, partition: int) -> int:
    try:
        context.require(READ, TOPIC, topic)
        context.cluster.partition(topic, None, partition)
    except BrokerError as refused:
        return refused.code
    if group.subscribes_to(topic):
        return codes.GROUP_SUBSCRIBED_TO_TOPIC.code
    context.cluster.groups.offsets.delete(group.group_id, topic, partition)
    return 0
