"""Leaders are killed again and again while kwire writes and reads: nothing is lost, doubled or out of order.

Three nodes, replication factor 3, min.insync.replicas 2, a producer with default settings. While the records are sent,
a consumer follows the log; at the end kwire and confluent-kafka read it whole.
"""

import threading
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import TopicPartition as ConfluentPartition

import kwire
from kwire.producer import Delivery
from tests.brokers import Cluster

_PARTITIONS = 4
_PER_SECOND = 12_000
_READ_WITHIN_S = 120.0


class Writer(threading.Thread):
    """Numbers 0, 1, 2, ... to each partition in turn, at least `least` in all, until `stop` is called."""

    def __init__(self, bootstrap_servers: str, topic: str, least: int) -> None:
        super().__init__(name="writer", daemon=True)
        self._bootstrap_servers = bootstrap_servers
        self._topic = topic
        self._least = least
        self._enough = threading.Event()
        self.sent = [0] * _PARTITIONS
        self.offsets: list[list[int]] = [[] for _ in range(_PARTITIONS)]
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with kwire.Producer(self._bootstrap_servers, buffer_memory=8 << 20) as producer:
                deliveries = self._send(producer)
                producer.flush()
                self.offsets = [[delivery.result(0).offset for delivery in row] for row in deliveries]
        except BaseException as failure:
            self.failure = failure

    def _send(self, producer: kwire.Producer) -> list[list[Delivery]]:
        deliveries: list[list[Delivery]] = [[] for _ in range(_PARTITIONS)]
        number = 0
        while not (self._enough.is_set() and number >= self._least):
            for _ in range(_PER_SECOND // 100):
                partition = number % _PARTITIONS
                value = b"%d" % self.sent[partition]
                deliveries[partition].append(producer.send(self._topic, value, partition=partition))
                self.sent[partition] += 1
                number += 1
            self._enough.wait(0.01)
        return deliveries

    def stop(self) -> None:
        """No more than `least`."""
        self._enough.set()


class Follower(threading.Thread):
    """Polls from the beginning until `until` says how many records each partition has, or time is over."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        super().__init__(name="follower", daemon=True)
        self._bootstrap_servers = bootstrap_servers
        self._topic = topic
        self._ends: list[int] | None = None
        self._give_up_at = float("inf")
        self.seen: list[list[int]] = [[] for _ in range(_PARTITIONS)]
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with kwire.Consumer(self._bootstrap_servers, auto_offset_reset="earliest") as consumer:
                consumer.assign([(self._topic, partition) for partition in range(_PARTITIONS)])
                while not self._done() and time.monotonic() < self._give_up_at:
                    for tp, records in consumer.poll(timeout=0.5).by_partition().items():
                        self.seen[tp.partition].extend(map(int, records.values()))
        except BaseException as failure:
            self.failure = failure

    def _done(self) -> bool:
        return self._ends is not None and all(
            len(seen) >= end for seen, end in zip(self.seen, self._ends, strict=True))

    def until(self, ends: list[int]) -> None:
        """The log is complete."""
        self._give_up_at = time.monotonic() + _READ_WITHIN_S
        self._ends = ends


def _leader(cluster: Cluster, topic: str, partition: int) -> int:
    with kwire.Admin(cluster.bootstrap_servers) as admin:
        return admin.describe_topics([topic])[topic].partitions[partition].leader


def _wait_for_another_leader(cluster: Cluster, topic: str, partition: int, gone: int) -> None:
    deadline = time.monotonic() + _READ_WITHIN_S
    while _leader(cluster, topic, partition) in (gone, -1):
        assert time.monotonic() < deadline, f"partition {partition} got no leader after the death of node {gone}"
        time.sleep(0.05)


def _wait_for_replicas(cluster: Cluster, topic: str) -> None:
    deadline = time.monotonic() + _READ_WITHIN_S
    while True:
        with kwire.Admin(cluster.bootstrap_servers) as admin:
            rows = admin.describe_topics([topic])[topic].partitions
        if all(len(row.isr) == 3 for row in rows.values()):
            return
        assert time.monotonic() < deadline, f"not all replicas came back into sync: {rows}"
        time.sleep(0.05)


def _read_by_kwire(cluster: Cluster, topic: str, ends: list[int]) -> list[list[int]]:
    places = [(topic, partition) for partition in range(_PARTITIONS)]
    found: list[list[int]] = [[] for _ in range(_PARTITIONS)]
    with kwire.Consumer(cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        assert [offset for _, offset in sorted(consumer.end_offsets(places).items())] == ends
        consumer.assign(places, until=dict(zip(places, ends, strict=True)))
        while not consumer.done():
            for tp, records in consumer.poll(timeout=_READ_WITHIN_S).by_partition().items():
                found[tp.partition].extend(map(int, records.values()))
    return found


def _read_by_confluent(cluster: Cluster, topic: str, count: int) -> list[list[int]]:
    consumer = ConfluentConsumer({
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": "kills", "enable.auto.commit": False,
        "log_level": 3})
    found: list[list[int]] = [[] for _ in range(_PARTITIONS)]
    deadline = time.monotonic() + _READ_WITHIN_S
    try:
        consumer.assign([ConfluentPartition(topic, partition, 0) for partition in range(_PARTITIONS)])
        while sum(map(len, found)) < count:
            assert time.monotonic() < deadline, f"confluent-kafka read {sum(map(len, found))} of {count} records"
            for message in consumer.consume(10_000, timeout=0.2):
                assert message.error() is None, message.error()
                found[message.partition()].append(int(message.value()))
    finally:
        consumer.close()
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("release", "kills", "count"), [
    pytest.param("4.4.0", 2, 60_000, id="4.4.0", marks=pytest.mark.kafka),
    pytest.param("4.4.0", 8, 200_000, id="4.4.0-long", marks=[pytest.mark.kafka, pytest.mark.kafka_all]),
    pytest.param("3.9.2", 8, 200_000, id="3.9.2-long", marks=[pytest.mark.kafka, pytest.mark.kafka_all]),
])
def test_leaders_die_and_every_record_arrives_once_in_order(
    release: str, kills: int, count: int, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    settings = {"num.partitions": str(_PARTITIONS), "min.insync.replicas": "2"}
    with Cluster(release, nodes=3, overrides=settings) as cluster:
        with kwire.Producer(cluster.bootstrap_servers) as producer:
            for partition in range(_PARTITIONS):
                assert producer.send(topic, b"-1", partition=partition).result(30).offset == 0
        writer, follower = Writer(cluster.bootstrap_servers, topic, count), Follower(cluster.bootstrap_servers, topic)
        writer.start()
        follower.start()
        for kill in range(kills):
            partition = kill % _PARTITIONS
            _wait_for_replicas(cluster, topic)
            leader = _leader(cluster, topic, partition)
            cluster.kill_node(leader)
            _wait_for_another_leader(cluster, topic, partition, leader)
            cluster.start_node(leader)
        writer.stop()
        writer.join(_READ_WITHIN_S + 30)
        assert not writer.is_alive()
        assert writer.failure is None
        ends = [1 + sent for sent in writer.sent]
        assert writer.offsets == [list(range(1, end)) for end in ends]
        follower.until(ends)
        follower.join(_READ_WITHIN_S + 30)
        assert follower.failure is None
        expected = [list(range(-1, sent)) for sent in writer.sent]
        assert follower.seen == expected
        assert _read_by_kwire(cluster, topic, ends) == expected
        assert _read_by_confluent(cluster, topic, sum(ends)) == expected
