"""How many records one poll of a group's member returns at most, where the program does not say.

Layer 3, no I/O. A rebalance waits for the next poll, and a member that does not poll within max_poll_interval_ms is put
out of its group. So a poll returns what the program works off in a short time: it begins with as many records as
Java's consumer returns, and takes more where the program was fast with those, fewer where it was slow.
"""

from __future__ import annotations

FIRST = 500
"""Records of a first poll: the default of Java's max.poll.records."""

GROWTH = 4
MAX_SECONDS = 3.0
"""Seconds that the program should take at most between two polls: what a member takes to hear of a rebalance."""

SHARE_OF_INTERVAL = 0.1


class PollSize:
    """The limit of the next poll. `largest` is what a poll returns without one."""

    def __init__(self, max_poll_interval: float, largest: int) -> None:
        self.limit = min(FIRST, largest)
        self._largest = largest
        self._seconds = min(MAX_SECONDS, max_poll_interval * SHARE_OF_INTERVAL)
        self._returned = 0
        self._returned_at = 0.0

    def begin(self, now: float) -> None:
        """The program polls again: it has worked off what the poll before returned."""
        if self._returned == 0:
            return
        taken = now - self._returned_at
        if taken > self._seconds:
            self.limit = max(1, min(self.limit, int(self._returned * self._seconds / taken)))
        elif self._returned >= self.limit and taken * GROWTH < self._seconds:
            self.limit = min(self.limit * GROWTH, self._largest)
        self._returned = 0

    def end(self, count: int, now: float) -> None:
        """The poll returns so many records."""
        self._returned, self._returned_at = count, now
