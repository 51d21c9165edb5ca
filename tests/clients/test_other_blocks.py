"""`with` and `for` around a client of asyncio, and `async with` and `async for` around one of threads: the error says
what to write."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import kwire
import kwire.aio
from kwire import testing
from tests.each import case, each

SERVERS = "127.0.0.1:1"
KINDS = ("Producer", "Consumer", "Admin", "ShareConsumer")


def of_threads(kind: str) -> Any:
    client = getattr(kwire, kind)
    return client(SERVERS, group_id="g") if kind == "ShareConsumer" else client(SERVERS)


def of_asyncio(kind: str) -> Any:
    client = getattr(kwire.aio, kind)
    return client(SERVERS, group_id="g") if kind == "ShareConsumer" else client(SERVERS)


def refused(text: str, block: Callable[[], object]) -> None:
    with pytest.raises(kwire.errors.UnsupportedError, match=re.escape(text)):
        block()


def awaited(block: Callable[[], Coroutine[Any, Any, object]]) -> Callable[[], object]:
    return lambda: asyncio.run(block())


def entered(what: Any) -> None:
    with what:
        pytest.fail("entered")


async def entered_async(what: Any) -> None:
    async with what:
        pytest.fail("entered")


async def looped_async(what: Any) -> None:
    async for _ in what:
        pytest.fail("looped")


@each("kind", KINDS)
def test_a_with_block_of_an_asyncio_client_says_async_with(kind: str) -> None:
    async def tried() -> None:
        async with of_asyncio(kind) as client:
            refused(f"write `async with` for a kwire.aio.{kind}", lambda: entered(client))

    asyncio.run(tried())


@each("kind", KINDS)
def test_an_async_with_block_of_a_client_of_threads_says_with(kind: str) -> None:
    with of_threads(kind) as client:
        refused(f"write `with` for a kwire.{kind}", awaited(lambda: entered_async(client)))


def test_loops_over_the_other_kind_of_consumer_say_which_loop_it_has() -> None:
    async def tried() -> None:
        async with kwire.aio.Consumer(SERVERS) as consumer:
            refused("write `async for` over a kwire.aio.Consumer", lambda: list(consumer))  # type: ignore[call-overload]

    asyncio.run(tried())
    with kwire.Consumer(SERVERS) as consumer:
        refused("write `for` over a kwire.Consumer", awaited(lambda: looped_async(consumer)))


def test_transactions_and_the_embedded_broker_say_it_too() -> None:
    async def tried() -> None:
        async with kwire.aio.Producer(SERVERS, transactional_id="t") as producer:
            refused("write `async with` for the transaction", lambda: entered(producer.transaction()))

    asyncio.run(tried())
    with kwire.Producer(SERVERS, transactional_id="t") as producer:
        refused("write `with` for the transaction", awaited(lambda: entered_async(producer.transaction())))
    refused("write `with` for a Broker", awaited(lambda: entered_async(testing.Broker())))


def test_the_blocks_of_the_other_kind_are_not_there() -> None:
    with kwire.Consumer(SERVERS) as client:
        for name in ("__aenter__", "__aexit__"):
            with case(name):
                assert not hasattr(client, name)
