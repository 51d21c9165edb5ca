"""kwire itself: the sync clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

from benchmarks.compare.contenders.columns import FOUR, read_fields
from benchmarks.compare.contenders.meters import Meter, beginnings, compute_beyond, round_trips
from benchmarks.compare.contenders.task import PASSWORD, USER, Task, values_of
from benchmarks.compare.relay import sent_now
from kwire import Consumer, Producer, records
from kwire.consumer import ConsumerRecords
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
    settings = {"linger_ms": 500, "batch_size": 900_000, "compression": task.compression}
    with Producer(task.bootstrap, acks=1, **settings) as producer:
        for number, value in zip(range(task.count), cycle(values_of(task.size))):
            producer.send(task.topic, value, partition=number % task.partitions)
    return {"count": task.count}


def consume(task: Task) -> dict[str, float]:
    """Reads `count` records from the beginning."""
    if task.output == "one-by-one":
        return _consume_one_by_one(task)
    take = taker_of(task.output, task.compression)
    count = 0
    with _consumer(task) as consumer, Meter() as meter:
        while count < task.count:
            polled = consumer.poll(timeout=_TIMEOUT_S)
            if not polled:
                raise SystemExit(f"nothing came for {_TIMEOUT_S} s after {count} records")
            take(polled)
            count += len(polled)
    return meter.per_record(count)


def taker_of(output: str, compression: str = "none") -> Callable[[ConsumerRecords], object]:
    """The function that makes this of what a poll returned; what it imports, and the decompressor, are there."""
    takers: dict[str, Callable[[Any], object]] = {
        "records": list,
        "values": lambda polled: polled.values(),
        "columns": lambda polled: polled.to_arrow(FOUR),
        "fields": read_fields,
    }
    takers[output](
        records.decode(records.encode([b"the first call of to_arrow imports pyarrow"], compression=compression))
    )
    return takers[output]


def _consume_one_by_one(task: Task) -> dict[str, float]:
    with _consumer(task) as consumer, Meter() as meter:
        read_fields(islice(consumer, task.count))
    return meter.per_record(task.count)


def round_trip(task: Task) -> dict[str, float]:
    """send().result(), one after the other."""
    value = values_of(task.size)[0]
    with _producer(task) as producer:
        return round_trips(lambda: producer.send(task.topic, value, partition=0).result(timeout=_TIMEOUT_S), task.count)


def first_record(task: Task) -> dict[str, float]:
    """A new client logs in and sends a record: until it is acknowledged."""
    settings = {
        **producer_settings(task),
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": USER,
        "sasl_password": PASSWORD,
        "ssl_ca_location": task.ca_file,
    }
    clients = []

    def begin() -> None:
        producer = Producer(**settings)
        clients.append(producer)
        producer.send(task.topic, b"first").result(timeout=_TIMEOUT_S)

    measured = beginnings(begin, task.count)
    for each in clients:
        each.close()
    return measured


def send_and_compute(task: Task) -> dict[str, float]:
    """send(), then plain Python without a wait."""
    with _producer(task) as producer:
        producer.send(task.topic, b"first").result(timeout=_TIMEOUT_S)
        for _ in range(task.count):
            producer.send(task.topic, sent_now(), partition=0)
            compute_beyond(task.linger_ms)
        producer.flush(timeout=_TIMEOUT_S)
    return {"count": task.count}


def producer_settings(task: Task) -> dict[str, Any]:
    """What a producer is made with."""
    return {
        "bootstrap_servers": task.bootstrap,
        "acks": 1,
        "linger_ms": task.linger_ms,
        "batch_size": task.batch_size,
        "compression": task.compression,
        **_security(task),
    }


def consumer_settings(task: Task) -> dict[str, Any]:
    """What a consumer is made with."""
    return {"bootstrap_servers": task.bootstrap, "auto_offset_reset": "earliest", **_security(task)}


def _security(task: Task) -> dict[str, Any]:
    return {"security_protocol": "SSL", "ssl_ca_location": task.ca_file} if task.tls else {}


def _producer(task: Task) -> Producer:
    return Producer(**producer_settings(task))


@contextmanager
def _consumer(task: Task) -> Iterator[Consumer]:
    """Connected and assigned, at the beginning."""
    with Consumer(**consumer_settings(task)) as consumer:
        consumer.assign([(task.topic, partition) for partition in range(task.partitions)])
        consumer.beginning_offsets([(task.topic, 0)])
        yield consumer
