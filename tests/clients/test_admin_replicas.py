"""Admin on replicas, on the embedded broker: their directories, reassignments, and elections of leaders."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import kwire
from kwire import Admin, Producer, TopicPartition, errors
from kwire.admin import LogDirDescription, ReplicaInfo, ReplicaLogDirInfo, TopicPartitionReplica
from kwire.errors import ConfigError
from kwire.testing import Broker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(nodes=3) as started:
        with Admin(started.bootstrap_servers) as admin:
            admin.create_topics({"t": {"assignments": {0: [1, 2], 1: [2, 3]}}})
        with Producer(started.bootstrap_servers) as producer:
            producer.send("t", b"x" * 100, partition=0)
        yield started


@pytest.fixture
def admin(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap_servers) as made:
        yield made


def test_the_directories_of_brokers_have_their_replicas(broker: Broker, admin: Admin) -> None:
    found = admin.describe_log_dirs([1, 3])
    assert list(found) == [1, 3]
    [(path, first)] = found[1].items()
    assert (path, first.error, first.total_bytes) == ("/kwire-1", None, None)
    assert list(first.replicas) == [T0]
    assert first.replicas[T0].size == len(broker.record_set("t", partition=0))
    assert found[3]["/kwire-3"] == LogDirDescription(None, {T1: ReplicaInfo(0, 0)})
    assert sorted(admin.describe_log_dirs()) == [1, 2, 3]
    assert admin.describe_log_dirs([]) == {}


def test_a_broker_that_is_not_there_is_named_beside_those_that_are(admin: Admin) -> None:
    missing = "broker 9: the cluster has the brokers 1, 2, 3"
    with pytest.raises(errors.broker.BROKER_NOT_AVAILABLE, match=missing) as raised:
        admin.describe_log_dirs([1, 9], timeout=1)
    assert list(raised.value.failures) == [9]


def test_a_replica_has_the_directory_in_which_it_is(admin: Admin) -> None:
    here, nowhere = TopicPartitionReplica("t", 0, 2), TopicPartitionReplica("t", 0, 3)
    found = admin.describe_replica_log_dirs([("t", 0, 2), {"topic": "t", "partition": 0, "broker_id": 3}])
    assert found == {here: ReplicaLogDirInfo("/kwire-2", 0), nowhere: ReplicaLogDirInfo()}
    assert admin.describe_replica_log_dirs([]) == {}


def test_a_replica_is_moved_to_a_directory_of_its_broker_only(admin: Admin) -> None:
    admin.alter_replica_log_dirs({("t", 0, 1): "/kwire-1"})
    with pytest.raises(errors.broker.LOG_DIR_NOT_FOUND, match="t-0 on broker 2 to '/elsewhere'") as raised:
        admin.alter_replica_log_dirs({("t", 0, 1): "/kwire-1", ("t", 0, 2): "/elsewhere", ("t", 1, 1): "/kwire-1"})
    assert {key: type(error) for key, error in raised.value.failures.items()} == {
        ("t", 0, 2): errors.broker.LOG_DIR_NOT_FOUND,
        ("t", 1, 1): errors.broker.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_partitions_get_the_replicas_that_they_are_given(admin: Admin) -> None:
    admin.alter_partition_reassignments({T0: [3, 1], ("t", 1): (1,)})
    partitions = admin.describe_topics(["t"])["t"].partitions
    assert [list(partitions[number].replicas) for number in (0, 1)] == [[3, 1], [1]]
    assert admin.list_partition_reassignments() == admin.list_partition_reassignments([T0]) == {}


def test_of_several_reassignments_those_that_fail_are_named(admin: Admin) -> None:
    wanted: dict[TopicPartition, list[int] | None] = {T0: [9], T1: None, TopicPartition("missing", 0): [1]}
    with pytest.raises(errors.broker.INVALID_REPLICA_ASSIGNMENT, match="AlterPartitionReassignments of t-0") as raised:
        admin.alter_partition_reassignments({**wanted, ("t", 1): None})
    assert {key: type(error) for key, error in raised.value.failures.items()} == {
        T0: errors.broker.INVALID_REPLICA_ASSIGNMENT,
        T1: errors.broker.NO_REASSIGNMENT_IN_PROGRESS,
        ("missing", 0): errors.broker.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_the_number_of_replicas_stays_if_it_is_to(admin: Admin) -> None:
    admin.alter_partition_reassignments({T0: [3, 1]}, allow_replication_factor_change=False)
    with pytest.raises(errors.broker.INVALID_REPLICATION_FACTOR):
        admin.alter_partition_reassignments({T0: [3]}, allow_replication_factor_change=False)


def test_the_preferred_leader_is_elected(broker: Broker, admin: Admin) -> None:
    broker.move_leader("t", 0, 2)
    assert admin.elect_leaders("preferred", [T0, T1]) == {T0: True, T1: False}
    assert admin.describe_topics(["t"])["t"].partitions[0].leader == 1
    broker.move_leader("t", 0, 2)
    assert admin.elect_leaders("preferred") == {T0: True}
    assert admin.elect_leaders("preferred") == admin.elect_leaders("unclean", []) == {}


def test_of_several_elections_those_that_fail_are_named(broker: Broker, admin: Admin) -> None:
    broker.kill(1)
    with pytest.raises(errors.broker.PREFERRED_LEADER_NOT_AVAILABLE, match="ElectLeaders of t-0") as raised:
        admin.elect_leaders("preferred", [T0, T1, ("missing", 0)])
    assert list(raised.value.failures) == [T0, ("missing", 0)]
    with pytest.raises(errors.broker.PREFERRED_LEADER_NOT_AVAILABLE) as raised:
        admin.elect_leaders("preferred")
    assert list(raised.value.failures) == [T0]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda admin: admin.describe_log_dirs(["1"]), "brokers='1': expected the id of a broker"),
        (lambda admin: admin.describe_log_dirs("1"), "brokers='1': expected a list of broker ids"),
        (lambda admin: admin.describe_replica_log_dirs([("t", 0)]), r"expected \(topic, partition, broker\)"),
        (lambda admin: admin.describe_replica_log_dirs([("t", 0, -1)]), "broker=-1"),
        (lambda admin: admin.describe_replica_log_dirs(("t", 0, 1)), "'t' is not a replica"),
        (lambda admin: admin.alter_replica_log_dirs({("t", 0, 1): None}), "None is not the path of a log directory"),
        (lambda admin: admin.alter_replica_log_dirs([]), "assignment="),
        (lambda admin: admin.alter_partition_reassignments({T0: []}), "t-0: a partition needs one replica at least"),
        (lambda admin: admin.alter_partition_reassignments({T0: [1, 1]}), "names a broker twice"),
        (
            lambda admin: admin.alter_partition_reassignments({T0: 1}),
            "replicas of t-0=1: expected a list",
        ),
        (lambda admin: admin.alter_partition_reassignments({"t": [1]}), "'t' is not a partition"),
        (lambda admin: admin.elect_leaders("clean"), "election_type='clean': expected 'preferred' or 'unclean'"),
        (lambda admin: admin.elect_leaders("unclean", T0), "partitions="),
    ],
)
def test_an_argument_that_cannot_be_is_refused_before_anything_is_sent(call: Any, problem: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(ConfigError, match=problem):
        call(admin)


@pytest.mark.parametrize(
    ("release", "call", "advice"),
    [
        ("0.11.0.3", lambda admin: admin.describe_log_dirs(), "DescribeLogDirs.*since Kafka 1.0"),
        ("0.11.0.3", lambda admin: admin.describe_replica_log_dirs([("t", 0, 1)]), "DescribeLogDirs.*since Kafka 1.0"),
        ("0.10.2", lambda admin: admin.alter_replica_log_dirs({("t", 0, 1): "/d"}), "AlterReplicaLogDirs.*Kafka 1.0"),
        ("2.2.0", lambda admin: admin.elect_leaders("unclean", [T0]), "ElectLeaders.*offers.*since Kafka 2.4"),
        ("2.1.0", lambda admin: admin.elect_leaders("preferred"), "ElectLeaders.*before Kafka 2.2.*ZooKeeper"),
        ("2.3.0", lambda admin: admin.alter_partition_reassignments({T0: [1]}), "before Kafka 2.4.*ZooKeeper"),
        ("2.3.0", lambda admin: admin.list_partition_reassignments(), "describe_topics"),
        (
            "3.9.2",
            lambda admin: admin.alter_partition_reassignments({T0: [1]}, allow_replication_factor_change=False),
            "allow_replication_factor_change=False needs Kafka 4",
        ),
    ],
)
def test_a_broker_that_is_too_old_says_what_to_do_instead(release: str, call: Any, advice: str) -> None:
    with (
        Broker(release=release, topics={"t": 1}) as broker,
        Admin(broker.bootstrap_servers) as admin,
        pytest.raises(errors.broker.UNSUPPORTED_VERSION, match=advice),
    ):
        call(admin)


def test_the_first_version_of_each_call_is_spoken() -> None:
    with Broker(release="1.0.2", topics={"t": 1}) as broker, Admin(broker.bootstrap_servers) as admin:
        assert list(admin.describe_log_dirs()[1]["/kwire-1"].replicas) == [T0]
        admin.alter_replica_log_dirs({("t", 0, 1): "/kwire-1"})
    with Broker(release="2.2.2", topics={"t": 1}) as broker, Admin(broker.bootstrap_servers) as admin:
        assert admin.elect_leaders("preferred", [T0]) == {T0: False}
        assert admin.elect_leaders("preferred") == {}


@pytest.mark.parametrize("release", ["4.4.0", "2.4.1"])
def test_who_may_not_is_told_so(release: str) -> None:
    with (
        Broker(release=release, users={"bob": "secret", "root": "r"}, authorizer=True, super_users=["User:root"]) as it,
        Admin(it.bootstrap_servers, **it.client_settings) as admin,
    ):
        for call in (
            lambda: admin.describe_log_dirs([1]),
            lambda: admin.describe_replica_log_dirs([("t", 0, 1)]),
            lambda: admin.alter_replica_log_dirs({("t", 0, 1): "/kwire-1"}),
            lambda: admin.alter_partition_reassignments({T0: [1]}),
            admin.list_partition_reassignments,
            lambda: admin.elect_leaders("preferred", [T0]),
            lambda: admin.elect_leaders("unclean"),
        ):
            with pytest.raises(errors.broker.CLUSTER_AUTHORIZATION_FAILED):
                call()


def test_coroutines_do_the_same(broker: Broker) -> None:
    async def work() -> None:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            assert list(await admin.describe_log_dirs([1])) == [1]
            assert (await admin.describe_replica_log_dirs([("t", 0, 1)]))["t", 0, 1].current_dir == "/kwire-1"
            await admin.alter_replica_log_dirs({("t", 0, 1): "/kwire-1"})
            await admin.alter_partition_reassignments({T1: [3, 2]})
            assert await admin.list_partition_reassignments([T1]) == {}
            assert await admin.elect_leaders("preferred", [T1]) == {T1: True}
            with pytest.raises(errors.broker.LOG_DIR_NOT_FOUND):
                await admin.alter_replica_log_dirs({("t", 0, 1): "/elsewhere"})

    asyncio.run(work())
