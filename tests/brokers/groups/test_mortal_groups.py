"""Three groups in a chain while every connection dies within two seconds: each record arrives at the end of it.

Numbers go into the first topic; the members of each group copy what they read to the next topic and commit it when it
is delivered. Copies may come twice, as a commit may be lost with its connection; none may be missing.
"""

import threading
import time
from collections.abc import Callable

import pytest

import kwire
from kwire import TopicPartition
from tests.brokers import Cluster
from tests.brokers.groups.members import PARTITIONS, QUICK_GROUPS
from tests.brokers.mortal_proxy import MortalProxy
from tests.brokers.ports import LOOPBACK, free_ports
from tests.thorough import REPEATS, SOAK, THOROUGH, seeds

pytestmark = pytest.mark.wall_clock

RECORDS = 500_000 if SOAK else 20_000
STAGES = 3
MEMBERS = 2
PATIENCE_S = 1_200.0 if SOAK else 100.0
PER_SECOND = 10_000 if SOAK else 2_500
MAX_POLL = 2_000


class Copier(threading.Thread):
    """A member of a stage's group: copies from its topic to the next."""

    def __init__(self, servers: str, source: str, target: str | None, group: str, protocol: str) -> None:
        super().__init__(name=f"copier of {group}", daemon=True)
        self._servers = servers
        self._source = source
        self._target = target
        self._settings = {"group_id": group, "group_protocol": protocol}
        self.over = threading.Event()
        self.values: set[bytes] = set()
        self.count = 0
        self.refused = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with kwire.Producer(self._servers) as producer, self._consumer() as consumer:
                consumer.subscribe([self._source])
                while not self.over.is_set():
                    self._copy(consumer, producer)
        except BaseException as failure:
            self.failure = failure

    def _consumer(self) -> kwire.Consumer:
        return kwire.Consumer(
            self._servers, auto_offset_reset="earliest", enable_auto_commit=False, max_poll_records=MAX_POLL,
            **self._settings,
        )  # fmt: skip

    def _copy(self, consumer: kwire.Consumer, producer: kwire.Producer) -> None:
        records = consumer.poll(0.5)
        values = [value for value in records.values() if value is not None]
        if not values:
            return
        self.count += len(values)
        if self._target is None:
            self.values.update(values)
        else:
            for value in values:
                producer.send(self._target, value, partition=int(value) % PARTITIONS)
            producer.flush()
        try:
            consumer.commit(records)
        except kwire.KafkaError:
            self.refused += 1


@pytest.mark.kafka
@pytest.mark.timeout(PATIENCE_S + 60)
@pytest.mark.skipif(not (THOROUGH or SOAK), reason="takes half a minute")
@pytest.mark.parametrize("protocol", ["classic", "consumer"] if SOAK else ["classic"])
@pytest.mark.parametrize("seed", seeds(REPEATS))
def test_a_chain_of_groups_loses_nothing_while_connections_die(
    protocol: str, seed: int, new_topic: Callable[[], str]
) -> None:
    topics, [port] = [new_topic() for _ in range(STAGES)], free_ports(1)
    servers = f"{LOOPBACK}:{port}"
    settings = {**QUICK_GROUPS, "num.partitions": str(PARTITIONS), "advertised.listeners": f"PLAINTEXT://{servers}"}
    with Cluster("4.4.0", overrides=settings) as cluster:
        target = int(cluster.bootstrap_servers.rpartition(":")[2])
        with MortalProxy(port, target, life=(0.5, 1.5), seed=seed) as proxy:
            chain = list(zip(topics, [*topics[1:], None], strict=True))
            copiers = [
                Copier(servers, source, target_topic, f"g-{source}", protocol)
                for source, target_topic in chain
                for _ in range(MEMBERS)
            ]
            for copier in copiers:
                copier.start()
            _write(servers, topics[0])
            _wait_all(copiers)
            for copier in copiers:
                copier.over.set()
            for copier in copiers:
                copier.join(60)
            assert not [copier.failure for copier in copiers if copier.failure is not None]
            assert proxy.deaths > 5 * STAGES * MEMBERS
            assert _committed(servers, f"g-{topics[-1]}", topics[-1]) >= RECORDS


def _write(servers: str, topic: str) -> None:
    with kwire.Producer(servers) as producer:
        for number in range(RECORDS):
            if number % (PER_SECOND // 50) == 0:
                time.sleep(1 / 50)
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)


def _wait_all(copiers: list[Copier]) -> None:
    """Waits until the last stage has read every number."""
    last, give_up = copiers[-MEMBERS:], time.monotonic() + PATIENCE_S
    while len(set().union(*(copier.values.copy() for copier in last))) < RECORDS:
        failed = [copier.failure for copier in copiers if copier.failure is not None]
        counts = [(copier.count, copier.refused) for copier in copiers]
        assert not failed, counts
        assert time.monotonic() < give_up, counts
        time.sleep(0.5)


def _committed(servers: str, group: str, topic: str) -> int:
    with kwire.Consumer(servers, group_id=group) as consumer:
        found = consumer.committed([TopicPartition(topic, n) for n in range(PARTITIONS)])
    return sum(each.offset for each in found.values() if each is not None)
