"""Admin on features and the quorum of real Kafka; what became of them is looked at by Apache's tools."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kwire import Admin, errors
from tests.brokers import Cluster
from tests.brokers.peers.peer import WITHIN_S
from tests.testing.peers import java_tools

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
ClusterOf = Callable[[str], Cluster]
LEADERS = "eligible.leader.replicas.version"


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2"])
def test_features_are_what_apaches_tool_says(release: str, kafka_cluster: ClusterOf, tmp_path: Path) -> None:
    servers = kafka_cluster(release).bootstrap_servers
    with Admin(servers) as admin:
        found = admin.describe_features()
        told = java_tools.run(tmp_path, "FeatureCommand", "--bootstrap-server", servers, "describe")
        named = {line.split()[1] for line in told.splitlines() if line.startswith("Feature:")}
        assert named == set(found.supported_features)
        for name, supported in found.supported_features.items():
            assert supported.min_version <= supported.max_version
            if name in found.finalized_features:
                assert found.finalized_features[name].max_version_level <= supported.max_version
        epochs = {int(line.rpartition("Epoch:")[2]) for line in told.splitlines() if line.startswith("Feature:")}
        assert found.finalized_features_epoch is not None
        assert max(epochs) >= found.finalized_features_epoch > 0


def test_a_feature_is_switched_off_and_on(kafka_cluster: ClusterOf, tmp_path: Path) -> None:
    servers = kafka_cluster("4.4.0").bootstrap_servers

    def told() -> str:
        lines = java_tools.run(tmp_path, "FeatureCommand", "--bootstrap-server", servers, "describe").splitlines()
        [line] = [line for line in lines if LEADERS in line]
        return line.partition("FinalizedVersionLevel:")[2].split()[0]

    with Admin(servers) as admin:
        assert told() == "1"
        admin.update_features({LEADERS: 0}, validate_only=True)
        assert told() == "1"
        admin.update_features({LEADERS: 0})
        assert told() == "0"
        admin.update_features({LEADERS: 1})
        assert told() == "1"
        for wrong in ({LEADERS: 9}, {"no.such.feature": 1}):
            with pytest.raises(errors.BrokerError):
                admin.update_features(wrong)
        assert told() == "1"


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2"])
def test_the_quorum_is_what_apaches_tool_says(release: str, kafka_cluster: ClusterOf, tmp_path: Path) -> None:
    servers = kafka_cluster(release).bootstrap_servers
    with Admin(servers) as admin:
        found = admin.describe_metadata_quorum()
    command = ("MetadataQuorumCommand", "--bootstrap-server", servers, "describe", "--status")
    told = dict(line.split(":", 1) for line in java_tools.run(tmp_path, *command).splitlines() if ":" in line)
    assert int(told["LeaderId"]) == found.leader_id
    assert int(told["LeaderEpoch"]) == found.leader_epoch
    assert int(told["HighWatermark"]) >= found.high_watermark > 0
    assert [each.replica_id for each in found.voters] == [found.leader_id]
    assert list(found.nodes) == [found.leader_id]


def test_a_voter_leaves_and_comes_back_and_a_broker_is_forgotten(tmp_path: Path) -> None:
    with Cluster("4.4.0", nodes=3) as cluster, Admin(cluster.bootstrap_servers) as admin:
        servers = cluster.bootstrap_servers

        def voters() -> set[int]:
            command = ("MetadataQuorumCommand", "--bootstrap-server", servers, "describe", "--replication")
            rows = [line.split() for line in java_tools.run(tmp_path, *command).splitlines()]
            return {int(row[0]) for row in rows if row and row[-1] in ("Leader", "Follower")}

        before = admin.describe_metadata_quorum()
        assert voters() == {each.replica_id for each in before.voters} == set(cluster.node_ids)
        [leaving, _] = [each for each in before.voters if each.replica_id != before.leader_id]
        directory = leaving.replica_directory_id
        assert directory is not None
        admin.remove_raft_voter(leaving.replica_id, directory)
        assert voters() == set(cluster.node_ids) - {leaving.replica_id}
        with pytest.raises(errors.broker.VOTER_NOT_FOUND):
            admin.remove_raft_voter(leaving.replica_id, directory)
        wait_until(
            lambda: leaving.replica_id in {each.replica_id for each in admin.describe_metadata_quorum().observers},
            "the voter that left observes",
        )
        admin.add_raft_voter(leaving.replica_id, directory, before.nodes[leaving.replica_id])
        assert voters() == set(cluster.node_ids)
        with pytest.raises(errors.broker.DUPLICATE_VOTER):
            admin.add_raft_voter(leaving.replica_id, directory, before.nodes[leaving.replica_id])

        with pytest.raises(errors.broker.BROKER_ID_NOT_REGISTERED):
            admin.unregister_broker(99)
        cluster.kill_node(leaving.replica_id)
        listing = ("ClusterTool", "list-endpoints", "--bootstrap-server", servers, "--include-fenced-brokers")
        wait_until(lambda: "fenced" in java_tools.run(tmp_path, *listing), "the broker is fenced")
        admin.unregister_broker(leaving.replica_id)
        ids = {line.split()[0] for line in java_tools.run(tmp_path, *listing).splitlines() if line[:1].isdigit()}
        assert ids == {str(node) for node in cluster.node_ids if node != leaving.replica_id}


def test_a_release_before_all_this_has_no_features_and_no_quorum(kafka_cluster: ClusterOf) -> None:
    with Admin(kafka_cluster("0.10.2.2").bootstrap_servers) as admin:
        assert admin.describe_features() == ({}, None, {})
        for call in (
            admin.describe_metadata_quorum,
            lambda: admin.update_features({LEADERS: 1}),
            lambda: admin.unregister_broker(1),
        ):
            with pytest.raises(errors.broker.UNSUPPORTED_VERSION, match="does not have it"):
                call()


def wait_until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {WITHIN_S} s"
        time.sleep(0.2)
