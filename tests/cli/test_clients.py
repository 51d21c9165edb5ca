"""`kwire topics`, `produce` and `consume` against the embedded broker."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from kwire import records
from kwire.cli.consume import parse_start
from kwire.errors import ConfigError
from kwire.testing import Broker
from tests.cli.conftest import Kwire


def test_topics_are_listed_made_and_deleted(kwire: Kwire, broker: Broker) -> None:
    assert kwire("topics", "create", "new:5", "plain").code == 0
    assert broker.topics() == {"orders": 3, "new": 5, "plain": 1}
    broker.append("orders", records.encode([b"a", b"b"]), partition=1)
    listed = [line.split() for line in kwire("topics").lines]
    assert listed[1:] == [["new", "5", "1", "0"], ["orders", "3", "1", "2"], ["plain", "1", "1", "0"]]
    detailed = [line.split() for line in kwire("topics", "list", "orders").lines]
    assert detailed[2] == ["orders", "1", "1", "1", "1", "0", "2"]
    assert kwire("topics", "delete", "new", "plain").code == 0
    assert broker.topics() == {"orders": 3}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "orders"], "TOPIC_ALREADY_EXISTS"),
        (["create", "new:x"], "orders:12"),
        (["create"], "name the topics to create"),
        (["create", "new", "--replication", "3"], "INVALID_REPLICATION_FACTOR"),
        (["list", "none"], "none"),
        (["list", "-c", "nonsense"], "NAME=VALUE"),
        (["list", "-c", "nonsense=1"], "nonsense"),
    ],
)
def test_topics_that_cannot_be(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("topics", *arguments)
    assert outcome.code == 1
    assert said in outcome.err
    assert outcome.err.startswith("kwire topics: ")
    assert broker.topics() == {"orders": 3}


def test_lines_go_in_and_come_out(kwire: Kwire, broker: Broker) -> None:
    sent = b"".join(b"line %d\n" % n for n in range(1000))
    outcome = kwire("produce", "orders", "--compression", "lz4", stdin=sent)
    assert (outcome.code, outcome.err) == (0, "1000 records to orders\n")
    assert sorted(kwire("consume", "orders").lines) == sorted(sent.decode().splitlines())
    one = kwire("produce", "orders", "--partition", "2", stdin=b"no line end")
    assert one.code == 0
    assert records.decode(broker.record_set("orders", partition=2))[-1].value == b"no line end"


def test_keys(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("produce", "orders", "--partition", "0", "--key-separator", "=", stdin=b"a=1\nb=2=3\n=\n")
    assert outcome.code == 0
    found = [json.loads(line) for line in kwire("consume", "orders", "--format", "json").lines]
    assert [(record["key"], record["value"]) for record in found] == [("a", "1"), ("b", "2=3"), ("", "")]
    assert {(record["topic"], record["partition"]) for record in found} == {("orders", 0)}
    refused = kwire("produce", "orders", "--key-separator", "=", stdin=b"a=1\nnone\n")
    assert refused.code == 1
    assert "line 2 has no '='" in refused.err


def test_where_to_begin_and_end(kwire: Kwire, broker: Broker) -> None:
    broker.append("orders", records.encode([(b"%d" % n, None, 1_700_000_000_000 + 1000 * n) for n in range(10)]))
    only = ("consume", "orders", "--partition", "0")
    assert kwire(*only, "--from", "7").lines == ["7", "8", "9"]
    assert kwire(*only, "--from", "7", "--count", "2").lines == ["7", "8"]
    assert kwire(*only, "--from", "2023-11-14T22:13:28+00:00").lines == ["8", "9"]
    assert kwire(*only, "--from", "latest").lines == []
    assert kwire(*only, "--follow", "--count", "10").lines == [str(n) for n in range(10)]
    table = kwire(*only, "--from", "9", "--format", "table").lines
    assert table[1].split() == ["orders", "0", "9", "2023-11-14T22:13:29.000Z", "null", "9"]
    assert kwire("consume", "orders", "--partition", "1", "--partition", "2").lines == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["orders", "--partition", "3"], "no partition 3; it has 0 to 2"),
        (["orders", "--from", "yesterday"], "--from 'yesterday'"),
        (["orders", "--count", "0"], "--count 0"),
        (["none", "-c", "default.api.timeout.ms=300"], "none"),
        (["orders", "-b", "127.0.0.1:1", "-c", "default.api.timeout.ms=300"], "127.0.0.1:1"),
    ],
)
def test_what_cannot_be_consumed(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("consume", *arguments)
    assert outcome.code == 1
    assert said in outcome.err
    assert "none" not in broker.topics()


def test_records_that_are_not_taken_are_an_error(kwire: Kwire, broker: Broker) -> None:
    broker.faults.error("Produce", 10, times=None)
    outcome = kwire("produce", "orders", stdin=b"value\n")
    assert outcome.code == 1
    assert "MESSAGE_TOO_LARGE" in outcome.err


def test_starts() -> None:
    assert parse_start("earliest") == "earliest"
    assert parse_start("12") == 12
    assert parse_start("2024-05-01T12:00:00+00:00") == datetime(2024, 5, 1, 12, tzinfo=UTC)
    local = parse_start("2024-05-01T12:00:00")
    assert isinstance(local, datetime)
    assert local.tzinfo is not None
    with pytest.raises(ConfigError, match="an offset, or a time"):
        parse_start("-5")
