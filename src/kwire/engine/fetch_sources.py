"""The brokers that a consumer fetches from: who is in line there, when the next fetch is due, how much it asks for.

Layer 3, no I/O. `fetcher.py` moves these; nothing here asks a broker.

    line     partitions to be asked for, in order. Those that gave records go to its end, those that gave none stay in
             front. A fetch takes from the front as many as are known to have what it asks for (or as gave some last
             time, where not all had a place in the answer, and one more), and no others: such a fetch is answered at
             once, and its cost does not grow with the partitions that wait. Partitions of which nothing is known to
             wait come along, so that the broker's answer, held or not, is about them too
    due      when half of the records that the last answer brought were handed out
    size     a small answer stays in the processor's caches while it is decoded and handed out; a large one makes up for
             a broker that is far away. So the size begins small; it doubles when a poll had to wait long for an answer
             that was full, and goes back when one came quickly
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from kwire.engine.fetch_positions import NO_POSITION, PartitionState

SMALL_ANSWER = 2 << 20
"""Bytes of the records that the first fetch asks for, and the least that adapting goes back to."""

_ALL = 1 << 30

LONG_WAIT = 0.02
"""Seconds that a poll waits for a full answer before the next one is to be larger."""


class Found:
    """What an answer brought: so many records and offsets, in so many bytes, of the partitions that `gave` some."""

    __slots__ = ("gave", "offsets", "records", "size")

    def __init__(self) -> None:
        self.gave: set[PartitionState] = set()
        self.records = 0
        self.offsets = 0
        self.size = 0

    def add(self, state: PartitionState, records: int, offsets: int, size: int) -> None:
        """One partition gave so much."""
        self.gave.add(state)
        self.records += records
        self.offsets += offsets
        self.size += size
        state.last_size = size


class Source:
    """One broker that partitions are fetched from. `rest_until` is a moment before which nothing is asked there."""

    __slots__ = (
        "_asked_at",
        "_known",
        "_least",
        "_most",
        "_most_known",
        "_record_size",
        "_usual_size",
        "asked",
        "enough",
        "line",
        "node",
        "rest_until",
        "size",
        "unspent",
    )

    def __init__(self, node: int, least: int, most: int) -> None:
        self.node = node
        self._most = max(most, 1)
        self._least = min(max(least, SMALL_ANSWER), self._most)
        self.size = self._least
        self.line: deque[PartitionState] = deque()
        self.asked = False
        self._asked_at = 0.0
        self._record_size = 0.0
        self._usual_size = 0.0
        self._known = 0
        self._most_known = _ALL
        self.unspent = 0
        self.enough = 0
        self.rest_until = 0.0

    def may_be_asked(self, now: float) -> bool:
        """Whether nothing is asked already, and little is left of what was answered."""
        return not self.asked and self.unspent <= self.enough and self.rest_until <= now

    def next_in_line(self, now: float) -> list[PartitionState]:
        """Takes those off the line that the next fetch is to ask for."""
        taken: list[PartitionState] = []
        expected = 0.0
        known = 0
        while self.line and expected < self.size and known < self._most_known:
            state = self.line.popleft()
            if state.wants_fetch(now):
                taken.append(state)
                if size := state.expects(self._record_size, self._usual_size):
                    expected += size
                    known += 1
        self._known = known
        return taken

    def is_asked(self, now: float) -> None:
        """A fetch is on its way."""
        self.asked = True
        self._asked_at = now

    def put_back(self, asked: list[PartitionState], gave: Collection[PartitionState]) -> None:
        """The partitions of a fetch that has ended are in line again. Who gave nothing though none before it did has
        nothing to give, whatever it is said to have.
        """
        for state in asked:
            if state in gave:
                break
            state.known_end = NO_POSITION
        self.line.extendleft(state for state in reversed(asked) if state not in gave)
        self.line.extend(state for state in asked if state in gave)

    def answered(self, found: Found, polled_at: float, now: float) -> None:
        """An answer came in; `polled_at` is when the poll under way began."""
        size = found.size
        waited = now - max(self._asked_at, polled_at) if self.unspent == 0 else 0.0
        if waited > LONG_WAIT and 2 * size > self.size:
            self.size = min(2 * self.size, self._most)
        elif waited < LONG_WAIT / 4:
            self.size = max(self.size // 2, self._least)
        self.unspent += found.records
        self.enough = found.records // 2
        gave = len(found.gave)
        self._most_known = gave + 1 if gave < self._known else self._most_known + 1
        if size:
            self._record_size = size / found.offsets
            self._usual_size = size / gave
