"""confluent-kafka: tables from topics and back, by the loops that its users write."""

from __future__ import annotations

from itertools import repeat

import pandas
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from benchmarks.compare.contenders.confluent_kafka import consumer_settings, producer_settings
from benchmarks.compare.contenders.meters import Meter
from benchmarks.compare.contenders.tables import table_of
from benchmarks.compare.contenders.task import Task

_TIMEOUT_S = 60


def read_table(task: Task) -> dict[str, float]:
    """A topic into a data frame of pandas: topic, partition, offset, timestamp, key, value."""
    pandas.DataFrame({"value": pandas.Series(["a"])})
    consumer = Consumer(consumer_settings(task))
    consumer.get_watermark_offsets(TopicPartition(task.topic, 0), timeout=_TIMEOUT_S)
    rows: list[tuple[object, ...]] = []
    with Meter() as meter:
        consumer.assign([TopicPartition(task.topic, partition, 0) for partition in range(task.partitions)])
        while len(rows) < task.count:
            rows += [
                (
                    message.topic(), message.partition(), message.offset(), message.timestamp()[1], message.key(),
                    message.value().decode(),
                )
                for message in consumer.consume(1000, 1.0)
            ]  # fmt: skip
        frame = pandas.DataFrame(rows, columns=["topic", "partition", "offset", "timestamp", "key", "value"])
        frame["timestamp"] = pandas.to_datetime(frame["timestamp"], unit="ms", utc=True)
    consumer.close()
    return meter.per_record(len(frame))


def write_table(task: Task) -> dict[str, float]:
    """A table to a topic, row by row; a callback for each."""
    table = table_of(task)
    producer = Producer(producer_settings(task))
    producer.produce(task.topic, b"first")
    producer.flush(_TIMEOUT_S)
    failed: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error)

    with Meter() as meter:
        columns = {name: table[name].to_pylist() for name in table.column_names}
        keys, values = columns.get("key", repeat(None)), columns["value"]
        times = columns.get("timestamp", repeat(0))  # 0: now
        for number, (key, value, time) in enumerate(zip(keys, values, times, strict=False)):
            while True:
                try:
                    producer.produce(task.topic, value, key, on_delivery=on_delivery, timestamp=time)
                    break
                except BufferError:
                    producer.poll(0.01)
            if number % 1000 == 0:
                producer.poll(0)
        left = producer.flush(_TIMEOUT_S)
    if left or failed:
        raise SystemExit(f"{left} rows left, {len(failed)} failed")
    return meter.per_record(task.count)
