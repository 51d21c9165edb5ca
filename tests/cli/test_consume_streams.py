"""`kwire consume` in a process: what a pipe or a terminal sees, and when; Ctrl-C, and a reader that goes."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kwire import Producer, records
from kwire.testing import Broker
from tests.cli.processes import SOURCE, started

LATE_S = 20.0


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command in a process of its own, killed at the end if it still runs."""
    with started(*arguments) as process:
        try:
            yield process
        finally:
            process.kill()


def read_some(number: int) -> bytes:
    """What comes next; fails when nothing does."""
    assert select.select([number], [], [], LATE_S)[0], "nothing came"
    return os.read(number, 65536)


@pytest.mark.parametrize("shape", [(), ("-J",), ("-f", "%s;"), ("--filter", "value=a")])
def test_a_record_is_seen_in_a_pipe_before_the_next_one_is_sent(broker: Broker, shape: tuple[str, ...]) -> None:
    with running("consume", "orders", "--follow", *shape) as process, Producer(broker.bootstrap_servers) as producer:
        assert process.stdout is not None
        for _ in range(3):
            producer.send("orders", b"a").result()
            assert b"a" in read_some(process.stdout.fileno())
        process.send_signal(signal.SIGINT)
        assert process.wait(LATE_S) == 130


def test_a_record_is_seen_on_a_terminal_at_once(broker: Broker) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "kwire", "consume", "orders", "--follow", "-f", "%s;"]
    with (
        Producer(broker.bootstrap_servers) as producer,
        subprocess.Popen(command, stdout=theirs, env={**os.environ, "PYTHONPATH": SOURCE}) as process,
    ):
        try:
            for value in (b"a", b"b"):
                producer.send("orders", value).result()
                assert read_some(ours) == value + b";"
        finally:
            process.kill()
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize("start", ["earliest", "end"])
def test_topics_and_partitions_that_are_created_meanwhile_are_followed(broker: Broker, start: str) -> None:
    broker.create_topic("audit-old")
    arguments = ("consume", "^audit-", "--follow", "-o", start, "-f", "%t=%s;", "-X", "metadata.max.age.ms=50")
    with running(*arguments) as process, Producer(broker.bootstrap_servers, linger_ms=0) as producer:
        assert process.stdout is not None
        out = process.stdout.fileno()
        for topic in ("audit-old", "audit-new"):
            if topic not in broker.topics():
                broker.create_topic(topic)
            found, late = b"", time.monotonic() + LATE_S
            while f"{topic}=a;".encode() not in found:
                assert time.monotonic() < late, "nothing came"
                producer.send(topic, b"a").result()
                if select.select([out], [], [], 0.05)[0]:
                    found += os.read(out, 65536)


def fill(broker: Broker, count: int) -> None:
    for at in range(0, count, 1000):
        broker.append("orders", records.encode([b"%0100d" % n for n in range(at, at + 1000)]))


@pytest.mark.parametrize("shape", [(), ("-J",)])
def test_a_reader_that_goes_ends_it_quietly(broker: Broker, shape: tuple[str, ...]) -> None:
    fill(broker, 20_000)
    with running("consume", "orders", "--follow", *shape) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(LATE_S) == 1
        assert process.stderr.read() == b""


def test_ctrl_c_ends_it_though_nobody_reads(broker: Broker) -> None:
    """What the pipe does not take is lost, and not waited for."""
    fill(broker, 20_000)
    with running("consume", "orders") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(LATE_S) == 130
        assert process.stderr.read() == b""


def test_many_records_come_whole_and_in_order(broker: Broker) -> None:
    fill(broker, 50_000)
    with running("consume", "orders") as process:
        out, err = process.communicate(timeout=LATE_S)
    assert (process.returncode, err) == (0, b"")
    assert out == b"".join(b"%0100d\n" % n for n in range(50_000))
