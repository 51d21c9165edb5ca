"""kafka-python as a peer. Before 0.10 a broker cannot say what it speaks, so the version is given."""

import time
from collections.abc import Sequence
from typing import Any, ClassVar

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.brokers.cluster import Cluster
from tests.brokers.peers.peer import WITHIN_S, PeerRecord


class KafkaPython:
    """See Peer."""

    writes_null_headers: ClassVar[bool] = False

    def __init__(self, cluster: Cluster) -> None:
        number = cluster.release.number
        self._settings: dict[str, Any] = {"bootstrap_servers": cluster.bootstrap_servers}
        if number < (0, 10):
            self._settings["api_version"] = number[:2] if number >= (0, 9) else number[:3]
        # It is idempotent by default, also where a broker cannot give out producer ids.
        self._idempotent = "transactions" in cluster.release.abilities
        self._magic = cluster.release.newest_magic

    def produce(self, topic: str, records: Sequence[PeerRecord], *, compression: str = "none") -> None:
        """See Peer."""
        codec = None if compression == "none" else compression
        producer = KafkaProducer(
            **self._settings, compression_type=codec, enable_idempotence=self._idempotent, acks="all", linger_ms=20
        )
        try:
            sent = [
                producer.send(
                    topic,
                    record.value,
                    key=record.key,
                    partition=0,
                    timestamp_ms=record.timestamp,
                    headers=list(record.headers) if self._magic == 2 else None,
                )
                for record in records
            ]
            for future in sent:
                future.get(timeout=WITHIN_S)
        finally:
            producer.close(timeout=5)

    def consume(self, topic: str, count: int) -> list[PeerRecord]:
        """See Peer."""
        consumer = KafkaConsumer(**self._settings, group_id=None, auto_offset_reset="earliest")
        try:
            partition = TopicPartition(topic, 0)
            consumer.assign([partition])
            consumer.seek_to_beginning(partition)
            found: list[PeerRecord] = []
            deadline = time.monotonic() + WITHIN_S
            while len(found) < count:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"kafka-python read {len(found)} of {count} records of {topic}")
                for batch in consumer.poll(timeout_ms=200).values():
                    found += [self._record(item) for item in batch]
            return found
        finally:
            consumer.close()

    def _record(self, item: Any) -> PeerRecord:
        timestamp = item.timestamp if self._magic else None
        return PeerRecord(item.value, item.key, timestamp, tuple((name, value) for name, value in item.headers))
