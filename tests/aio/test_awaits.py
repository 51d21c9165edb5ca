"""What an `await` with nothing to wait for gets, however it is asked; which loop may use a client; no late imports."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable
from types import FrameType
from typing import Any

import pytest

from kwire import aio, errors
from kwire.testing import Broker
from tests.aio.conftest import LOOPS, Run


async def awaited(what: Awaitable[Any]) -> Any:
    return await what


def test_a_result_that_is_known_comes_however_it_is_awaited(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            delivery = producer.send("t", b"v")
            metadata = await delivery
            assert await asyncio.wait_for(delivery, 10) == metadata
            assert await asyncio.gather(delivery, delivery) == [metadata, metadata]
            assert await asyncio.create_task(awaited(delivery)) == metadata
            with pytest.raises(StopIteration) as stopped:
                next(delivery.__await__())
            assert stopped.value.value == metadata

    run(main())


def test_a_result_that_is_known_comes_under_a_tracer_too(run: Run, broker: Broker) -> None:
    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        return trace

    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            delivery = producer.send("t", b"v")
            before = sys.gettrace()
            sys.settrace(trace)
            try:
                metadata = await delivery
                again = await delivery
            finally:
                sys.settrace(before)
            assert again == metadata

    run(main())


def test_an_error_that_is_known_is_raised_by_each_await(run: Run, broker: Broker) -> None:
    async def main() -> None:
        producer = aio.Producer(broker.bootstrap_servers, delivery_timeout_ms=300, max_block_ms=300)
        delivery = producer.send("no-such-topic", b"v", partition=7)
        for _ in range(2):
            with pytest.raises(errors.KafkaError):
                await delivery
        with pytest.raises(errors.KafkaError):
            await asyncio.gather(delivery)
        await producer.close()

    run(main())


def test_records_come_in_the_order_of_the_awaits(run: Run, broker: Broker) -> None:
    async def main() -> None:
        broker.append("t", [b"0", b"1", b"2", b"3"])
        async with aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([("t", 0)])
            records = aiter(consumer)
            assert (await anext(records)).value == b"0"
            first, second = records.__anext__(), records.__anext__()
            assert [(await each).value for each in (second, first)] == [b"1", b"2"]
            assert (await anext(records)).value == b"3"

    run(main())


@pytest.mark.parametrize("loop", LOOPS)
def test_another_loop_in_the_same_thread_may_not_send(loop: str, broker: Broker) -> None:
    made: list[aio.Producer] = []

    async def first() -> None:
        producer = aio.Producer(broker.bootstrap_servers)
        await producer.send("t", b"v")
        made.append(producer)

    async def second() -> None:
        for _ in range(2):
            with pytest.raises(errors.ConcurrentUseError, match="belongs to the event loop of its first use"):
                made[0].send("t", b"v")

    with asyncio.Runner(loop_factory=LOOPS[loop]) as one, asyncio.Runner(loop_factory=LOOPS[loop]) as other:
        one.run(first())
        other.run(second())
        with pytest.raises(errors.ConcurrentUseError, match=r"needs a running event loop"):
            made[0].send("t", b"v")
        one.run(made[0].close())


def test_another_thread_may_not_send(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            await producer.send("t", b"v")
            with pytest.raises(errors.ConcurrentUseError):
                await asyncio.to_thread(producer.send, "t", b"v")

    run(main())


FIRST_USE = """
import asyncio, sys
from kwire.aio import Consumer, Producer

async def main(servers):
    async with Producer(servers) as producer, Consumer(servers, auto_offset_reset="earliest") as consumer:
        before = set(sys.modules)
        await producer.send("t", b"v")
        consumer.assign([("t", 0)])
        await consumer.poll(timeout=60)
        print(*sorted(set(sys.modules) - before))

asyncio.run(main(sys.argv[1]))
"""


def test_the_first_use_imports_nothing(broker: Broker) -> None:
    command = [sys.executable, "-c", FIRST_USE, broker.bootstrap_servers]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == []


FIRST_USE_IN_A_GROUP = """
import asyncio, sys
from kwire.aio import Consumer

async def main(servers, protocol):
    async with Consumer(servers, group_id="g", group_protocol=protocol, auto_offset_reset="earliest") as consumer:
        before = set(sys.modules)
        consumer.subscribe(["t"])
        while not await consumer.poll(timeout=0.2):
            pass
        await consumer.commit()
        print(*sorted(set(sys.modules) - before))

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_first_use_in_a_group_imports_nothing(protocol: str) -> None:
    with Broker(topics=["t"], group_initial_rebalance_delay_ms=0) as broker:
        broker.append("t", [b"v"])
        command = [sys.executable, "-c", FIRST_USE_IN_A_GROUP, broker.bootstrap_servers, protocol]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == []
