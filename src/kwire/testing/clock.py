"""The time of an embedded broker, which a test may turn on by hand.

    clock = Clock()
    with Broker(clock=clock) as broker:
        ...
        clock.advance(45)            # sessions expire, transactions time out, retention and compaction are due

It runs with the system's clock, and `advance` adds to it. A frozen one moves by `advance` alone: then a fetch that
waits for records waits until there are some, or the clock is turned.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from kwire.errors import ConfigError

_FROZEN_AT = 1000.0


class Clock:
    """A monotonic clock in seconds (`now`) and the time of day (`time_ms`), which move together."""

    def __init__(self, *, frozen: bool = False) -> None:
        self._frozen = frozen
        self._began_ms = time.time() * 1000
        self._added = 0.0
        self._brokers: list[Callable[[float], None]] = []

    def now(self) -> float:
        return self._added + (_FROZEN_AT if self._frozen else time.monotonic())

    def time_ms(self) -> int:
        """Milliseconds since 1970."""
        return int(self._added * 1000 + (self._began_ms if self._frozen else time.time() * 1000))

    def seconds_until(self, when: float) -> float:
        """How long the broker's thread may sleep until `when`, as far as the clock moves by itself."""
        left = when - self.now()
        if left <= 0:
            return 0.0
        return math.inf if self._frozen else left

    def advance(self, seconds: float) -> None:
        """Moves time on; returns when brokers have done what is due by then, each thing at its own moment."""
        if seconds < 0:
            raise ConfigError(f"seconds {seconds}: time cannot go back")
        target = self.now() + seconds
        for advance_to in list(self._brokers):
            advance_to(target)
        self.set(target)

    def set(self, moment: float) -> None:
        """Moves the time to `moment`, if it is to come: for the broker's thread while it advances."""
        self._added += max(moment - self.now(), 0.0)

    def attach(self, advance_to: Callable[[float], None]) -> None:
        """A broker that runs on this clock."""
        self._brokers.append(advance_to)

    def detach(self, advance_to: Callable[[float], None]) -> None:
        self._brokers = [each for each in self._brokers if each != advance_to]
