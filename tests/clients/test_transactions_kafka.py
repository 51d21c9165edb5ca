"""Transactions of `kwire.Producer` on real Apache Kafka: what others read of them, and whom they fence."""
# ruff: noqa: PT012 - a transaction is a block

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable

import confluent_kafka
import pytest

from kwire import Consumer, Producer, TopicPartition, aio
from kwire.errors import ProducerFencedError, TransactionError
from tests.brokers import Cluster

TopicNames = Callable[[], str]
pytestmark = pytest.mark.needs("transactions")


def committed(kafka: Cluster, topic: str, count: int) -> list[bytes | None]:
    """What kwire and librdkafka read of what was committed, which is the same."""
    found: list[bytes | None] = []
    with Consumer(kafka.bootstrap_servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        consumer.assign([(topic, 0)])
        while len(found) < count:
            records = consumer.poll(timeout=20)
            assert records, f"{len(found)} of {count} records"
            found += records.values()
        found += consumer.poll(timeout=0.3).values()
    assert read_by_confluent(kafka, topic, count) == found
    return found


def read_by_confluent(kafka: Cluster, topic: str, count: int) -> list[bytes | None]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": f"of-{topic}",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found: list[bytes | None] = []
    while len(found) < count:
        message = consumer.poll(20)
        assert message is not None, f"{len(found)} of {count} records"
        found.append(message.value())
    consumer.close()
    return found


def test_committed_and_aborted_records(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    with Producer(kafka.bootstrap_servers, transactional_id=topic) as producer:
        for number in range(10):
            with producer.transaction():
                producer.send_many(topic, [b"%d-%d" % (number, each) for each in range(100)], partition=0)
            with pytest.raises(ZeroDivisionError):
                with producer.transaction():
                    producer.send(topic, b"gone", partition=0)
                    producer.flush()
                    producer.send(topic, b"unsent", partition=0)
                    raise ZeroDivisionError
            with producer.transaction():
                pass
    expected = [b"%d-%d" % (number, each) for number in range(10) for each in range(100)]
    assert committed(kafka, topic, 1000) == expected


def test_offsets_move_with_the_records(kafka: Cluster, new_topic: TopicNames) -> None:
    source, target = new_topic(), new_topic()
    with Producer(kafka.bootstrap_servers) as plain:
        plain.send_many(source, [b"%d" % number for number in range(100)], partition=0)
    tp = TopicPartition(source, 0)
    with (
        Consumer(
            kafka.bootstrap_servers, group_id=f"g-{source}", auto_offset_reset="earliest", enable_auto_commit=False
        ) as consumer,
        Producer(kafka.bootstrap_servers, transactional_id=target) as producer,
    ):
        consumer.assign([tp])
        copied = 0
        while copied < 100:
            records = consumer.poll(timeout=20, max_records=10)
            with producer.transaction():
                producer.send_many(target, records.values(), partition=0)
                producer.send_offsets_to_transaction(records, consumer.group_metadata())
            copied += len(records)
            assert offset_of(consumer, tp, copied) == copied
    assert committed(kafka, target, 100) == [b"%d" % number for number in range(100)]


def offset_of(consumer: Consumer, tp: TopicPartition, wanted: int) -> int:
    """The committed offset; before Kafka 2.5 a reader is not told that a transaction is still being ended (KIP-447)."""
    until = time.monotonic() + 10
    while True:
        where = consumer.committed([tp])[tp]
        offset = 0 if where is None else where.offset
        if offset >= wanted or time.monotonic() > until:
            return offset


def test_a_producer_of_librdkafka_fences_and_is_fenced(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    foreign = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic})
    with Producer(kafka.bootstrap_servers, transactional_id=topic) as mine:
        with mine.transaction():
            mine.send(topic, b"mine", partition=0)
        mine.begin_transaction()
        mine.send(topic, b"gone", partition=0).result(20)
        foreign.init_transactions(30)
        with pytest.raises(ProducerFencedError):
            mine.commit_transaction()
        foreign.begin_transaction()
        foreign.produce(topic, b"foreign", partition=0)
        foreign.commit_transaction(30)
        foreign.begin_transaction()
        foreign.produce(topic, b"gone, too", partition=0)
        foreign.flush(20)
    with Producer(kafka.bootstrap_servers, transactional_id=topic) as again:
        with again.transaction():
            again.send(topic, b"again", partition=0)
        with pytest.raises(confluent_kafka.KafkaException):
            foreign.commit_transaction(30)
    assert committed(kafka, topic, 3) == [b"mine", b"foreign", b"again"]


def test_a_fenced_producer_hears_of_it_when_it_sends(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    with (
        Producer(kafka.bootstrap_servers, transactional_id=topic) as old,
        Producer(kafka.bootstrap_servers, transactional_id=topic) as new,
    ):
        old.init_transactions()
        with pytest.raises(ProducerFencedError):
            with old.transaction():
                old.send(topic, b"old", partition=0).result(20)
                with new.transaction():
                    new.send(topic, b"new", partition=0)
                old.send(topic, b"older", partition=0)
    assert committed(kafka, topic, 1) == [b"new"]


def test_a_record_that_is_refused_aborts_and_the_next_goes_on(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    with Producer(kafka.bootstrap_servers, transactional_id=topic, max_request_size=5_000_000) as producer:
        for number in range(3):
            with pytest.raises(TransactionError, match="MESSAGE_TOO_LARGE") as caught:
                with producer.transaction():
                    producer.send(topic, b"before", partition=0).result(20)
                    producer.send(topic, b"x" * 2_000_000, partition=0)
            assert caught.value.abortable
            with producer.transaction():
                producer.send(topic, b"%d" % number, partition=0)
    assert committed(kafka, topic, 3) == [b"0", b"1", b"2"]


def test_a_killed_producer_leaves_nothing_behind(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    program = textwrap.dedent(
        f"""
        import os, signal
        from kwire import Producer
        producer = Producer({kafka.bootstrap_servers!r}, transactional_id={topic!r})
        with producer.transaction():
            producer.send({topic!r}, b"kept", partition=0)
        producer.begin_transaction()
        producer.send({topic!r}, b"gone", partition=0).result(20)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == -9
    with Producer(kafka.bootstrap_servers, transactional_id=topic) as producer, producer.transaction():
        producer.send(topic, b"next", partition=0)
    assert committed(kafka, topic, 2) == [b"kept", b"next"]


def test_on_an_event_loop(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()

    async def main() -> None:
        async with aio.Producer(kafka.bootstrap_servers, transactional_id=topic) as producer:
            for number in range(5):
                async with producer.transaction():
                    producer.send(topic, b"%d" % number, partition=0)
                with pytest.raises(ZeroDivisionError):
                    async with producer.transaction():
                        await producer.send(topic, b"gone", partition=0)
                        raise ZeroDivisionError

    asyncio.run(main())
    assert committed(kafka, topic, 5) == [b"%d" % number for number in range(5)]
