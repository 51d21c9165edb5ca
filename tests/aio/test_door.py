"""The door of a client on an event loop: steps that are awaited, what is begun at once, and cancellation."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from kwire.aio import Consumer
from kwire.engine.common.waits import Tell, Turn, Until, Wait
from kwire.errors import ConcurrentUseError
from kwire.testing import Broker
from tests.aio.conftest import Run


def steps(log: list[str], condition: Any = None) -> Wait[None]:
    try:
        log.append("begun")
        yield Turn(lambda: False)
        yield Until(condition or (lambda: True), None)
        log.append("done")
    finally:
        log.append("cleaned up")


def never() -> bool:
    return False


def test_functions_that_are_told_may_be_asynchronous_and_use_the_client(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with Consumer(broker.bootstrap_servers) as consumer:

            async def told(what: str) -> None:
                await asyncio.sleep(0)
                seen.append((what, consumer.assignment(), await consumer.partitions_for("t")))
                raise LookupError(what)

            def telling() -> Wait[Any]:
                return (yield Tell(told, "what"))

            seen: list[object] = []
            error = await consumer._door.run(telling())
            assert isinstance(error, LookupError)
            assert seen == [("what", set(), [("t", 0)])]

    run(main())


def test_what_is_begun_runs_to_its_first_step_at_once_and_is_waited_for(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with Consumer(broker.bootstrap_servers) as consumer:
            log: list[str] = []
            begun = consumer._door.begin(steps(log))
            assert log == ["begun"]
            with pytest.raises(ConcurrentUseError):
                consumer.assignment()
            assert await consumer.partitions_for("t") == [("t", 0)]
            assert begun.done()
            assert log == ["begun", "done", "cleaned up"]
            assert consumer.assignment() == set()

    run(main())


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_what_is_begun_is_cleaned_up_when_it_is_cancelled(turns: int, run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with Consumer(broker.bootstrap_servers) as consumer:
            log: list[str] = []
            begun = consumer._door.begin(steps(log, never))
            for _ in range(turns):
                await asyncio.sleep(0)
            begun.cancel()
            await asyncio.gather(begun, return_exceptions=True)
            assert log == ["begun", "cleaned up"]
            assert consumer.assignment() == set()

    run(main())


def test_a_second_task_is_refused_and_a_cancelled_wait_lets_the_next_in(run: Run, broker: Broker) -> None:
    async def main() -> None:
        async with Consumer(broker.bootstrap_servers) as consumer:
            log: list[str] = []
            task = asyncio.ensure_future(consumer._door.run(steps(log, never)))
            await asyncio.sleep(0)
            with pytest.raises(ConcurrentUseError, match="in use by another task"):
                await consumer.partitions_for("t")
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert log == ["begun", "cleaned up"]
            assert await consumer.partitions_for("t") == [("t", 0)]

    run(main())


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")  # the attempt to connect
def test_a_wait_that_is_dropped_after_its_loop_is_silent(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", dropped.append)

    async def begin(consumer: Consumer) -> Any:
        consumer.subscribe(["t"])
        polling = consumer.poll(60.0)
        polling.send(None)
        return polling

    def leave() -> None:
        consumer = Consumer(broker.bootstrap_servers, group_id="g")
        loop = asyncio.new_event_loop()
        polling = loop.run_until_complete(begin(consumer))
        loop.close()
        polling.close()
        assert not consumer._door.used
        asyncio.run(consumer.close())

    leave()
    gc.collect()
    assert not dropped
