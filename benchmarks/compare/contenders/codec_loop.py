"""Measures one piece of work that needs no sink, in a process that does nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any, NamedTuple

from benchmarks.compare.task import Task

_CHUNK_S = 0.002
_FEWEST_CHUNKS = 3


class Piece(NamedTuple):
    """`do` is called with what `given` makes, again and again; each call handles so many records (or messages)."""

    do: Callable[[Any], Any]
    given: Callable[[], Any]
    records: int


Pieces = Mapping[str, Piece]
"""By the name of the work."""


def run_codec(task: Task, pieces: Pieces) -> dict[str, float]:
    """Of the work that the task names, per record: `cpu_ns`, the median of CPU nanoseconds, and `bytes_each`, the bytes
    made, where it makes bytes."""
    do, given, records = pieces[task.work]
    data = given()
    made = do(data)
    sizes = {"bytes_each": len(made) / records} if isinstance(made, bytes) else {}
    del made
    return {"cpu_ns": _cpu_ns(do, data, task.budget_s) / records, **sizes}


def _cpu_ns(do: Callable[[Any], Any], data: Any, budget_s: float) -> float:
    """Of one call."""
    once = _chunk_s(do, data, 1)
    calls = max(1, round(_CHUNK_S / max(once, 1e-9)))
    chunks = [once] if calls == 1 else []
    while len(chunks) < _FEWEST_CHUNKS or sum(chunks) < budget_s:
        chunks.append(_chunk_s(do, data, calls))
    return median(chunks) / calls * 1e9


def _chunk_s(do: Callable[[Any], Any], data: Any, calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        do(data)
    return time.process_time() - started
