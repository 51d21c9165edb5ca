"""`kwire produce` and `consume` against the embedded broker."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime, timedelta

import pytest

from kwire import records
from kwire.cli.read_bounds import Last, parse_bound
from kwire.cli.usage import UsageError
from kwire.testing import Broker
from tests.cli.conftest import Kwire


def test_lines_go_in_and_come_out(kwire: Kwire, broker: Broker) -> None:
    sent = b"".join(b"line %d\n" % n for n in range(1000))
    outcome = kwire("produce", "orders", "--compression", "lz4", stdin=sent)
    assert (outcome.code, outcome.err) == (0, "1000 records to orders, acknowledged\n")
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
    assert "line 2: no '=' between key and value; before that 1 record was acknowledged" in refused.err


def test_where_to_begin_and_end(kwire: Kwire, broker: Broker) -> None:
    broker.append("orders", records.encode([(b"%d" % n, None, 1_700_000_000_000 + 1000 * n) for n in range(10)]))
    only = ("consume", "orders", "--partition", "0")
    assert kwire(*only, "--from", "7").lines == ["7", "8", "9"]
    assert kwire(*only, "--from", "7", "--count", "2").lines == ["7", "8"]
    assert kwire(*only, "--from", "7", "-c", "2").lines == ["7", "8"]
    assert kwire(*only, "--from", "2023-11-14T22:13:28+00:00").lines == ["8", "9"]
    assert kwire(*only, "--from", "latest").lines == []
    assert kwire(*only, "--from", "beginning").lines == [str(n) for n in range(10)]
    assert kwire(*only, "--from", "Largest").lines == []
    assert kwire(*only, "--follow", "--count", "10").lines == [str(n) for n in range(10)]
    table = kwire(*only, "--from", "9", "--format", "table").lines
    assert table[1].split() == ["orders", "0", "9", "2023-11-14T22:13:29.000Z", "null", "9"]
    assert kwire("consume", "orders", "--partition", "1", "--partition", "2").lines == []


def test_the_last_records_of_each_partition(kwire: Kwire, broker: Broker) -> None:
    for partition in (0, 1):
        broker.append("orders", records.encode([b"%d-%d" % (partition, n) for n in range(10)]), partition=partition)
    assert sorted(kwire("consume", "orders", "--from", "-2").lines) == ["0-8", "0-9", "1-8", "1-9"]
    assert len(kwire("consume", "orders", "--from", "-100").lines) == 20


def test_records_of_the_last_minutes(kwire: Kwire, broker: Broker) -> None:
    now = int(time.time() * 1000)
    broker.append("orders", records.encode([(b"old", None, now - 300_000), (b"new", None, now - 10_000)]))
    assert kwire("consume", "orders", "--from", "-2m").lines == ["new"]
    assert kwire("consume", "orders", "--from", "-1h").lines == ["old", "new"]
    assert kwire("consume", "orders", "--from", "end").lines == []


def test_null_values_can_be_told_from_empty_ones(kwire: Kwire, broker: Broker) -> None:
    broker.append("orders", records.encode([(None, b"k"), (b"", b"k")]))
    assert kwire("consume", "orders", "--null", "NULL").lines == ["NULL", ""]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["orders", "--partition", "3"], "no partition 3; it has 0 to 2"),
        (["none"], "there is no topic 'none' at"),
        (["orders", "-b", "127.0.0.1:1", "-X", "default.api.timeout.ms=300"], "127.0.0.1:1"),
        (["orders", "-b", "127.0.0.1:1", "--timeout", "0.3"], "Connection refused (--timeout 0.3)\n"),
    ],
)
def test_what_cannot_be_consumed(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("consume", *arguments)
    assert outcome.code == 1
    assert said in outcome.err
    assert "none" not in broker.topics()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["orders", "--from", "yesterday"], "--from 'yesterday'"),
        (["orders", "--from", "junk"], "--from 'junk'"),
        (["orders", "--count", "0"], "--count: a number of records, 1 or more, is needed\n"),
        (["orders", "--snapshot", "x"], "unrecognized arguments: --snapshot\n"),
        (["orders", "--fron", "5"], "unrecognized arguments: --fron (did you mean --from?)\n"),
        (["orders", "--partitions=2"], "unrecognized arguments: --partitions (did you mean --partition?)\n"),
        (["orders", "-c", "fetch.max.bytes=2"], "is needed; a setting is given by -X NAME=VALUE"),
    ],
)
def test_wrong_usage_of_consume(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("consume", *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert outcome.err.startswith("usage: kwire consume")


def test_a_topic_that_ends_no_more_is_told(kwire: Kwire, broker: Broker) -> None:
    broker.append("orders", records.encode([b"a"]))
    broker.faults.mute("Fetch", times=None)
    outcome = kwire("consume", "orders", "--timeout", "3")
    assert outcome.code == 1
    assert "no record of 'orders' came within 3 s, before its end" in outcome.err


@pytest.mark.parametrize(
    ("command", "setting"),
    [
        (("topics",), "default.api.timeout.ms"),
        (("consume", "orders"), "default.api.timeout.ms"),
        (("produce", "orders"), "max.block.ms"),
    ],
)
def test_an_error_says_when_the_timeout_went_over_a_longer_one(
    kwire: Kwire, broker: Broker, command: tuple[str, ...], setting: str
) -> None:
    broker.faults.mute("Metadata", times=None)
    alone = kwire(*command, "--timeout", "0.3", stdin=b"line\n")
    assert (alone.code, alone.err.endswith(" (--timeout 0.3)\n")) == (1, True)
    longer = kwire(*command, "--timeout", "0.3", "-X", f"{setting}=9000", stdin=b"line\n")
    assert longer.err.endswith(f" (--timeout 0.3 goes over {setting}=9000)\n")
    shorter = kwire(*command, "--timeout", "0.3", "-X", f"{setting}=200", stdin=b"line\n")
    assert shorter.err.endswith(" (--timeout 0.3)\n")
    without = kwire(*command, "-X", f"{setting}=300", stdin=b"line\n")
    assert (without.code, "--timeout" in without.err) == (1, False)


@pytest.mark.parametrize("command", [("topics",), ("consume", "orders"), ("produce", "orders")])
def test_a_connection_that_is_refused_is_told_at_once(kwire: Kwire, command: tuple[str, ...]) -> None:
    outcome = kwire(*command, "-b", "127.0.0.1:1", "--timeout", "2.5", stdin=b"line\n")
    assert outcome.code == 1
    first, *more = outcome.err.splitlines()
    told = r"the cluster cannot be reached \(\d\.\d s so far\): 127\.0\.0\.1:1: Connection"
    assert re.match(rf"kwire {command[0]}: {told}", first)
    assert more
    assert "still trying" not in "".join(more)


def test_a_command_that_can_connect_says_nothing_of_connections(kwire: Kwire, broker: Broker) -> None:
    assert kwire("topics").err == ""


@pytest.mark.parametrize("codec", ["zstd", "gzip"])
def test_compression_by_a_setting(kwire: Kwire, broker: Broker, codec: str) -> None:
    assert kwire("produce", "orders", "--partition", "0", "-X", f"compression.type={codec}", stdin=b"a\n").code == 0
    (batch,) = records.decode(broker.record_set("orders")).batches
    assert batch.compression == codec


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--compression", "zip"], "argument -z/--compression: invalid choice: 'zip'"),
        (["-X", "compression.type=zip"], "compression='zip': expected one of 'none', 'gzip'"),
        (["--key-separator", ""], "--key-separator is empty"),
    ],
)
def test_wrong_usage_of_produce(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("produce", "orders", *arguments)
    assert outcome.code == 2
    assert said in outcome.err


def test_records_that_are_not_taken_are_an_error(kwire: Kwire, broker: Broker) -> None:
    broker.faults.error("Produce", 10, times=None)
    outcome = kwire("produce", "orders", stdin=b"value\n")
    assert outcome.code == 1
    assert "MESSAGE_TOO_LARGE" in outcome.err
    assert "sub-exception" not in outcome.err


def test_starts() -> None:
    assert parse_bound("--from", "earliest") == "earliest"
    assert parse_bound("--from", "end") == "latest"
    assert parse_bound("--from", "12") == 12
    assert parse_bound("--from", "-5") == Last(5)
    assert parse_bound("--from", "2024-05-01T12:00:00+00:00") == datetime(2024, 5, 1, 12, tzinfo=UTC)
    local = parse_bound("--from", "2024-05-01T12:00:00")
    assert isinstance(local, datetime)
    assert local.tzinfo is not None
    for text, hours in [("-90m", 1.5), ("-3600s", 1), ("-2h", 2), ("-3d", 72)]:
        ago = parse_bound("--from", text)
        assert isinstance(ago, datetime)
        assert abs(datetime.now(UTC) - timedelta(hours=hours) - ago) < timedelta(minutes=1)
    for wrong in ("", "-", "-5w", "-999999999d"):
        with pytest.raises(UsageError, match="an offset, -10"):
            parse_bound("--from", wrong)
