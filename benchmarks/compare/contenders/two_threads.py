"""Two threads do the same work at once: how long each piece takes beside the same piece in one thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from statistics import median

_PIECE_S = 0.03
_PIECES = 15


def share_of_one(call: Callable[[], object], budget_s: float) -> dict[str, float]:
    """`share`: wall time per call by two threads, by that of one thread. 0.5 is as fast as can be, 1 is no gain."""
    call()
    started = time.perf_counter()
    call()
    calls = max(1, round(_PIECE_S / (time.perf_counter() - started)))
    shares: list[float] = []
    end = time.perf_counter() + 20 * budget_s
    while len(shares) < 3 or (len(shares) < _PIECES and time.perf_counter() < end):
        alone = _wall_s([threading.Thread(target=_repeat, args=(call, calls))])
        both = _wall_s([threading.Thread(target=_repeat, args=(call, calls)) for _ in range(2)])
        shares.append(both / 2 / alone)
    return {"share": median(shares)}


def _repeat(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


def _wall_s(threads: list[threading.Thread]) -> float:
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started
