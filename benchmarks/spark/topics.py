"""The topics that are read: what their records are, and how they are filled. No Spark."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from kwire import Admin, Producer

_CHUNK = 20_000
_WITHIN_S = 300.0
AVRO_SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "price", "type": "double"},
            {"name": "name", "type": "string"},
        ],
    }
)
ORDER_DDL = "id BIGINT, price DOUBLE, name STRING"
_NAME = "customer-%08d-of-the-shop-around-the-corner"


@dataclass(frozen=True)
class Topic:
    """A topic, its number of records, and how the value of a record is made from its number. Of ten chunks of records
    `skew` go to the first partition, and the others to all partitions in turn.
    """

    name: str
    partitions: int
    records: int
    value: Callable[[int], bytes]
    compression: Literal["none", "lz4"] = "none"
    skew: int = 0

    def partition_of(self, chunk: int) -> int:
        """Where a chunk of records goes, by its number."""
        if chunk % 10 < self.skew:
            return 0
        return (chunk // 10 if self.skew else chunk) % self.partitions


def _plain(size: int) -> Callable[[int], bytes]:
    return lambda number: (b"%016d:" % number * (size // 17 + 1))[:size]


def _as_json(number: int) -> bytes:
    return b'{"id":%d,"price":%d.25,"name":"%s"}' % (number, number % 1000, (_NAME % number).encode())


def _as_avro(number: int) -> bytes:
    name = (_NAME % number).encode()
    return _varint(number) + struct.pack("<d", number % 1000 + 0.25) + _varint(len(name)) + name


def _varint(number: int) -> bytes:
    zigzag, out = number << 1, bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


TOPICS = {
    topic.name: topic
    for topic in (
        Topic("plain-100", 12, 4_800_000, _plain(100)),
        Topic("plain-1k", 12, 1_200_000, _plain(1000)),
        Topic("lz4-100", 12, 2_400_000, _plain(100), compression="lz4"),
        Topic("json", 12, 1_200_000, _as_json),
        Topic("avro", 12, 1_200_000, _as_avro),
        Topic("skewed", 12, 4_800_000, _plain(100), skew=9),
        Topic("many", 1000, 1_000_000, _plain(100)),
        Topic("sparse", 100, 1000, _plain(100)),
        Topic("stream", 12, 1_000_000, _plain(100)),
        Topic("written", 12, 0, _plain(100)),
        *(Topic(f"trickle-{partitions}", partitions, 0, _plain(100)) for partitions in (12, 100, 1000)),
    )
}


def fill(servers: str, topic: Topic, records: int) -> None:
    """Makes the topic with so many records, spread over its partitions, with keys of 16 bytes."""
    with Admin(servers) as admin:
        admin.create_topics({topic.name: topic.partitions})
    with Producer(
        servers, compression=topic.compression, linger_ms=20, batch_size=131_072, delivery_timeout_ms=240_000
    ) as producer:
        for number, items in _items(topic, records):
            producer.send_many(topic.name, items, partition=topic.partition_of(number))
        producer.flush(timeout=_WITHIN_S)


def _items(topic: Topic, records: int) -> Iterator[tuple[int, list[tuple[bytes, bytes]]]]:
    chunk = max(min(_CHUNK, records // topic.partitions), 1)
    for turn, start in enumerate(range(0, records, chunk)):
        numbers = range(start, min(start + chunk, records))
        yield turn, [(topic.value(number), b"key-%012d" % number) for number in numbers]
