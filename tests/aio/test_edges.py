"""Where several awaits of one client meet, or one ends before it begins."""

from __future__ import annotations

import asyncio
import gc
import socket
import subprocess
import sys
import textwrap
import weakref
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from kwire import aio, errors
from kwire.testing import Broker
from tests.aio.conftest import LOOPS, Run
from tests.timing import PATIENT


@pytest.fixture
def dead() -> Iterator[str]:
    """An address that refuses every connection."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield "{}:{}".format(*bound.getsockname())


async def result_of(what: Any) -> Any:
    return await what


@pytest.mark.parametrize("nowait", [False, True])
def test_drain_waits_until_the_refused_record_fits(run: Run, broker: Broker, nowait: bool) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers, buffer_memory=100_000) as producer:
            await producer.send("t", b"connected")
            producer.send("t", b"a" * 40_000)
            with pytest.raises(errors.BufferFull, match="drain"):
                producer.send("t", b"b" * 70_000, nowait=nowait)
            await producer.drain()
            producer.send("t", b"b" * 70_000, nowait=nowait)

    run(main())


def test_next_takes_no_record_when_it_is_cancelled_before_it_begins(run: Run, broker: Broker) -> None:
    async def main() -> None:
        broker.append("t", [b"%d" % number for number in range(6)])
        async with aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([("t", 0)])
            records = aiter(consumer)
            assert (await anext(records)).value == b"0"
            for _ in range(2):
                cut = asyncio.ensure_future(anext(records))
                cut.cancel()
                await asyncio.wait([cut])
                assert cut.cancelled()
            assert (await anext(records)).value == b"1"
            asyncio.ensure_future(anext(records)).cancel()
            assert (await consumer.poll(timeout=PATIENT)).values() == [b"2", b"3", b"4", b"5"]

    run(main())


def test_next_that_finds_its_records_gone_waits_for_others(run: Run, broker: Broker) -> None:
    async def main() -> None:
        broker.append("t", [b"%d" % number for number in range(3)])
        async with aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([("t", 0)])
            records = aiter(consumer)
            assert (await anext(records)).value == b"0"
            later = asyncio.ensure_future(anext(records))
            consumer.seek(("t", 0), 2)
            assert (await later).value == b"2"
            for end in ("cancel", "close"):
                broken = records.__anext__()
                if end == "close":
                    broken.close()  # type: ignore[attr-defined]
                else:
                    with pytest.raises(asyncio.CancelledError):
                        broken.throw(asyncio.CancelledError())  # type: ignore[attr-defined]
            waiting = asyncio.ensure_future(anext(records))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.wait([waiting])
            broker.append("t", [b"3"])
            assert (await anext(records)).value == b"3"

    run(main())


def test_tasks_that_close_at_once_all_end_at_once(run: Run, broker: Broker) -> None:
    async def main() -> None:
        admin, producer = aio.Admin(broker.bootstrap_servers), aio.Producer(broker.bootstrap_servers)
        await admin.list_topics()
        await producer.send("t", b"v")
        for client in (admin, producer):
            closing = [asyncio.ensure_future(client.close()) for _ in range(3)]
            for _ in range(20):
                await asyncio.sleep(0)
            assert all(task.done() for task in closing)
            await asyncio.gather(*closing)

    run(main())


def test_a_call_that_waits_is_told_of_the_close(run: Run, dead: str, broker: Broker) -> None:
    async def main() -> None:
        for address in (dead, broker.bootstrap_servers):
            admin, consumer = aio.Admin(address), aio.Consumer(address)
            consumer.assign([("t", 0)])
            calls = [
                asyncio.ensure_future(result_of(call))
                for call in (admin.list_topics(), admin.describe_topics(), consumer.partitions_for("t"))
            ]
            await asyncio.sleep(0.05 if address == dead else 0)
            await asyncio.gather(admin.close(), consumer.close())
            for call in calls:
                with pytest.raises(errors.ClientClosedError):
                    await call

    run(main())


class Served:
    """What a web server serves."""


served: ContextVar[Served | None] = ContextVar("served", default=None)


def test_the_variables_of_the_task_that_began_a_connection_are_not_kept(run: Run, broker: Broker) -> None:
    seen: list[Served | None] = []

    async def serve(producer: aio.Producer, consumer: aio.Consumer) -> weakref.ref[Served]:
        value = Served()
        served.set(value)
        delivery = producer.send("t", b"v")
        delivery.add_done_callback(lambda _: seen.append(served.get()))
        await delivery
        await consumer.end_offsets([("t", 0)])
        await asyncio.sleep(0.01)
        return weakref.ref(value)

    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer, aio.Consumer(broker.bootstrap_servers) as reader:
            values = [await asyncio.create_task(serve(producer, reader)) for _ in range(2)]
            assert seen == [None, None]
            await asyncio.sleep(0.01)  # asyncio keeps the handle that it ran last
            gc.collect()
            assert [value() for value in values] == [None, None]

    run(main())


@pytest.mark.parametrize(
    ("end", "warning"),
    [
        ("asyncio.run(main())", "event loop of a producer ended with 1 record undelivered"),
        ("asyncio.run(main()); asyncio.run(main())", "event loop of a producer ended with 1 record undelivered"),
        ("asyncio.run(left())", "was left with 1 record undelivered"),
    ],
)
def test_records_that_the_end_of_the_loop_cut_off_are_warned_of(dead: str, end: str, warning: str) -> None:
    code = """
        import asyncio
        from kwire import aio

        async def main():
            producer = aio.Producer(DEAD)
            producer.send("t", b"v")
            closing = asyncio.create_task(producer.close())
            await asyncio.sleep(0.01)
            closing.cancel()

        async def left():
            global producer
            producer = aio.Producer(DEAD)
            producer.send("t", b"v")

        END
    """
    ran = subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(code).replace("DEAD", repr(dead)).replace("END", end)],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stderr.count(warning) == end.count("run"), ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("loop", LOOPS)
def test_callbacks_after_one_that_is_interrupted_run_all_the_same(loop: str, broker: Broker) -> None:
    told: list[int] = []

    def interrupt(delivery: aio.Delivery) -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            delivery = producer.send("t", b"v")
            delivery.add_done_callback(interrupt)
            delivery.add_done_callback(lambda done: told.append(done.result(0).offset))
            await asyncio.sleep(30)

    running = LOOPS[loop]()
    task = running.create_task(main())
    with pytest.raises(KeyboardInterrupt):
        running.run_until_complete(task)
    running.run_until_complete(asyncio.sleep(0.05))
    assert told == [0]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        running.run_until_complete(task)
    running.close()
