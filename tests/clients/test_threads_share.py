"""What threads share: records that one polls and others read and let go of, deliveries of which each hears in its own
way, counters that are read meanwhile; with clients for threads and with those of an event loop.

`make test-tsan` runs it, too: the memory below is written without the GIL.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kwire
from kwire import aio, records, testing
from kwire._codec import FrameReceiver, let_pool_age, pool_statistics
from tests.clients.crew import Crew, short_switch_interval
from tests.timing import PATIENT

SECONDS = 1.5
PARTITIONS = 3
HELD = 20


@pytest.fixture(autouse=True)
def turns_are_short() -> Iterator[None]:
    with short_switch_interval():
        yield


@pytest.fixture
def broker() -> Iterator[testing.Broker]:
    with testing.Broker(topics={"t": PARTITIONS}) as running:
        yield running


class Readers:
    """Threads that take what another one polled, read it in one way or another, and hold some of it for a while."""

    def __init__(self) -> None:
        self._polled: queue.Queue[Any] = queue.Queue()
        self._held: list[Any] = []
        self.seen: list[int] = []

    def put(self, records: Any) -> None:
        self._polled.put(records)

    def step(self, number: int, turn: int) -> None:
        try:
            records = self._polled.get(timeout=0.05)
        except queue.Empty:
            return
        self.seen.extend(map(int, self._values(records, turn % 3)))

    def _values(self, records: Any, way: int) -> list[bytes]:
        if way == 0:
            return records.values()  # type: ignore[no-any-return]
        if way == 1:
            return [record.value for record in records]
        table = records.to_arrow()
        self._held.append(table)
        if len(self._held) > HELD:
            del self._held[: HELD // 2]
        return table["value"].to_pylist()  # type: ignore[no-any-return]

    def finish(self) -> None:
        while not self._polled.empty():
            self.step(0, 0)


def watch(*clients: Any) -> Callable[[int, int], None]:
    """Reads what a client counts, as a thread that serves metrics does."""

    def step(number: int, turn: int) -> None:
        for client in clients:
            assert client.metrics()
            assert client.health() is not None
        assert pool_statistics()["live_blocks"] >= 0
        time.sleep(0.001)

    return step


def test_records_are_read_and_let_go_of_by_other_threads(broker: testing.Broker) -> None:
    readers, sent = Readers(), 0
    with (
        kwire.Producer(broker.bootstrap_servers, linger_ms=1, compression="lz4") as producer,
        kwire.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([("t", number) for number in range(PARTITIONS)])

        def send(number: int, turn: int) -> None:
            nonlocal sent
            producer.send_many("t", [b"%d" % each for each in range(turn * 50, turn * 50 + 50)], partition=turn % 3)
            sent = turn * 50 + 50
            time.sleep(0.001)

        def poll(number: int, turn: int) -> None:
            readers.put(consumer.poll(0.05, max_records=200))

        crew = Crew(SECONDS)
        for step, count in ((send, 1), (poll, 1), (readers.step, 3), (watch(producer, consumer), 1)):
            crew.add(step, count)
        crew.run()
        producer.flush(PATIENT)
        while records := consumer.poll(0.5):
            readers.put(records)
    readers.finish()
    assert sent > 0
    assert sorted(readers.seen) == list(range(sent))


def test_records_of_an_event_loop_are_read_by_its_threads(broker: testing.Broker) -> None:
    readers, sent = Readers(), 0
    clients: list[Any] = []
    crew = Crew(SECONDS)
    crew.add(readers.step, 3)
    ready = threading.Event()

    def watched(number: int, turn: int) -> None:
        if ready.wait(PATIENT):
            watch(*clients)(number, turn)

    crew.add(watched, 1)

    async def work() -> None:
        async with (
            aio.Producer(broker.bootstrap_servers, linger_ms=1) as producer,
            aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer,
        ):
            clients.extend((producer, consumer))
            consumer.assign([("t", number) for number in range(PARTITIONS)])
            ready.set()

            async def send() -> None:
                nonlocal sent
                while time.monotonic() < crew.until:
                    for _ in range(50):
                        producer.send("t", b"%d" % sent, partition=sent % PARTITIONS)
                        sent += 1
                    await producer.drain()
                    await asyncio.sleep(0.001)
                await producer.flush()

            sending = asyncio.create_task(send())
            while (records := await consumer.poll(0.5)) or not sending.done():
                readers.put(records)
            await sending
            # A client is closed only when nobody looks at it any longer.
            await asyncio.to_thread(join_all)

    def join_all() -> None:
        for thread in crew.threads:
            thread.join(PATIENT)

    loop = threading.Thread(target=lambda: asyncio.run(work()))
    loop.start()
    crew.run()
    loop.join(PATIENT)
    assert not loop.is_alive()
    readers.finish()
    assert sent > 0
    assert sorted(readers.seen) == list(range(sent))


def test_of_one_delivery_several_threads_and_a_loop_hear(broker: testing.Broker) -> None:
    """Each hears the same: who waits in result(), whose callback is called, who awaits it."""
    heard: dict[str, list[int]] = {"waits": [], "callback": [], "awaits": []}
    waiting: queue.Queue[Any] = queue.Queue()
    loop = asyncio.new_event_loop()
    looping = threading.Thread(target=loop.run_forever)
    looping.start()

    async def hear(delivery: Any) -> None:
        heard["awaits"].append((await delivery).offset)

    with kwire.Producer(broker.bootstrap_servers, linger_ms=0) as producer:
        awaited: list[Any] = []

        def send(number: int, turn: int) -> None:
            delivery = producer.send("t", b"%d" % turn, partition=0)
            delivery.add_done_callback(lambda known: heard["callback"].append(known.result(0).offset))
            waiting.put(delivery)
            awaited.append(asyncio.run_coroutine_threadsafe(hear(delivery), loop))

        def wait(number: int, turn: int) -> None:
            try:
                heard["waits"].append(waiting.get(timeout=0.05).result(PATIENT).offset)
            except queue.Empty:
                return

        crew = Crew(SECONDS)
        for step, count in ((send, 2), (wait, 2), (watch(producer), 1)):
            crew.add(step, count)
        crew.run()
        producer.flush(PATIENT)
        while not waiting.empty():
            wait(0, 0)
        for future in awaited:
            future.result(PATIENT)
    loop.call_soon_threadsafe(loop.stop)
    looping.join(PATIENT)
    loop.close()
    offsets = list(range(len(awaited)))
    assert offsets
    assert {who: sorted(found) for who, found in heard.items()} == dict.fromkeys(heard, offsets)


@pytest.mark.shared_memory
def test_blocks_that_one_thread_fills_are_let_go_of_by_another() -> None:
    filled: queue.Queue[Any] = queue.Queue()

    def fill(number: int, turn: int) -> None:
        value, size = turn % 251, 1 << (4 + turn % 17)
        receiver = FrameReceiver(1 << 30)
        receiver.feed(size.to_bytes(4, "big"))
        receiver.buffer(size)[:] = bytes([value]) * len(receiver.buffer(size))
        filled.put((value, size, receiver.received(size)))
        while filled.qsize() > 50 and time.monotonic() < crew.until:
            time.sleep(0.001)

    def empty(number: int, turn: int) -> None:
        try:
            value, size, [frame] = filled.get(timeout=0.05)
        except queue.Empty:
            return
        assert bytes(frame) == bytes([value]) * size

    crew = Crew(SECONDS)
    crew.add(fill, 2)
    crew.add(empty, 2)
    crew.run()


@pytest.mark.shared_memory
def test_what_lz4_held_is_read_and_let_go_of_by_several_threads() -> None:
    """Of sizes that lie in small blocks, in pieces of sheets, and in blocks of their own."""
    sizes = ((10, 2000), (2_000, 60), (16_000, 20), (60_000, 10), (200_000, 3))
    values = [[b"%d" % each * (size // len(b"%d" % each)) for each in range(count)] for size, count in sizes]
    wires = [records.encode(each, compression="lz4") + records.encode(each[:1]) for each in values]
    read: queue.Queue[Any] = queue.Queue(50)

    def decode(number: int, turn: int) -> None:
        found = records.decode(wires[turn % len(wires)])
        what = (found, found.to_arrow(), found[1:])[turn // len(wires) % 3]
        try:
            read.put((turn % len(wires), what), timeout=0.05)
        except queue.Full:
            return

    def let_go(number: int, turn: int) -> None:
        try:
            which, what = read.get(timeout=0.05)
        except queue.Empty:
            return
        found = what["value"].to_pylist() if hasattr(what, "schema") else what.values()
        assert found == [*values[which], values[which][0]][-len(found) :]

    def age(number: int, turn: int) -> None:
        let_pool_age()
        time.sleep(0.005)

    crew = Crew(SECONDS)
    for step, count in ((decode, 3), (let_go, 3), (age, 1)):
        crew.add(step, count)
    crew.run()
