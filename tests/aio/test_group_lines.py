"""What the log says of a group's life, for consumers of asyncio."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from kwire import aio
from kwire.testing import Broker
from tests.aio.conftest import Run
from tests.clients.group_lines import BROKER, HALVES, LIVES, REFUSALS, Told, options
from tests.timing import PATIENT


async def poll_until(done: Callable[[], bool], *consumers: Any) -> None:
    deadline = time.monotonic() + PATIENT
    while not done():
        assert time.monotonic() < deadline
        for consumer in consumers:
            await consumer.poll(0.02)


@pytest.mark.parametrize("kind", LIVES)
def test_a_life_is_told(kind: str, run: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kwire.clients")
    told = Told(caplog, logging.INFO)
    with Broker(**BROKER) as broker:
        run(live(kind, broker, told))
    told.check(LIVES[kind])


async def live(kind: str, broker: Broker, told: Told) -> None:
    made = aio.ShareConsumer if kind == "share" else aio.Consumer
    one, two = (made(broker.bootstrap_servers, **options(kind)) for _ in range(2))
    async with one, two:
        one.subscribe(["t"])
        await poll_until(lambda: told.has(r"assigned .*; 12 in all"), one)
        two.subscribe(["t"])
        await poll_until(lambda: told.has(r"assigned t-.*; 6 in all", times=HALVES[kind]), one, two)
        await one.close()
        await poll_until(lambda: told.has(r"assigned t-.*; 12 in all", times=2), two)
        broker.faults.error(*REFUSALS[kind])
        await poll_until(lambda: told.has(r"assigned t-.*; 12 in all", times=3), two)
