"""confluent-kafka: librdkafka under a C extension. Its checksums are not checked by default, and so not here."""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from benchmarks.compare.contenders import in_flight
from benchmarks.compare.measure import Meter
from benchmarks.compare.tap import mark_now
from benchmarks.compare.task import Task, values_of

_PATIENCE_S = 60


def produce(task: Task) -> dict[str, float]:
    """Sends and flushes; with fates, by a callback for each record."""
    values = list(islice(cycle(values_of(task.size)), task.count))
    producer = _producer(task, {} if task.fates else {"delivery.report.only.error": True})
    for partition in range(task.partitions) if task.spread else [-1]:
        producer.produce(task.topic, values[0], partition=partition)
    producer.flush(_PATIENCE_S)
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error)

    partitions = cycle(range(task.partitions)) if task.spread else cycle([-1])
    options: dict[str, Any] = {"on_delivery": on_delivery} if task.fates else {}
    send, topic = producer.produce, task.topic
    with Meter() as meter:
        for number, (value, partition) in enumerate(zip(values, partitions, strict=False)):
            while True:
                try:
                    send(topic, value, partition=partition, **options)
                    break
                except BufferError:
                    producer.poll(0.01)
            if number % 1000 == 0:
                producer.poll(0)
        left = producer.flush(_PATIENCE_S)
    if left or failed:
        raise SystemExit(f"{left} records left, {len(failed)} failed")
    return meter.of(task.count)


def consume(task: Task) -> dict[str, float]:
    """consume(1000) into lists of messages; `shape` "one" takes them one by one by poll()."""
    consumer = Consumer(
        {
            "bootstrap.servers": task.bootstrap,
            "group.id": "compare",
            "enable.auto.commit": False,
            "log_level": 0,
            "auto.offset.reset": "earliest",
            "fetch.queue.backoff.ms": 1,
            "fetch.wait.max.ms": 100,
        }
    )
    consumer.get_watermark_offsets(TopicPartition(task.topic, 0), timeout=_PATIENCE_S)
    got = 0
    with Meter() as meter:
        consumer.assign([TopicPartition(task.topic, partition, 0) for partition in range(task.partitions)])
        while got < task.count:
            if task.shape == "one":
                message = consumer.poll(_PATIENCE_S)
                if message is None:
                    raise SystemExit(f"nothing came for {_PATIENCE_S} s after {got} records")
                _shaped([message], "fields")
                got += 1
                continue
            messages = consumer.consume(1000, 1.0)
            _shaped(messages, task.shape)
            got += len(messages)
    consumer.close()
    return meter.of(got)


def _shaped(messages: list[Message], shape: str) -> None:
    if shape == "values":
        [message.value() for message in messages]
    elif shape == "fields":
        for message in messages:
            _offset, _timestamp, _key, _value = message.offset(), message.timestamp(), message.key(), message.value()


def exchange_one(task: Task) -> dict[str, float]:
    """produce(), then poll() until its callback was called."""
    producer = _producer(task, {})
    value = values_of(task.size)[0]
    known: list[object] = []

    def exchange() -> None:
        known.clear()
        producer.produce(task.topic, value, partition=0, on_delivery=lambda error, message: known.append(error))
        while not known:
            producer.poll(1.0)
        if known[0] is not None:
            raise SystemExit(str(known[0]))

    return in_flight.round_trips(exchange, task.count)


def send_and_compute(task: Task) -> dict[str, float]:
    """produce(), then plain Python without a wait."""
    producer = _producer(task, {})
    producer.produce(task.topic, b"first", partition=0)
    producer.flush(_PATIENCE_S)
    for _ in range(task.count):
        producer.produce(task.topic, mark_now(), partition=0)
        in_flight.compute_beyond(task.linger_ms)
    producer.flush(_PATIENCE_S)
    return {"count": task.count}


def _producer(task: Task, more: dict[str, Any]) -> Producer:
    old = {"api.version.request": False, "broker.version.fallback": task.release} if _is_mute(task.release) else {}
    return Producer(
        {
            "bootstrap.servers": task.bootstrap,
            "acks": 1,
            "linger.ms": task.linger_ms,
            "batch.size": task.batch_size,
            "batch.num.messages": 1_000_000,
            "compression.type": task.compression,
            "log_level": 0,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 1_000_000,
            **old,
            **more,
        }
    )


def _is_mute(release: str) -> bool:
    """Whether that release does not answer ApiVersions."""
    return release.startswith(("0.8", "0.9"))


VERBS = {"produce": produce, "consume": consume, "exchange_one": exchange_one, "send_and_compute": send_and_compute}
