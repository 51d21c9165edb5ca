"""How a contender measures its own work, inside the process that does it.

CPU is user plus system time of all threads of the process, as the kernel counts it. Waits are how often a thread gave
its core up, to be woken later.
"""

from __future__ import annotations

import gc
import resource
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any, NamedTuple, Self

from benchmarks.compare.contenders.task import Task

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
WARM_UP_EXCHANGES = 50
_BEYOND_LINGER_MS = 7
_CHUNK_S, _MIN_CALLS = 0.002, 4
_THREAD_S, _MAX_PAIRS = 0.03, 15


class Meter:
    """Measures the body of a `with`; `added_kib` is the peak of resident memory above its start."""

    cpu_s = 0.0
    wall_s = 0.0
    waits = 0
    added_kib = 0

    def __enter__(self) -> Self:
        self._resident = _status_kib("VmRSS")
        if _CLEAR_REFS.exists():
            _CLEAR_REFS.write_text("5")  # the peak starts anew
        self._waits = _waits()
        self._cpu = cpu_seconds()
        self._wall = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wall_s = time.perf_counter() - self._wall
        self.cpu_s = cpu_seconds() - self._cpu
        self.waits = _waits() - self._waits
        self.added_kib = max(_status_kib("VmHWM") - self._resident, 0)

    def per_record(self, count: int) -> dict[str, float]:
        """The cost of `count` records."""
        return {
            "cpu_s_per_million": self.cpu_s * 1e6 / count,
            "records_per_s": count / self.wall_s,
            "wall_ns": self.wall_s * 1e9 / count,
            "waits_per_million": self.waits * 1e6 / count,
            "added_mib": self.added_kib / 1024,
            "count": count,
        }


def cpu_seconds() -> float:
    """CPU that this process has used since it started."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _waits() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def _status_kib(field: str) -> int:
    """A field of /proc/self/status in KiB; without /proc, the highest resident size there ever was."""
    if not _STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise LookupError(f"{_STATUS} has no {field}")


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which that share (0 to 1) of the ascending values lies, by nearest rank."""
    if not ordered:
        raise ValueError("a percentile of no values")
    if not 0 <= share <= 1:
        raise ValueError(f"share={share}: from 0 to 1")
    rank = -(-len(ordered) * share // 1)
    return ordered[max(int(rank) - 1, 0)]


def round_trips(exchange: Callable[[], object], count: int) -> dict[str, float]:
    """Latency of `count` exchanges, one after the other."""
    for _ in range(WARM_UP_EXCHANGES):
        exchange()
    taken = []
    cpu = cpu_seconds()
    for _ in range(count):
        started = time.perf_counter()
        exchange()
        taken.append(time.perf_counter() - started)
    return latency(taken, cpu_seconds() - cpu)


def beginnings(begin: Callable[[], object], count: int) -> dict[str, float]:
    """`first_ms`: how long a new client takes, in the middle of so many; the first, which imports more, not counted."""
    begin()
    taken = []
    for _ in range(count):
        started = time.perf_counter()
        begin()
        taken.append(time.perf_counter() - started)
    return {"first_ms": median(taken) * 1000, "count": count}


def latency(taken_s: Sequence[float], cpu_s: float) -> dict[str, float]:
    """p50 and p99 in µs of exchanges that took so many seconds each, and the CPU of the process per exchange."""
    ordered = sorted(taken_s)
    count = len(ordered)
    p50, p99 = percentile(ordered, 0.5), percentile(ordered, 0.99)
    return {"p50_us": p50 * 1e6, "p99_us": p99 * 1e6, "cpu_us": cpu_s * 1e6 / count, "count": count}


def compute_beyond(linger_ms: float) -> int:
    """Computes in plain Python, without a wait, until the last record must have left and its response arrived."""
    end = time.perf_counter() + (linger_ms + _BEYOND_LINGER_MS) / 1000
    total = 0
    while time.perf_counter() < end:
        for number in range(50):
            total += number * number
    return total


class Case(NamedTuple):
    """One piece of codec work: `run` is called again and again with what `setup` returns.

    Each call handles so many records, or messages.
    """

    run: Callable[[Any], Any]
    setup: Callable[[], Any]
    records: int


Cases = Mapping[str, Case]


def run_case(task: Task, cases: Cases) -> dict[str, float]:
    """CPU nanoseconds per record of the case that the task names, and `bytes_each` where the case makes bytes.

    It is the mean of many calls, because a cyclic collection falls on one call and belongs to all. The collector sees
    only what the case made: objects that exist already are frozen, since their number depends on what the contender
    imports and would be held against those that make objects.
    """
    run, setup, records = cases[task.case]
    data = setup()
    gc.freeze()
    made = run(data)
    sizes = {"bytes_each": len(made) / records} if isinstance(made, bytes) else {}
    del made
    return {"cpu_ns": cpu_s_per_call(run, data, task.budget_s) * 1e9 / records, **sizes}


def cpu_s_per_call(run: Callable[[Any], object], data: Any, budget_s: float) -> float:
    """The mean CPU seconds of one call, over calls that take `budget_s` together."""
    calls, spent = 0, 0.0
    at_once = max(1, round(_CHUNK_S / max(_cpu_s_of(run, data, 1), 1e-9)))
    while calls < _MIN_CALLS or spent < budget_s:
        spent += _cpu_s_of(run, data, at_once)
        calls += at_once
    return spent / calls


def _cpu_s_of(run: Callable[[Any], object], data: Any, calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        run(data)
    return time.process_time() - started


def two_threads(call: Callable[[], object], budget_s: float) -> dict[str, float]:
    """`share`: wall time per call in two threads, divided by that in one. 0.5 is the best there is, 1 is no gain."""
    call()
    started = time.perf_counter()
    call()
    calls = max(1, round(_THREAD_S / (time.perf_counter() - started)))
    shares: list[float] = []
    end = time.perf_counter() + 20 * budget_s
    while len(shares) < 3 or (len(shares) < _MAX_PAIRS and time.perf_counter() < end):
        alone = _wall_s(call, calls, threads=1)
        shares.append(_wall_s(call, calls, threads=2) / 2 / alone)
    return {"share": median(shares)}


def _wall_s(call: Callable[[], object], calls: int, threads: int) -> float:
    def repeat() -> None:
        for _ in range(calls):
            call()

    running = [threading.Thread(target=repeat) for _ in range(threads)]
    started = time.perf_counter()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return time.perf_counter() - started
