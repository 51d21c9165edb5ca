"""Worker processes killed at random moments: no record is lost, no offset is committed before its record is done."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kwire import Consumer
from kwire.testing import Broker

pytestmark = pytest.mark.wall_clock

KILLS = 50
PARTITIONS = 3
CHILD = """
import os, random, sys, time
from kwire import Worker

servers, path = sys.argv[1:]
journal = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def handle(record):
    time.sleep(random.random() / 500)
    if random.random() < 0.1:
        raise ValueError("try again")
    os.write(journal, b"%d %d\\n" % (record.partition, record.offset))

Worker(
    servers, "orders", group_id="g", handler=handle, order="key", retries=20, backoff=0.005, commit_interval=0.02,
    session_timeout_ms=500, heartbeat_interval_ms=100, fetch_max_wait_ms=50,
).run()
"""


def handled(journal: Path) -> set[tuple[int, int]]:
    lines = journal.read_text().splitlines() if journal.exists() else []
    return {(int(partition), int(offset)) for partition, offset in map(str.split, lines)}


def test_no_kill_loses_a_record_or_commits_one_that_was_not_handled(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    dice = random.Random(7)
    written = 0
    with Broker(topics={"orders": PARTITIONS}, group_min_session_timeout_ms=100) as broker:

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen([sys.executable, "-c", CHILD, broker.bootstrap_servers, str(journal)])

        def committed() -> list[int]:
            with Consumer(broker.bootstrap_servers, group_id="g") as consumer:
                found = consumer.committed([("orders", partition) for partition in range(PARTITIONS)])
            return [0 if at is None else at.offset for _, at in sorted(found.items())]

        workers = [start(), start()]
        moved = set()
        try:
            for _ in range(KILLS):
                for partition in range(PARTITIONS):
                    broker.append("orders", [(b"v", b"%d" % (n % 7)) for n in range(40)], partition=partition)
                written += 40
                time.sleep(dice.uniform(0.3, 0.9))
                victim = dice.randrange(2)
                workers[victim].kill()
                assert workers[victim].wait() == -9, "it had ended by itself"
                offsets, done = committed(), handled(journal)
                moved.add(tuple(offsets))
                for partition, end in enumerate(offsets):
                    assert done >= {(partition, offset) for offset in range(end)}
                workers[victim] = start()
            give_up = time.monotonic() + 120
            while committed() != [written] * PARTITIONS:
                assert time.monotonic() < give_up, committed()
                time.sleep(0.2)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    assert handled(journal) == {(partition, offset) for partition in range(PARTITIONS) for offset in range(written)}
    assert len(moved) > 5, "the kills came before anything was done"
