"""Topics filled by confluent-kafka: what Spark must find is what that client says it wrote."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

WITHIN_S = 30.0


@dataclass(frozen=True)
class Sent:
    """A record as it was handed to confluent-kafka, and where the broker put it."""

    topic: str
    partition: int
    offset: int
    value: bytes | None
    key: bytes | None
    timestamp: int
    headers: Sequence[tuple[str, bytes | None]] = ()

    def row(self) -> dict[str, Any]:
        """The row of Spark's Kafka source, its timestamp in milliseconds and its headers as pairs."""
        return {
            "key": self.key,
            "value": self.value,
            "topic": self.topic,
            "partition": self.partition,
            "offset": self.offset,
            "timestamp": self.timestamp,
            "timestampType": 0,
            "headers": list(self.headers) or None,
        }


Item = tuple[int, bytes | None, bytes | None, int, Sequence[tuple[str, bytes | None]]]
"""partition, value, key, timestamp, headers"""


class ForeignClient:
    """confluent-kafka against one cluster."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._settings: dict[str, Any] = {"bootstrap.servers": bootstrap_servers, "log_level": 3}
        self.admin = AdminClient(self._settings)

    def create_topic(self, topic: str, partitions: int, **config: str) -> None:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=settings)
        self.admin.create_topics([new])[topic].result(WITHIN_S)
        self.wait_for_leaders(topic, partitions)

    def produce(self, topic: str, items: Iterable[Item], compression: str = "none") -> list[Sent]:
        """Writes the items and gives them back with the offsets that the broker acknowledged."""
        producer = Producer({**self._settings, "compression.type": compression, "acks": "all", "linger.ms": 5})
        sent: list[Sent] = []
        failed: list[object] = []
        for item in items:
            self._send(producer, topic, item, sent, failed)
            producer.poll(0)
        left = producer.flush(WITHIN_S)
        assert not left, f"{left} records of {topic} were not acknowledged"
        assert not failed, failed
        return sorted(sent, key=lambda record: (record.partition, record.offset))

    def transactional_producer(self, transactional_id: str, **config: str | int) -> Producer:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        producer = Producer({**self._settings, "transactional.id": transactional_id, **settings})
        producer.init_transactions(WITHIN_S)
        return producer

    def _send(self, producer: Producer, topic: str, item: Item, sent: list[Sent], failed: list[object]) -> None:
        partition, value, key, timestamp, headers = item

        def on_delivery(error: object, message: Message) -> None:
            if error is not None:
                failed.append(error)
                return
            offset = message.offset()
            assert offset is not None
            sent.append(Sent(topic, partition, offset, value, key, timestamp, headers))

        producer.produce(
            topic,
            value,
            key,
            partition=partition,
            timestamp=timestamp,
            headers=list(headers) or None,
            on_delivery=on_delivery,
        )

    def wait_for_leaders(self, topic: str, partitions: int) -> None:
        deadline = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline:
            found = self.admin.list_topics(topic, timeout=WITHIN_S).topics[topic].partitions
            if len(found) == partitions and all(each.leader >= 0 for each in found.values()):
                return
            time.sleep(0.05)
        raise TimeoutError(f"{topic} has no leaders after {WITHIN_S:.0f} s")
