"""Callbacks of a program that have an order: run one after the other, whichever threads take steps.

Layer 4: knows no client and no core. `core.after_step` alone keeps no order: two threads may each take one off it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import TIMEOUT_MAX, Lock
from time import monotonic


class CallbacksInOrder:
    """Callbacks that wait to be run, in the order in which they were added: by whichever thread comes to it, but never
    by two at once."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self._running = Lock()

    def add(self, callback: Callable[[], object]) -> None:
        """Has it run by the next `run`."""
        self._waiting.append(callback)

    def run(self) -> None:
        """Runs all that wait, unless another thread does, which then goes on with those added meanwhile."""
        while self._waiting and self._running.acquire(blocking=False):
            try:
                while self._waiting:
                    self._waiting.popleft()()
            finally:
                self._running.release()

    def finish(self, until: float) -> None:
        """Runs all that wait, after those that another thread runs now; gives up at that time."""
        if not self._waiting and not self._running.locked():
            return
        if self._running.acquire(timeout=min(max(until - monotonic(), 0.0), TIMEOUT_MAX)):
            self._running.release()
            self.run()
