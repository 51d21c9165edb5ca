"""`kwire cluster` and `kwire brokers` against embedded brokers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kwire.cli.connecting import VARIABLE
from kwire.testing import Broker
from tests.cli.conftest import Kwire


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """Three brokers in three racks."""
    with Broker(nodes=3, racks=["a", "b", "c"], topics={"orders": 3}) as started:
        monkeypatch.setenv(VARIABLE, started.bootstrap_servers)
        yield started


def objects(kwire: Kwire, *arguments: str) -> list[dict[str, Any]]:
    outcome = kwire(*arguments, "--json")
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.lines]


def test_the_cluster_is_described(kwire: Kwire, three: Broker) -> None:
    (row,) = objects(kwire, "cluster")
    assert row.pop("cluster")
    assert row.pop("controller") in (1, 2, 3)
    assert row.pop("quorum_leader") in row["voters"]
    assert row.pop("voters") == [1, 2, 3]
    assert row == {"brokers": [1, 2, 3], "topics": 1, "partitions": 3, "under_replicated": 0, "leaderless": 0}
    assert kwire("cluster").out == kwire("cluster", "describe").out


def test_the_brokers_are_listed(kwire: Kwire, three: Broker) -> None:
    rows = objects(kwire, "brokers")
    assert [(row["broker"], row["rack"], row["release"]) for row in rows] == [
        (1, "a", "4.4"),
        (2, "b", "4.4"),
        (3, "c", "4.4"),
    ]
    assert ",".join(f"{row['host']}:{row['port']}" for row in rows) == three.bootstrap_servers
    assert [row["controller"] for row in rows].count(True) == 1
    assert [(row["leads"], row["replicas"], row["out_of_sync"]) for row in rows] == [(1, 3, 0)] * 3


def test_a_broker_that_is_gone_is_missed(kwire: Kwire, three: Broker) -> None:
    three.kill(2)
    (row,) = objects(kwire, "cluster")
    assert (row["brokers"], row["under_replicated"], row["leaderless"]) == ([1, 3], 3, 0)
    assert [row["broker"] for row in objects(kwire, "brokers")] == [1, 3]


@pytest.mark.parametrize(
    ("release", "line"), [("0.9.0.1", "<0.10"), ("0.10.2.2", "0.10.2"), ("1.1.1", "1.1"), ("2.8.2", "2.8")]
)
def test_older_brokers_are_known_by_their_versions(kwire: Kwire, release: str, line: str) -> None:
    with Broker(release=release) as broker:
        (row,) = objects(kwire, "brokers", "-b", broker.bootstrap_servers)
    assert row["release"] == line


def test_a_cluster_of_zookeeper_has_no_quorum(kwire: Kwire) -> None:
    with Broker(release="2.8.2") as broker:
        (row,) = objects(kwire, "cluster", "-b", broker.bootstrap_servers)
    assert (row["quorum_leader"], row["voters"], row["brokers"]) == (None, None, [1])
