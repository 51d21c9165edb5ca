"""kafka-python's clients: pure Python, with a thread of its own for the sockets."""

from __future__ import annotations

from itertools import cycle, islice

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from benchmarks.compare.contenders.columns import four_columns, read_fields
from benchmarks.compare.contenders.meters import Meter, compute_beyond, round_trips
from benchmarks.compare.contenders.task import Task, values_of
from benchmarks.compare.relay import sent_now

_TIMEOUT_S = 60


def produce(task: Task) -> dict[str, float]:
    """Sends, flushes, checks each future."""
    values = list(islice(cycle(values_of(task.size)), task.count))
    partitions = range(task.partitions) if task.round_robin else [None]
    producer = _producer(task)
    for partition in partitions:
        producer.send(task.topic, values[0], partition=partition)
    producer.flush(_TIMEOUT_S)
    with Meter() as meter:
        futures = [
            producer.send(task.topic, value, partition=partition)
            for value, partition in zip(values, cycle(partitions), strict=False)
        ]
        producer.flush(_TIMEOUT_S)
        if not all(future.succeeded() for future in futures):
            raise SystemExit("a record was not delivered")
    producer.close()
    return meter.per_record(task.count)


def consume(task: Task) -> dict[str, float]:
    """poll() into lists of ConsumerRecords."""
    consumer = KafkaConsumer(
        bootstrap_servers=task.bootstrap,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=1000,
        api_version=_broker_release(task),
    )
    if task.output == "columns":
        four_columns([])
    with Meter() as meter:
        consumer.assign([TopicPartition(task.topic, partition) for partition in range(task.partitions)])
        count = _read(consumer, task)
    consumer.close()
    return meter.per_record(count)


def _read(consumer: KafkaConsumer, task: Task) -> int:
    if task.output == "one-by-one":
        read_fields(islice(consumer, task.count))
        return task.count
    count = 0
    while count < task.count:
        for records in consumer.poll(timeout_ms=1000).values():
            count += len(records)
            if task.output == "values":
                [record.value for record in records]
            elif task.output == "columns":
                four_columns(records)
    return count


def round_trip(task: Task) -> dict[str, float]:
    """send().get(), one after the other."""
    producer = _producer(task)
    value = values_of(task.size)[0]
    measured = round_trips(lambda: producer.send(task.topic, value, partition=0).get(timeout=_TIMEOUT_S), task.count)
    producer.close()
    return measured


def send_and_compute(task: Task) -> dict[str, float]:
    """send(), then plain Python without a wait."""
    producer = _producer(task)
    producer.send(task.topic, b"first", partition=0).get(timeout=_TIMEOUT_S)
    for _ in range(task.count):
        producer.send(task.topic, sent_now(), partition=0)
        compute_beyond(task.linger_ms)
    producer.flush(_TIMEOUT_S)
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
        api_version=_broker_release(task),
    )


def _broker_release(task: Task) -> tuple[int, ...]:
    """kafka-python has to be told: it gives up on the mock cluster's ApiVersions response."""
    return tuple(int(part) for part in task.release.split(".")[:3]) if task.release else (2, 1)
