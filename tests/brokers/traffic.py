"""Numbered records through a cluster that is being disturbed: who writes them, who follows, who reads them back.

Each partition gets 0, 1, 2, ...; so what was lost, doubled or put out of order shows by comparison with a range.
"""

import threading
import time

from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import TopicPartition as ConfluentPartition

import kwire
from kwire.producer import Delivery
from tests.brokers.cluster import Cluster

PARTITIONS = 4
READ_WITHIN_S = 120.0
_PER_SECOND = 12_000


class Writer(threading.Thread):
    """Numbers 0, 1, 2, ... to each partition in turn, at least `least` in all, until `stop` is called."""

    def __init__(self, bootstrap_servers: str, topic: str, least: int) -> None:
        super().__init__(name="writer", daemon=True)
        self._bootstrap_servers = bootstrap_servers
        self._topic = topic
        self._least = least
        self._enough = threading.Event()
        self.sent = [0] * PARTITIONS
        self.offsets: list[list[int]] = [[] for _ in range(PARTITIONS)]
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
        deliveries: list[list[Delivery]] = [[] for _ in range(PARTITIONS)]
        number = 0
        while not (self._enough.is_set() and number >= self._least):
            for _ in range(_PER_SECOND // 100):
                partition = number % PARTITIONS
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
        self.seen: list[list[int]] = [[] for _ in range(PARTITIONS)]
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with kwire.Consumer(self._bootstrap_servers, auto_offset_reset="earliest") as consumer:
                consumer.assign([(self._topic, partition) for partition in range(PARTITIONS)])
                while not self._done() and time.monotonic() < self._give_up_at:
                    for tp, records in consumer.poll(timeout=0.5).by_partition().items():
                        self.seen[tp.partition].extend(map(int, records.values()))
        except BaseException as failure:
            self.failure = failure

    def _done(self) -> bool:
        return self._ends is not None and all(len(seen) >= end for seen, end in zip(self.seen, self._ends, strict=True))

    def until(self, ends: list[int]) -> None:
        """The log is complete."""
        self._give_up_at = time.monotonic() + READ_WITHIN_S
        self._ends = ends


def check_order(writer: Writer, follower: Follower) -> list[list[int]]:
    """Ends both: each record was acknowledged and seen once and in order; returns what a reader is to find.

    The log of each partition begins with -1, which another producer wrote.
    """
    writer.stop()
    writer.join(READ_WITHIN_S + 30)
    assert not writer.is_alive()
    assert writer.failure is None
    assert writer.offsets == [list(range(1, 1 + sent)) for sent in writer.sent]
    follower.until([1 + sent for sent in writer.sent])
    follower.join(READ_WITHIN_S + 30)
    assert follower.failure is None
    expected = [list(range(-1, sent)) for sent in writer.sent]
    assert follower.seen == expected
    return expected


def read_by_kwire(cluster: Cluster, topic: str, ends: list[int]) -> list[list[int]]:
    places = [(topic, partition) for partition in range(PARTITIONS)]
    found: list[list[int]] = [[] for _ in range(PARTITIONS)]
    with kwire.Consumer(cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        assert [offset for _, offset in sorted(consumer.end_offsets(places).items())] == ends
        consumer.assign(places, until=dict(zip(places, ends, strict=True)))
        while not consumer.done():
            for tp, records in consumer.poll(timeout=READ_WITHIN_S).by_partition().items():
                found[tp.partition].extend(map(int, records.values()))
    return found


def read_by_confluent(cluster: Cluster, topic: str, count: int) -> list[list[int]]:
    consumer = ConfluentConsumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "kills",
            "enable.auto.commit": False,
            "log_level": 3,
        }
    )
    found: list[list[int]] = [[] for _ in range(PARTITIONS)]
    deadline = time.monotonic() + READ_WITHIN_S
    try:
        consumer.assign([ConfluentPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        while sum(map(len, found)) < count:
            assert time.monotonic() < deadline, f"confluent-kafka read {sum(map(len, found))} of {count} records"
            for message in consumer.consume(10_000, timeout=0.2):
                assert message.error() is None, message.error()
                found[message.partition()].append(int(message.value()))
    finally:
        consumer.close()
    return found
