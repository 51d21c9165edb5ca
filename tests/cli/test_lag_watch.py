"""`kwire lag --watch`: lines for pipes, a table in place on a terminal, rates and the time to catch up."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from kwire import Consumer, Producer
from kwire.cli.lag_watch import KEYS, Place, Rates
from kwire.testing import Broker
from tests.cli.conftest import Kwire
from tests.cli.processes import SOURCE, started
from tests.timing import PATIENT


def commit(broker: Broker, offset: int) -> None:
    with Consumer(broker.bootstrap_servers, group_id="billing") as consumer:
        consumer.commit({("orders", 0): offset})


def produce(broker: Broker, count: int) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        for _ in range(count):
            producer.send("orders", b"x", partition=0)


def test_rates_say_when_the_lag_is_gone() -> None:
    rates = Rates()
    key, other = ("billing", "orders", 0), ("billing", "orders", 1)
    first, _, total = rates.rows(100.0, {key: Place(1000, 2000), other: Place(None, 50)})
    assert first == (*key, 1000, 2000, 1000, None, None, None)
    assert total == ("billing", None, None, None, None, 1000, None, None, None)
    moved, still, total = rates.rows(110.0, {key: Place(1600, 2100), other: Place(None, 50)})
    assert moved == (*key, 1600, 2100, 500, 60.0, 10.0, 10.0)
    assert still == (*other, None, 50, None, None, 0.0, None)
    assert total == ("billing", None, None, None, None, 500, 60.0, 10.0, 10.0)
    caught_up, _, _ = rates.rows(111.0, {key: Place(2100, 2100), other: Place(None, 50)})
    assert caught_up[5:] == (0, 100.0, 9.1, 0.0)


def test_rates_are_those_of_the_last_half_minute() -> None:
    rates, key = Rates(), ("billing", "orders", 0)
    for second in range(0, 100, 10):
        (row,) = rates.rows(float(second), {key: Place(0, second * 10 if second < 60 else 600)})
    assert row[-2:] == (0.0, None)


def test_lines_for_a_pipe(broker: Broker) -> None:
    produce(broker, 10)
    commit(broker, 4)
    process = started("lag", "billing", "--watch", "0.1", "--json", "-b", broker.bootstrap_servers)
    assert process.stdout is not None
    first = json.loads(process.stdout.readline())
    assert tuple(first) == KEYS
    assert (first["lag"], first["consumed_per_s"]) == (6, None)
    commit(broker, 10)
    row = first
    deadline = time.monotonic() + PATIENT
    while row["lag"] and time.monotonic() < deadline:
        rows = iter(process.stdout.readline, b"")
        row = next(found for found in map(json.loads, rows) if found["partition"] == 0)
    assert row["lag"] == 0
    assert row["consumed_per_s"] > 0
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENT)
    assert (process.returncode, errors) == (130, b"")


def test_a_table_has_one_head(broker: Broker) -> None:
    commit(broker, 0)
    process = started("lag", "billing", "--watch", "0.05", "-b", broker.bootstrap_servers)
    assert process.stdout is not None
    head, *rows = (process.stdout.readline().decode() for _ in range(4))
    assert head.split()[:2] == ["time", "group"]
    assert all(row.split()[1] == "billing" for row in rows)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENT)


@pytest.mark.wall_clock
def test_a_terminal_is_drawn_anew(broker: Broker) -> None:
    commit(broker, 0)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "kwire", "lag", "billing", "-w", "0.05", "-b", broker.bootstrap_servers]
    environment = {**os.environ, "PYTHONPATH": SOURCE, "TERM": "xterm"}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        shown, deadline = b"", time.monotonic() + PATIENT
        while shown.count(b"\x1b[H\x1b[J") < 3 and time.monotonic() < deadline:
            shown += os.read(ours, 4096)
        process.kill()
    os.close(ours)
    assert shown.count(b"\x1b[H\x1b[J") >= 3
    assert b"every 0.05 s, until Ctrl-C" in shown


def test_a_group_that_does_not_exist_is_an_error(kwire: Kwire, broker: Broker) -> None:
    outcome = kwire("lag", "nosuch", "--watch", "0.1")
    assert outcome.code == 1
    assert "does not exist" in outcome.err
