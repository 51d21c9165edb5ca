"""Timers in virtual time: callbacks to run when a given moment has come.

Layer 3: reads no clock. Moments are seconds on whatever clock the driver passes in.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

Callback = Callable[[float], None]

_COMPACT_AT = 64


class Timer:
    """A callback that waits for its moment; `cancel()` is allowed at any time, also afterwards."""

    __slots__ = ("_callback", "_owner", "when")

    def __init__(self, owner: Timers, when: float, callback: Callback) -> None:
        self._owner = owner
        self.when = when
        self._callback: Callback | None = callback

    def cancel(self) -> None:
        """The callback will not run."""
        if self._callback is not None:
            self._callback = None
            self._owner._one_is_void()

    @property
    def active(self) -> bool:
        """Whether the callback is still to run."""
        return self._callback is not None


class Timers:
    """A heap of timers; those of one moment run in the order in which they were set."""

    __slots__ = ("_count", "_heap", "_running", "_void")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._count = 0
        self._void = 0
        self._running: Callback | None = None

    def call_at(self, when: float, callback: Callback) -> Timer:
        """Runs `callback(now)` in the first `run` whose now is not before `when`."""
        timer = Timer(self, when, callback)
        self._count += 1
        heappush(self._heap, (when, self._count, timer))
        return timer

    def next_moment(self) -> float | None:
        """The moment of the earliest timer, or None."""
        heap = self._heap
        while heap:
            moment, _, timer = heap[0]
            if timer._callback is not None:
                return moment
            heappop(heap)
            self._void -= 1
        return None

    def peek(self) -> float | None:
        """The moment of the first timer, be it cancelled; changes nothing, so any thread may ask at any time."""
        try:
            return self._heap[0][0]
        except IndexError:
            return None

    def run(self, now: float) -> None:
        """Runs all callbacks whose moment has come; those set meanwhile for now or earlier run too."""
        while self._heap and self._heap[0][0] <= now and (moment := self.next_moment()) is not None and moment <= now:
            timer = self._heap[0][2]
            self._running = callback = timer._callback
            timer._callback = None
            heappop(self._heap)
            if callback is not None:
                callback(now)
            self._running = None

    def recover(self, now: float) -> None:
        """After a `run` that an exception cut: what it was running runs again, with the next `run`."""
        if self._running is not None:
            self.call_at(now, self._running)
            self._running = None

    def clear(self) -> None:
        """Forgets all timers."""
        self._heap.clear()
        self._void = 0

    def _one_is_void(self) -> None:
        self._void += 1
        if self._void > _COMPACT_AT and self._void * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].active]
            heapify(self._heap)
            self._void = 0
