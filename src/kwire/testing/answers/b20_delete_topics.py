"""DeleteTopics (key 20).

Behaviour
    Each topic goes at once, with its records; fetches that wait on it are answered. timeout_ms has nothing to wait for.

Version notes
    v0-5   names in topic_names; v5 error_message
    v6     topics by name or by id, in topics; both or neither is INVALID_REQUEST
"""

from __future__ import annotations

import uuid

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DeleteTopicsRequest, DeleteTopicsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DELETE

_Result = DeleteTopicsResponse.DeletableTopicResult
_NO_ID = uuid.UUID(int=0)


def answer(context: RequestContext[DeleteTopicsRequest]) -> DeleteTopicsResponse:
    """One result per topic asked for."""
    return DeleteTopicsResponse(responses=[_delete(context, name, topic_id) for name, topic_id in _asked(context)])


def refuse(context: RequestContext[DeleteTopicsRequest], code: int) -> DeleteTopicsResponse:
    """Every topic answered with `code`."""
    return DeleteTopicsResponse(
        responses=[_Result(name=name, topic_id=topic_id, error_code=code) for name, topic_id in _asked(context)]
    )


def _asked(context: RequestContext[DeleteTopicsRequest]) -> list[tuple[str | None, uuid.UUID]]:
    if context.version >= 6:
        return [(topic.name, topic.topic_id) for topic in context.request.topics]
    return [(name, _NO_ID) for name in context.request.topic_names]


def _delete(context: RequestContext[DeleteTopicsRequest], name: str | None, topic_id: uuid.UUID) -> _Result:
    try:
        if context.version >= 6 and (name is None) == (topic_id == _NO_ID):
            raise codes.INVALID_REQUEST("a topic is named either by name or by id")
        context.check_controller()
        context.require_topic(DELETE, name, topic_id)
        topic = context.cluster.topic(name, topic_id)
        context.cluster.delete_topic(topic)
    except BrokerError as refused:
        return _Result(name=name, topic_id=topic_id, error_code=refused.code, error_message=refused.context)
    return _Result(name=topic.name, topic_id=topic.topic_id)
