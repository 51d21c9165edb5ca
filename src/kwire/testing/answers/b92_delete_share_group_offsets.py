"""DeleteShareGroupOffsets (key 92).

Behaviour
    A group without members forgets topics, and begins anew with its next fetch. A topic that is missing, or that it has
    not begun, is UNKNOWN_TOPIC_OR_PARTITION; a group with members is NON_EMPTY_GROUP.
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse
from kwire.testing.answers.group_coordinator import check_group_id
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DELETE, READ, TOPIC

Context = RequestContext[DeleteShareGroupOffsetsRequest]
_Result = DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic


def answer(context: Context) -> DeleteShareGroupOffsetsResponse:
    """One result per topic."""
    group_id = context.request.group_id
    try:
        check_group_id(context, group_id, DELETE)
        group = context.cluster.groups.share(group_id)
        if group.members:
            raise codes.NON_EMPTY_GROUP(f"Group {group_id} is not empty.")
    except BrokerError as refused:
        return DeleteShareGroupOffsetsResponse(error_code=refused.code, error_message=refused.context)
    return DeleteShareGroupOffsetsResponse(
        responses=[_delete(context, topic.topic_name) for topic in context.request.topics]
    )


def refuse(context: Context, code: int) -> DeleteShareGroupOffsetsResponse:
    """The error of the whole answer."""
    return DeleteShareGroupOffsetsResponse(error_code=code)


def _delete(context: Context, name: str) -> _Result:
    try:
        context.require(READ, TOPIC, name)
        topic = context.cluster.topic(name)
        if not context.cluster.groups.shares.forget(context.request.group_id, name):
            raise codes.UNKNOWN_TOPIC_OR_PARTITION(f"group {context.request.group_id!r} has not begun {name!r}")
    except BrokerError as refused:
        return _Result(topic_name=name, error_code=refused.code, error_message=refused.context)
    return _Result(topic_name=name, topic_id=topic.topic_id)
