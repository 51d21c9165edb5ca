"""A producer whose event loop has ended or stands still: what was not delivered fails, and the producer goes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kwire import aio, errors
from kwire._codec import Delivery
from kwire.aio import door
from kwire.aio import producer as producer_module
from kwire.drivers.loop import LoopDriver
from tests.aio.conftest import LOOPS

NOBODY = "127.0.0.1:1"


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    """One that the test may close."""
    made = LOOPS[request.param]()
    yield made
    made.close()


async def _send(told: list[Delivery]) -> tuple[aio.Producer, Delivery]:
    producer = aio.Producer(NOBODY)
    delivery = producer.send("t", b"v")
    delivery.add_done_callback(told.append)
    await asyncio.sleep(0.001)
    while producer._driver._sockets:  # a task that is destroyed would be logged, and kept by that
        await asyncio.sleep(0.001)
    return producer, delivery


def _interrupted(now: float) -> None:
    raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("cut", [False, True], ids=["between steps", "in a step that was cut"])
def test_a_producer_that_is_dropped_after_the_end_of_its_loop_is_freed(
    loop: asyncio.AbstractEventLoop, cut: bool
) -> None:
    told: list[Delivery] = []
    producer, delivery = loop.run_until_complete(_send(told))
    driver = weakref.ref(producer._driver)
    if cut:
        with contextlib.suppress(KeyboardInterrupt):
            producer._driver.step(_interrupted)
    assert producer._core.dirty == cut
    loop.close()
    del producer
    gc.collect()
    assert isinstance(delivery.exception(), errors.KafkaError)
    del delivery
    gc.collect()
    assert driver() is None
    assert told == [], "the loop that would call it back has ended"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_one_that_is_dropped_in_the_last_turn_of_its_loop_is_freed_when_another_is_made(
    loop: asyncio.AbstractEventLoop,
) -> None:
    async def main() -> weakref.ref[LoopDriver]:
        producer, _ = await _send([])
        return weakref.ref(producer._driver)

    driver = loop.run_until_complete(main())
    loop.close()
    aio.Producer(NOBODY)
    gc.collect()
    assert driver() is None


@pytest.mark.parametrize("cut", [False, True], ids=["between steps", "in a step that was cut"])
def test_one_that_its_own_callback_keeps_is_freed_with_a_warning_when_another_is_made(
    loop: asyncio.AbstractEventLoop, cut: bool
) -> None:
    async def main() -> weakref.ref[LoopDriver]:
        producer, delivery = await _send([])
        delivery.add_done_callback(lambda _: producer.metrics())
        if cut:
            with contextlib.suppress(KeyboardInterrupt):
                producer._driver.step(_interrupted)
        return weakref.ref(producer._driver)

    driver = loop.run_until_complete(main())
    loop.close()
    gc.collect()
    with pytest.warns(ResourceWarning, match="was left with 1 record undelivered"):
        aio.Producer(NOBODY)
    gc.collect()
    assert driver() is None


@pytest.mark.filterwarnings("ignore:.*was left with 1 record undelivered:ResourceWarning")
def test_a_close_says_what_was_lost_though_another_producer_was_made_before(loop: asyncio.AbstractEventLoop) -> None:
    producer, delivery = loop.run_until_complete(_send([]))
    loop.close()
    aio.Producer(NOBODY)
    assert isinstance(delivery.exception(), errors.KafkaError)
    with pytest.raises(errors.KafkaError, match="1 record not delivered: the event loop of this producer has ended"):
        asyncio.run(producer.close())
    asyncio.run(producer.close())


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_close_after_the_end_of_the_loop_forgets_what_a_task_waited_for(loop: asyncio.AbstractEventLoop) -> None:
    told: list[Delivery] = []

    async def main() -> tuple[aio.Producer, Delivery, Any]:
        producer, delivery = await _send(told)
        task = asyncio.ensure_future(_outcome(delivery))
        await asyncio.sleep(0.01)
        return producer, delivery, task

    producer, delivery, task = loop.run_until_complete(main())
    loop.close()
    with pytest.raises(errors.KafkaError, match="1 record not delivered: the event loop of this producer has ended"):
        asyncio.run(producer.close())
    assert isinstance(delivery.exception(), errors.KafkaError)
    driver = weakref.ref(producer._driver)
    task._log_destroy_pending = False
    del producer, delivery, task
    told.clear()
    gc.collect()
    assert driver() is None


def test_a_close_while_the_loop_stands_still_is_told_when_it_goes_on(loop: asyncio.AbstractEventLoop) -> None:
    told: list[Delivery] = []

    async def main() -> tuple[aio.Producer, Delivery, Any, Any]:
        producer, delivery = await _send(told)
        waiting, flushing = asyncio.ensure_future(_outcome(delivery)), asyncio.ensure_future(producer.flush())
        await asyncio.sleep(0.01)
        return producer, delivery, waiting, flushing

    producer, delivery, waiting, flushing = loop.run_until_complete(main())
    with pytest.raises(errors.KafkaError, match="1 record not delivered"):
        asyncio.run(producer.close())
    assert not told
    assert isinstance(loop.run_until_complete(waiting), errors.KafkaError)
    loop.run_until_complete(flushing)
    assert told == [delivery]


async def _outcome(delivery: Delivery) -> object:
    try:
        return await delivery
    except errors.KafkaError as error:
        return error


def test_producers_may_be_made_in_several_threads_at_once() -> None:
    def look() -> None:
        while not over.is_set():
            producer_module._close_those_of_ended_loops()

    over = threading.Event()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as threads:
            looking = threads.submit(look)
            made = [aio.Producer(NOBODY) for _ in range(300)]
            over.set()
            looking.result()
    finally:
        sys.setswitchinterval(before)
    assert len(made) == 300


def test_clients_that_other_threads_close_or_leave_meanwhile_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    class Left:
        def __init__(self, others: Callable[[], object]) -> None:
            self._others = others

        @property
        def loop(self) -> None:
            self._others()

        def close(self) -> None:
            closed.append(self)

    class Rest:
        def loss(self) -> str:
            return ""

    closed: list[Left] = []
    unfinished: dict[Any, Any] = {}
    monkeypatch.setattr(door, "_unfinished", unfinished)
    second = Left(lambda: unfinished.pop(second, None))
    first = Left(lambda: unfinished.update({Left(print): ("producer", Rest())}))
    unfinished.update({first: ("producer", Rest()), second: ("producer", Rest())})
    door._close_those_of_ended_loops()
    assert closed == [first]
    assert len(unfinished) == 1
