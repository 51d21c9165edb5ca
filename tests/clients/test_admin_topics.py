"""Admin on the topics of the embedded broker, old and new: topics named by id."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import Admin, errors
from kwire.testing import Broker

NOBODYS = uuid.UUID(int=7)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(nodes=3, topics={"t": 2, "u": 1}, auto_create_topics=False) as running:
        for partition in (0, 1):
            running.append("t", [b"%d" % number for number in range(10)], partition=partition)
        running.append("u", [b"a"])
        yield running


@pytest.fixture
def admin(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap_servers) as made:
        yield made


@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])
def test_topics_are_described_and_deleted_by_their_ids(release: str) -> None:
    with Broker(release=release, topics={"t": 2, "u": 1}) as broker, Admin(broker.bootstrap_servers) as admin:
        ids = {name: info.topic_id for name, info in admin.describe_topics().items()}
        found = admin.describe_topics([ids["u"], ids["t"], ids["u"]])
        assert [(topic_id, info.name, len(info.partitions)) for topic_id, info in found.items()] == [
            (ids["u"], "u", 1),
            (ids["t"], "t", 2),
        ]
        admin.delete_topics([ids["t"]])
        assert list(broker.topics()) == ["u"]


def test_ids_of_no_topic_are_named(broker: Broker, admin: Admin) -> None:
    of_t = admin.describe_topics(["t"])["t"].topic_id
    with pytest.raises(errors.UnknownTopicError, match=f"no topic has the id {NOBODYS}; asked: 127") as raised:
        admin.describe_topics([of_t, NOBODYS])
    assert list(raised.value.failures) == [NOBODYS]
    with pytest.raises(errors.broker.UnknownTopicIdError, match=f"DeleteTopics of {NOBODYS}") as deleted:
        admin.delete_topics([NOBODYS, of_t])
    assert list(deleted.value.failures) == [NOBODYS]
    assert list(broker.topics()) == ["u"]


def test_names_of_no_topic_are_all_named(broker: Broker, admin: Admin) -> None:
    with pytest.raises(errors.UnknownTopicError, match="'x' does not exist") as raised:
        admin.describe_topics(["x", "t", "y"])
    assert list(raised.value.failures) == ["x", "y"]
    with pytest.raises(errors.broker.UnknownTopicOrPartitionError, match=r"DeleteTopics of 'x'.*and 1 more") as deleted:
        admin.delete_topics(["x", "t", "y"])
    assert list(deleted.value.failures) == ["x", "y"]
    assert list(broker.topics()) == ["u"]


@pytest.mark.parametrize("topics", [["t", NOBODYS], [NOBODYS, b"t"], [uuid.UUID(int=0)], 5])
def test_topics_that_are_neither_names_nor_ids(topics: Any) -> None:
    with Admin("127.0.0.1:1") as admin:
        for call in (admin.describe_topics, admin.delete_topics):
            with pytest.raises(errors.ConfigError, match=r"topic's id|topics=5"):
                call(topics)
