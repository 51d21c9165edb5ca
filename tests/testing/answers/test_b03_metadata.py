"""Metadata: whom it lists, what it makes, how it says no."""

from __future__ import annotations

import uuid

import pytest

from kwire.errors import broker as codes
from kwire.protocol import MetadataRequest
from tests.testing.in_process import PORT, InProcess

Asked = MetadataRequest.MetadataRequestTopic


def names(*given: str) -> MetadataRequest:
    return MetadataRequest(topics=[Asked(name=name) for name in given])


@pytest.mark.parametrize("version", range(14))
def test_the_broker_and_the_partitions_are_listed(version: int) -> None:
    broker = InProcess()
    topic = broker.cluster.create_topic("orders", 2)
    found = broker.ask(names("orders"), version)
    assert [(b.node_id, b.host, b.port) for b in found.brokers] == [(1, "127.0.0.1", PORT)]
    [listed] = found.topics
    assert (listed.error_code, listed.name) == (0, "orders")
    assert [(p.partition_index, p.leader_id, list(p.replica_nodes), list(p.isr_nodes)) for p in listed.partitions] == [
        (0, 1, [1], [1]), (1, 1, [1], [1]),
    ]  # fmt: skip
    if version >= 1:
        assert found.controller_id == 1
    if version >= 10:
        assert listed.topic_id == topic.topic_id


def test_all_topics_and_none() -> None:
    broker = InProcess()
    for name in ("b", "a"):
        broker.cluster.create_topic(name, 1)
    assert [topic.name for topic in broker.ask(MetadataRequest(topics=[]), 0).topics] == ["a", "b"]
    assert [topic.name for topic in broker.ask(MetadataRequest(topics=None), 1).topics] == ["a", "b"]
    assert broker.ask(MetadataRequest(topics=[]), 1).topics == ()


@pytest.mark.parametrize("version", [0, 3, 4, 13])
def test_a_missing_topic_is_made_where_that_is_allowed(version: int) -> None:
    broker = InProcess(num_partitions=3)
    [made] = broker.ask(names("orders"), version).topics
    assert (made.error_code, len(made.partitions)) == (0, 3)
    refusing = InProcess(auto_create_topics=False)
    assert refusing.ask(names("orders"), version).topics[0].error_code == codes.UNKNOWN_TOPIC_OR_PARTITION.code
    assert not refusing.cluster.topics


def test_a_request_may_forbid_the_making() -> None:
    broker = InProcess()
    request = names("orders")
    request.allow_auto_topic_creation = False
    assert broker.ask(request, 4).topics[0].error_code == codes.UNKNOWN_TOPIC_OR_PARTITION.code


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "ä", "x" * 250, "a/b"])
def test_names_that_no_topic_may_have(name: str) -> None:
    [found] = InProcess().ask(names(name), 9).topics
    assert (found.error_code, found.name) == (codes.INVALID_TOPIC_EXCEPTION.code, name)


def test_topics_by_id() -> None:
    broker = InProcess()
    topic = broker.cluster.create_topic("orders", 1)
    ids = (topic.topic_id, uuid.UUID(int=9))
    request = MetadataRequest(topics=[Asked(name=None, topic_id=topic_id) for topic_id in ids])
    known, unknown = broker.ask(request, 12).topics
    assert (known.name, known.error_code) == ("orders", 0)
    assert (unknown.name, unknown.error_code, unknown.topic_id) == (None, codes.UNKNOWN_TOPIC_ID.code, uuid.UUID(int=9))
    assert [topic.error_code for topic in broker.ask(request, 10).topics] == [0, codes.UNKNOWN_TOPIC_ID.code]


def test_0_8_lists_no_broker_before_the_first_topic() -> None:
    broker = InProcess("0.8.2.2")
    assert broker.ask(MetadataRequest(topics=[]), 0).brokers == ()
    assert len(broker.ask(names("orders"), 0).brokers) == 1
    assert len(InProcess("0.9.0.1").ask(MetadataRequest(topics=[]), 0).brokers) == 1
