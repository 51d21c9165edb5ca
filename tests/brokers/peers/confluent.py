"""confluent-kafka (librdkafka) as a peer. Before 0.10 it is told the broker's version instead of asking."""

import time
from collections.abc import Sequence
from typing import Any, ClassVar

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, Producer, TopicPartition

from tests.brokers.cluster import Cluster
from tests.brokers.peers.peer import WITHIN_S, PeerRecord


class Confluent:
    """See Peer."""

    writes_null_headers: ClassVar[bool] = True

    def __init__(self, cluster: Cluster) -> None:
        self._settings: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 3}
        if cluster.release.number < (0, 10):
            self._settings |= {"api.version.request": False, "broker.version.fallback": cluster.release.version}

    def produce(self, topic: str, records: Sequence[PeerRecord], *, compression: str = "none") -> None:
        """See Peer."""
        producer = Producer({**self._settings, "compression.type": compression, "acks": "all", "linger.ms": 20})
        failed: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, _message: object) -> None:
            if error is not None:
                failed.append(error)

        for record in records:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=0,
                timestamp=record.timestamp or 0,
                headers=list(record.headers) or None,
                on_delivery=on_delivery,
            )
        left = producer.flush(WITHIN_S)
        if left or failed:
            raise TimeoutError(f"confluent-kafka: {left} records of {topic} not acknowledged, errors {failed}")

    def produce_transactions(self, topic: str, transactions: Sequence[tuple[Sequence[bytes], bool]]) -> None:
        """Writes each transaction's values to partition 0 and commits it where the flag says so, else aborts it."""
        producer = Producer({**self._settings, "transactional.id": f"peer-of-{topic}"})
        producer.init_transactions(WITHIN_S)
        for values, committed in transactions:
            producer.begin_transaction()
            for value in values:
                producer.produce(topic, value, partition=0)
            # An abort drops what is still queued, so that nothing of it would reach the broker.
            producer.flush(WITHIN_S)
            if committed:
                producer.commit_transaction(WITHIN_S)
            else:
                producer.abort_transaction(WITHIN_S)

    def consume(self, topic: str, count: int) -> list[PeerRecord]:
        """See Peer."""
        settings = {
            "group.id": "tests.brokers",
            "session.timeout.ms": 10000,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
        consumer = Consumer({**self._settings, **settings})
        try:
            # A number, because librdkafka takes half a second to look the beginning up; a test's topic begins at 0.
            consumer.assign([TopicPartition(topic, 0, 0)])
            found: list[PeerRecord] = []
            deadline = time.monotonic() + WITHIN_S
            while len(found) < count:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"confluent-kafka read {len(found)} of {count} records of {topic}")
                for message in consumer.consume(count - len(found), timeout=0.2):
                    if message.error() is not None:
                        raise RuntimeError(f"confluent-kafka: {message.error()}")
                    found.append(_record(message))
            return found
        finally:
            consumer.close()


def _record(message: Any) -> PeerRecord:
    kind, timestamp = message.timestamp()
    return PeerRecord(
        message.value(),
        message.key(),
        None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp,
        tuple(message.headers() or ()),
    )
