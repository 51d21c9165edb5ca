"""kwire itself: the sync clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice

from benchmarks.compare.contenders.columns import FOUR, read_fields
from benchmarks.compare.contenders.meters import Meter, compute_beyond, round_trips
from benchmarks.compare.contenders.task import Task, values_of
from benchmarks.compare.relay import sent_now
from kwire import Consumer, Producer, records
from kwire.producer import Delivery

_TIMEOUT_S = 60


def produce(task: Task) -> dict[str, float]:
    """Sends and flushes; with `read_deliveries`, keeps each record's Delivery and reads it."""
    values = list(islice(cycle(values_of(task.size)), task.count))
    with _producer(task) as producer:
        for partition in range(task.partitions) if task.round_robin else [None]:
            producer.send(task.topic, values[0], partition=partition)
        producer.flush(timeout=_TIMEOUT_S)
        with Meter() as meter:
            deliveries = _send_all(producer, task, values)
            producer.flush(timeout=_TIMEOUT_S)
            if any(delivery.exception() is not None for delivery in deliveries):
                raise SystemExit("a record was not delivered")
    return meter.per_record(task.count)


def _send_all(producer: Producer, task: Task, values: list[bytes]) -> list[Delivery]:
    send, topic = producer.send, task.topic
    if task.read_deliveries:
        return [send(topic, value) for value in values]
    if task.round_robin:
        for value, partition in zip(values, cycle(range(task.partitions))):
            send(topic, value, partition=partition)
    else:
        for value in values:
            send(topic, value)
    return []


def load(task: Task) -> dict[str, float]:
    """Fills a topic evenly, in large batches: what the consumers read."""
    with Producer(task.bootstrap, acks=1, linger_ms=500, batch_size=900_000) as producer:
        for number, value in zip(range(task.count), cycle(values_of(task.size))):
            producer.send(task.topic, value, partition=number % task.partitions)
    return {"count": task.count}


def consume(task: Task) -> dict[str, float]:
    """Reads `count` records from the beginning."""
    if task.output == "one-by-one":
        return _consume_one_by_one(task)
    take = {
        "records": list,
        "values": lambda polled: polled.values(),
        "columns": lambda polled: polled.to_arrow(FOUR),
        "fields": read_fields,
    }[task.output]
    take(records.decode(records.encode([b"the first call of to_arrow imports pyarrow"])))
    count = 0
    with _consumer(task) as consumer, Meter() as meter:
        while count < task.count:
            polled = consumer.poll(timeout=_TIMEOUT_S)
            if not polled:
                raise SystemExit(f"nothing came for {_TIMEOUT_S} s after {count} records")
            take(polled)
            count += len(polled)
    return meter.per_record(count)


def _consume_one_by_one(task: Task) -> dict[str, float]:
    with _consumer(task) as consumer, Meter() as meter:
        read_fields(islice(consumer, task.count))
    return meter.per_record(task.count)


def round_trip(task: Task) -> dict[str, float]:
    """send().result(), one after the other."""
    value = values_of(task.size)[0]
    with _producer(task) as producer:
        return round_trips(lambda: producer.send(task.topic, value, partition=0).result(timeout=_TIMEOUT_S), task.count)


def send_and_compute(task: Task) -> dict[str, float]:
    """send(), then plain Python without a wait."""
    with _producer(task) as producer:
        producer.send(task.topic, b"first").result(timeout=_TIMEOUT_S)
        for _ in range(task.count):
            producer.send(task.topic, sent_now(), partition=0)
            compute_beyond(task.linger_ms)
        producer.flush(timeout=_TIMEOUT_S)
    return {"count": task.count}


def _producer(task: Task) -> Producer:
    return Producer(
        task.bootstrap, acks=1, linger_ms=task.linger_ms, batch_size=task.batch_size, compression=task.compression
    )


@contextmanager
def _consumer(task: Task) -> Iterator[Consumer]:
    """Connected and assigned, at the beginning."""
    with Consumer(task.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(task.topic, partition) for partition in range(task.partitions)])
        consumer.beginning_offsets([(task.topic, 0)])
        yield consumer
