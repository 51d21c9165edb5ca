"""confluent-kafka in groups and transactions."""

from __future__ import annotations

import os
from itertools import cycle, islice, repeat
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.compare.contenders.confluent_kafka import consumer_settings, producer_settings
from benchmarks.compare.contenders.members import (
    HEARTBEAT_MS,
    PATTERN,
    PER_TRANSACTION,
    POLL_S,
    SESSION_MS,
    Found,
    Shares,
    last_join,
    per_partition,
    read_by_members,
)
from benchmarks.compare.contenders.meters import Meter, round_trips
from benchmarks.compare.contenders.task import Task, values_of

_TIMEOUT_S = 60


def group_join(task: Task) -> dict[str, float]:
    """The last of many members joins."""
    return last_join(task, _member)


def _member(task: Task, number: int, shares: Shares) -> None:
    settings = {
        "bootstrap.servers": task.bootstrap,
        "log_level": 0,
        "group.id": f"joined-{task.contender}",
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "session.timeout.ms": SESSION_MS,
        "partition.assignment.strategy": "range",
    }
    consumer = Consumer(settings)
    consumer.subscribe(
        [task.topic],
        on_assign=lambda _, partitions: shares.set(number, len(partitions)),
        on_revoke=lambda _, partitions: shares.set(number, 0),
    )
    while not shares.over.is_set():
        consumer.poll(POLL_S)
    consumer.close()


def group_read(task: Task) -> dict[str, float]:
    """Members of a group read a topic together."""
    return read_by_members(task, _reader)


def _reader(task: Task, number: int, shares: Shares, found: Found) -> None:
    settings = {"group.id": f"reading-{os.getpid()}", "enable.auto.commit": True}
    consumer = Consumer({**consumer_settings(task), **settings, "partition.assignment.strategy": "range"})

    def on_assign(_: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.assign(partitions)
        consumer.pause(partitions)
        shares.set(number, len(partitions))

    consumer.subscribe([task.topic], on_assign=on_assign, on_revoke=lambda _, partitions: shares.set(number, 0))
    while not shares.reading.is_set():
        consumer.poll(POLL_S)
    consumer.resume(consumer.assignment())
    while not shares.over.is_set():
        found.add(len(consumer.consume(1000, POLL_S)))
    consumer.close()


def commits(task: Task) -> dict[str, float]:
    """commit() of one offset by a member, one after the other."""
    consumer = Consumer({**consumer_settings(task), "group.id": f"commits-{task.contender}"})
    consumer.subscribe([task.topic])
    while consumer.poll(POLL_S) is None:
        pass
    offsets = [TopicPartition(task.topic, 0, 1)]
    measured = round_trips(lambda: consumer.commit(offsets=offsets, asynchronous=False), task.count)
    consumer.close()
    return measured


def transactions(task: Task) -> dict[str, float]:
    """Produces a thousand records in each transaction."""
    values = list(islice(cycle(values_of(task.size)), PER_TRANSACTION))
    producer = Producer({**producer_settings(task), "acks": -1, "transactional.id": task.contender})
    producer.init_transactions(_TIMEOUT_S)
    _transaction(producer, task.topic, values)
    with Meter() as meter:
        for _ in repeat(None, task.count // PER_TRANSACTION):
            _transaction(producer, task.topic, values)
    return meter.per_record(task.count)


def _transaction(producer: Producer, topic: str, values: list[bytes]) -> None:
    producer.begin_transaction()
    send = producer.produce
    for value in values:
        send(topic, value)
    producer.commit_transaction(_TIMEOUT_S)


def subscribe_many(task: Task) -> dict[str, float]:
    """A new member subscribes to all topics of a large cluster by pattern: until it is assigned their partitions."""
    assigned: list[Any] = []
    with Meter() as meter:
        consumer = Consumer({**consumer_settings(task), "group.id": "many"})
        consumer.subscribe([PATTERN], on_assign=lambda _, partitions: assigned.extend(partitions))
        while not assigned:
            consumer.poll(POLL_S)
    found = len(assigned)
    consumer.close()
    return per_partition(meter, found, task.count)
