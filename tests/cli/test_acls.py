"""`kwire acls` against an embedded broker that has an authorizer."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kwire.cli.connecting import VARIABLE
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import answered, started

BOB_READS = ["topic", "orders", "literal", "User:bob", "*", "read", "allow"]


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    with Broker(topics=["orders"], super_users=["User:ANONYMOUS"], authorizer=True) as made:
        monkeypatch.setenv(VARIABLE, made.bootstrap_servers)
        yield made


def rows(kwire: Kwire, *arguments: str) -> list[list[str]]:
    outcome = kwire("acls", *arguments)
    assert outcome.code == 0, outcome.err
    return [line.split() for line in outcome.lines[1:]]


def test_entries_are_created_for_each_principal_and_operation_and_found_by_filters(
    kwire: Kwire, broker: Broker
) -> None:
    created = kwire(
        "acls", "create", "topic", "orders", "--principal", "User:bob", "--operation", "read", "--operation", "WRITE"
    )
    assert (created.code, created.out, created.err) == (0, b"", "")
    denied = kwire(
        "acls", "create", "group", "b-", "--prefixed", "--principal", "User:eve", "--operation", "all", "--deny"
    )
    assert denied.code == 0
    assert kwire("acls", "create", "cluster", "--principal", "User:eve", "--operation", "alter-configs").code == 0
    assert rows(kwire) == [
        ["cluster", "kafka-cluster", "literal", "User:eve", "*", "alter_configs", "allow"],
        ["group", "b-", "prefixed", "User:eve", "*", "all", "deny"],
        BOB_READS,
        [*BOB_READS[:5], "write", "allow"],
    ]
    assert rows(kwire, "list", "topic", "orders", "--operation", "read") == [BOB_READS]
    assert rows(kwire, "list", "group", "b-1", "--pattern", "match")[0][1] == "b-"
    assert rows(kwire, "--permission", "deny", "--principal", "User:bob") == []


def test_what_is_to_be_deleted_is_shown_and_asked_for(kwire: Kwire, broker: Broker) -> None:
    kwire("acls", "create", "topic", "orders", "--principal", "User:bob", "--operation", "read")
    kwire("acls", "create", "topic", "orders", "--principal", "User:eve", "--operation", "read")
    shown = "Delete 1 ACL: allow User:bob read on literal topic 'orders' from *? [y/N] "
    code, errors = answered("n", "acls", "delete", "--principal", "User:bob")
    assert (code, errors) == (1, f"{shown}kwire acls: nothing was done\n")
    assert len(rows(kwire)) == 2
    assert answered("y", "acls", "delete", "--principal", "User:bob") == (0, shown)
    assert [row[3] for row in rows(kwire)] == ["User:eve"]
    deleted = kwire("acls", "delete", "topic", "--yes", "--json")
    assert [json.loads(line)["error"] for line in deleted.lines] == [None]
    assert rows(kwire) == []
    assert kwire("acls", "delete", "topic", "--yes").code == 0


def test_nothing_is_deleted_without_a_filter_or_a_terminal(kwire: Kwire, broker: Broker) -> None:
    kwire("acls", "create", "topic", "orders", "--principal", "User:bob", "--operation", "read")
    whole = kwire("acls", "delete", "--yes")
    assert (whole.code, "say which" in whole.err) == (2, True)
    with started("acls", "delete", "topic", "orders") as process:
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, b"give --yes" in errors) == (2, True)
    assert rows(kwire) == [BOB_READS]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["topic", "orders", "--principal", "bob", "--operation", "read"], "'bob' has no type, as in 'User:bob'"),
        (["topic", "orders", "--principal", "User:bob", "--operation", "eat"], "there are all, read,"),
        (["topic", "--principal", "User:bob", "--operation", "read"], "name the topic"),
    ],
)
def test_what_is_no_entry_is_wrong_usage(kwire: Kwire, broker: Broker, given: list[str], said: str) -> None:
    outcome = kwire("acls", "create", *given)
    assert (outcome.code, said in outcome.err) == (2, True)


def test_of_entries_that_fail_each_is_told(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire(
        "acls", "create", "cluster", "odd", "--principal", "User:a", "--principal", "User:b", "--operation", "alter",
        "--json",
    )  # fmt: skip
    assert outcome.code == 1
    assert len(outcome.err.splitlines()) == 2
    assert all(json.loads(line)["error"] for line in outcome.lines)
