"""confluent-kafka: librdkafka under a C extension. It does not verify checksums by default, and so not here."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from benchmarks.compare.contenders.meters import Meter, beginnings, compute_beyond, round_trips
from benchmarks.compare.contenders.task import PASSWORD, USER, Task, values_of
from benchmarks.compare.relay import sent_now

_TIMEOUT_S = 60


def produce(task: Task) -> dict[str, float]:
    """Sends and flushes; deliveries are read by a callback for each record."""
    values = list(islice(cycle(values_of(task.size)), task.count))
    producer = _producer(task, {} if task.read_deliveries else {"delivery.report.only.error": True})
    partitions = range(task.partitions) if task.round_robin else [-1]
    for partition in partitions:
        producer.produce(task.topic, values[0], partition=partition)
    producer.flush(_TIMEOUT_S)
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error)

    options: dict[str, Any] = {"on_delivery": on_delivery} if task.read_deliveries else {}
    send, topic = producer.produce, task.topic
    with Meter() as meter:
        for number, (value, partition) in enumerate(zip(values, cycle(partitions), strict=False)):
            while True:
                try:
                    send(topic, value, partition=partition, **options)
                    break
                except BufferError:
                    producer.poll(0.01)
            if number % 1000 == 0:
                producer.poll(0)
        left = producer.flush(_TIMEOUT_S)
    if left or failed:
        raise SystemExit(f"{left} records left, {len(failed)} failed")
    return meter.per_record(task.count)


def consume(task: Task) -> dict[str, float]:
    """consume(1000) into lists of messages, or poll() where they are read one by one."""
    consumer = Consumer(consumer_settings(task))
    consumer.get_watermark_offsets(TopicPartition(task.topic, 0), timeout=_TIMEOUT_S)
    read = _read_one_by_one if task.output == "one-by-one" else _read_lists
    with Meter() as meter:
        consumer.assign([TopicPartition(task.topic, partition, 0) for partition in range(task.partitions)])
        count = read(consumer, task)
    consumer.close()
    return meter.per_record(count)


def _read_lists(consumer: Consumer, task: Task) -> int:
    count = 0
    while count < task.count:
        messages = consumer.consume(1000, 1.0)
        count += len(messages)
        if task.output == "values":
            [message.value() for message in messages]
        elif task.output == "fields":
            for message in messages:
                _read_fields(message)
    return count


def _read_one_by_one(consumer: Consumer, task: Task) -> int:
    for number in range(task.count):
        message = consumer.poll(_TIMEOUT_S)
        if message is None:
            raise SystemExit(f"nothing came for {_TIMEOUT_S} s after {number} records")
        _read_fields(message)
    return task.count


def _read_fields(message: Message) -> None:
    _offset, _timestamp, _key, _value = message.offset(), message.timestamp(), message.key(), message.value()


def round_trip(task: Task) -> dict[str, float]:
    """produce(), then poll() until its callback was called."""
    producer = _producer(task, {})
    value = values_of(task.size)[0]
    errors: list[object] = []

    def exchange() -> None:
        errors.clear()
        producer.produce(task.topic, value, partition=0, on_delivery=lambda error, message: errors.append(error))
        while not errors:
            producer.poll(1.0)
        if errors[0] is not None:
            raise SystemExit(str(errors[0]))

    return round_trips(exchange, task.count)


def first_record(task: Task) -> dict[str, float]:
    """A new client logs in and sends a record: until its callback was called."""
    login = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": USER,
        "sasl.password": PASSWORD,
        "ssl.ca.location": task.ca_file,
    }
    clients = []

    def begin() -> None:
        acknowledged: list[KafkaError | None] = []
        producer = _producer(task, login)
        clients.append(producer)  # it takes long to end
        producer.produce(task.topic, b"first", on_delivery=lambda error, message: acknowledged.append(error))
        while not acknowledged:
            producer.poll(1.0)
        if acknowledged[0] is not None:
            raise SystemExit(str(acknowledged[0]))

    return beginnings(begin, task.count)


def send_and_compute(task: Task) -> dict[str, float]:
    """produce(), then plain Python without a wait."""
    producer = _producer(task, {})
    producer.produce(task.topic, b"first", partition=0)
    producer.flush(_TIMEOUT_S)
    for _ in range(task.count):
        producer.produce(task.topic, sent_now(), partition=0)
        compute_beyond(task.linger_ms)
    producer.flush(_TIMEOUT_S)
    return {"count": task.count}


def consumer_settings(task: Task) -> dict[str, Any]:
    """What a consumer is made with."""
    return {
        "bootstrap.servers": task.bootstrap,
        "group.id": "compare",
        "enable.auto.commit": False,
        "log_level": 0,
        "auto.offset.reset": "earliest",
        "fetch.queue.backoff.ms": 1,
        "fetch.wait.max.ms": 100,
        **_security(task),
    }


def producer_settings(task: Task) -> dict[str, Any]:
    """What a producer is made with."""
    return {
        "bootstrap.servers": task.bootstrap,
        "acks": 1,
        "linger.ms": task.linger_ms,
        "batch.size": task.batch_size,
        "batch.num.messages": 1_000_000,
        "compression.type": task.compression,
        "log_level": 0,
        "queue.buffering.max.messages": 1_000_000,
        "queue.buffering.max.kbytes": 1_000_000,
        **_security(task),
    }


def _security(task: Task) -> dict[str, Any]:
    return {"security.protocol": "SSL", "ssl.ca.location": task.ca_file} if task.tls else {}


def _producer(task: Task, more: dict[str, Any]) -> Producer:
    return Producer({**producer_settings(task), **more})
