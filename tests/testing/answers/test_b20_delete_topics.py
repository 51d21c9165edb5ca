"""DeleteTopics: by name and by id."""

from __future__ import annotations

import uuid

import pytest

from kwire.errors import broker as codes
from kwire.protocol import DeleteTopicsRequest
from tests.testing.in_process import InProcess

State = DeleteTopicsRequest.DeleteTopicState


@pytest.mark.parametrize("version", range(6))
def test_by_name(version: int) -> None:
    broker = InProcess("3.9.2")
    broker.cluster.create_topic("orders", 1)
    results = broker.ask(DeleteTopicsRequest(topic_names=["orders", "none"]), version).responses
    assert [(result.name, result.error_code) for result in results] == [
        ("orders", 0), ("none", codes.UNKNOWN_TOPIC_OR_PARTITION.code),
    ]  # fmt: skip
    assert not broker.cluster.topics
    assert not broker.cluster.topics_by_id


def test_by_name_or_id() -> None:
    broker = InProcess()
    kept = broker.cluster.create_topic("kept", 1)
    by_id = broker.cluster.create_topic("by-id", 1)
    broker.cluster.create_topic("by-name", 1)
    unknown = uuid.UUID(int=3)
    asked = [
        State(name="by-name"), State(topic_id=by_id.topic_id), State(topic_id=unknown), State(name="none"),
        State(name="kept", topic_id=kept.topic_id), State(),
    ]  # fmt: skip
    results = broker.ask(DeleteTopicsRequest(topics=asked), 6).responses
    assert [(result.name, result.error_code) for result in results] == [
        ("by-name", 0),
        ("by-id", 0),
        (None, codes.UNKNOWN_TOPIC_ID.code),
        ("none", codes.UNKNOWN_TOPIC_OR_PARTITION.code),
        ("kept", codes.INVALID_REQUEST.code),
        (None, codes.INVALID_REQUEST.code),
    ]
    assert list(broker.cluster.topics) == ["kept"]


def test_a_topic_made_again_is_empty_and_has_another_id() -> None:
    broker = InProcess()
    before = broker.cluster.create_topic("orders", 1)
    broker.ask(DeleteTopicsRequest(topics=[State(name="orders")]), 6)
    assert broker.cluster.create_topic("orders", 1).topic_id != before.topic_id
