"""kwire in groups and transactions."""

from __future__ import annotations

import os
from collections.abc import Collection
from itertools import cycle, islice, repeat
from statistics import median
from typing import Any

from benchmarks.compare.contenders.kwire import consumer_settings, producer_settings, taker_of
from benchmarks.compare.contenders.members import (
    AUTO_COMMIT_MS,
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
from kwire import Consumer, Producer

_TIMEOUT_S = 60
_PAIRS = 15


def group_join(task: Task) -> dict[str, float]:
    """The last of many members joins."""
    return last_join(task, _member)


class _Listener:
    def __init__(self, number: int, shares: Shares) -> None:
        self._number, self._shares = number, shares

    def on_assigned(self, partitions: Collection[Any]) -> None:
        """All that it has: range revokes everything first."""
        self._shares.set(self._number, len(partitions))

    def on_revoked(self, partitions: Collection[Any]) -> None:
        """Nothing is left."""
        self._shares.set(self._number, 0)


def _member(task: Task, number: int, shares: Shares) -> None:
    settings = {
        "group_id": f"joined-{task.contender}",
        "heartbeat_interval_ms": HEARTBEAT_MS,
        "session_timeout_ms": SESSION_MS,
        "partition_assignment_strategy": ["range"],
    }
    with Consumer(bootstrap_servers=task.bootstrap, **settings) as consumer:
        consumer.subscribe([task.topic], listener=_Listener(number, shares))
        while not shares.over.is_set():
            consumer.poll(timeout=POLL_S)


def group_consume(task: Task) -> dict[str, float]:
    """Assigned and in a group by turns: `share` is the group's CPU by the other's, in the middle of the pairs."""
    settings = consumer_settings(task)
    grouped = {**settings, "group_id": f"reading-{os.getpid()}", "auto_commit_interval_ms": AUTO_COMMIT_MS}
    with Consumer(**settings) as assigned, Consumer(**grouped) as member:
        assigned.assign([(task.topic, partition) for partition in range(task.partitions)])
        member.subscribe([task.topic])
        for consumer in (assigned, member):
            _read(consumer, task.count)
        spent: dict[Consumer, list[float]] = {assigned: [], member: []}
        for number in range(_PAIRS):
            for consumer in (assigned, member) if number % 2 else (member, assigned):
                spent[consumer].append(_read(consumer, task.count))
    alone = median(spent[assigned])
    return {
        "share": median(in_group / other for other, in_group in zip(spent[assigned], spent[member], strict=True)),
        "cpu_s_per_million": alone * 1e6 / task.count,
    }


class _PausingListener(_Listener):
    def __init__(self, number: int, shares: Shares, consumer: Consumer) -> None:
        super().__init__(number, shares)
        self._consumer = consumer

    def on_assigned(self, partitions: Collection[Any]) -> None:
        """They wait until all members read."""
        self._consumer.pause(partitions)
        super().on_assigned(partitions)


def group_read(task: Task) -> dict[str, float]:
    """Members of a group read a topic together."""
    taker_of(task.output, task.compression)
    return read_by_members(task, _reader)


def _reader(task: Task, number: int, shares: Shares, found: Found) -> None:
    settings = {"group_id": f"reading-{os.getpid()}", "partition_assignment_strategy": ["range"]}
    take = taker_of(task.output, task.compression)
    with Consumer(**{**consumer_settings(task), **settings}) as consumer:
        consumer.subscribe([task.topic], listener=_PausingListener(number, shares, consumer))
        while not shares.reading.is_set():
            consumer.poll(timeout=POLL_S)
        consumer.resume(consumer.assignment())
        while not shares.over.is_set():
            polled = consumer.poll(timeout=POLL_S)
            take(polled)
            found.add(len(polled))


def _read(consumer: Consumer, count: int) -> float:
    """CPU seconds of so many records from the beginning on; without the first, which waits for the group."""
    if consumer.assignment():
        consumer.seek_to_beginning()
    found = len(consumer.poll(timeout=_TIMEOUT_S))
    with Meter() as meter:
        start = found
        while found < count:
            polled = consumer.poll(timeout=_TIMEOUT_S)
            if not polled:
                raise SystemExit(f"nothing came for {_TIMEOUT_S} s after {found} records")
            list(polled)
            found += len(polled)
    consumer.pause(consumer.assignment())
    consumer.poll()
    consumer.resume(consumer.assignment())
    return meter.cpu_s * count / (found - start)


def commits(task: Task) -> dict[str, float]:
    """commit() of one offset by a member, one after the other."""
    settings = {"group_id": f"commits-{task.contender}", "enable_auto_commit": False}
    with Consumer(**{**consumer_settings(task), **settings}) as consumer:
        consumer.subscribe([task.topic])
        while not consumer.poll(timeout=POLL_S):
            pass
        offset = {(task.topic, 0): 1}
        return round_trips(lambda: consumer.commit(offset), task.count)


def transactions(task: Task) -> dict[str, float]:
    """Produces a thousand records in each transaction."""
    values = list(islice(cycle(values_of(task.size)), PER_TRANSACTION))
    settings = {**producer_settings(task), "acks": "all", "transactional_id": task.contender}
    with Producer(**settings) as producer:
        _transaction(producer, task.topic, values)
        with Meter() as meter:
            for _ in repeat(None, task.count // PER_TRANSACTION):
                _transaction(producer, task.topic, values)
    return meter.per_record(task.count)


def _transaction(producer: Producer, topic: str, values: list[bytes]) -> None:
    with producer.transaction():
        send = producer.send
        for value in values:
            send(topic, value)


def subscribe_many(task: Task) -> dict[str, float]:
    """A new member subscribes to all topics of a large cluster by pattern: until it is assigned their partitions."""
    with Consumer(task.bootstrap, group_id=f"many-{task.contender}") as first:
        first.partitions_for("many-0", timeout=_TIMEOUT_S)  # imports and connects
    with Meter() as meter:
        consumer = Consumer(task.bootstrap, group_id="many")
        consumer.subscribe(pattern=PATTERN)
        while not consumer.assignment():
            consumer.poll(timeout=POLL_S)
    found = len(consumer.assignment())
    consumer.close()
    return per_partition(meter, found, task.count)
