"""aiokafka in groups and transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import AsyncExitStack
from itertools import cycle, islice
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from benchmarks.compare.contenders.loops import round_trips, run
from benchmarks.compare.contenders.members import HEARTBEAT_MS, PER_TRANSACTION, SESSION_MS, Shares, joined
from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.task import Task, values_of


def group_join(task: Task) -> dict[str, float]:
    """The last of many members joins, all on one loop."""
    return run(task, _group_join)


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, number: int, shares: Shares) -> None:
        self._number, self._shares = number, shares

    def on_partitions_assigned(self, assigned: Collection[Any]) -> None:
        """All that it has: range revokes everything first."""
        self._shares.set(self._number, len(assigned))

    def on_partitions_revoked(self, revoked: Collection[Any]) -> None:
        """Nothing is left."""
        self._shares.set(self._number, 0)


async def _group_join(task: Task) -> dict[str, float]:
    shares = Shares(task.partitions)
    members = [_member(task) for _ in range(task.count)]
    async with AsyncExitStack() as stack:
        for number, member in enumerate(members[:-1]):
            await _start(stack, member, task, _Listener(number, shares))
        await _even(shares, task.count - 1)
        with Meter() as meter:
            await _start(stack, members[-1], task, _Listener(task.count - 1, shares))
            await _even(shares, task.count)
    return joined(meter)


def _member(task: Task) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=task.bootstrap,
        group_id=f"joined-{task.contender}",
        heartbeat_interval_ms=HEARTBEAT_MS,
        session_timeout_ms=SESSION_MS,
        partition_assignment_strategy=(RangePartitionAssignor,),
    )


async def _start(stack: AsyncExitStack, member: AIOKafkaConsumer, task: Task, listener: _Listener) -> None:
    member.subscribe([task.topic], listener=listener)
    await stack.enter_async_context(member)


async def _even(shares: Shares, members: int) -> None:
    while not shares.even(members):
        await asyncio.sleep(0.002)


def commits(task: Task) -> dict[str, float]:
    """commit() of one offset by a member, one after the other."""
    return run(task, _commits)


async def _commits(task: Task) -> dict[str, float]:
    offset = {TopicPartition(task.topic, 0): 1}
    settings = {"group_id": f"commits-{task.contender}", "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    async with AIOKafkaConsumer(task.topic, bootstrap_servers=task.bootstrap, **settings) as consumer:
        await consumer.getone()
        return await round_trips(lambda: consumer.commit(offset), task.count)


def transactions(task: Task) -> dict[str, float]:
    """Produces a thousand records in each transaction."""
    return run(task, _transactions)


async def _transactions(task: Task) -> dict[str, float]:
    values = list(islice(cycle(values_of(task.size)), PER_TRANSACTION))
    async with AIOKafkaProducer(
        bootstrap_servers=task.bootstrap,
        transactional_id=task.contender,
        linger_ms=task.linger_ms,
        max_batch_size=task.batch_size,
    ) as producer:
        await _transaction(producer, task.topic, values)
        with Meter() as meter:
            for _ in range(task.count // PER_TRANSACTION):
                await _transaction(producer, task.topic, values)
    return meter.per_record(task.count)


async def _transaction(producer: AIOKafkaProducer, topic: str, values: list[bytes]) -> None:
    async with producer.transaction():
        for value in values:
            await producer.send(topic, value)
