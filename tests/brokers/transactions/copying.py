"""Runs copiers, kills them and the brokers, and reads what they wrote."""

import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import kwire
from tests.brokers import Cluster
from tests.brokers.processes import Child
from tests.brokers.transactions.copier import SIZE
from tests.thorough import FIRST_SEED

PARTITIONS = 3
QUICK = {
    "num.partitions": str(PARTITIONS),
    "min.insync.replicas": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "group.min.session.timeout.ms": "1000",
}
_COPIED_WITHIN_S = 1500.0
_ROOT = Path(__file__).parents[3]


class Copiers:
    """Processes of `copier.py`, each with a transactional id of its own; one that ends is started again."""

    def __init__(self, cluster: Cluster, source: str, target: str, count: int, log: Path) -> None:
        self._given = {"servers": cluster.bootstrap_servers, "source": source, "target": target}
        self._running: dict[str, Child] = {}
        self._names = [f"{target}-{number}" for number in range(count)]
        self._log = log
        self.starts = 0
        self.kills = 0

    def keep_running(self) -> None:
        """Starts those that do not run."""
        for name in self._names:
            child = self._running.get(name)
            if child is None or child.exit_code is not None:
                argument = json.dumps({**self._given, "name": name})
                command = [sys.executable, "-m", "tests.brokers.transactions.copier", argument]
                self._running[name] = Child(name, command, self._log, _ROOT)
                self.starts += 1

    def kill(self, number: int) -> None:
        """SIGKILL for one."""
        self._running[self._names[number % len(self._names)]].kill()

    def stop(self) -> None:
        """Kills all of them."""
        for child in self._running.values():
            child.kill()


@contextmanager
def running(copiers: Copiers) -> Iterator[Copiers]:
    """Starts them; kills all of them at the end."""
    copiers.keep_running()
    try:
        yield copiers
    finally:
        copiers.stop()


class Reader(threading.Thread):
    """Reads what was committed into `seen`, by partition."""

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._servers, self._topic = servers, topic
        self._over = threading.Event()
        self.seen: list[list[int]] = [[] for _ in range(PARTITIONS)]
        self.failure: BaseException | None = None

    @property
    def count(self) -> int:
        return sum(map(len, self.seen))

    def stop(self) -> None:
        self._over.set()
        self.join(30)

    def run(self) -> None:
        try:
            with kwire.Consumer(
                self._servers, auto_offset_reset="earliest", isolation_level="read_committed"
            ) as consumer:
                consumer.assign([(self._topic, partition) for partition in range(PARTITIONS)])
                while not self._over.is_set():
                    for record in consumer.poll(timeout=0.5):
                        self.seen[record.partition].append(int(record.value or b"-1"))
        except BaseException as failure:
            self.failure = failure


def fill(producer: kwire.Producer, topic: str, begin: int, end: int) -> None:
    """Writes the numbers from `begin` to before `end`, in turn to each partition."""
    for number in range(begin, end):
        producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
    producer.flush()


def copy_under_kills(
    cluster: Cluster, source: str, count: int, kills: int, log: Path, *, brokers_too: bool
) -> tuple[list[list[int]], Copiers]:
    """Copies `count` records while copiers and brokers are killed; what a reader of committed records saw.

    The source is filled as they go, lest the copiers be done before the last kill: `kills` of the copiers says how many
    of them, brokers' too, left records to copy.
    """
    target = f"{source}-copy"
    with kwire.Admin(cluster.bootstrap_servers) as admin:
        admin.create_topics({source: PARTITIONS, target: PARTITIONS})
    reader = Reader(cluster.bootstrap_servers, target)
    reader.start()
    chance = random.Random(FIRST_SEED + count)
    deadline = time.monotonic() + _COPIED_WITHIN_S
    shares = [count * number // (kills + 2) for number in range(kills + 3)]
    with (
        kwire.Producer(cluster.bootstrap_servers) as producer,
        running(Copiers(cluster, source, target, 3, log)) as copiers,
    ):
        fill(producer, source, 0, shares[1])
        for kill in range(kills):
            fill(producer, source, shares[kill + 1], shares[kill + 2])
            wait_for(reader, max(shares[kill + 1], reader.count + 2 * SIZE), copiers, deadline)
            copiers.kills += reader.count < shares[kill + 2]
            if brokers_too and kill % 4 == 3:
                bounce(cluster, 1 + kill // 4 % 3)
            else:
                copiers.kill(chance.randrange(3))
        fill(producer, source, shares[kills + 1], count)
        wait_for(reader, count, copiers, deadline)
        time.sleep(1)
    reader.stop()
    assert reader.failure is None
    return reader.seen, copiers


def wait_for(reader: Reader, count: int, copiers: Copiers, deadline: float) -> None:
    """Until so many records were read; copiers that ended are started again."""
    while reader.count < count:
        assert time.monotonic() < deadline, f"{reader.count} of {count} records were copied in time"
        assert reader.failure is None, reader.failure
        copiers.keep_running()
        time.sleep(0.1)


def bounce(cluster: Cluster, node: int) -> None:
    """Kills a broker and starts it again."""
    cluster.kill_node(node)
    time.sleep(1)
    cluster.start_node(node)
