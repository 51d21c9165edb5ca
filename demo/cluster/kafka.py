"""The three brokers of the cluster, what a client must say to be let in, the orders that are written to them, and what
an independent reader finds: confluent-kafka, which gets committed records only.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import TopicPartition
from examples.spark import shop
from tests.brokers.keys import Keys
from tests.brokers.listeners import USERS
from tests.brokers.secure_cluster import SecureCluster

from kwire import Admin, Producer

RELEASE: Final = "4.4.0"
NODES: Final = 3
ORDERS, BILLS = "orders", "bills"
PARTITIONS: Final = 6
MECHANISM: Final = "SCRAM-SHA-512"
_USER: Final = "alice"
_LISTENER: Final = "SASL_SSL"
_WITHIN_S: Final = 120.0
_SILENCE_S: Final = 20.0
_CHUNK: Final = 100


class Kafka(SecureCluster):
    """A context manager: three nodes, both topics with three replicas of each partition."""

    def __init__(self, folder: Path) -> None:
        super().__init__(RELEASE, Keys(folder / "keys"), None, nodes=NODES, overrides={"min.insync.replicas": "2"})

    @property
    def client(self) -> dict[str, str]:
        """The settings of a client, by Kafka's names."""
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return {
            "bootstrap.servers": self.listeners[_LISTENER].address,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": MECHANISM,
            "sasl.jaas.config": f'{module} required username="{_USER}" password="{USERS[_USER]}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": self.keys.ca.read_text(encoding="ascii"),
        }

    def make_topics(self) -> None:
        with Admin.from_config(self.client) as admin:
            admin.create_topics({ORDERS: PARTITIONS, BILLS: PARTITIONS})

    def wait_for_replicas(self) -> None:
        """Until every partition of both topics has all its replicas in sync."""
        deadline = time.monotonic() + _WITHIN_S
        with Admin.from_config(self.client) as admin:
            while True:
                topics = admin.describe_topics([ORDERS, BILLS]).values()
                in_sync = [len(row.isr) for topic in topics for row in topic.partitions.values()]
                if min(in_sync) == NODES:
                    return
                if time.monotonic() > deadline:
                    raise RuntimeError(f"not all replicas came into sync within {_WITHIN_S:g} s: {in_sync}")
                time.sleep(0.1)

    def confluent(self) -> dict[str, Any]:
        """The settings of librdkafka for the same listener."""
        return {
            "bootstrap.servers": self.client["bootstrap.servers"],
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": MECHANISM,
            "sasl.username": _USER,
            "sasl.password": USERS[_USER],
            "ssl.ca.location": str(self.keys.ca),
            "log_level": 0,
        }


class Shop(threading.Thread):
    """Writes orders, the first of them at once and the others so many a second, until it is closed; `written` counts
    those that brokers have acknowledged.
    """

    def __init__(self, client: dict[str, str], at_once: int, per_second: int = 0) -> None:
        super().__init__(daemon=True)
        self._client, self._at_once, self._per_second = client, at_once, per_second
        self._closing = threading.Event()
        self.opened = threading.Event()
        self.written = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self._write()
        except BaseException as failure:
            self.failure = failure
        finally:
            self.opened.set()

    def _write(self) -> None:
        orders = shop.orders(1 << 40)
        with Producer.from_config({**self._client, "compression.type": "lz4"}) as producer:
            producer.send_many(ORDERS, (order.as_json() for order in islice(orders, self._at_once)))
            producer.flush(_WITHIN_S)
            self.written = self._at_once
            self.opened.set()
            while self._per_second and not self._closing.wait(_CHUNK / self._per_second):
                producer.send_many(ORDERS, [order.as_json() for order in islice(orders, _CHUNK)])
                producer.flush(_WITHIN_S)
                self.written += _CHUNK

    def close(self) -> int:
        """How many orders there are, once all are acknowledged."""
        self._closing.set()
        self.join()
        if self.failure is not None:
            raise RuntimeError(f"orders could not be written: {self.failure}") from self.failure
        return self.written


def committed_bills(kafka: Kafka, tell: Callable[[int], None] = lambda count: None) -> Counter[int]:
    """How often each order is in the topic of bills, as a reader of committed records sees it up to its end."""
    settings = {"group.id": "auditor", "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    consumer = ConfluentConsumer({**kafka.confluent(), **settings, "enable.partition.eof": False})
    found: Counter[int] = Counter()
    try:
        ends = {
            number: consumer.get_watermark_offsets(TopicPartition(BILLS, number), timeout=_WITHIN_S)[1]
            for number in range(PARTITIONS)
        }
        consumer.assign([TopicPartition(BILLS, number, 0) for number in ends])
        last_heard = time.monotonic()
        while _is_behind(consumer, ends):
            messages = consumer.consume(10_000, timeout=0.5)
            for message in messages:
                if message.error() is None:
                    found[json.loads(message.value())["order"]] += 1
                    last_heard = time.monotonic()
            tell(found.total())
            if time.monotonic() - last_heard > _SILENCE_S:
                raise RuntimeError(f"only {found.total():,} bills can be read: the rest waits for an open transaction")
    finally:
        consumer.close()
    return found


def _is_behind(consumer: ConfluentConsumer, ends: dict[int, int]) -> bool:
    positions = consumer.position([TopicPartition(BILLS, number) for number in ends])
    return any(place.offset < ends[place.partition] for place in positions if ends[place.partition])
