"""close() awaited by several tasks at once, beside other calls, and in a forked child."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

from kwire import errors
from kwire.aio import Admin, Consumer, Producer, ShareConsumer
from kwire.testing import Broker
from tests.aio.conftest import Run
from tests.clients.test_closing import committed
from tests.clients.test_share_consumer import begin_at_first
from tests.timing import PATIENT

KINDS: list[Callable[..., Any]] = [Consumer, ShareConsumer, Producer, Admin]


async def used(kind: Callable[..., Any], broker: Broker, group: str, **options: Any) -> Any:
    """A client that has finished ten records, or has sent one, or has asked something."""
    if kind in (Producer, Admin):
        client = kind(broker.bootstrap_servers)
        if kind is Producer:
            client.send("wide", group.encode(), partition=0)
        else:
            await client.list_topics()
        return client
    begin_at_first(broker, group)
    reset = {} if kind is ShareConsumer else {"auto_offset_reset": "earliest", "auto_commit_interval_ms": 3_600_000}
    client = kind(broker.bootstrap_servers, group_id=group, **reset, **options)
    client.subscribe(["t"])
    seen = 0
    while seen < 10:
        seen += len(await client.poll(1.0))
    await client.poll(0.0)
    return client


@pytest.fixture
def filled(broker: Broker) -> Broker:
    broker.append("t", [b"%d" % number for number in range(10)])
    return broker


@pytest.mark.parametrize("count", [2, 6])
@pytest.mark.parametrize(
    ("kind", "options"), [(kind, {}) for kind in KINDS] + [(Consumer, {"group_protocol": "consumer"})]
)
def test_tasks_that_close_one_client_at_once_all_return(
    kind: Callable[..., Any],
    options: dict[str, Any],
    count: int,
    run: Run,
    filled: Broker,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        client = await used(kind, filled, "g", **options)
        await asyncio.gather(*(client.close() for _ in range(count)))
        if kind is Consumer:
            assert await asyncio.to_thread(committed, filled, "g") == 10
        if kind is Producer:
            assert filled.values("wide", partition=0) == [b"g"]

    run(main())
    assert caplog.records == []


@pytest.mark.parametrize("kind", [Consumer, ShareConsumer])
def test_tasks_that_close_beside_a_poll_return(kind: Callable[..., Any], run: Run, filled: Broker) -> None:
    async def main() -> None:
        client = await used(kind, filled, "g")
        polling = asyncio.ensure_future(client.poll(PATIENT))
        await asyncio.sleep(0)
        await asyncio.gather(client.close(), client.close())
        try:
            assert not await polling
        except errors.ClientClosedError:
            pass

    run(main())


def test_a_close_that_is_cancelled_lets_the_other_end(run: Run, filled: Broker) -> None:
    async def main() -> None:
        client = await used(Consumer, filled, "g")
        first, second = asyncio.ensure_future(client.close()), asyncio.ensure_future(client.close())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait_for(second, PATIENT)
        assert client._closed

    run(main())


def test_a_listener_may_close_the_consumer_that_closes(run: Run, filled: Broker) -> None:
    class Listener:
        async def on_revoked(self, partitions: object) -> None:
            await consumers[0].close()

    consumers: list[Consumer] = []

    async def main() -> None:
        consumer = Consumer(filled.bootstrap_servers, group_id="g", auto_offset_reset="earliest")
        consumers.append(consumer)
        consumer.subscribe(["t"], listener=Listener())
        while not await consumer.poll(1.0):
            pass
        await asyncio.wait_for(consumer.close(), PATIENT)

    run(main())


@pytest.mark.parametrize("kind", KINDS)
def test_close_returns_in_a_forked_child(kind: Callable[..., Any], run: Run, filled: Broker) -> None:
    async def main() -> None:
        client = await used(kind, filled, "g")
        child = os.fork()
        if child == 0:
            try:
                await client.close()
            except BaseException:
                os._exit(1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        await client.close()

    run(main())
