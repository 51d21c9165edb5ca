"""kwire's clients for asyncio."""

from __future__ import annotations

from itertools import cycle, islice

from benchmarks.compare.contenders.kwire import consumer_settings, producer_settings, taker_of
from benchmarks.compare.contenders.loops import SENDS_PER_TURN, round_trips, run, stops_of
from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.task import Task, values_of
from kwire.aio import Consumer, Producer

_TIMEOUT_S = 60


def aio_produce(task: Task) -> dict[str, float]:
    """Sends, drains now and then, flushes, awaits each delivery."""
    return run(task, _produce)


async def _produce(task: Task) -> dict[str, float]:
    values = list(islice(cycle(values_of(task.size)), task.count))
    async with Producer(**producer_settings(task)) as producer:
        send, topic = producer.send, task.topic
        await send(topic, values[0])
        with Meter() as meter:
            deliveries = []
            for start in range(0, task.count, SENDS_PER_TURN):
                deliveries += [send(topic, value) for value in values[start : start + SENDS_PER_TURN]]
                await producer.drain()
            await producer.flush()
            for delivery in deliveries:
                await delivery
    return meter.per_record(task.count)


def aio_consume(task: Task) -> dict[str, float]:
    """poll() into lists or columns, or `async for`."""
    return run(task, _consume)


async def _consume(task: Task) -> dict[str, float]:
    one_by_one = task.output == "one-by-one"
    take = taker_of("records" if one_by_one else task.output)
    async with Consumer(**consumer_settings(task)) as consumer:
        await consumer.beginning_offsets([(task.topic, 0)])
        with Meter() as meter:
            consumer.assign([(task.topic, partition) for partition in range(task.partitions)])
            if one_by_one:
                await _read_one_by_one(consumer, task)
            count = task.count if one_by_one else 0
            while count < task.count:
                polled = await consumer.poll(timeout=_TIMEOUT_S)
                if not polled:
                    raise SystemExit(f"nothing came for {_TIMEOUT_S} s after {count} records")
                take(polled)
                count += len(polled)
    return meter.per_record(count)


async def _read_one_by_one(consumer: Consumer, task: Task) -> None:
    left = task.count
    async for record in consumer:
        _offset, _timestamp, _key, _value = record.offset, record.timestamp, record.key, record.value
        left -= 1
        if not left:
            break


def aio_round_trip(task: Task) -> dict[str, float]:
    """await send(), one after the other."""
    return run(task, _round_trips)


async def _round_trips(task: Task) -> dict[str, float]:
    value = values_of(task.size)[0]
    async with Producer(**producer_settings(task)) as producer:
        return await round_trips(lambda: producer.send(task.topic, value, partition=0), task.count)


def loop_stops(task: Task) -> dict[str, float]:
    """Produces and consumes beside idle tasks."""
    return run(task, lambda task: stops_of(task, _produce_in_turns, _consume))


async def _produce_in_turns(task: Task, values: list[bytes]) -> None:
    async with Producer(**producer_settings(task)) as producer:
        for _ in range(0, task.count, len(values)):
            deliveries = [producer.send(task.topic, value) for value in values]
            await producer.drain()
            for delivery in deliveries:
                await delivery
