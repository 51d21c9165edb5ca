"""kwire itself: the sync client and the codec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

from benchmarks.compare.contenders import in_flight, inputs
from benchmarks.compare.contenders.codec_loop import Works, read_fields, run_codec
from benchmarks.compare.contenders.sweep import sweep
from benchmarks.compare.contenders.two_threads import share_of_one
from benchmarks.compare.measure import Meter
from benchmarks.compare.tap import mark_now
from benchmarks.compare.task import Task, values_of
from kwire import Consumer, Producer, records
from kwire._codec import crc32c
from kwire.engine.addresses import TopicPartition
from kwire.engine.consumed import ConsumerRecords

_PATIENCE_S = 60
FOUR = ["offset", "timestamp", "key", "value"]
_SHAPES: dict[str, Callable[[bytes], Any]] = {
    "values": lambda data: records.decode(data).values(),
    "columns": lambda data: records.decode(data).to_arrow(FOUR),
}


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
    take = {"records": list, "values": lambda polled: polled.values(), "columns": lambda polled: polled.to_arrow(FOUR),
            "fields": read_fields}[task.shape]
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
            lambda: producer.send(task.topic, value, partition=0).result(timeout=_PATIENCE_S), task.count)


def send_and_compute(task: Task) -> dict[str, float]:
    """Sends, then computes without a wait; the tap in front of the sink notes when the record comes."""
    with _producer(task) as producer:
        producer.send(task.topic, b"first").result(timeout=_PATIENCE_S)
        for _ in range(task.count):
            producer.send(task.topic, mark_now(), partition=0)
            in_flight.compute_for(in_flight.COMPUTING_S)
        producer.flush(timeout=_PATIENCE_S)
    return {"count": task.count}


def codec(task: Task) -> dict[str, Any]:
    """Records, messages and checksums, in process."""
    return run_codec(task, {**_reading(), **_writing(), **_messages(), **sweep(_SHAPES, task.works)})


def threads(task: Task) -> dict[str, float]:
    """Two threads decode to columns."""
    data = inputs.batch()
    return share_of_one(lambda: _SHAPES["columns"](data), task.budget_s)


def _producer(task: Task) -> Producer:
    return Producer(task.bootstrap, acks=1, linger_ms=task.linger_ms, batch_size=task.batch_size,
                    compression=task.compression)


@contextmanager
def _consumer(task: Task) -> Iterator[Consumer]:
    """Connected and assigned, at the beginning."""
    with Consumer(task.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(task.topic, partition) for partition in range(task.partitions)])
        consumer.beginning_offsets([(task.topic, 0)])
        yield consumer


def _reading() -> Works:
    plain, old, large = inputs.batch(), inputs.batch(magic=1), inputs.batch(size=1000, count=inputs.LARGE_COUNT)
    headed, small = inputs.batch(headers=True), inputs.small_batches()
    decode, n, many = records.decode, inputs.COUNT, inputs.LARGE_COUNT
    packed = {codec: inputs.batch(compression=codec) for codec in inputs.CODECS}
    return {
        "index": (lambda: decode(plain), n),
        "columns": (lambda: decode(plain).to_arrow(FOUR), n),
        "columns-kept": (lambda: [decode(plain).to_arrow() for _ in range(inputs.KEPT)], inputs.KEPT * n),
        "columns-view": (lambda: decode(plain).to_arrow(FOUR, binary_view=True), n),
        "records": (lambda: list(decode(plain)), n),
        "fields": (lambda: read_fields(decode(plain)), n),
        "handed-out": (lambda: read_fields(ConsumerRecords([(TopicPartition("topic", 0), decode(plain))])), n),
        "values": (lambda: decode(plain).values(), n),
        "headers-unread": (lambda: list(decode(headed)), n),
        "magic-1": (lambda: list(decode(old)), n),
        **{f"values-{codec}": (lambda data=data: decode(data).values(), n) for codec, data in packed.items()},
        "records-1k": (lambda: list(decode(large)), many),
        "columns-1k": (lambda: decode(large).to_arrow(FOUR), many),
        "columns-view-1k": (lambda: decode(large).to_arrow(FOUR, binary_view=True), many),
        "small-batches": (lambda: read_fields(decode(small)), n),
        "crc32c": (lambda data=bytes(2**20): crc32c(data), 1),
    }


def _writing() -> Works:
    items, table = inputs.items(), records.decode(inputs.batch()).to_arrow()
    values = [value for value, _, _ in items]

    def append() -> bytes:
        builder = records.BatchBuilder(max_bytes=2**22)
        add = builder.append
        for value, key, when in items:
            add(value, key, when)
        return builder.build()

    return {
        "append": (append, inputs.COUNT),
        "encode-values": (lambda: records.encode(values), inputs.COUNT),
        "encode-arrow": (lambda: records.encode_arrow(table), inputs.COUNT),
        "encode-gzip": (lambda: records.encode(values, compression="gzip"), inputs.COUNT),
    }


def _messages() -> Works:
    made = {"metadata": inputs.metadata_response(), "fetch": inputs.fetch_response(),
            "produce": inputs.produce_request()}
    works: dict[str, Any] = {}
    for name, (message, version) in made.items():
        data = message.encode(version)
        works[f"{name}-encode"] = (lambda m=message, v=version: m.encode(v), 1)
        kind = type(message)
        works[f"{name}-decode"] = (lambda k=kind, d=data, v=version: k.decode(d, v), 1)
    return works


VERBS = {"produce": produce, "load": load, "consume": consume, "exchange_one": exchange_one,
         "send_and_compute": send_and_compute, "codec": codec, "threads": threads}
