"""`kwire shares` against the embedded broker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwire import Admin, ShareConsumer, records
from kwire.testing import Broker
from tests.cli.conftest import Kwire

FIRST = ("orders", 0)


@pytest.fixture
def group(broker: Broker) -> str:
    """A share group without members, which is at offset 2 of the first partition of orders."""
    broker.append("orders", records.encode([b"a", b"b", b"c"]), partition=0)
    with Admin(broker.bootstrap_servers) as admin:
        with ShareConsumer(broker.bootstrap_servers, group_id="s") as consumer:
            consumer.subscribe(["orders"])
            while not any(row.group_id == "s" for row in admin.list_groups()):
                consumer.poll(0.1)
            consumer.poll(0.5)
        admin.alter_share_group_offsets("s", {FIRST: 2})
    return "s"


def rows(kwire: Kwire, *arguments: str) -> list[dict[str, Any]]:
    outcome = kwire("shares", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.lines]


def test_only_share_groups_are_listed(kwire: Kwire, broker: Broker, group: str) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.alter_consumer_group_offsets("other", {FIRST: 1})
    assert rows(kwire) == [{"group": group, "state": "Empty"}]
    assert [(row["type"], row["member"]) for row in rows(kwire, "describe", group)] == [("Share", None)]


def test_it_is_seen_how_far_a_share_group_is_and_how_much_is_left(kwire: Kwire, group: str) -> None:
    first = rows(kwire, "offsets", group)[0]
    assert first == {"group": group, "topic": "orders", "partition": 0, "start": 2, "lag": 1}


def test_of_groups_that_are_not_there_each_has_a_line(kwire: Kwire, group: str) -> None:
    outcome = kwire("shares", "offsets", "none", group, "--json")
    assert (outcome.code, json.loads(outcome.lines[0])["group"]) == (3, group)
    assert outcome.err.startswith("kwire shares: ")
    assert "'none'" in outcome.err
    assert kwire("shares", "offsets", "none").code == 1


def test_a_reset_is_shown_first_and_done_with_execute(kwire: Kwire, group: str) -> None:
    shown = kwire("shares", "reset", group, "--to", "earliest", "--topic", "orders:0", "--json")
    assert json.loads(shown.out) == {"group": group, "topic": "orders", "partition": 0, "from": 2, "to": 0}
    assert shown.err == "kwire shares: nothing was changed; --execute does it\n"
    assert rows(kwire, "offsets", group)[0]["start"] == 2
    assert kwire("shares", "reset", group, "--to", "earliest", "--topic", "orders:0", "--execute").code == 0
    assert rows(kwire, "offsets", group)[0]["start"] == 0


def test_what_is_forgotten_in_a_topic_is_asked_for_first(kwire: Kwire, group: str) -> None:
    refused = kwire("shares", "forget", group, "orders")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert rows(kwire, "forget", group, "orders", "--yes") == [{"topic": "orders", "error": None}]
    assert all(row["start"] in (None, -1) for row in rows(kwire, "offsets", group))
    assert rows(kwire, "delete", group, "--yes") == [{"group": group, "error": None}]
    assert rows(kwire) == []
