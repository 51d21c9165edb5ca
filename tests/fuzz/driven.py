"""Clients with their drivers, by sockets, on an embedded broker that fails as drawn: what runs only in real time.

    driven-clients  a producer and consumers for threads
    looped-clients  the same for asyncio, on a loop of their own
    large-records   megabytes by either, which fill sockets and the queues of a broker that is slow

The first two do the same steps, which `_produce` and `_consume` draw: with TLS or without, alone or two in a group, in
transactions, and with memory refused to one call or another. Only KafkaErrors come out of a call, and what a drawn
argument or refused memory deserves. A record whose delivery succeeded is in the log at its offset, and a consumer reads
of each partition what the log has, in order.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import pickle
import random
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kwire import Consumer, Producer, aio, errors
from kwire.testing import Broker, Certificates
from tests.fuzz.classes import look_at
from tests.fuzz.drawing import Drawing
from tests.fuzz.refusing import refusing
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
_VALUES: tuple[Any, ...] = (
    b"v", b"", b"v" * 3000, None, bytearray(b"v" * 20), memoryview(b"vv"), "text", 5, b"v" * 300_000, b"v" * 5_000_000,
)  # fmt: skip
_KEYS: tuple[Any, ...] = (None, b"k", b"key" * 5, b"", bytearray(b"k"), 3)
_APIS = ("Produce", "Produce", "Fetch", "Metadata", "InitProducerId", "ListOffsets", "ApiVersions", None)
_CODES = (1, 3, 6, 7, 10, 19, 45, 47, 56, 59, 87)
_EXPECTED = (errors.KafkaError, TypeError, ValueError, OverflowError, TimeoutError, MemoryError)
_WAYS = ("plainly", "plainly", "with TLS", "in a group", "in transactions")
Calls = Generator[Callable[[], Any], Any, None]
"""Yields what to call next, and is sent what that returned: None where it raised."""


@dataclass
class _Sent:
    """Deliveries of records, with the values that they were sent with; what their callbacks were told."""

    awaits: bool = False
    deliveries: list[tuple[Any, Any]] = field(default_factory=list)
    told: list[Any] = field(default_factory=list)

    def wait(self, count: int, seconds: float) -> Any:
        """Waits for the last ones: in this thread, or when what it returns is awaited."""
        deliveries = [delivery for _, delivery in self.deliveries[-count:]]
        if self.awaits:
            return asyncio.wait_for(asyncio.gather(*deliveries), seconds)
        return deliveries[-1].result(seconds)

    def check(self, log: Broker) -> None:
        """Each that is done is where it says, or has failed by a KafkaError."""
        look_at([delivery for _, delivery in self.deliveries])
        for value, delivery in self.deliveries:
            repr(delivery), delivery._repr_html_()
            if not delivery.done() or delivery.exception(0) is not None:
                continue
            metadata = delivery.result(0)
            repr(metadata), metadata._repr_html_()
            with contextlib.suppress(StopIteration):
                next(delivery.__await__())
            assert pickle.loads(pickle.dumps(metadata)) == metadata
            assert hash(metadata) == hash(delivery.result(0)), repr(metadata)
            if metadata.offset >= 0:
                found = log.values(metadata.topic, partition=metadata.partition)
                assert found[metadata.offset] == (None if value is None else bytes(value)), metadata


class _Onlooker:
    """An interceptor that changes nothing."""

    def on_send(self, topic: str, record: object) -> object:
        return record

    def on_acknowledged(self, metadata: object, error: object) -> None:
        repr(metadata), repr(error)


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
        "partitioner": drawing.choice(_PARTITIONERS), "buffer_memory": drawing.choice((1 << 20, 1 << 13, 1 << 24)),
        "max_request_size": drawing.choice((1 << 20, 1 << 12, 1 << 23)), "max_block_ms": 20, "delivery_timeout_ms": 60,
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
        "timestamp": drawing.choice((None, 1_700_000_000, 0, 1_700_000_000_000, -2)),
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
        if drawing.byte() > 240:
            more |= drawing.choice(({"callback": print}, {"on_delivery": print}, {"timestamp_ms": 5}))
        delivery = producer.send(topic, value, **more, nowait=drawing.flag())
        sent.deliveries.append((value, delivery))
        for callback in drawing.choice(((), (sent.told.append,), (_calls_back(producer, drawing),))):
            delivery.add_done_callback(callback)


def _calls_back(producer: Any, drawing: Drawing) -> Callable[[Any], Any]:
    """A callback that uses the producer that calls it."""
    calls = (
        lambda: producer.send("t", b"again", nowait=True), lambda: producer.send("t", b"again").result(0),
        lambda: producer.flush(0), lambda: producer.close(0),
    )  # fmt: skip
    call = drawing.choice(calls)

    def call_back(delivery: Any) -> None:
        made = call()
        if inspect.iscoroutine(made):
            made.close()

    return call_back


@cache
def _certificates() -> Certificates:
    return Certificates()


@contextlib.contextmanager
def _broker(drawing: Drawing, way: str) -> Iterator[Broker]:
    release = drawing.choice(("4.4.0", "4.4.0", "2.8.2", "0.10.2.2"))
    most = drawing.choice((1 << 20, 2000))
    secured: dict[str, Any] = {"tls": True, "certificates": _certificates()} if way == "with TLS" else {}
    before = logging.root.manager.disable
    logging.disable()  # failures are the point, and what keeps log records keeps what they hold
    try:
        with Broker(
            release=release, topics=TOPICS, auto_create_topics=False, max_message_bytes=most,
            group_initial_rebalance_delay_ms=0, **secured,
        ) as broker:  # fmt: skip
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


def _deprived(drawing: Drawing, call: Callable[[], Any]) -> Callable[[], Any]:
    """The same call; now and then with memory refused, also while what it returned is awaited."""
    number = drawing.byte() - 128
    if number <= 0:
        return call
    count = drawing.choice((1, 1, 2))

    def deprived() -> Any:
        with refusing(number, count):
            made = call()
            if not inspect.isawaitable(made):
                return made

        async def awaited() -> Any:
            with refusing(number, count):
                return await made

        return awaited()

    return deprived


def _produce(broker: Broker, producer: Any, drawing: Drawing, sent: _Sent, way: str) -> Calls:
    """A drawn number of things that one does with a producer."""
    if way == "in transactions":
        yield lambda: producer.init_transactions(timeout=0.3)
        yield producer.begin_transaction
    for _ in range(20):
        if not drawing.left:
            break
        how = drawing.below(8)
        if how == 0:
            _fail(broker, drawing)
        elif how == 1:
            seconds = drawing.choice((_SECONDS, 0, 0.01))
            yield _deprived(drawing, lambda seconds=seconds: producer.flush(seconds))  # type: ignore[misc]
        elif how == 2 and sent.deliveries:
            seconds = drawing.choice((_SECONDS, 0, 0.01))
            yield _deprived(drawing, lambda seconds=seconds: sent.wait(3, seconds))  # type: ignore[misc]
        elif how == 3 and way == "in transactions":
            yield producer.abort_transaction if drawing.flag() else producer.commit_transaction
            yield producer.begin_transaction
        elif how == 3 and not sent.awaits and drawing.flag():
            yield lambda: _beside(lambda: producer.flush(0.02), lambda: _send(producer, drawing, sent))
        elif how == 3:
            yield getattr(producer, drawing.choice(("metrics", "health", "__repr__", "deliver", "drain")), None) or str
        else:
            yield _deprived(drawing, lambda: _send(producer, drawing, sent))


def _beside(other: Callable[[], Any], call: Callable[[], Any]) -> None:
    """Calls both at once, `other` in a thread of its own."""

    def run() -> None:
        with contextlib.suppress(*_EXPECTED):
            other()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        call()
    finally:
        thread.join()


def _consume(broker: Broker, consumers: list[Any], drawing: Drawing, read: dict[tuple[str, int], list[Any]]) -> Calls:
    """Some polls of each consumer, all of what there is or what their group gives them, and questions between them."""
    for number in range(4 * len(consumers)):
        consumer = consumers[number % len(consumers)]
        how = drawing.byte()
        if how % 8 == 7:
            _fail(broker, drawing)
        records = yield _deprived(drawing, lambda of=consumer: of.poll(0.02))  # type: ignore[misc]
        if records is not None:
            _take(records, drawing, read)
        if how % 8 == 6:
            yield drawing.choice(_questions(consumer))


def _questions(consumer: Any) -> list[Callable[[], Any]]:
    at = ("t", 0)
    return [
        consumer.metrics, consumer.health, consumer.commit, consumer.wakeup, lambda: consumer.seek(at, 0),
        lambda: consumer.position(at, _SECONDS), lambda: consumer.committed([at], _SECONDS),
        lambda: consumer.end_offsets([at, ("u", 0)], _SECONDS), lambda: consumer.lag(_SECONDS),
        lambda: consumer.pause([at]), lambda: consumer.resume([at]), lambda: consumer.partitions_for("u", _SECONDS),
        lambda: consumer.offsets_for_times({at: 5}, _SECONDS), consumer.unsubscribe,
    ]  # fmt: skip


def _reads(consumer: Any, way: str) -> None:
    if way == "in a group":
        consumer.subscribe(["t", "u"])
    else:
        consumer.assign([("t", partition) for partition in range(3)] + [("u", 0)])


def _more_options(way: str, broker: Broker, *, reads: bool) -> dict[str, Any]:
    if way == "in a group" and reads:
        return {"group_id": "g", "auto_commit_interval_ms": 10, "heartbeat_interval_ms": 10}
    if way == "in transactions" and not reads:
        return {"transactional_id": "x", "acks": -1, "enable_idempotence": None, "delivery_timeout_ms": 200}
    return broker.client_settings if way == "with TLS" else {}


def _by_threads(calls: Calls) -> None:
    given = None
    with contextlib.suppress(StopIteration):
        while True:
            call, given = calls.send(given), None
            with contextlib.suppress(*_EXPECTED):
                given = call()


@target(
    seeds=lambda: [random.Random(n).randbytes(60 + n) for n in range(40)],
    traced="drivers", max_len=300, budget=MEMORY, share=2,
)  # fmt: skip
def driven_clients(data: bytes) -> None:
    """a producer and consumers for threads, by sockets, on a broker that fails as drawn"""
    drawing = Drawing(data)
    way = drawing.choice(_WAYS)
    sent, read = _Sent(), dict[tuple[str, int], list[Any]]()
    with _broker(drawing, way) as broker:
        options = _producer_options(drawing) | _more_options(way, broker, reads=False)
        with contextlib.suppress(*_EXPECTED), Producer(broker.bootstrap_servers, **options) as producer:
            _by_threads(_produce(broker, producer, drawing, sent, way))
        broker.faults.clear()
        sent.check(broker)
        options = _consumer_options(drawing) | _more_options(way, broker, reads=True)
        with contextlib.suppress(*_EXPECTED), contextlib.ExitStack() as open_ones:
            consumers = []
            for _ in range(1 + (way == "in a group")):
                consumers.append(open_ones.enter_context(Consumer(broker.bootstrap_servers, **options)))
                _reads(consumers[-1], way)
            _by_threads(_consume(broker, consumers, drawing, read))
        if way == "plainly":
            _check_read(broker, read)


async def _by_a_loop(calls: Calls) -> None:
    given = None
    with contextlib.suppress(StopIteration):
        while True:
            call, given = calls.send(given), None
            with contextlib.suppress(*_EXPECTED):
                made = call()
                given = await made if inspect.isawaitable(made) else made


@target(
    seeds=lambda: [random.Random(-n).randbytes(60 + n) for n in range(40)],
    traced="drivers", max_len=300, budget=MEMORY, share=2,
)  # fmt: skip
def looped_clients(data: bytes) -> None:
    """a producer and consumers for asyncio, by sockets, on a broker that fails as drawn"""
    drawing = Drawing(data)
    way = drawing.choice(_WAYS)
    with _broker(drawing, way) as broker:
        asyncio.run(_looped(broker, drawing, way))


async def _looped(broker: Broker, drawing: Drawing, way: str) -> None:
    sent, read = _Sent(awaits=True), dict[tuple[str, int], list[Any]]()
    options = _producer_options(drawing) | _more_options(way, broker, reads=False)
    with contextlib.suppress(*_EXPECTED):
        async with aio.Producer(broker.bootstrap_servers, **options) as producer:
            await _by_a_loop(_produce(broker, producer, drawing, sent, way))
    broker.faults.clear()
    sent.check(broker)
    options = _consumer_options(drawing) | _more_options(way, broker, reads=True)
    with contextlib.suppress(*_EXPECTED):
        async with contextlib.AsyncExitStack() as open_ones:
            consumers = []
            for _ in range(1 + (way == "in a group")):
                consumers.append(await open_ones.enter_async_context(aio.Consumer(broker.bootstrap_servers, **options)))
                _reads(consumers[-1], way)
            await _by_a_loop(_consume(broker, consumers, drawing, read))
            if not drawing.flag():
                with contextlib.suppress(asyncio.TimeoutError):
                    async with asyncio.timeout(0.05):
                        async for record in consumers[0]:
                            read.setdefault((record.topic, record.partition), []).append(record.value)
    if way == "plainly":
        _check_read(broker, read)


_SIZES: tuple[int, ...] = (32_000, 300_000, 5_000_000)
_MOST_BYTES = 8_000_000


@target(
    seeds=lambda: [bytes([secured, loop, size, slow]) for secured in range(2) for loop in range(2)
                   for size in range(3) for slow in range(2)],
    traced="drivers", max_len=20, budget=(256 << 20, 1 << 20), share=0.5,
)  # fmt: skip
def large_records(data: bytes) -> None:
    """megabytes of records by sockets, there and back"""
    drawing = Drawing(data)
    secured: dict[str, Any] = {"tls": True, "certificates": _certificates()} if drawing.flag() else {}
    by_loop, size = drawing.flag(), drawing.choice(_SIZES)
    values = [b"%d" % number * (size // len(b"%d" % number)) for number in range(max(_MOST_BYTES // size, 2))]
    with Broker(topics=TOPICS, max_message_bytes=1 << 24, **secured) as broker:
        if drawing.flag():
            broker.faults.delay("Produce", 0.02, times=20)
        more = broker.client_settings if secured else {}
        produce = more | {
            "buffer_memory": drawing.choice((1 << 26, 1 << 23)), "linger_ms": drawing.choice((0, 5)),
            "max_request_size": 1 << 24,
        }  # fmt: skip
        consume = more | {"auto_offset_reset": "earliest", "max_partition_fetch_bytes": 1 << 24}
        read = dict[tuple[str, int], list[Any]]()
        if by_loop:
            asyncio.run(_large_by_a_loop(broker, values, produce, consume, read))
        else:
            _large_by_threads(broker, values, produce, consume, read)
        assert sum(map(len, read.values())) == len(values)
        _check_read(broker, read)


def _large_by_threads(
    broker: Broker, values: list[bytes], produce: dict[str, Any], consume: dict[str, Any], read: dict[Any, list[Any]]
) -> None:
    with Producer(broker.bootstrap_servers, **produce) as producer:
        for value in values:
            producer.send("t", value)
    with Consumer(broker.bootstrap_servers, **consume) as consumer:
        _reads(consumer, "plainly")
        while sum(map(len, read.values())) < len(values):
            _take(consumer.poll(5), Drawing(b"\1"), read)


async def _large_by_a_loop(
    broker: Broker, values: list[bytes], produce: dict[str, Any], consume: dict[str, Any], read: dict[Any, list[Any]]
) -> None:
    async with aio.Producer(broker.bootstrap_servers, **produce) as producer:
        for value in values:
            while True:
                try:
                    producer.send("t", value)
                    break
                except errors.BufferFull:
                    await producer.drain()
    async with aio.Consumer(broker.bootstrap_servers, **consume) as consumer:
        _reads(consumer, "plainly")
        while sum(map(len, read.values())) < len(values):
            _take(await consumer.poll(5), Drawing(b"\1"), read)
