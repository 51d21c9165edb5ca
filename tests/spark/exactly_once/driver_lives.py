"""Starts of a query as processes of their own, which may be killed, and how often each row was written."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kwire import Consumer

MAX_LIFE_S = 120.0


class Life:
    """One start of the program, in a session of its own: the driver's Python, the JVM, and its Python workers."""

    def __init__(self, *given: object, environment: Mapping[str, str] = {}) -> None:
        command = [sys.executable, "-m", "tests.spark.exactly_once.query_program", *map(str, given)]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, **environment},
        )

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None

    def kill(self) -> None:
        """All of it at once."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(30)

    def kill_a_worker(self, rng: random.Random) -> bool:
        """One of the Python workers that Spark's daemon has forked."""
        found = [pid for pid in _session(self.process.pid) if _is_worker(pid)]
        if not found:
            return False
        try:
            os.kill(rng.choice(found), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def wait(self, limit_s: float = MAX_LIFE_S * 2) -> str:
        """What it has printed, when it ends by itself."""
        told, _ = self.process.communicate(timeout=limit_s)
        return told


def _session(leader: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[3]) == leader:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def _is_worker(pid: int) -> bool:
    """A process whose parent is Spark's daemon."""
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        return all(b"pyspark.daemon" in Path(f"/proc/{each}/cmdline").read_bytes() for each in (pid, parent))
    except OSError:
        return False


@contextmanager
def life(*given: object, environment: Mapping[str, str] = {}) -> Iterator[Life]:
    """One that is over when the block is left."""
    made = Life(*given, environment=environment)
    try:
        yield made
    finally:
        made.kill()


def until(condition: Callable[[], bool], limit_s: float) -> None:
    end = time.monotonic() + limit_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


def read(servers: str, topic: str, count: int) -> Counter[bytes | None]:
    found: Counter[bytes | None] = Counter()
    with Consumer(servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        consumer.assign(consumer.partitions_for(topic))
        until(lambda: found.update(consumer.poll(timeout=1.0).values()) or found.total() >= count, 30.0)  # type: ignore[func-returns-value]
        found.update(consumer.poll(timeout=0.5).values())
    return found
