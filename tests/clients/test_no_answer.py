"""A listener that accepts and never answers: each client says so, and none says that the topic does not exist."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator

import pytest

import kwire
from kwire import aio, errors


@pytest.fixture
def silent() -> Iterator[str]:
    """Its address: connections are accepted by the system, and nobody reads them."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def _check(error: pytest.ExceptionInfo[errors.KafkaError], silent: str) -> None:
    assert isinstance(error.value, errors.ConnectError | errors.KafkaTimeoutError)
    assert silent in str(error.value)
    assert "being connected, at ApiVersions" in str(error.value)
    assert "exist" not in str(error.value)


def _send(servers: str) -> None:
    with kwire.Producer(servers, max_block_ms=1000) as producer:
        producer.send("orders", b"v").result(timeout=60)


def _partitions_for(servers: str) -> None:
    with kwire.Consumer(servers) as consumer:
        consumer.partitions_for("orders", timeout=1)


def _describe(servers: str) -> None:
    with kwire.Admin(servers, default_api_timeout_ms=1000) as admin:
        admin.describe_topics(["orders"])


def _poll(servers: str) -> None:
    with kwire.Consumer(servers, default_api_timeout_ms=1000) as consumer:
        consumer.subscribe(["orders"])
        for _ in range(60):
            consumer.poll(1)


@pytest.mark.parametrize("ask", [_send, _partitions_for, _describe, _poll])
def test_a_call_of_a_thread_says_what_is_not_answered(ask: Callable[[str], None], silent: str) -> None:
    with pytest.raises(errors.KafkaError) as error:
        ask(silent)
    _check(error, silent)


async def _send_on_a_loop(servers: str) -> None:
    async with aio.Producer(servers, max_block_ms=1000) as producer:
        await producer.send("orders", b"v")


async def _partitions_for_on_a_loop(servers: str) -> None:
    async with aio.Consumer(servers) as consumer:
        await consumer.partitions_for("orders", timeout=1)


async def _describe_on_a_loop(servers: str) -> None:
    async with aio.Admin(servers, default_api_timeout_ms=1000) as admin:
        await admin.describe_topics(["orders"])


async def _poll_on_a_loop(servers: str) -> None:
    async with aio.Consumer(servers, default_api_timeout_ms=1000) as consumer:
        consumer.subscribe(["orders"])
        for _ in range(60):
            await consumer.poll(1)


@pytest.mark.parametrize("ask", [_send_on_a_loop, _partitions_for_on_a_loop, _describe_on_a_loop, _poll_on_a_loop])
def test_a_call_of_a_task_says_what_is_not_answered(ask: Callable[[str], Awaitable[None]], silent: str) -> None:
    async def run() -> None:
        await ask(silent)

    with pytest.raises(errors.KafkaError) as error:
        asyncio.run(run())
    _check(error, silent)
