"""`kwire consume --group` against the embedded broker."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kwire import Admin, records
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import started

MEMBER = ("consume", "orders", "--group", "billing")


def append(broker: Broker, *values: bytes, partition: int = 0) -> None:
    broker.append("orders", records.encode(values), partition=partition)


def committed(broker: Broker) -> dict[tuple[str, int], int]:
    with Admin(broker.bootstrap_servers) as admin:
        return {tp: row.offset for tp, row in admin.list_consumer_group_offsets("billing").items()}


def state(broker: Broker) -> str:
    with Admin(broker.bootstrap_servers) as admin:
        return str(admin.describe_consumer_groups(["billing"])["billing"].state)


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process of its own, killed at the end if it still runs."""
    with started(*arguments) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_next_start_goes_on_where_the_last_ended(kwire: Kwire, broker: Broker) -> None:
    append(broker, b"a", b"b", b"c", b"d")
    first = kwire(*MEMBER, "--from", "earliest", "--count", "3")
    assert (first.code, first.lines, first.err) == (0, ["a", "b", "c"], "")
    assert committed(broker)["orders", 0] == 3
    assert state(broker) == "Empty"
    append(broker, b"e")
    assert kwire(*MEMBER, "--count", "2", "--from", "earliest").lines == ["d", "e"]


def test_a_new_group_begins_at_the_end(broker: Broker) -> None:
    append(broker, b"old")
    with running(*MEMBER, "-X", "auto.commit.interval.ms=50") as process:
        while committed(broker).get(("orders", 0)) != 1:
            assert process.poll() is None
        append(broker, b"new")
        assert process.stdout is not None
        assert process.stdout.readline() == b"new\n"


def test_a_new_group_begins_at_a_time_ago(kwire: Kwire, broker: Broker) -> None:
    now = int(time.time() * 1000)
    broker.append("orders", records.encode([(b"old", None, now - 5_400_000), (b"timely", None, now - 60_000)]))
    assert kwire(*MEMBER, "--from", "-1h", "--count", "1").lines == ["timely"]
    assert kwire("groups", "delete", "billing", "--yes").code == 0
    assert kwire(*MEMBER, "--from", "-1d", "--count", "2").lines == ["old", "timely"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_printed_is_committed_and_the_group_left_when_it_is_ended(broker: Broker, number: int) -> None:
    append(broker, b"a", b"b")
    with running(*MEMBER, "--from", "earliest") as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"a\n", b"b\n"]
        append(broker, b"c", partition=1)
        assert process.stdout.readline() == b"c\n"
        process.send_signal(number)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert state(broker) == "Empty"
    assert committed(broker)["orders", 0] == 2


def test_by_the_protocol_of_kafka_4(kwire: Kwire, broker: Broker) -> None:
    append(broker, b"a")
    assert kwire(*MEMBER, "--from", "earliest", "--count", "1", "-X", "group.protocol=consumer").lines == ["a"]
    assert committed(broker)["orders", 0] == 1


def test_nothing_is_committed_where_the_settings_say_so(kwire: Kwire, broker: Broker) -> None:
    append(broker, b"a")
    for _ in range(2):
        assert kwire(*MEMBER, "--from", "earliest", "--count", "1", "-X", "enable.auto.commit=false").lines == ["a"]
    assert committed(broker) == {}


def test_without_the_option_no_group_is_touched(kwire: Kwire, broker: Broker, tmp_path: Path) -> None:
    """A program's own settings, with its group.id, are no reason to commit for it."""
    append(broker, b"a")
    settings = tmp_path / "client.properties"
    settings.write_text("group.id=billing\ngroup.instance.id=one\n")
    assert kwire("consume", "orders", "--config", str(settings)).lines == ["a"]
    assert committed(broker) == {}
    assert kwire("groups").lines[1:] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--group", "g", "--partition", "0"], "--partition cannot be combined with --group"),
        (["--group", "g", "--from", "12"], "--from '12' with --group: earliest, latest or -1h"),
        (["--group", "g", "--from", "-10"], "--from '-10' with --group"),
        (["--group", ""], "--group is empty"),
        (["-X", "group.id=g"], "-X group.id: name the group by --group"),
    ],
)
def test_wrong_usage(kwire: Kwire, broker: Broker, arguments: list[str], said: str) -> None:
    outcome = kwire("consume", "orders", *arguments)
    assert (outcome.code, said in outcome.err) == (2, True)
    assert outcome.err.startswith("usage: kwire consume")


def test_a_topic_that_is_not_there_is_no_reason_to_join(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("consume", "none", "--group", "billing")
    assert (outcome.code, "there is no topic 'none' at" in outcome.err) == (1, True)
    assert kwire("groups").lines[1:] == []
