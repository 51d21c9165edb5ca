"""`kwire groups` and `kwire lag` against the embedded broker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwire import Admin, Consumer, ShareConsumer, records
from kwire.testing import Broker
from tests.cli.conftest import Kwire


def test_groups_are_listed_described_and_deleted(kwire: Kwire, broker: Broker) -> None:
    with Consumer(broker.bootstrap_servers, group_id="g", client_id="c") as consumer:
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            consumer.poll(0.1)
        assert kwire("groups").lines[1].split() == ["g", "Classic", "Stable", "consumer"]
        described = kwire("groups", "describe", "g").lines[1].split()
        assert described[:4] == ["g", "Classic", "Stable", "range"]
        assert described[5:] == ["c", "/127.0.0.1", "orders:0,orders:1,orders:2"]
        refused = kwire("groups", "delete", "g", "--yes")
        assert (refused.code, "NON_EMPTY_GROUP" in refused.err) == (1, True)
    assert kwire("groups", "describe", "g").lines[1].split() == ["g", "Classic", "Empty", "-", "-", "-", "-", "-"]
    assert kwire("groups", "delete", "g", "--yes").code == 0
    assert len(kwire("groups").lines) == 1


def test_the_lag_of_a_group(kwire: Kwire, broker: Broker) -> None:
    broker.append("orders", records.encode([b"a", b"b", b"c"]), partition=1)
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets("g", {("orders", 1): 1, ("orders", 0): 0})
    assert [line.split() for line in kwire("lag", "g").lines[1:]] == [
        ["g", "orders", "0", "0", "0", "0"],
        ["g", "orders", "1", "1", "3", "2"],
        ["g", "orders", "2", "-", "0", "-"],
    ]
    objects = [json.loads(line) for line in kwire("lag", "g", "--json").lines]
    assert objects[1] == {"group": "g", "topic": "orders", "partition": 1, "committed": 1, "end": 3, "lag": 2}
    assert objects[2] == {"group": "g", "topic": "orders", "partition": 2, "committed": None, "end": 0, "lag": None}


def test_the_lag_of_groups_that_are_not_there_or_have_committed_nothing(kwire: Kwire, broker: Broker) -> None:
    missing = "kwire lag: consumer group 'none' does not exist; 'kwire groups' lists those that do\n"
    alone = kwire("lag", "none")
    assert (alone.code, alone.out, alone.err) == (1, b"", missing)
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets("g", {("orders", 1): 0})
    with Consumer(broker.bootstrap_servers, group_id="new", enable_auto_commit=False) as consumer:
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            consumer.poll(0.1)
        beside = kwire("lag", "none", "g", "new")
    assert beside.code == 3
    assert [line.split() for line in beside.lines[1:]] == [
        ["g", "orders", "0", "-", "0", "-"],
        ["g", "orders", "1", "0", "0", "0"],
        ["g", "orders", "2", "-", "0", "-"],
        *(["new", "orders", str(number), "-", "0", "-"] for number in range(3)),
    ]
    assert beside.err == f"{missing}kwire lag: consumer group 'new' has no committed offsets yet\n"
    assert kwire("lag", "new").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["billing"], "to see it: kwire groups describe billing"),
        (["describe"], "the following arguments are required: GROUP"),
        (["list", "g"], "unrecognized arguments: g"),
        (["list", "--state", "stable,emty"], "one of Stable, Empty, Dead, PreparingRebalance"),
        (["list", "--type", "clasic"], "one of classic, consumer, share, streams is needed (did you mean classic?)"),
    ],
)
def test_wrong_usage(kwire: Kwire, arguments: list[str], said: str) -> None:
    outcome = kwire("groups", *arguments)
    assert (outcome.code, said in outcome.err) == (2, True)


def test_a_group_that_is_not_there(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("groups", "describe", "none")
    assert (outcome.code, "GROUP_ID_NOT_FOUND" in outcome.err) == (1, True)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([], ["a", "b"]),
        (["--state", "empty"], ["a"]),
        (["--state", "Empty", "--state", "Stable"], ["a", "b"]),
        (["--state", "empty,stable"], ["a", "b"]),
        (["--type", "classic"], ["a", "b"]),
        (["--type", "consumer"], []),
        (["--type", "classic", "--state", "Stable"], ["b"]),
    ],
)
def test_groups_are_listed_by_state_and_type(
    kwire: Kwire, broker: Broker, filters: list[str], found: list[str]
) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets("a", {("orders", 1): 1})
    with Consumer(broker.bootstrap_servers, group_id="b") as consumer:
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            consumer.poll(0.1)
        rows = [json.loads(line) for line in kwire("groups", "list", "--json", *filters).lines]
    assert [row["group"] for row in rows] == found
    assert all(set(row) == {"group", "type", "state", "protocol"} for row in rows)


def test_groups_of_which_some_exist(kwire: Kwire, broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets("a", {("orders", 1): 1})
    described = kwire("groups", "describe", "none", "a", "--json")
    assert (described.code, json.loads(described.out)["group"]) == (3, "a")
    assert json.loads(described.out)["partitions"] == []
    deleted = kwire("groups", "delete", "a", "none", "--yes", "--output", "csv")
    assert (deleted.code, deleted.lines[:2]) == (3, ["group,error", "a,"])
    assert deleted.lines[2].startswith("none,")


def test_share_groups_are_described_and_deleted_beside_others(kwire: Kwire, broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets("a", {("orders", 1): 1})
    with ShareConsumer(broker.bootstrap_servers, group_id="s", client_id="c") as consumer:
        consumer.subscribe(["orders"])
        rows: list[dict[str, Any]] = []
        while not any(row["partitions"] for row in rows):
            consumer.poll(0.1)
            rows = [json.loads(line) for line in kwire("groups", "describe", "s", "a", "--json").lines]
    assert [(row["group"], row["type"]) for row in rows] == [("a", "Classic"), ("s", "Share")]
    assert rows[1]["client"] == "c"
    assert set(rows[1]["partitions"]) <= {"orders:0", "orders:1", "orders:2"}
    some = kwire("groups", "describe", "none", "s", "--json")
    assert (some.code, json.loads(some.out)["state"]) == (3, "Empty")
    assert kwire("groups", "delete", "s", "a", "--yes").code == 0


def test_filters_that_an_old_broker_knows_nothing_of(kwire: Kwire) -> None:
    with Broker(release="2.4.1", topics=["orders"]) as old:
        at = ("-b", old.bootstrap_servers)
        with Admin(old.bootstrap_servers) as admin:
            admin.alter_consumer_group_offsets("a", {("orders", 0): 1})
        by_type = kwire("groups", "list", "--type", "classic", "--json", *at)
        by_state = kwire("groups", "list", "--state", "Empty", *at)
    assert [json.loads(line)["group"] for line in by_type.lines] == ["a"]
    assert (by_state.code, by_state.out) == (1, b"")
    assert "groups are listed by their states from Kafka 2.6 on" in by_state.err
