"""aiokafka's clients: asyncio, one task on one loop."""

from __future__ import annotations

import asyncio
import resource
import time
from itertools import cycle, islice

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from benchmarks.compare.contenders import in_flight
from benchmarks.compare.contenders.columns import four_columns
from benchmarks.compare.measure import Meter
from benchmarks.compare.task import Task, values_of


def produce(task: Task) -> dict[str, float]:
    """Sends, flushes, reads each future's result."""
    return asyncio.run(_produce(task))


async def _produce(task: Task) -> dict[str, float]:
    values = list(islice(cycle(values_of(task.size)), task.count))
    async with _producer(task) as producer:
        for partition in range(task.partitions if task.spread else 1):
            await producer.send(task.topic, values[0], partition=partition if task.spread else None)
        await producer.flush()
        partitions = cycle(range(task.partitions)) if task.spread else cycle([None])
        with Meter() as meter:
            futures = [
                await producer.send(task.topic, value, partition=partition)
                for value, partition in zip(values, partitions, strict=False)
            ]
            await producer.flush()
            for future in futures:
                future.result()
    return meter.of(task.count)


def consume(task: Task) -> dict[str, float]:
    """getmany() into lists of ConsumerRecords."""
    return asyncio.run(_consume(task))


async def _consume(task: Task) -> dict[str, float]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=task.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False
    )
    await consumer.start()
    partitions = [TopicPartition(task.topic, partition) for partition in range(task.partitions)]
    got = 0
    if task.shape == "columns":
        four_columns([])
    with Meter() as meter:
        consumer.assign(partitions)
        if task.shape == "one":
            await _read_one_by_one(consumer, task.count)
            got = task.count
        while got < task.count:
            for found in (await consumer.getmany(timeout_ms=1000)).values():
                got += len(found)
                if task.shape == "values":
                    [record.value for record in found]
                elif task.shape == "columns":
                    four_columns(found)
    await consumer.stop()
    return meter.of(got)


async def _read_one_by_one(consumer: AIOKafkaConsumer, count: int) -> None:
    left = count
    async for record in consumer:
        _offset, _timestamp, _key, _value = record.offset, record.timestamp, record.key, record.value
        left -= 1
        if not left:
            return


def exchange_one(task: Task) -> dict[str, float]:
    """send_and_wait(), one after the other."""
    return asyncio.run(_exchange_one(task))


async def _exchange_one(task: Task) -> dict[str, float]:
    value = values_of(task.size)[0]
    async with _producer(task) as producer:
        for _ in range(50):
            await producer.send_and_wait(task.topic, value, partition=0)
        taken = []
        before = resource.getrusage(resource.RUSAGE_SELF)
        for _ in range(task.count):
            started = time.perf_counter()
            await producer.send_and_wait(task.topic, value, partition=0)
            taken.append(time.perf_counter() - started)
        return in_flight.summary(taken, before)


def _producer(task: Task) -> AIOKafkaProducer:
    return AIOKafkaProducer(
        bootstrap_servers=task.bootstrap,
        acks=1,
        linger_ms=task.linger_ms,
        max_batch_size=task.batch_size,
        compression_type=None if task.compression == "none" else task.compression,
    )


VERBS = {"produce": produce, "consume": consume, "exchange_one": exchange_one}
