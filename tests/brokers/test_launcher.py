"""The launcher itself: each release comes up, lists its nodes, and leaves neither process nor folder behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.brokers import BrokerError, Cluster, find_release
from tests.brokers.folders import new_folder
from tests.brokers.readiness import listed_nodes


def _address(cluster: Cluster) -> tuple[str, int]:
    host, _, port = cluster.bootstrap_servers.split(",")[0].partition(":")
    return host, int(port)


def test_a_release_comes_up_and_answers(kafka: Cluster) -> None:
    listed = listed_nodes(*_address(kafka))
    assert listed is not None
    assert listed <= {1}
    if kafka.release.number >= (0, 9):
        assert listed == {1}


@pytest.mark.kafka
def test_the_end_leaves_nothing_behind() -> None:
    with Cluster("0.9.0.1") as cluster:
        folder, pid, address = cluster.folder, cluster.broker().pid, _address(cluster)
        assert folder.is_dir()
    assert not folder.exists()
    assert not Path(f"/proc/{pid}").exists()
    assert listed_nodes(*address) is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.kafka
def test_a_broker_that_does_not_start_shows_its_log() -> None:
    with pytest.raises(BrokerError, match=r"(?s)node 1 ended with exit code 1.*no-such-value"):
        Cluster("0.10.2.2", overrides={"log.message.format.version": "no-such-value"}).start()


def test_an_unknown_release_names_the_known() -> None:
    with pytest.raises(ValueError, match=r"no release '0\.9' in the matrix; known are .*0\.9\.0\.1"):
        find_release("0.9")


@pytest.mark.kafka
@pytest.mark.kafka_all
def test_three_nodes_survive_the_loss_of_one() -> None:
    with Cluster("4.4.0", nodes=3) as cluster:
        cluster.kill_node(2)
        cluster.start_node(2)
        assert listed_nodes(*_address(cluster)) == {1, 2, 3}


def test_folders_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    orphan, other = tmp_path / f"kwire-kafka-{ended.pid}-4.4.0-x", tmp_path / "kwire-kafka-notes"
    orphan.mkdir()
    other.mkdir()
    first, second = new_folder("4.4.0"), new_folder("0.9.0.1")
    assert sorted(tmp_path.iterdir()) == sorted([first, second, other])
