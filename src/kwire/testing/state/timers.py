"""What the broker does at a time to come, without a request: sessions that expire, transactions that time out.

Sans-I/O: times are those of the cluster's monotonic clock, `now` is passed in, and whoever moves time calls `run_due`.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

SWEEP_AT = 64
"""So many calls are asked for before cancelled ones are taken out; then twice as many as were left."""


@dataclass(slots=True, eq=False)
class Timer:
    """One call to come. `cancel` may be called at any time, also after it was made."""

    when: float
    callback: Callable[[], None] | None

    def cancel(self) -> None:
        self.callback = None

    @property
    def pending(self) -> bool:
        return self.callback is not None


@dataclass(slots=True)
class Timers:
    """Calls in order of time, and for the same time in the order in which they were asked for."""

    _heap: list[tuple[float, int, Timer]] = field(default_factory=list)
    _order: itertools.count[int] = field(default_factory=itertools.count)
    _sweep_at: int = SWEEP_AT

    @property
    def held(self) -> int:
        """How many are held, with those that were cancelled and are not forgotten yet."""
        return len(self._heap)

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Calls `callback` once, at the monotonic time `when` or soon after."""
        if len(self._heap) >= self._sweep_at:
            self._heap = [row for row in self._heap if row[2].pending]
            heapq.heapify(self._heap)
            self._sweep_at = max(SWEEP_AT, 2 * len(self._heap))
        timer = Timer(when, callback)
        heapq.heappush(self._heap, (when, next(self._order), timer))
        return timer

    @property
    def next_due(self) -> float | None:
        """When the next call is to be made; None without any."""
        while self._heap and not self._heap[0][2].pending:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run_due(self, now: float) -> int:
        """Makes the calls that are due, those included that are asked for meanwhile; returns how many."""
        count = 0
        while (due := self.next_due) is not None and due <= now:
            timer = heapq.heappop(self._heap)[2]
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
                count += 1
        return count
