"""What contenders on asyncio share: stops of the loop, exchanges one by one, which loop."""

from __future__ import annotations

import asyncio
import sys
import time

import pytest
from benchmarks.compare.contenders.loops import round_trips, run, stops_of
from benchmarks.compare.contenders.task import Task

_STOP_S = 0.05


async def _wait(task: Task, values: list[bytes]) -> None:
    await asyncio.sleep(0.005)


async def _stand_still(task: Task) -> None:
    await asyncio.sleep(0.005)
    end = time.thread_time() + _STOP_S
    while time.thread_time() < end:
        pass
    await asyncio.sleep(0.005)


def test_a_stop_of_the_loop_is_seen_in_its_own_half() -> None:
    found = run(Task("loop_stops", "x", count=1), lambda task: stops_of(task, _wait, _stand_still))
    assert found["consume_stop_ms"] > _STOP_S * 900
    assert found["count"] == 1


def test_exchanges_are_measured_one_by_one() -> None:
    async def measure(task: Task) -> dict[str, float]:
        return await round_trips(lambda: asyncio.sleep(0.001), task.count)

    found = run(Task("aio_round_trip", "x", count=3), measure)
    assert found["p99_us"] >= found["p50_us"] >= 900


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop does not run on Windows")
def test_a_task_says_which_loop_it_runs_on() -> None:
    uvloop = pytest.importorskip("uvloop")
    kinds = []

    async def note(task: Task) -> dict[str, float]:
        kinds.append(type(asyncio.get_running_loop()))
        return {}

    run(Task("x", "x"), note)
    run(Task("x", "x", uvloop=True), note)
    assert [issubclass(kind, uvloop.Loop) for kind in kinds] == [False, True]
