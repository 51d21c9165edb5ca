"""Clients with their drivers, by sockets, on an embedded broker that fails as drawn: what runs only in real time.

    driven-clients  a producer and a consumer for threads
    looped-clients  the same two for asyncio, on a loop of their own

Only KafkaErrors come out of a call, and what a drawn argument deserves. A record whose delivery succeeded is in the log
at its offset, and the consumer reads of each partition what the log has, in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kwire import Consumer, Producer, aio, errors
from kwire.testing import Broker
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import target

MEMORY = (96 << 20, 256 << 10)
TOPICS = {"t": 3, "u": 1}
_SECONDS = 0.1
_QUICK: dict[str, Any] = {
    "request_timeout_ms": 30, "retry_backoff_ms": 1, "retry_backoff_max_ms": 5,
    "reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 5,
}  # fmt: skip
_PARTITIONERS: tuple[Any, ...] = (
    "default", "round_robin", "random", "consistent", "consistent_random", "murmur2", "fnv1a", "fnv1a_random",
    "uniform_sticky", lambda key, numbers, available: len(key or b"") % len(numbers),
    lambda key, numbers, available: None, lambda key, numbers, available: 7,
)  # fmt: skip
_VALUES: tuple[Any, ...] = (b"v", b"", b"v" * 3000, None, bytearray(b"v" * 20), memoryview(b"vv"), "text", 5)
_KEYS: tuple[Any, ...] = (None, b"k", b"key" * 5, b"", bytearray(b"k"), 3)
_APIS = ("Produce", "Produce", "Fetch", "Metadata", "InitProducerId", "ListOffsets", "ApiVersions", None)
_CODES = (1, 3, 6, 7, 10, 19, 45, 47, 56, 59, 87)
_EXPECTED = (errors.KafkaError, TypeError, ValueError, OverflowError)


@dataclass
class _Sent:
    """Deliveries of records, with the values that they were sent with; what their callbacks were told."""

    deliveries: list[tuple[Any, Any]] = field(default_factory=list)
    told: list[Any] = field(default_factory=list)

    def check(self, log: Broker) -> None:
        """Each that is done is where it says, or has failed by a KafkaError."""
        for value, delivery in self.deliveries:
            repr(delivery), delivery._repr_html_()
            if not delivery.done() or delivery.exception(0) is not None:
                continue
            metadata = delivery.result(0)
            assert pickle.loads(pickle.dumps(metadata)) == metadata
            assert hash(metadata) == hash(delivery.result(0)), repr(metadata)
            if metadata.offset >= 0:
                found = log.values(metadata.topic, partition=metadata.partition)
                assert found[metadata.offset] == (None if value is None else bytes(value)), metadata


class _Onlooker:
    """An interceptor that changes nothing."""

    def on_send(self, topic: str, record: object) -> object:
        return record


def _fail(broker: Broker, drawing: Drawing) -> None:
    api = drawing.choice(_APIS)
    how = drawing.below(6)
    if how == 0:
        broker.faults.close(api)
    elif how == 1:
        broker.faults.close(api, after_effect=True)
    elif how == 2:
        broker.faults.delay(api, 0.02)
    elif how == 3:
        broker.faults.mute(api)
    elif how == 4:
        broker.faults.truncate(api, drawing.byte())
    else:
        broker.faults.error(api or "Produce", drawing.choice(_CODES))


def _producer_options(drawing: Drawing) -> dict[str, Any]:
    options = _QUICK | {
        "linger_ms": drawing.choice((0, 1, 20)), "batch_size": drawing.choice((16384, 1, 100)),
        "compression": drawing.choice(("none", "lz4", "gzip")), "acks": drawing.choice((-1, -1, 1, 0)),
        "partitioner": drawing.choice(_PARTITIONERS), "buffer_memory": drawing.choice((1 << 20, 1 << 13)),
        "max_request_size": drawing.choice((1 << 20, 1 << 12)), "max_block_ms": 20, "delivery_timeout_ms": 60,
        "metadata_max_idle_ms": 5000, "interceptors": drawing.choice(((), (_Onlooker(),))),
        "value_serializer": drawing.choice((None, None, lambda value, context: value)),
    }  # fmt: skip
    if options["acks"] != -1 or drawing.flag():
        options["enable_idempotence"] = False
    return options


def _consumer_options(drawing: Drawing) -> dict[str, Any]:
    return _QUICK | {
        "auto_offset_reset": "earliest", "max_poll_records": drawing.choice((None, 1, 3)),
        "fetch_max_wait_ms": drawing.choice((0, 10)), "max_partition_fetch_bytes": drawing.choice((1 << 20, 100)),
        "isolation_level": drawing.choice(("read_uncommitted", "read_committed")),
    }  # fmt: skip


def _arguments(drawing: Drawing) -> tuple[Any, dict[str, Any]]:
    topic: Any = drawing.choice(("t", "t", "t", "u", "none", "bad name"))
    more = {
        "key": drawing.choice(_KEYS), "partition": drawing.choice((None, None, None, 0, 1, 2, 9)),
        "timestamp": drawing.choice((None, None, 0, 1_700_000_000_000, -2)),
        "headers": drawing.choice(((), (), [("h", b"x"), ("h", None)], {"h": b"x"}, 5)),
    }  # fmt: skip
    return topic, more


def _send(producer: Any, drawing: Drawing, sent: _Sent) -> None:
    """One record, or some at once, in one of the ways that there are."""
    topic, more = _arguments(drawing)
    with contextlib.suppress(*_EXPECTED):
        if drawing.byte() % 4 == 3:
            values = [drawing.choice(_VALUES[:3]) for _ in range(drawing.below(20))]
            items = [value if number % 2 else (value, b"k") for number, value in enumerate(values)]
            deliveries = producer.send_many(topic, items, partition=more["partition"], nowait=drawing.flag())
            sent.deliveries += zip(values, deliveries, strict=True)
            return
        value = drawing.choice(_VALUES)
        delivery = producer.send(topic, value, **more, nowait=drawing.flag())
        sent.deliveries.append((value, delivery))
        if drawing.flag():
            delivery.add_done_callback(sent.told.append)


@contextlib.contextmanager
def _broker(drawing: Drawing) -> Iterator[Broker]:
    release = drawing.choice(("4.4.0", "4.4.0", "2.8.2", "0.10.2.2"))
    most = drawing.choice((1 << 20, 2000))
    before = logging.root.manager.disable
    logging.disable()  # failures are the point, and what keeps log records keeps what they hold
    try:
        with Broker(release=release, topics=TOPICS, auto_create_topics=False, max_message_bytes=most) as broker:
            yield broker
    finally:
        logging.disable(before)


def _check_read(broker: Broker, read: dict[tuple[str, int], list[Any]]) -> None:
    for (topic, partition), values in read.items():
        assert values == broker.values(topic, partition=partition)[: len(values)], (topic, partition)


def _take(records: Any, drawing: Drawing, read: dict[tuple[str, int], list[Any]]) -> None:
    """What a poll gave, as objects or as lists."""
    if not drawing.flag():
        for record in records:
            repr(record), hash(record), record.copy(), record == record
            assert pickle.loads(pickle.dumps(record)) == record
    for partition, part in records.by_partition().items():
        read.setdefault((partition.topic, partition.partition), []).extend(part.values())


@target(
    seeds=lambda: [bytes((7 * n + m * m * n) & 0xFF for m in range(80)) for n in range(24)],
    traced="drivers", max_len=300, budget=MEMORY, share=2,
)  # fmt: skip
def driven_clients(data: bytes) -> None:
    """a producer and a consumer for threads, by sockets, on a broker that fails as drawn"""
    drawing = Drawing(data)
    sent, read = _Sent(), dict[tuple[str, int], list[Any]]()
    with _broker(drawing) as broker:
        with (
            contextlib.suppress(*_EXPECTED),
            Producer(broker.bootstrap_servers, **_producer_options(drawing)) as producer,
        ):
            for _ in range(20):
                if not drawing.left:
                    break
                how = drawing.below(8)
                with contextlib.suppress(*_EXPECTED):
                    if how == 0:
                        _fail(broker, drawing)
                    elif how == 1:
                        producer.flush(drawing.choice((_SECONDS, 0, 0.01)))
                    elif how == 2 and sent.deliveries:
                        sent.deliveries[-1][1].result(drawing.choice((_SECONDS, 0, 0.01)))
                    elif how == 3:
                        producer.metrics(), repr(producer.health())
                    else:
                        _send(producer, drawing, sent)
        broker.faults.clear()
        sent.check(broker)
        with (
            contextlib.suppress(*_EXPECTED),
            Consumer(broker.bootstrap_servers, **_consumer_options(drawing)) as consumer,
        ):
            consumer.assign([("t", partition) for partition in range(3)] + [("u", 0)])
            for _ in range(4):
                if drawing.byte() % 8 == 7:
                    _fail(broker, drawing)
                _take(consumer.poll(0.02), drawing, read)
        _check_read(broker, read)


@target(
    seeds=lambda: [bytes((5 * n + m * m * n) & 0xFF for m in range(80)) for n in range(24)],
    traced="drivers", max_len=300, budget=MEMORY, share=2,
)  # fmt: skip
def looped_clients(data: bytes) -> None:
    """a producer and a consumer for asyncio, by sockets, on a broker that fails as drawn"""
    drawing = Drawing(data)
    with _broker(drawing) as broker:
        asyncio.run(_looped(broker, drawing))


async def _looped(broker: Broker, drawing: Drawing) -> None:
    sent, read = _Sent(), dict[tuple[str, int], list[Any]]()
    with contextlib.suppress(*_EXPECTED):
        async with aio.Producer(broker.bootstrap_servers, **_producer_options(drawing)) as producer:
            for _ in range(20):
                if not drawing.left:
                    break
                with contextlib.suppress(*_EXPECTED, asyncio.TimeoutError):
                    await _one_step(broker, producer, drawing, sent)
    broker.faults.clear()
    sent.check(broker)
    with contextlib.suppress(*_EXPECTED):
        async with aio.Consumer(broker.bootstrap_servers, **_consumer_options(drawing)) as consumer:
            consumer.assign([("t", partition) for partition in range(3)] + [("u", 0)])
            for _ in range(3):
                if drawing.byte() % 8 == 7:
                    _fail(broker, drawing)
                _take(await consumer.poll(0.02), drawing, read)
            if not drawing.flag():
                with contextlib.suppress(asyncio.TimeoutError):
                    async with asyncio.timeout(0.05):
                        async for record in consumer:
                            read.setdefault((record.topic, record.partition), []).append(record.value)
    _check_read(broker, read)


async def _one_step(broker: Broker, producer: aio.Producer, drawing: Drawing, sent: _Sent) -> None:
    how = drawing.below(8)
    if how == 0:
        _fail(broker, drawing)
    elif how == 1:
        await producer.flush(drawing.choice((_SECONDS, 0, 0.01)))
    elif how == 2 and sent.deliveries:
        async with asyncio.timeout(drawing.choice((_SECONDS, 0, 0.01))):
            await asyncio.gather(*(delivery for _, delivery in sent.deliveries[-3:]))
    elif how == 3:
        await producer.drain()
    else:
        _send(producer, drawing, sent)
