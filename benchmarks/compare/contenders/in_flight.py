"""One record in flight: how long from its send until its fate is known, for whatever client."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

from benchmarks.compare.rounds import percentile

_WARM_UP = 50
_BEYOND_LINGER_MS = 7


def round_trips(exchange: Callable[[], object], count: int) -> dict[str, float]:
    """Calls `exchange` so often; p50 and p99 in µs, and the CPU of the process per exchange."""
    for _ in range(_WARM_UP):
        exchange()
    taken = []
    cpu = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(count):
        started = time.perf_counter()
        exchange()
        taken.append(time.perf_counter() - started)
    return summary(taken, cpu)


def summary(taken_s: list[float], before: resource.struct_rusage) -> dict[str, float]:
    """The figures of exchanges that took so many seconds each and began when `before` was noted."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    ordered = sorted(taken_s)
    cpu = now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime
    return {
        "p50_us": percentile(ordered, 0.5) * 1e6,
        "p99_us": percentile(ordered, 0.99) * 1e6,
        "cpu_us": cpu * 1e6 / len(ordered),
        "count": len(ordered),
    }


def compute_beyond(linger_ms: float) -> int:
    """A caller that does not wait: plain Python until each record must have left and its answer come."""
    end = time.perf_counter() + (linger_ms + _BEYOND_LINGER_MS) / 1000
    total = 0
    while time.perf_counter() < end:
        for number in range(50):
            total += number * number
    return total
