"""Measures works that need no sink, one after the other, inside one process."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from benchmarks.compare.task import Task

Works = Mapping[str, tuple[Callable[[], Any], int]]
"""Name of a work -> what does it once, and how many records (or messages) one call handles."""

_CHUNK_S = 0.002
_FEWEST_CHUNKS = 3


def run_codec(task: Task, works: Works) -> dict[str, dict[str, float]]:
    """{work: figures} of the works that the task names; per record, `cpu_ns` is the median of CPU nanoseconds and
    `bytes_each` the bytes made, where it makes bytes."""
    return {name: _measured(*works[name], task.budget_s) for name in task.works}


def _measured(work: Callable[[], Any], count: int, budget_s: float) -> dict[str, float]:
    made = work()
    sizes = {"bytes_each": len(made) / count} if isinstance(made, bytes) else {}
    del made
    return {"cpu_ns": _cpu_ns(work, count, budget_s), **sizes}


def _cpu_ns(work: Callable[[], Any], count: int, budget_s: float) -> float:
    gc.collect()
    once = _chunk(work, 1)
    calls = max(1, round(_CHUNK_S / max(once, 1e-9)))
    chunks = [once] if calls == 1 else []
    while len(chunks) < _FEWEST_CHUNKS or sum(chunks) < budget_s:
        chunks.append(_chunk(work, calls))
    return median(chunks) / calls / count * 1e9


def _chunk(work: Callable[[], Any], calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        work()
    return time.process_time() - started
