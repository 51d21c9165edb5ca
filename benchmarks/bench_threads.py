"""Two threads that make columns: the work runs without the GIL, so together they take little longer than one alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.bench_decode import FOUR, PLAIN
from kwire import records

CALLS = 100


def columns() -> None:
    """What each thread does."""
    for _ in range(CALLS):
        records.decode(PLAIN).to_arrow(FOUR)


def together(work: Callable[[], None], number: int) -> None:
    """Runs `work` in so many threads at once."""
    threads = [threading.Thread(target=work) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("number", [1, 2])
def test_columns_in_threads(benchmark: Any, number: int) -> None:
    """With two threads twice the work is done: the time is to be at most 2 / 1.7 of that of one."""
    benchmark.pedantic(together, (columns, number), rounds=7, warmup_rounds=1)
