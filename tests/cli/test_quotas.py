"""`kwire quotas` against the embedded broker."""

from __future__ import annotations

import json

import pytest

from kwire.testing import Broker
from tests.cli.conftest import Kwire


def rows(kwire: Kwire, *arguments: str) -> list[list[str]]:
    outcome = kwire("quotas", *arguments)
    assert outcome.code == 0, outcome.err
    return [line.split() for line in outcome.lines[1:]]


def test_quotas_are_set_listed_and_unset(kwire: Kwire, broker: Broker) -> None:
    of_bob = kwire("quotas", "set", "producer_byte_rate=1e6", "consumer_byte_rate=2048", "--user", "bob")
    assert (of_bob.code, of_bob.out, of_bob.err) == (0, b"", "")
    assert kwire("quotas", "set", "request_percentage=12.5", "--default-user", "--client-id", "c").code == 0
    assert kwire("quotas", "set", "connection_creation_rate=10", "--ip", "127.0.0.1").code == 0
    assert sorted(rows(kwire)) == [
        ["-", "-", "127.0.0.1", "connection_creation_rate", "10.0"],
        ["<default>", "c", "-", "request_percentage", "12.5"],
        ["bob", "-", "-", "consumer_byte_rate", "2048.0"],
        ["bob", "-", "-", "producer_byte_rate", "1000000.0"],
    ]
    assert rows(kwire, "--client-id", "c", "--strict") == []
    [found] = kwire("quotas", "list", "--client-id", "c", "--json").lines
    assert json.loads(found) == {
        "user": "<default>", "client_id": "c", "ip": None, "quota": "request_percentage", "value": 12.5,
    }  # fmt: skip
    removed = kwire("quotas", "unset", "producer_byte_rate", "--user", "bob", "--json")
    assert (removed.code, json.loads(removed.out)) == (0, {"entity": "user bob", "error": None})
    assert [row[3] for row in rows(kwire, "--user", "bob")] == ["consumer_byte_rate"]


def test_what_is_only_validated_is_not_set(kwire: Kwire, broker: Broker) -> None:
    assert kwire("quotas", "set", "producer_byte_rate=5", "--user", "bob", "--validate-only").code == 0
    assert rows(kwire) == []


def test_a_quota_that_the_broker_refuses(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("quotas", "set", "no_such_rate=5", "--user", "bob", "--json")
    assert (outcome.code, "no_such_rate" in outcome.err) == (1, True)
    assert json.loads(outcome.out)["error"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["set", "producer_byte_rate=5"], "say whose: --user"),
        (["set", "producer_byte_rate", "--user", "bob"], "write QUOTA=NUMBER"),
        (["set", "producer_byte_rate=inf", "--user", "bob"], "write QUOTA=NUMBER"),
        (["set", "producer_byte_rate=5", "--user", "bob", "--default-user"], "exclude each other"),
        (["unset", "producer_byte_rate=5", "--user", "bob"], "without numbers"),
    ],
)
def test_wrong_usage(kwire: Kwire, broker: Broker, given: list[str], said: str) -> None:
    outcome = kwire("quotas", *given)
    assert (outcome.code, said in outcome.err) == (2, True)
