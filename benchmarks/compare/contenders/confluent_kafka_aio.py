"""confluent-kafka's clients for asyncio: its blocking clients behind a pool of threads."""

from __future__ import annotations

from itertools import cycle, islice

from confluent_kafka import TopicPartition
from confluent_kafka.aio import AIOConsumer, AIOProducer

from benchmarks.compare.contenders.confluent_kafka import consumer_settings, producer_settings
from benchmarks.compare.contenders.loops import run
from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.task import Task, values_of


def aio_produce(task: Task) -> dict[str, float]:
    """produce() for each record, flush(), then each future."""
    return run(task, _produce)


async def _produce(task: Task) -> dict[str, float]:
    values = list(islice(cycle(values_of(task.size)), task.count))
    async with AIOProducer(producer_settings(task)) as producer:
        first = await producer.produce(task.topic, values[0])
        await producer.flush()
        await first
        with Meter() as meter:
            futures = [await producer.produce(task.topic, value) for value in values]
            await producer.flush()
            for future in futures:
                await future
    return meter.per_record(task.count)


def aio_consume(task: Task) -> dict[str, float]:
    """consume(1000) into lists of messages, or poll() where they are read one by one."""
    return run(task, _consume)


async def _consume(task: Task) -> dict[str, float]:
    async with AIOConsumer(consumer_settings(task)) as consumer:
        await consumer.get_watermark_offsets(TopicPartition(task.topic, 0))
        with Meter() as meter:
            await consumer.assign([TopicPartition(task.topic, partition, 0) for partition in range(task.partitions)])
            count = 0
            while count < task.count:
                count += len(await consumer.consume(1000, 1.0))
    return meter.per_record(count)
