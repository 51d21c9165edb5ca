"""`kwire partitions` against an embedded broker of three nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kwire import Admin
from kwire.cli.connecting import VARIABLE
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import answered


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    with Broker(nodes=3) as made:
        with Admin(made.bootstrap_servers) as admin:
            admin.create_topics({"t": {"assignments": {0: [1, 2], 1: [2, 3]}}})
        monkeypatch.setenv(VARIABLE, made.bootstrap_servers)
        yield made


def rows(kwire: Kwire, *arguments: str) -> list[list[str]]:
    outcome = kwire("partitions", *arguments)
    assert outcome.code == 0, outcome.err
    return [line.split() for line in outcome.lines[1:]]


def test_replicas_are_moved(kwire: Kwire, broker: Broker) -> None:
    assert rows(kwire) == rows(kwire, "list", "t") == [
        ["t", "0", "1", "1,2", "1,2", "-", "-"], ["t", "1", "2", "2,3", "2,3", "-", "-"],
    ]  # fmt: skip
    moved = kwire("partitions", "reassign", "t:0=3,1", "t:1=9", "--json")
    assert moved.code == 3
    assert {row["partition"]: row["error"] is None for row in map(json.loads, moved.lines)} == {
        "t:0": True,
        "t:1": False,
    }
    assert [row[3] for row in rows(kwire)] == ["3,1", "2,3"]
    assert rows(kwire, "--reassigning") == []
    nothing = kwire("partitions", "cancel", "t:0")
    assert (nothing.code, "NO_REASSIGNMENT_IN_PROGRESS" in nothing.err) == (1, True)


def test_partitions_are_listed_by_brokers_that_know_of_no_reassignments(
    kwire: Kwire, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Broker(release="2.3.0", topics={"t": 1}) as old:
        monkeypatch.setenv(VARIABLE, old.bootstrap_servers)
        assert rows(kwire) == [["t", "0", "1", "1", "1", "-", "-"]]


@pytest.mark.parametrize("named", [["t:0", "t:1"], ["t"], ["--all"]])
def test_the_first_replica_is_elected(kwire: Kwire, broker: Broker, named: list[str]) -> None:
    broker.move_leader("t", 0, 2)
    elected = kwire("partitions", "elect", *named)
    assert (elected.code, elected.out, elected.err) == (0, b"", "")
    assert [row[2] for row in rows(kwire)] == ["1", "2"]


def test_an_unclean_election_is_asked_for(broker: Broker) -> None:
    shown = "Elect leaders in 't:0' that may lack records? [y/N] "
    code, errors = answered("n", "partitions", "elect", "t:0", "--unclean")
    assert (code, errors.startswith(shown), broker.request_count("ElectLeaders")) == (1, True, 0)
    assert answered("y", "partitions", "elect", "t:0", "--unclean") == (0, shown)
    assert broker.request_count("ElectLeaders") == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["reassign", "t:0"], "write TOPIC:PARTITION=BROKER,BROKER"),
        (["reassign", "t=1"], "write TOPIC:PARTITION"),
        (["reassign", "t:0=1,1"], "names a broker twice"),
        (["elect"], "name partitions, or give --all"),
        (["elect", "t", "--all"], "name partitions, or give --all"),
    ],
)
def test_wrong_usage(kwire: Kwire, broker: Broker, given: list[str], said: str) -> None:
    outcome = kwire("partitions", *given)
    assert (outcome.code, said in outcome.err) == (2, True)
