"""What contenders on asyncio share: the loop they run on, and a clock that sees when the loop stands still."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.compare.contenders.meters import WARM_UP_EXCHANGES, cpu_seconds, latency
from benchmarks.compare.contenders.task import Task, values_of

_SCHEDSTAT = Path("/proc/thread-self/schedstat")
_TICK_S = 0.001
_IDLE_TASKS = 1000
SENDS_PER_TURN = 1000
"""How many records a contender sends before it lets the loop turn."""


def run(task: Task, main: Callable[[Task], Coroutine[Any, Any, dict[str, float]]]) -> dict[str, float]:
    """Runs it on asyncio's loop, or on uvloop's where the task says so."""
    if not task.uvloop:
        return asyncio.run(main(task))
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main(task))


class Ticker:
    """Wants to be called every millisecond; `longest_ms` is by how much the loop was late at worst.

    Time in which the kernel let this thread wait for a core is not the loop's, and is taken off where Linux tells it.
    """

    def __init__(self) -> None:
        self.longest_ms = 0.0
        self._loop = asyncio.get_running_loop()
        self._schedstat = os.open(_SCHEDSTAT, os.O_RDONLY) if _SCHEDSTAT.exists() else None
        self._expect()

    def _expect(self) -> None:
        self._waited_s = self._waited_for_a_core_s()
        self._due = time.perf_counter() + _TICK_S
        self._timer = self._loop.call_later(_TICK_S, self._tick)

    def _tick(self) -> None:
        late = time.perf_counter() - self._due
        stop_s = late - (self._waited_for_a_core_s() - self._waited_s)
        self.longest_ms = max(self.longest_ms, stop_s * 1000)
        self._expect()

    def _waited_for_a_core_s(self) -> float:
        if self._schedstat is None:
            return 0.0
        return int(os.pread(self._schedstat, 64, 0).split()[1]) / 1e9

    def stop(self) -> None:
        """Ticks no more."""
        self._timer.cancel()
        if self._schedstat is not None:
            os.close(self._schedstat)


@contextmanager
def ticking() -> Iterator[Ticker]:
    """A ticker, for the body of a `with`."""
    ticker = Ticker()
    try:
        yield ticker
    finally:
        ticker.stop()


@contextmanager
def idle_tasks() -> Iterator[None]:
    """A thousand tasks that wait, each for a timer of its own."""
    waiting = [asyncio.ensure_future(asyncio.sleep(3600)) for _ in range(_IDLE_TASKS)]
    try:
        yield
    finally:
        for each in waiting:
            each.cancel()


async def stops_of(
    task: Task,
    produce: Callable[[Task, list[bytes]], Coroutine[Any, Any, object]],
    consume: Callable[[Task], Coroutine[Any, Any, object]],
) -> dict[str, float]:
    """By how much the loop was late at worst while a client consumed and while one produced, beside idle tasks.

    `produce` is given the values of a turn.
    """
    values = list(islice(cycle(values_of(task.size)), SENDS_PER_TURN))
    with idle_tasks():
        await asyncio.sleep(_TICK_S)
        with ticking() as ticker:
            await consume(task)
        consuming = ticker.longest_ms
        with ticking() as ticker:
            await produce(task, values)
    return {"consume_stop_ms": consuming, "produce_stop_ms": ticker.longest_ms, "count": task.count}


async def round_trips(exchange: Callable[[], Awaitable[object]], count: int) -> dict[str, float]:
    """Latency of `count` exchanges, one after the other."""
    for _ in range(WARM_UP_EXCHANGES):
        await exchange()
    taken = []
    cpu = cpu_seconds()
    for _ in range(count):
        started = time.perf_counter()
        await exchange()
        taken.append(time.perf_counter() - started)
    return latency(taken, cpu_seconds() - cpu)
