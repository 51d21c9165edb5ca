"""Admin on the topics of the embedded broker, old and new: partitions added, records deleted, topics named by id."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import kwire
from kwire import Admin, TopicPartition, errors
from kwire.admin import NewPartitions
from kwire.testing import Broker

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
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


# -- partitions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["1.0.2", "2.8.2", "4.4.0"])
def test_partitions_are_added_up_to_a_count(release: str) -> None:
    with Broker(release=release, topics={"t": 2, "u": 1}) as broker, Admin(broker.bootstrap_servers) as admin:
        admin.create_partitions({"t": 5, "u": {"total_count": 2}})
        assert broker.topics() == {"t": 5, "u": 2}
        admin.create_partitions({"t": 6}, validate_only=True)
        assert broker.topics() == {"t": 5, "u": 2}


def test_new_partitions_are_put_where_they_shall_be(broker: Broker, admin: Admin) -> None:
    placed = [[2, 3, 1], [3, 1, 2]]
    admin.create_partitions({"u": NewPartitions(3, placed), "t": {"total_count": 3, "new_assignments": [(1, 3, 2)]}})
    described = admin.describe_topics(["t", "u"])
    assert [list(described["u"].partitions[number].replicas) for number in (1, 2)] == placed
    assert list(described["t"].partitions[2].replicas) == [1, 3, 2]


def test_topics_that_get_no_partitions_are_named_and_the_others_get_theirs(broker: Broker, admin: Admin) -> None:
    with pytest.raises(errors.broker.InvalidPartitionsError, match=r"CreatePartitions of 't': .*and 2 more") as raised:
        admin.create_partitions({"t": 2, "u": 2, "nowhere": 3, "t.": 1})
    assert {name: type(error).__name__ for name, error in raised.value.failures.items()} == {
        "t": "InvalidPartitionsError",
        "nowhere": "UnknownTopicOrPartitionError",
        "t.": "UnknownTopicOrPartitionError",
    }
    assert broker.topics() == {"t": 2, "u": 2}


def test_assignments_of_another_number_are_refused(admin: Admin) -> None:
    with pytest.raises(errors.broker.InvalidReplicaAssignmentError):
        admin.create_partitions({"t": NewPartitions(5, [[1]])})


def test_who_may_not_alter_a_topic_is_told_so(broker: Broker, admin: Admin) -> None:
    broker.deny("alter", "topic", "t")
    with pytest.raises(errors.broker.TopicAuthorizationFailedError, match="CreatePartitions of 't'"):
        admin.create_partitions({"t": 5})


def test_a_throttled_request_for_partitions_is_repeated(broker: Broker, admin: Admin) -> None:
    broker.faults.error("CreatePartitions", 89, times=2)
    admin.create_partitions({"t": 5})
    assert broker.topics()["t"] == 5
    broker.faults.error("CreatePartitions", 7)
    with pytest.raises(errors.broker.RequestTimedOutError):
        admin.create_partitions({"t": 6})


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        (["t"], "expected a mapping"),
        ({"t": 0}, "total_count=0"),
        ({"t": True}, "total_count=True"),
        ({"t": "5"}, "'5' is neither"),
        ({"t": {}}, "total_count=None"),
        ({"t": {"count": 5}}, "unknown detail 'count'; there are total_count, new_assignments"),
        ({"t": NewPartitions(5, [1, 2])}, "one of new_assignments=1: expected a list of broker ids"),  # type: ignore[list-item]
        ({"": 5}, "'' is not a topic name"),
    ],
)
def test_partitions_that_cannot_be_meant(topics: Any, words: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError, match=words):
        admin.create_partitions(topics)


# -- records ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["0.11.0.3", "2.8.2", "4.4.0"])
def test_records_before_an_offset_are_deleted(release: str) -> None:
    with Broker(release=release, topics={"t": 2}) as broker, Admin(broker.bootstrap_servers) as admin:
        for partition in (0, 1):
            broker.append("t", [b"%d" % number for number in range(10)], partition=partition)
        assert admin.delete_records({("t", 0): 4, T1: "latest"}) == {T0: 4, T1: 10}
        assert broker.offsets("t", partition=0) == (4, 10)
        assert broker.offsets("t", partition=1) == (10, 10)
        assert admin.delete_records({T0: 2, T1: "latest"}) == {T0: 4, T1: 10}, "what is deleted stays so"


def test_partitions_that_fail_are_named_and_the_others_lose_their_records(broker: Broker, admin: Admin) -> None:
    beyond = TopicPartition("t", 7)
    with pytest.raises(errors.broker.OffsetOutOfRangeError, match="DeleteRecords of t-0") as raised:
        admin.delete_records({T0: 11, T1: 3, beyond: 1})
    assert list(raised.value.failures) == [T0, beyond]
    assert isinstance(raised.value.failures[beyond], errors.UnknownTopicError)
    assert broker.offsets("t", partition=1) == (3, 10)


def test_a_topic_that_is_only_compacted_keeps_its_records(admin: Admin) -> None:
    admin.incremental_alter_configs({("topic", "t"): {"cleanup.policy": "compact"}})
    with pytest.raises(errors.broker.PolicyViolationError) as raised:
        admin.delete_records({T0: 4, U0: 1})
    assert list(raised.value.failures) == [T0]


def test_a_topic_that_is_missing_is_waited_for_in_vain(admin: Admin) -> None:
    with pytest.raises(errors.UnknownTopicError, match="'nowhere'"):
        admin.delete_records({("nowhere", 0): 4}, timeout=0.5)


def test_who_may_not_delete_records_is_told_so(broker: Broker, admin: Admin) -> None:
    broker.deny("delete", "topic", "t")
    with pytest.raises(errors.broker.TopicAuthorizationFailedError, match="DeleteRecords of t-0"):
        admin.delete_records({T0: 4})


def test_the_leader_is_asked_and_found_again_when_it_moves(broker: Broker, admin: Admin) -> None:
    admin.list_offsets({T0: "latest"})
    other = next(node for node in broker.nodes if node != broker.leader_of("t"))
    broker.faults.error("DeleteRecords", 6)
    assert admin.delete_records({T0: "latest"}) == {T0: 10}
    assert broker.request_count("DeleteRecords", node=other) == 0


def test_deleting_up_to_an_offset_is_repeated_and_deleting_up_to_the_end_is_not(broker: Broker, admin: Admin) -> None:
    broker.faults.error("DeleteRecords", 7)
    assert admin.delete_records({T0: 4}) == {T0: 4}
    broker.faults.error("DeleteRecords", 7)
    with pytest.raises(errors.broker.RequestTimedOutError):
        admin.delete_records({T0: "latest"})


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ([T0], "before=.*expected a mapping"),
        ({T0: -2}, "offset -2 of t-0"),
        ({T0: "earliest"}, "offset 'earliest' of t-0"),
        ({T0: True}, "offset True of t-0"),
        ({"t": 4}, "'t' is not a partition"),
    ],
)
def test_offsets_that_cannot_be_meant(before: Any, words: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError, match=words):
        admin.delete_records(before)


# -- ids --------------------------------------------------------------------------------------------------------------


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


# -- all of them ------------------------------------------------------------------------------------------------------


def test_brokers_that_are_too_old_say_so() -> None:
    with Broker(release="0.10.2.2", topics=["t"]) as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"CreatePartitions: .*from Kafka 1\.0 on"):
            admin.create_partitions({"t": 5})
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"DeleteRecords: .*from Kafka 0\.11 on"):
            admin.delete_records({T0: 0})
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"by their ids from Kafka 3\.1 on"):
            admin.describe_topics([NOBODYS])
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"by their ids from Kafka 2\.8 on"):
            admin.delete_topics([NOBODYS])


def test_nothing_asked_for_is_nothing_done(broker: Broker, admin: Admin) -> None:
    assert admin.delete_records({}) == {}
    assert admin.describe_topics([]) == {}
    admin.create_partitions({})
    admin.delete_topics([])
    assert broker.topics() == {"t": 2, "u": 1}


def test_topics_are_changed_on_an_event_loop(broker: Broker) -> None:
    async def use() -> dict[TopicPartition, int]:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            await admin.create_partitions({"t": 5})
            of_u = (await admin.describe_topics(["u"]))["u"].topic_id
            assert (await admin.describe_topics([of_u]))[of_u].name == "u"
            await admin.delete_topics([of_u])
            with pytest.raises(errors.broker.OffsetOutOfRangeError):
                await admin.delete_records({T0: 11})
            return await admin.delete_records({T0: 4})

    assert asyncio.run(use()) == {T0: 4}
    assert broker.topics() == {"t": 5}
