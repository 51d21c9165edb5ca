"""aiokafka's clients: asyncio, one task on one loop."""

from __future__ import annotations

import ssl
from itertools import cycle, islice
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from benchmarks.compare.contenders.columns import four_columns
from benchmarks.compare.contenders.loops import round_trips, run
from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.task import Task, values_of


def produce(task: Task) -> dict[str, float]:
    """Sends, flushes, reads each future's result."""
    return run(task, produce_all)


async def produce_all(task: Task) -> dict[str, float]:
    values = list(islice(cycle(values_of(task.size)), task.count))
    partitions = range(task.partitions) if task.round_robin else [None]
    async with producer_of(task) as producer:
        for partition in partitions:
            await producer.send(task.topic, values[0], partition=partition)
        await producer.flush()
        with Meter() as meter:
            futures = [
                await producer.send(task.topic, value, partition=partition)
                for value, partition in zip(values, cycle(partitions), strict=False)
            ]
            await producer.flush()
            for future in futures:
                await future
    return meter.per_record(task.count)


def consume(task: Task) -> dict[str, float]:
    """getmany() into lists of ConsumerRecords."""
    return run(task, consume_all)


async def consume_all(task: Task) -> dict[str, float]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=task.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False, **_security(task)
    )
    await consumer.start()
    partitions = [TopicPartition(task.topic, partition) for partition in range(task.partitions)]
    if task.output == "columns":
        four_columns([])
    with Meter() as meter:
        consumer.assign(partitions)
        read = _read_one_by_one if task.output == "one-by-one" else _read_lists
        count = await read(consumer, task)
    await consumer.stop()
    return meter.per_record(count)


async def _read_lists(consumer: AIOKafkaConsumer, task: Task) -> int:
    count = 0
    while count < task.count:
        for records in (await consumer.getmany(timeout_ms=1000)).values():
            count += len(records)
            if task.output == "values":
                [record.value for record in records]
            elif task.output == "columns":
                four_columns(records)
    return count


async def _read_one_by_one(consumer: AIOKafkaConsumer, task: Task) -> int:
    left = task.count
    async for record in consumer:
        _offset, _timestamp, _key, _value = record.offset, record.timestamp, record.key, record.value
        left -= 1
        if not left:
            break
    return task.count


def round_trip(task: Task) -> dict[str, float]:
    """send_and_wait(), one after the other."""
    return run(task, measure_round_trips)


async def measure_round_trips(task: Task) -> dict[str, float]:
    value = values_of(task.size)[0]
    async with producer_of(task) as producer:
        return await round_trips(lambda: producer.send_and_wait(task.topic, value, partition=0), task.count)


def producer_of(task: Task) -> AIOKafkaProducer:
    return AIOKafkaProducer(
        bootstrap_servers=task.bootstrap,
        acks=1,
        linger_ms=task.linger_ms,
        max_batch_size=task.batch_size,
        compression_type=None if task.compression == "none" else task.compression,
        **_security(task),
    )


def _security(task: Task) -> dict[str, Any]:
    if not task.tls:
        return {}
    return {"security_protocol": "SSL", "ssl_context": ssl.create_default_context(cafile=task.ca_file)}
