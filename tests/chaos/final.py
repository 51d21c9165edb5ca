"""What a cluster holds in the end, by confluent-kafka: committed records of topics, positions of groups."""

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.chaos.checker import Log

_READ_WITHIN_S = 90.0


def read_topic(servers: str, topic: str, partitions: int) -> dict[int, Log]:
    """All committed records, up to where each partition ends now; open transactions are waited for."""
    ends = _ends(servers, topic, partitions)
    logs: dict[int, Log] = {partition: [] for partition in ends}
    left = {partition for partition, end in ends.items() if end > 0}
    consumer = _consumer(servers, "reader", **{"isolation.level": "read_committed", "enable.partition.eof": True})
    deadline = time.monotonic() + _READ_WITHIN_S
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
        while left:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic} could not be read up to {ends}: partitions {left} are open")
            for message in consumer.consume(1_000, timeout=0.5):
                partition, offset, error = message.partition(), message.offset(), message.error()
                assert partition is not None
                assert offset is not None
                if error is None:
                    logs[partition].append((offset, (message.value() or b"").decode(errors="backslashreplace")))
                elif error.code() != KafkaError._PARTITION_EOF:
                    continue  # librdkafka tries again by itself
                elif offset >= ends[partition]:
                    left.discard(partition)
    finally:
        consumer.close()
    return logs


def positions(servers: str, group: str, topic: str, partitions: int) -> dict[tuple[str, str, int], int]:
    """The committed position of each partition that has one."""
    consumer = _consumer(servers, group)
    try:
        found = _insisting(consumer.committed, [TopicPartition(topic, number) for number in range(partitions)])
        return {(group, topic, place.partition): place.offset for place in found if place.offset >= 0}
    finally:
        consumer.close()


def _ends(servers: str, topic: str, partitions: int) -> dict[int, int]:
    consumer = _consumer(servers, "ends", **{"isolation.level": "read_uncommitted"})
    try:
        return {
            number: _insisting(consumer.get_watermark_offsets, TopicPartition(topic, number))[1]
            for number in range(partitions)
        }
    finally:
        consumer.close()


def _insisting(function: Any, *arguments: Any) -> Any:
    deadline = time.monotonic() + _READ_WITHIN_S
    while True:
        try:
            return function(*arguments, timeout=10)
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _consumer(servers: str, group: str, **settings: Any) -> Consumer:
    given = {"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False, "log_level": 0}
    return Consumer({**given, **settings})
