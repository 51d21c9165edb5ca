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
from kwire.testing.call import Call

_Result = DeleteTopicsResponse.DeletableTopicResult
_NO_ID = uuid.UUID(int=0)


def answer(call: Call[DeleteTopicsRequest]) -> DeleteTopicsResponse:
    """One result per topic asked for."""
    return DeleteTopicsResponse(responses=[_delete(call, name, topic_id) for name, topic_id in _asked(call)])


def refuse(call: Call[DeleteTopicsRequest], code: int) -> DeleteTopicsResponse:
    """Every topic answered with `code`."""
    return DeleteTopicsResponse(
        responses=[_Result(name=name, topic_id=topic_id, error_code=code) for name, topic_id in _asked(call)]
    )


def _asked(call: Call[DeleteTopicsRequest]) -> list[tuple[str | None, uuid.UUID]]:
    if call.version >= 6:
        return [(topic.name, topic.topic_id) for topic in call.request.topics]
    return [(name, _NO_ID) for name in call.request.topic_names]


def _delete(call: Call[DeleteTopicsRequest], name: str | None, topic_id: uuid.UUID) -> _Result:
    try:
        if call.version >= 6 and (name is None) == (topic_id == _NO_ID):
            raise codes.INVALID_REQUEST("a topic is named either by name or by id")
        topic = call.cluster.topic(name, topic_id)
        call.cluster.delete_topic(topic)
    except BrokerError as refused:
        return _Result(name=name, topic_id=topic_id, error_code=refused.code, error_message=refused.context)
    return _Result(name=topic.name, topic_id=topic.topic_id)
