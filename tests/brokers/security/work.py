"""What each client does at a listener: records out and in again, and a question of an administrator."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import kwire
from tests.brokers.security.logins import Settings

COUNT = 20
_WITHIN_S = 20.0
_REFUSED_WITHIN_S = 8.0
_GIVE_UP: Settings = {"delivery_timeout_ms": 6000, "request_timeout_ms": 5000}
_VALUES = [b"record %d" % number for number in range(COUNT)]


def exchange(address: str, settings: Settings, topic: str) -> None:
    """Writes records, reads them and finds their topic, by one client each."""
    with kwire.Producer(address, **settings) as producer:
        for delivery in [producer.send(topic, value, partition=0) for value in _VALUES]:
            delivery.result(_WITHIN_S)
    with kwire.Consumer(address, auto_offset_reset="earliest", **settings) as consumer:
        consumer.assign([(topic, 0)])
        found: list[bytes | None] = []
        deadline = time.monotonic() + _WITHIN_S
        while len(found) < COUNT and time.monotonic() < deadline:
            found += consumer.poll(1.0).values()
    with kwire.Admin(address, **settings) as admin:
        assert topic in admin.list_topics()
    assert found == _VALUES


async def exchange_aio(address: str, settings: Settings, topic: str) -> None:
    """The same on asyncio."""
    async with kwire.aio.Producer(address, **settings) as producer:
        for delivery in [producer.send(topic, value, partition=0) for value in _VALUES]:
            await asyncio.wait_for(delivery, _WITHIN_S)
    async with kwire.aio.Consumer(address, auto_offset_reset="earliest", **settings) as consumer:
        consumer.assign([(topic, 0)])
        found: list[bytes | None] = []
        deadline = time.monotonic() + _WITHIN_S
        while len(found) < COUNT and time.monotonic() < deadline:
            found += (await consumer.poll(1.0)).values()
    async with kwire.aio.Admin(address, **settings) as admin:
        assert topic in await admin.list_topics()
    assert found == _VALUES


def read_whole(address: str, settings: Settings, topic: str) -> list[bytes | None]:
    """The values in partition 0 of the topic, to its end."""
    with kwire.Consumer(address, auto_offset_reset="earliest", **settings) as consumer:
        place = kwire.TopicPartition(topic, 0)
        consumer.assign([place], until=consumer.end_offsets([place]))
        found: list[bytes | None] = []
        while not consumer.done():
            found += consumer.poll(_WITHIN_S).values()
    return found


def send(address: str, settings: Settings) -> Any:
    """One record of a producer."""
    with kwire.Producer(address, **_GIVE_UP, **settings) as producer:
        return producer.send("nobody-reads-this", b"v").result(_REFUSED_WITHIN_S)


def poll(address: str, settings: Settings) -> Any:
    """One poll of a consumer."""
    with kwire.Consumer(address, **settings) as consumer:
        consumer.assign([("nobody-reads-this", 0)])
        return consumer.poll(_REFUSED_WITHIN_S)


def ask(address: str, settings: Settings) -> Any:
    """One question of an administrator."""
    with kwire.Admin(address, **settings) as admin:
        return admin.list_topics(timeout=_REFUSED_WITHIN_S)


async def _send(address: str, settings: Settings) -> Any:
    async with kwire.aio.Producer(address, **_GIVE_UP, **settings) as producer:
        return await asyncio.wait_for(producer.send("nobody-reads-this", b"v"), _REFUSED_WITHIN_S)


async def _poll(address: str, settings: Settings) -> Any:
    async with kwire.aio.Consumer(address, **settings) as consumer:
        consumer.assign([("nobody-reads-this", 0)])
        return await consumer.poll(_REFUSED_WITHIN_S)


async def _ask(address: str, settings: Settings) -> Any:
    async with kwire.aio.Admin(address, **settings) as admin:
        return await admin.list_topics(timeout=_REFUSED_WITHIN_S)


Attempt = Callable[[str, Settings], Any]


def _run(attempt: Callable[[str, Settings], Awaitable[Any]]) -> Attempt:
    async def whole(address: str, settings: Settings) -> Any:
        return await attempt(address, settings)

    return lambda address, settings: asyncio.run(whole(address, settings))


ATTEMPTS: dict[str, Attempt] = {
    "producer": send,
    "consumer": poll,
    "admin": ask,
    "aio-producer": _run(_send),
    "aio-consumer": _run(_poll),
    "aio-admin": _run(_ask),
}
