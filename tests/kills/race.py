"""The run: three nodes, a writer of each client with a topic of its own, and the kills that all of them see."""

import json
import random
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import kwire
from tests.brokers.cluster import Cluster
from tests.brokers.java import find_java
from tests.brokers.leaders import leaders, wait_for_another_leader, wait_for_replicas
from tests.brokers.processes import JVM_FLAGS, Child
from tests.brokers.traffic import PARTITIONS, read_by_confluent, read_by_kwire
from tests.kills.acks import Ack, faults, read_acks, wait
from tests.kills.writers import WRITERS
from tests.oracle.compiling import compiled

RELEASE = "4.4.0"
PER_SECOND = 2_000
JAVA = "Java"
_SETTINGS = {"min.insync.replicas": "2", "auto.leader.rebalance.enable": "false"}
_ROOT = Path(__file__).parents[2]
_REST_S = 1.0
_END_WITHIN_S = 180.0


@dataclass(frozen=True, slots=True)
class Kill:
    """When a node was killed, and the partitions that it led."""

    at: float
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one writer's records, and the seconds from each kill to the next acknowledgement."""

    writer: str
    acknowledged: int
    faults: Mapping[str, int]
    of_led: list[float]
    """Of partitions that the dead node led."""
    of_others: list[float]


class Race:
    """One run; its files are in `folder`."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._rng = random.Random(seed)
        self._over = folder / "over"

    def run(self, kills: int, records: int) -> list[Result]:
        """The result of each writer."""
        names = [*WRITERS, JAVA]
        with Cluster(RELEASE, nodes=3, overrides=_SETTINGS) as cluster, ExitStack() as ending:
            _create_topics(cluster, names)
            writers = {name: self._start(cluster, name, records) for name in names}
            for writer in writers.values():
                ending.callback(writer.kill)
            self._wait_until_all_write(writers)
            done = [self._kill(cluster, number, names) for number in range(kills)]
            self._over.touch()
            return [self._judge(cluster, name, writer, done) for name, writer in writers.items()]

    def _start(self, cluster: Cluster, name: str, records: int) -> Child:
        acks = self._folder / f"{name}.acks"
        command = [sys.executable, "-m", "tests.kills.writers", name]
        given = {"servers": cluster.bootstrap_servers, "topic": topic_of(name), "partitions": PARTITIONS}
        given |= {"per_second": PER_SECOND, "count": records, "acks": str(acks), "over": str(self._over)}
        if name == JAVA:
            classes = compiled(RELEASE, [Path(__file__).with_name("Writer.java")], cluster.jars)
            command = [find_java(), *JVM_FLAGS, "-cp", f"{classes}:{cluster.jars}/*", "Writer"]
            return Child(name, [*command, *map(str, given.values())], self._folder / f"{name}.log", _ROOT)
        return Child(name, [*command, json.dumps(given)], self._folder / f"{name}.log", _ROOT)

    def _wait_until_all_write(self, writers: Mapping[str, Child]) -> None:
        deadline = time.monotonic() + _END_WITHIN_S
        for name, writer in writers.items():
            acks = self._folder / f"{name}.acks"
            while not (acks.exists() and acks.stat().st_size):
                assert writer.exit_code is None, writer.tail()
                assert time.monotonic() < deadline, f"{name} has no acknowledgement"
                time.sleep(0.1)

    def _kill(self, cluster: Cluster, number: int, names: list[str]) -> Kill:
        """Kills the leader of one partition once all replicas are in sync, and starts it again after another leads."""
        topics = [topic_of(name) for name in names]
        partition = number % PARTITIONS
        wait_for_replicas(cluster, topics)
        time.sleep(self._rng.uniform(0, _REST_S))
        found = {topic: leaders(cluster, topic) for topic in topics}
        node = found[topics[0]][partition]
        led = [{each for each, leader in rows.items() if leader == node} for rows in found.values()]
        at = time.monotonic()
        cluster.kill_node(node)
        wait_for_another_leader(cluster, topics[0], partition, node)
        time.sleep(self._rng.uniform(0, _REST_S))
        cluster.start_node(node)
        print(f"{number + 1:4} killed node {node}; it was back after {time.monotonic() - at:.1f} s", flush=True)
        return Kill(at, tuple(sorted(set.intersection(*led))))

    def _judge(self, cluster: Cluster, name: str, writer: Child, kills: list[Kill]) -> Result:
        code = writer.wait(_END_WITHIN_S)
        assert code == 0, f"{name} ended with {code}: {writer.tail()}"
        sent: list[int] = json.loads(writer.log.read_text().splitlines()[-1])
        acks = read_acks(self._folder / f"{name}.acks")
        found = dict(faults(acks, sent, _logs(cluster, topic_of(name))))
        rows: list[list[Ack]] = [[] for _ in range(PARTITIONS)]
        for ack in sorted(acks, key=lambda ack: ack.number):
            rows[ack.partition].append(ack)
        led: list[float] = []
        others: list[float] = []
        for kill in kills:
            for partition, row in enumerate(rows):
                (led if partition in kill.partitions else others).append(wait(row, kill.at))
        return Result(name, len(acks), found, led, others)


def topic_of(name: str) -> str:
    """The topic of a writer."""
    return f"of-{name}"


def _create_topics(cluster: Cluster, names: list[str]) -> None:
    """The same replicas for all topics, so that a node leads the same partitions of each."""
    nodes = cluster.node_ids
    replicas = {number: [*nodes[number % 3 :], *nodes[: number % 3]] for number in range(PARTITIONS)}
    with kwire.Admin(cluster.bootstrap_servers) as admin:
        admin.create_topics({topic_of(name): {"assignments": replicas} for name in names})
    wait_for_replicas(cluster, [topic_of(name) for name in names])


def _logs(cluster: Cluster, topic: str) -> list[list[int]]:
    """Each partition's numbers, which both readers see alike."""
    with kwire.Consumer(cluster.bootstrap_servers) as consumer:
        found = consumer.end_offsets([(topic, partition) for partition in range(PARTITIONS)])
    numbers = read_by_kwire(cluster, topic, [end for _, end in sorted(found.items())])
    assert read_by_confluent(cluster, topic, sum(found.values())) == numbers
    return numbers
