"""Every await may be cancelled at any point: no record is lost or doubled, and nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import random
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kwire import aio, errors
from kwire.testing import Broker
from tests.aio.conftest import Run
from tests.thorough import THOROUGH
from tests.timing import PATIENT

CANCELLATIONS = 10_000 if THOROUGH else 1_500


async def cut(rng: random.Random, work: Awaitable[Any]) -> Any:
    """The result of the work, or None if it was cancelled after a few turns of the loop."""
    task = asyncio.ensure_future(work)
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 5, 8, 20))):
        await asyncio.sleep(0)
    if rng.random() < 0.1:
        await asyncio.sleep(rng.random() * 0.01)
    task.cancel()
    try:
        return await task
    except asyncio.CancelledError:
        return None


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("linger_ms", [0, 5])
def test_no_record_that_was_sent_is_lost_or_doubled(run: Run, linger_ms: int, tls: bool) -> None:
    rng = random.Random(linger_ms)

    async def main(broker: Broker) -> None:
        settings = {**broker.client_settings, "linger_ms": linger_ms, "buffer_memory": 20_000}
        deliveries: list[aio.Delivery] = []
        async with aio.Producer(broker.bootstrap_servers, **settings) as producer:

            async def sender(name: int) -> None:
                for number in range(CANCELLATIONS // 8):
                    try:
                        delivery = producer.send("wide", b"%d-%d" % (name, number))
                    except errors.BufferFull:
                        await cut(rng, producer.drain())
                        continue
                    deliveries.append(delivery)
                    verbs: list[Callable[[], Awaitable[Any]]] = [lambda d=delivery: d, producer.flush, producer.drain]  # type: ignore[misc]
                    await cut(rng, rng.choices(verbs, (6, 2, 2))[0]())

            await asyncio.gather(*(sender(name) for name in range(8)))
            await producer.flush(timeout=PATIENT)
            assert not producer._driver._waiters
            assert all(delivery.exception(0) is None for delivery in deliveries)
        assert not producer._driver.has_resources
        written = broker.values("wide")
        assert len(written) == len(set(written)) == len(deliveries)

    with Broker(topics={"wide": 8}, tls=tls) as broker:
        run(main(broker))


def test_no_record_is_lost_or_returned_twice(run: Run, broker: Broker) -> None:
    rng = random.Random(1)

    async def main() -> None:
        async with (
            aio.Producer(broker.bootstrap_servers) as producer,
            aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest", fetch_max_wait_ms=20) as consumer,
        ):
            consumer.subscribe(["wide"])
            read: list[bytes | None] = []
            sent: list[bytes] = []

            async def iterate(most: int) -> None:
                async for record in consumer:
                    read.append(record.value)
                    most -= 1
                    if not most:
                        return

            for turn in range(CANCELLATIONS):
                if turn % 3 == 0:
                    sent.append(b"%d" % turn)
                    producer.send("wide", sent[-1])
                choice = rng.random()
                if choice < 0.45:
                    found = await cut(rng, consumer.poll(timeout=0.05, max_records=rng.choice((None, 1, 5))))
                    if found is not None:
                        read += found.values()
                elif choice < 0.9:
                    await cut(rng, iterate(rng.choice((1, 3, 1000))))
                elif choice < 0.95:
                    await cut(rng, consumer.end_offsets([("wide", 0)]))
                else:
                    await cut(rng, consumer.position(("wide", 0)) if consumer.assignment() else asyncio.sleep(0))
            await producer.flush()
            while len(read) < len(sent):
                read += (await consumer.poll(timeout=PATIENT)).values()
            assert sorted(map(bytes, filter(None, read))) == sorted(sent)
            assert not await consumer.poll(timeout=0.1)
            assert not consumer._driver._waiters

    run(main())


def test_calls_of_an_admin_leave_nothing_behind(run: Run, broker: Broker) -> None:
    rng = random.Random(2)

    async def main() -> None:
        async with aio.Admin(broker.bootstrap_servers) as admin:

            async def ask() -> None:
                for _ in range(CANCELLATIONS // 8):
                    await cut(rng, rng.choice((admin.list_topics, admin.describe_topics))())

            await asyncio.gather(*(ask() for _ in range(8)))
            assert await admin.list_topics() == ["t", "wide"]
            assert not admin._driver._waiters
            assert not admin._core._requests

    run(main())


def test_a_close_that_is_cancelled_delivers_all_the_same(run: Run, broker: Broker) -> None:
    rng = random.Random(3)

    async def main() -> None:
        deliveries: list[aio.Delivery] = []
        drivers = []
        for turn in range(CANCELLATIONS // 20):
            producer = aio.Producer(broker.bootstrap_servers, linger_ms=rng.choice((0, 5)))
            deliveries += producer.send_many("wide", [b"%d-%d" % (turn, number) for number in range(5)])
            while not producer._accumulator.closed:  # else the task was cancelled before its first step
                await cut(rng, producer.close())
            drivers.append(producer._driver)
            with pytest.raises(errors.ClientClosedError):
                producer.send("t", b"late")
        for delivery in deliveries:
            await asyncio.wait_for(delivery, PATIENT)
        for driver in drivers:
            while not driver.closed or driver.has_resources:
                await asyncio.sleep(0.001)
        assert len(broker.values("wide")) == len(set(broker.values("wide"))) == len(deliveries)

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        run(main())
        gc.collect()
