"""Admin on replicas of real Kafka; what became of them is looked at by Apache's tools and by kafka-python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from kwire import Admin, TopicPartition, errors
from kwire.admin import TopicPartitionReplica
from tests.brokers import Cluster
from tests.brokers.peers.peer import WITHIN_S
from tests.testing.peers import java_tools

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
T0 = TopicPartition("t", 0)


@contextmanager
def cluster_of(release: str, nodes: int, **overrides: str) -> Iterator[tuple[Cluster, Admin]]:
    named = {key.replace("_", "."): value for key, value in overrides.items()}
    with Cluster(release, nodes=nodes, overrides=named) as cluster, Admin(cluster.bootstrap_servers) as admin:
        yield cluster, admin


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {WITHIN_S} s"
        time.sleep(0.2)


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2", "2.8.2", "1.1.1"])
def test_a_replica_moves_to_another_directory(release: str, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("one", "two")]
    with cluster_of(release, 1, log_dirs=",".join(paths)) as (cluster, admin):
        broker = cluster.node_ids[0]
        replica = TopicPartitionReplica("t", 0, broker)
        admin.create_topics({"t": 1})
        wait_until(lambda: admin.describe_replica_log_dirs([replica])[replica].current_dir is not None, "the replica")
        found = admin.describe_log_dirs([broker])[broker]
        assert sorted(found) == sorted(paths)
        assert all(row.error is None for row in found.values())
        assert all((row.total_bytes is not None) == (cluster.release.number >= (3, 3)) for row in found.values())
        [before] = [path for path in paths if T0 in found[path].replicas]
        [after] = [path for path in paths if path != before]
        admin.alter_replica_log_dirs({replica: after})

        def has_moved() -> bool:
            place = admin.describe_replica_log_dirs([replica])[replica]
            return (place.current_dir, place.future_dir) == (after, None)

        wait_until(has_moved, "the move")
        assert (Path(after) / "t-0").is_dir()
        with pytest.raises(errors.broker.LOG_DIR_NOT_FOUND):
            admin.alter_replica_log_dirs({replica: str(tmp_path / "three")})
        peer = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
        try:
            assert after in str(peer.describe_log_dirs())
        finally:
            peer.close()


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2", "2.8.2"])
def test_partitions_get_other_replicas_and_leaders(release: str, tmp_path: Path) -> None:
    with cluster_of(release, 3) as (cluster, admin):
        first, second, third = cluster.node_ids
        servers = cluster.bootstrap_servers
        admin.create_topics({"t": {"assignments": {0: [first, second]}}})

        def line() -> str:
            told = java_tools.run(tmp_path, "TopicCommand", "--bootstrap-server", servers, "--describe", "--topic", "t")
            [found] = [each for each in told.splitlines() if "Partition: 0" in each]
            return " ".join(found.split())

        admin.alter_partition_reassignments({T0: [second, first]})
        wait_until(lambda: not admin.list_partition_reassignments(), "the reassignment")
        assert f"Leader: {first} Replicas: {second},{first}" in line()
        assert admin.elect_leaders("preferred", [T0]) == {T0: True}
        assert f"Leader: {second}" in line()
        assert admin.elect_leaders("preferred", [T0]) == {T0: False}

        admin.alter_partition_reassignments({T0: [second, third]})
        wait_until(lambda: not admin.list_partition_reassignments([T0]), "the reassignment")
        assert f"Replicas: {second},{third}" in line()

        cluster.kill_node(first)
        with pytest.raises(errors.broker.INVALID_REPLICA_ASSIGNMENT):
            admin.alter_partition_reassignments({T0: [second, 99]})
        with pytest.raises(errors.broker.NO_REASSIGNMENT_IN_PROGRESS):
            admin.alter_partition_reassignments({T0: None})


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2"])
def test_a_reassignment_that_waits_is_listed_and_cancelled(release: str, tmp_path: Path) -> None:
    with cluster_of(release, 3) as (cluster, admin):
        first, second, third = cluster.node_ids
        admin.create_topics({"t": {"assignments": {0: [first, second]}}})
        cluster.kill_node(third)
        admin.alter_partition_reassignments({T0: [first, third]})
        found = admin.list_partition_reassignments()[T0]
        assert (set(found.adding_replicas), set(found.removing_replicas)) == ({third}, {second})
        servers = cluster.bootstrap_servers
        command = ("reassign.ReassignPartitionsCommand", "--bootstrap-server", servers, "--list")
        assert f"adding: {third}" in java_tools.run(tmp_path, *command).replace("replicas: ", "")
        admin.alter_partition_reassignments({T0: None})
        assert admin.list_partition_reassignments() == {}
        assert "t-0" not in java_tools.run(tmp_path, *command)


def test_a_release_before_all_this_says_so(kafka_cluster: Callable[[str], Cluster]) -> None:
    with Admin(kafka_cluster("0.10.2.2").bootstrap_servers) as admin:
        for call in (
            admin.describe_log_dirs,
            admin.list_partition_reassignments,
            lambda: admin.elect_leaders("preferred"),
            lambda: admin.alter_replica_log_dirs({("t", 0, 1): "/d"}),
            lambda: admin.alter_partition_reassignments({T0: [1]}),
        ):
            with pytest.raises(errors.broker.UNSUPPORTED_VERSION, match="does not have it"):
                call()
