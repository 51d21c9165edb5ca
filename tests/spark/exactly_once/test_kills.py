"""Drivers and Python workers of a real query are killed, and it is started again: each row is there once.

The embedded broker holds back an answer, so that the kill falls into the step that asked. On real Kafka chance decides.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from kwire import Admin, Consumer, Producer
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.thorough import FIRST_SEED, SOAK, seeds

_SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))
pytestmark = [
    pytest.mark.wall_clock,
    pytest.mark.spark,
    pytest.mark.timeout(1800 if SOAK else 400),
    pytest.mark.skipif(_SPARK < (4, 2), reason="streams have batches of limited size from Spark 4.2 on"),
]

ROWS = [b"%d" % number for number in range(240)]
_MAX_LIFE_S = 120.0
_HELD = ["Produce", "InitProducerId", "OffsetFetch", "TxnOffsetCommit", "EndTxn", "EndTxn", "EndTxn"]


class Life:
    """One start of the program, in a session of its own: the driver's Python, the JVM, and its Python workers."""

    def __init__(self, servers: str, source: str, target: str, checkpoint: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "tests.spark.exactly_once.query_program",
            servers,
            source,
            target,
            str(checkpoint),
        ]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
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

    def wait(self) -> str:
        """What it has printed, when it ends by itself."""
        told, _ = self.process.communicate(timeout=_MAX_LIFE_S * 2)
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
def life(*given: object) -> Iterator[Life]:
    made = Life(*given)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        made.kill()


def until(condition: Callable[[], bool], limit_s: float) -> None:
    end = time.monotonic() + limit_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


def hold_and_kill(broker: Broker, running: Life, rng: random.Random) -> str:
    """Kills the driver when it waits for an answer that never comes."""
    api = rng.choice(_HELD)
    before = broker.request_count("TxnOffsetCommit")
    until(lambda: running.is_over or broker.request_count("TxnOffsetCommit") > before + rng.randrange(3), _MAX_LIFE_S)
    time.sleep(rng.choice([0, 0, 0.1]))
    count, effect = broker.request_count(api), rng.random() < 0.6
    broker.faults.mute(api, after_effect=effect)
    until(lambda: running.is_over or broker.request_count(api) > count, 15.0)
    time.sleep(0.05)
    over = running.is_over
    running.kill()
    broker.faults.clear()
    return "it had ended" if over else f"killed in {api}, {'with' if effect else 'without'} effect"


@pytest.mark.parametrize("seed", seeds(4 if SOAK else 1))
def test_killed_drivers_on_the_embedded_broker(tmp_path: Path, seed: int) -> None:
    rng, happened = random.Random(seed), []
    with Broker(topics={"in": 2, "out": 3}) as broker:
        for number, row in enumerate(ROWS):
            broker.append("in", [row], partition=number % 2)
        given = (broker.bootstrap_servers, "in", "out", tmp_path / "checkpoint")
        for _ in range(8 if SOAK else 1):
            with life(*given) as running:
                happened.append(hold_and_kill(broker, running, rng))
        written = broker.request_count("Produce")
        with life(*given) as running:
            until(lambda: running.is_over or broker.request_count("Produce") > written + 3, _MAX_LIFE_S)
            until(lambda: running.is_over or running.kill_a_worker(rng), 60.0)
            told = running.wait()
        assert "the query has ended" in told, (happened, told[-3000:])
        broker.clock.advance(1000)
        found = Counter(broker.values("out", committed=True))
    assert found == Counter(ROWS), happened


@pytest.mark.kafka
@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"] if SOAK else ["4.4.0"])
def test_killed_drivers_on_real_kafka(
    tmp_path: Path, kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str], release: str
) -> None:
    rng, servers = random.Random(FIRST_SEED), kafka_cluster(release).bootstrap_servers
    source, target = new_topic(), new_topic()
    with Admin(servers) as admin, Producer(servers) as producer:
        admin.create_topics({source: 2, target: 3})
        for number, row in enumerate(ROWS):
            producer.send(source, row, partition=number % 2)
    given = (servers, source, target, tmp_path / "checkpoint")
    for _ in range(10 if SOAK else 1):
        end = _ends(servers, target)
        with life(*given) as running:
            until(lambda end=end: running.is_over or _ends(servers, target) > end, _MAX_LIFE_S)
            time.sleep(rng.uniform(0, 3))
    with life(*given) as running:
        told = running.wait()
    assert "the query has ended" in told, told[-3000:]
    assert read(servers, target, len(ROWS)) == Counter(ROWS)


def _ends(servers: str, topic: str) -> int:
    with Admin(servers) as admin:
        return sum(row.offset for row in admin.list_offsets({(topic, 0): "latest"}).values() if row is not None)


def read(servers: str, topic: str, count: int) -> Counter[bytes | None]:
    found: Counter[bytes | None] = Counter()
    with Consumer(servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        consumer.assign(consumer.partitions_for(topic))
        until(lambda: found.update(consumer.poll(timeout=1.0).values()) or found.total() >= count, 30.0)  # type: ignore[func-returns-value]
        found.update(consumer.poll(timeout=0.5).values())
    return found
