"""Measures one piece of work that needs no sink, in a process that does nothing else."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarks.compare.task import Task

_CHUNK_S = 0.002
_FEWEST_CALLS = 4


class Piece(NamedTuple):
    """`do` is called with what `given` makes, again and again; each call handles so many records (or messages)."""

    do: Callable[[Any], Any]
    given: Callable[[], Any]
    records: int


Pieces = Mapping[str, Piece]
"""By the name of the work."""


def run_codec(task: Task, pieces: Pieces) -> dict[str, float]:
    """Of the work that the task names, per record: `cpu_ns`, the mean of CPU nanoseconds, and `bytes_each`, the bytes
    made, where it makes bytes.

    The mean, for a collection of cyclic garbage falls on one call in several and belongs to all of them. It goes
    through what the work made; what else the process has imported is frozen, for that differs from contender to
    contender and would be counted against those who make objects.
    """
    do, given, records = pieces[task.work]
    data = given()
    gc.freeze()
    made = do(data)
    sizes = {"bytes_each": len(made) / records} if isinstance(made, bytes) else {}
    del made
    return {"cpu_ns": _cpu_s(do, data, task.budget_s) * 1e9 / records, **sizes}


def _cpu_s(do: Callable[[Any], Any], data: Any, budget_s: float) -> float:
    """Of one call."""
    calls, spent = 0, 0.0
    at_once = max(1, round(_CHUNK_S / max(_chunk_s(do, data, 1), 1e-9)))
    while calls < _FEWEST_CALLS or spent < budget_s:
        spent += _chunk_s(do, data, at_once)
        calls += at_once
    return spent / calls


def _chunk_s(do: Callable[[Any], Any], data: Any, calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        do(data)
    return time.process_time() - started
