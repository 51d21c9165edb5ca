"""aiokafka as a peer: the same two verbs as the peers of `tests.brokers`, on releases from 0.11 on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from tests.brokers.cluster import Cluster
from tests.brokers.peers.peer import WITHIN_S, PeerRecord


class AioKafka:
    """See `tests.brokers.peers.Peer`."""

    def __init__(self, cluster: Cluster) -> None:
        self._servers = cluster.bootstrap_servers
        self._magic = cluster.release.newest_magic

    def produce(self, topic: str, records: Sequence[PeerRecord], *, compression: str = "none") -> None:
        asyncio.run(asyncio.wait_for(self._produce(topic, records, compression), WITHIN_S))

    def consume(self, topic: str, count: int) -> list[PeerRecord]:
        return asyncio.run(asyncio.wait_for(self._consume(topic, count), WITHIN_S))

    async def _produce(self, topic: str, records: Sequence[PeerRecord], compression: str) -> None:
        codec = None if compression == "none" else compression
        async with AIOKafkaProducer(bootstrap_servers=self._servers, compression_type=codec) as producer:
            for record in records:
                await producer.send(
                    topic,
                    record.value,
                    record.key,
                    partition=0,
                    timestamp_ms=record.timestamp,
                    headers=list(record.headers) if self._magic == 2 else None,
                )
            await producer.flush()

    async def _consume(self, topic: str, count: int) -> list[PeerRecord]:
        async with AIOKafkaConsumer(bootstrap_servers=self._servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            found = [await consumer.getone() for _ in range(count)]
        return [PeerRecord(item.value, item.key, item.timestamp, tuple(item.headers)) for item in found]
