"""Every test here runs on asyncio's own loop and on uvloop's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from kwire import KafkaError
from kwire.testing import Broker
from tests.timing import PATIENT

Run = Callable[[Coroutine[Any, Any, Any]], Any]
Test = Callable[[Broker], Coroutine[Any, Any, None]]


def on_each_loop(test: Test) -> Callable[[Broker, Run], None]:
    """The test of a broker, run on asyncio's own loop and on uvloop's."""

    def running(broker: Broker, run: Run) -> None:
        run(test(broker))

    running.__name__ = test.__name__
    return running


async def raised(ask: Callable[[], Coroutine[Any, Any, object]], words: str) -> None:
    """Asks until the error has these words; on a busy machine there may be others of kwire's before."""
    give_up = time.monotonic() + PATIENT
    while True:
        with pytest.raises(KafkaError) as caught:
            await ask()
        if words in str(caught.value):
            return
        assert time.monotonic() < give_up, caught.value


def _loops() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    found: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {"asyncio": asyncio.new_event_loop}
    try:
        import uvloop
    except ImportError:
        return found
    return {**found, "uvloop": uvloop.new_event_loop}


LOOPS = _loops()


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine on a new event loop; no task may be left, and the loop may have nothing to report."""

    def runner(main: Coroutine[Any, Any, Any]) -> Any:
        reports: list[dict[str, Any]] = []

        async def checked() -> Any:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context))
            result = await asyncio.wait_for(main, 2 * PATIENT)
            await asyncio.sleep(0)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, left
            return result

        with asyncio.Runner(loop_factory=LOOPS[request.param]) as running:
            result = running.run(checked())
        assert not reports, reports
        return result

    return runner


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1, "wide": 8}, client_telemetry=True) as running:
        yield running
