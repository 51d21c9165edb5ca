"""kafka-python's clients: pure Python, with a thread of its own for the sockets."""

from __future__ import annotations

from itertools import cycle, islice

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from benchmarks.compare.contenders import in_flight
from benchmarks.compare.contenders.columns import four_columns, read_fields
from benchmarks.compare.measure import Meter
from benchmarks.compare.tap import mark_now
from benchmarks.compare.task import Task, values_of

_PATIENCE_S = 60


def produce(task: Task) -> dict[str, float]:
    """Sends, flushes, asks each future."""
    values = list(islice(cycle(values_of(task.size)), task.count))
    producer = _producer(task)
    for partition in range(task.partitions if task.spread else 1):
        producer.send(task.topic, values[0], partition=partition if task.spread else None)
    producer.flush(_PATIENCE_S)
    partitions = cycle(range(task.partitions)) if task.spread else cycle([None])
    with Meter() as meter:
        futures = [
            producer.send(task.topic, value, partition=partition)
            for value, partition in zip(values, partitions, strict=False)
        ]
        producer.flush(_PATIENCE_S)
        if not all(future.succeeded() for future in futures):
            raise SystemExit("a record was not delivered")
    producer.close()
    return meter.of(task.count)


def consume(task: Task) -> dict[str, float]:
    """poll() into lists of ConsumerRecords."""
    consumer = KafkaConsumer(
        bootstrap_servers=task.bootstrap,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=1000,
        api_version=_release_of(task),
    )
    got = 0
    if task.shape == "columns":
        four_columns([])
    with Meter() as meter:
        consumer.assign([TopicPartition(task.topic, partition) for partition in range(task.partitions)])
        if task.shape == "one":
            read_fields(islice(consumer, task.count))
            got = task.count
        while got < task.count:
            for found in consumer.poll(timeout_ms=1000).values():
                got += len(found)
                if task.shape == "values":
                    [record.value for record in found]
                elif task.shape == "columns":
                    four_columns(found)
    consumer.close()
    return meter.of(got)


def exchange_one(task: Task) -> dict[str, float]:
    """send().get(), one after the other."""
    producer = _producer(task)
    value = values_of(task.size)[0]
    measured = in_flight.round_trips(
        lambda: producer.send(task.topic, value, partition=0).get(timeout=_PATIENCE_S), task.count
    )
    producer.close()
    return measured


def send_and_compute(task: Task) -> dict[str, float]:
    """send(), then plain Python without a wait."""
    producer = _producer(task)
    producer.send(task.topic, b"first", partition=0).get(timeout=_PATIENCE_S)
    for _ in range(task.count):
        producer.send(task.topic, mark_now(), partition=0)
        in_flight.compute_beyond(task.linger_ms)
    producer.flush(_PATIENCE_S)
    producer.close()
    return {"count": task.count}


def _producer(task: Task) -> KafkaProducer:
    return KafkaProducer(
        bootstrap_servers=task.bootstrap,
        acks=1,
        linger_ms=task.linger_ms,
        batch_size=task.batch_size,
        enable_idempotence=False,
        compression_type=None if task.compression == "none" else task.compression,
        api_version=_release_of(task),
    )


def _release_of(task: Task) -> tuple[int, ...]:
    """What it is told of the sink: it gives up on the ApiVersions answer of librdkafka's mock cluster."""
    return tuple(int(part) for part in task.release.split(".")[:3]) if task.release else (2, 1)


VERBS = {"produce": produce, "consume": consume, "exchange_one": exchange_one, "send_and_compute": send_and_compute}
