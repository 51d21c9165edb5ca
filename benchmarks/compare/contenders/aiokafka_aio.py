"""aiokafka beside the other clients on asyncio."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle, islice

from aiokafka import AIOKafkaProducer

from benchmarks.compare.contenders.aiokafka import consume_all, measure_round_trips, produce_all, producer_of
from benchmarks.compare.contenders.loops import run, stops_of
from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.task import Task, values_of


def aio_produce(task: Task) -> dict[str, float]:
    """Sends record by record, or the batches that the caller makes."""
    return run(task, _produce_batches if task.own_batches else produce_all)


async def _produce_batches(task: Task) -> dict[str, float]:
    """A batch for each partition in turn, and its future."""
    values = list(islice(cycle(values_of(task.size)), task.count))
    async with producer_of(task) as producer:
        await producer.send_and_wait(task.topic, values[0])
        with Meter() as meter:
            futures, sent = [], 0
            for partition in cycle(range(task.partitions)):
                batch, sent = _filled(producer, values, sent)
                futures.append(await producer.send_batch(batch, task.topic, partition=partition))
                if sent == task.count:
                    break
            await producer.flush()
            for future in futures:
                await future
    return meter.per_record(task.count)


def _filled(producer: AIOKafkaProducer, values: list[bytes], sent: int) -> tuple[object, int]:
    """A batch of as many values as it takes, and how many values are in batches now."""
    batch = producer.create_batch()
    while sent < len(values) and batch.append(key=None, value=values[sent], timestamp=None) is not None:
        sent += 1
    batch.close()
    return batch, sent


def aio_consume(task: Task) -> dict[str, float]:
    """getmany(), or `async for`. It has no columns of its own, so lists stand beside them."""
    return run(replace(task, output="records") if task.output == "columns" else task, consume_all)


def aio_round_trip(task: Task) -> dict[str, float]:
    """send_and_wait(), one after the other."""
    return run(task, measure_round_trips)


def loop_stops(task: Task) -> dict[str, float]:
    """Produces and consumes beside idle tasks."""
    return run(task, lambda task: stops_of(task, _produce_in_turns, consume_all))


async def _produce_in_turns(task: Task, values: list[bytes]) -> None:
    async with producer_of(task) as producer:
        for _ in range(0, task.count, len(values)):
            for future in [await producer.send(task.topic, value) for value in values]:
                await future
