"""kwire itself: the sync clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice

from benchmarks.compare.contenders import in_flight
from benchmarks.compare.contenders.columns import FOUR, read_fields
from benchmarks.compare.measure import Meter
from benchmarks.compare.tap import mark_now
from benchmarks.compare.task import Task, values_of
from kwire import Consumer, Producer, records

_PATIENCE_S = 60


def produce(task: Task) -> dict[str, float]:
    """Sends `count` records and waits until all are delivered; with fates, each Delivery is kept and asked."""
    values = list(islice(cycle(values_of(task.size)), task.count))
    with _producer(task) as producer:
        for partition in range(task.partitions if task.spread else 1):
            producer.send(task.topic, values[0], partition=partition if task.spread else None)
        producer.flush(timeout=_PATIENCE_S)
        send = producer.send
        topic = task.topic
        with Meter() as meter:
            if task.spread:
                for value, partition in zip(values, cycle(range(task.partitions))):
                    send(topic, value, partition=partition)
            elif task.fates:
                deliveries = [send(topic, value) for value in values]
            else:
                for value in values:
                    send(topic, value)
            producer.flush(timeout=_PATIENCE_S)
            if task.fates and any(delivery.exception() is not None for delivery in deliveries):
                raise SystemExit("a record was not delivered")
    return meter.of(task.count)


def load(task: Task) -> dict[str, float]:
    """Fills a topic evenly, in batches as large as may be: what the consumers read."""
    with Producer(task.bootstrap, acks=1, linger_ms=500, batch_size=900_000) as producer:
        for number, value in zip(range(task.count), cycle(values_of(task.size))):
            producer.send(task.topic, value, partition=number % task.partitions)
    return {"count": task.count}


def consume(task: Task) -> dict[str, float]:
    """Reads `count` records from the beginning; `shape` says what is made of each poll's."""
    if task.shape == "one":
        return _consume_one_by_one(task)
    take = {
        "records": list,
        "values": lambda polled: polled.values(),
        "columns": lambda polled: polled.to_arrow(FOUR),
        "fields": read_fields,
    }[task.shape]
    take(records.decode(records.encode([b"the first call of to_arrow imports pyarrow"])))
    with _consumer(task) as consumer:
        got = 0
        with Meter() as meter:
            while got < task.count:
                polled = consumer.poll(timeout=_PATIENCE_S)
                if not polled:
                    raise SystemExit(f"nothing came for {_PATIENCE_S} s after {got} records")
                take(polled)
                got += len(polled)
    return meter.of(got)


def _consume_one_by_one(task: Task) -> dict[str, float]:
    with _consumer(task) as consumer, Meter() as meter:
        read_fields(islice(consumer, task.count))
    return meter.of(task.count)


def exchange_one(task: Task) -> dict[str, float]:
    """send().result(), one after the other."""
    value = values_of(task.size)[0]
    with _producer(task) as producer:
        return in_flight.round_trips(
            lambda: producer.send(task.topic, value, partition=0).result(timeout=_PATIENCE_S), task.count
        )


def send_and_compute(task: Task) -> dict[str, float]:
    """Sends, then computes without a wait; the tap in front of the sink notes when the record comes."""
    with _producer(task) as producer:
        producer.send(task.topic, b"first").result(timeout=_PATIENCE_S)
        for _ in range(task.count):
            producer.send(task.topic, mark_now(), partition=0)
            in_flight.compute_beyond(task.linger_ms)
        producer.flush(timeout=_PATIENCE_S)
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


VERBS = {
    "produce": produce,
    "load": load,
    "consume": consume,
    "exchange_one": exchange_one,
    "send_and_compute": send_and_compute,
}
