"""Worker processes over one topic, killed, ended and started again, while a history is kept."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from kwire import Admin, Consumer, Producer
from tests.worker.history import Handled, Journal, Place, check_commits, check_nothing_is_lost, check_order

BILLING = Path(__file__).with_name("billing.py")
PARTITIONS = 6
KEYS = 40
BEGINS_WITHIN_S = 1.0
CATCH_UP_S = 120.0


class Fleet(AbstractContextManager["Fleet"]):
    """`size` workers of a kind; the topics are made here, with `records` in them, one in a hundred poison."""

    def __init__(
        self, kind: str, servers: str, folder: Path, options: Mapping[str, Any], *, size: int, records: int, seed: int
    ) -> None:
        self.journal = Journal(folder / "journal")
        self.moved: set[tuple[int, ...]] = set()
        self._begin = [sys.executable, str(BILLING), kind, servers, str(self.journal.path), json.dumps(options)]
        self._servers = servers
        self._dice = random.Random(seed)
        self._dead: set[Place] = set()
        with Admin(servers) as admin:
            admin.create_topics({"orders": PARTITIONS, "orders.dead": 1})
        self._each = records // PARTITIONS
        self._written = 0
        self._producer = Producer(servers)
        self._consumer = Consumer(servers, group_id="g")
        self._dead_letters = Consumer(servers, auto_offset_reset="earliest")
        self._dead_letters.assign([("orders.dead", 0)])
        self._workers = [self._start() for _ in range(size)]

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._begin, stdout=subprocess.PIPE)

    def write(self, share: float) -> None:
        """Writes that share of all records, the same number into each partition."""
        count = min(round(share * self._each), self._each - self._written)
        for partition in range(PARTITIONS):
            for number in range(count):
                value = b"poison" if self._dice.random() < 0.01 else b"%d" % number
                key = b"key-%d" % self._dice.randrange(KEYS)
                self._producer.send("orders", value, key=key, partition=partition)
        self._producer.flush()
        self._written += count

    def replace(self, number: signal.Signals) -> None:
        """One worker ends by the signal, and another takes its place."""
        place = self._dice.randrange(len(self._workers))
        victim = self._workers[place]
        self._wait_until_it_handles(victim)
        assert victim.poll() is None, "it had ended by itself"
        victim.send_signal(number)
        assert victim.wait(60) == (0 if number == signal.SIGTERM else -number)
        assert victim.stdout is not None
        victim.stdout.close()
        self.check()
        self._workers[place] = self._start()

    def _wait_until_it_handles(self, worker: subprocess.Popen[bytes]) -> None:
        """Not for ever: it may have no partition, or none with records."""
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"begun\n"
        give_up = time.monotonic() + BEGINS_WITHIN_S
        while time.monotonic() < give_up and all(row.worker != str(worker.pid) for row in self.journal.read()):
            time.sleep(0.02)

    def freeze(self, seconds: float) -> None:
        """One worker stands still."""
        victim = self._dice.choice(self._workers)
        victim.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        victim.send_signal(signal.SIGCONT)

    def pause(self, least: float, most: float) -> None:
        time.sleep(self._dice.uniform(least, most))

    def committed(self) -> dict[int, int]:
        found = self._consumer.committed([("orders", partition) for partition in range(PARTITIONS)])
        return {tp.partition: 0 if at is None else at.offset for tp, at in sorted(found.items())}

    def dead(self) -> set[Place]:
        """The records among the dead letters."""
        end = self._dead_letters.end_offsets([("orders.dead", 0)]).popitem()[1]
        while self._dead_letters.position(("orders.dead", 0)) < end:
            for record in self._dead_letters.poll(1.0):
                headers = dict(record.headers)
                partition, offset = headers["kwire.original.partition"], headers["kwire.original.offset"]
                self._dead.add((int(partition or b""), int(offset or b"")))
        return self._dead

    def check(self) -> None:
        """What must hold at any time."""
        committed = self.committed()
        self.moved.add(tuple(committed.values()))
        check_commits(committed, self.journal.read(), self.dead())

    def finish(self, *, ordered: bool = True) -> list[Handled]:
        """Writes what is left, waits until the workers have caught up, and checks all that happened."""
        self.write(1.0)
        written = dict.fromkeys(range(PARTITIONS), self._each)
        give_up = time.monotonic() + CATCH_UP_S
        while self.committed() != written:
            assert time.monotonic() < give_up, self.committed()
            assert all(worker.poll() is None for worker in self._workers), "one had ended by itself"
            time.sleep(0.1)
        handled = self.journal.read()
        check_nothing_is_lost(written, handled, self.dead())
        if ordered:
            check_order(handled)
        assert self.dead(), "there was no poison"
        return handled

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.kill()
            worker.wait()
            assert worker.stdout is not None
            worker.stdout.close()
        self._producer.close()
        self._consumer.close()
        self._dead_letters.close()
