"""The brokers that a consumer fetches from: which partitions are queued, when the next fetch is due, and its size.

Layer 3, no I/O; asks no broker. `fetcher.py` moves these.

    queue    partitions to be asked for, in order. Those that returned records go to its end, those that returned none
             stay in front. A fetch takes from the front as many as are known to have what it asks for (or as returned
             some last time, where not all had a place in the response, and one more), and no others: such a fetch is
             answered at once, and its cost does not grow with the partitions that wait. Partitions of which nothing is
             known come along, so that the broker's response, held or not, is about them too
    due      when half of the records that the last response brought were handed out
    size     a small response stays in the processor's caches while it is decoded and handed out; a large one makes up
             for a broker that is far away. So the size begins small; it doubles when a poll had to wait long for a
             response that was full, and goes back when one came quickly. Where the wait was for its bytes after the
             first (a slow line, a broker that encrypts), a larger one only takes longer: it goes back then, too. What
             several brokers bring waits for each other, so of several each is asked for half as much at the beginning
    decoded  a client on an event loop bounds what one response takes to decode by `max_decoded`: as the last responses
             did, so many bytes of decompressed records and their index come of each byte
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from kwire.engine.common.pace import Pace
from kwire.engine.consumer.fetch_sessions import FetchSession
from kwire.engine.consumer.partition_state import NO_POSITION, PartitionState

SMALL_RESPONSE_BYTES = 2 << 20
"""Bytes of records that the first fetch asks for, and the minimum that adapting goes back to; half of it where several
brokers are fetched from."""

_ALL = 1 << 30

SMALLEST_RESPONSE_BYTES = 128 << 10
"""Bytes of records that a fetch asks for at least where `max_decoded` bounds it, and before their ratio is known."""

LONG_WAIT_S = 0.02
"""Seconds that a poll waits for a full response before the next one is to be larger."""

SLOW_RATIO = 4
"""A response whose bytes took so many times as long as the wait for its first one is not to be larger."""

VERY_SLOW_RATIO = 16
"""One whose bytes took so many times as long would have done at half its size."""


class FetchStats:
    """Counts what a response brought: records, offsets and bytes, and the partitions that `returned` some.

    It is fruitless if no partition is further than before by it, unless this client has changed its mind meanwhile.
    """

    __slots__ = ("decoded", "is_fruitless", "offsets", "records", "returned", "size")

    def __init__(self) -> None:
        self.is_fruitless = True
        self.returned: set[PartitionState] = set()
        self.records = 0
        self.offsets = 0
        self.size = 0
        self.decoded = 0

    def add(self, state: PartitionState, records: int, offsets: int, size: int) -> None:
        """Adds what one partition returned."""
        self.returned.add(state)
        self.records += records
        self.offsets += offsets
        self.size += size
        state.last_size = size


class Source:
    """One broker that partitions are fetched from.

    session     its fetch session, which also has what the fetch in flight asks for
    buffered    records of its responses that were not handed out; at `low_water` the next fetch is due
    retry_at    nothing is asked there before
    pace        of fetches that are answered at once and bring nothing new
    """

    __slots__ = (
        "_asked_at",
        "_known",
        "_max_bytes",
        "_max_decoded",
        "_max_known",
        "_min_bytes",
        "_record_size",
        "_smallest",
        "_usual_size",
        "_wanted_bytes",
        "buffered",
        "in_flight",
        "low_water",
        "node",
        "pace",
        "queue",
        "retry_at",
        "session",
        "size",
    )

    def __init__(self, node: int, min_bytes: int, max_bytes: int, max_decoded: int | None = None) -> None:
        self.node = node
        self._max_bytes = max(max_bytes, 1)
        self._wanted_bytes = min_bytes
        self._min_bytes = self._min_bytes_of(1)
        self._max_decoded = max_decoded
        self._smallest = min(max(min_bytes, SMALLEST_RESPONSE_BYTES), self._max_bytes)
        self.size = self._min_bytes if max_decoded is None else self._smallest
        self.queue: deque[PartitionState] = deque()
        self.session = FetchSession()
        self.pace = Pace()
        self.in_flight = False
        self._asked_at = 0.0
        self._record_size = 0.0
        self._usual_size = 0.0
        self._known = 0
        self._max_known = _ALL
        self.buffered = 0
        self.low_water = 0
        self.retry_at = 0.0

    def be_one_of(self, sources: int) -> None:
        """So many brokers are fetched from."""
        is_small = self.size == self._min_bytes
        self._min_bytes = self._min_bytes_of(sources)
        if is_small:
            self.size = self._min_bytes

    def _min_bytes_of(self, sources: int) -> int:
        small = SMALL_RESPONSE_BYTES if sources == 1 else SMALL_RESPONSE_BYTES // 2
        return min(max(self._wanted_bytes, small), self._max_bytes)

    def may_be_asked(self, now: float) -> bool:
        """Whether there is something to ask, nothing is asked already, and little is left of what it returned."""
        return (
            bool(self.queue or self.session.rests)
            and not self.in_flight
            and self.buffered <= self.low_water
            and self.retry_at <= now
        )

    def next_in_queue(self, now: float) -> list[PartitionState]:
        """Takes off the queue what the next fetch is to ask for."""
        taken: list[PartitionState] = []
        expected = 0.0
        known = 0
        while self.queue and expected < self.size and known < self._max_known:
            state = self.queue.popleft()
            if state.wants_fetch(now):
                taken.append(state)
                if size := state.expected_bytes(self._record_size, self._usual_size):
                    expected += size
                    known += 1
        self._known = known
        return taken

    def set_asked(self, now: float) -> None:
        """Notes that a fetch is in flight."""
        self.in_flight = True
        self._asked_at = now

    def was_early(self, wait: float, now: float) -> bool:
        """Whether the fetch was answered long before the broker had waited for records for `wait` seconds."""
        return now - self._asked_at < wait / 2

    def requeue(self, asked: list[PartitionState], returned: Collection[PartitionState]) -> None:
        """Queues again the partitions of a fetch that has ended.

        One that returned nothing, although none before it filled the response, has no data.
        """
        for state in asked:
            if state in returned:
                break
            state.log_end = NO_POSITION
        self.queue.extendleft(state for state in reversed(asked) if state not in returned)
        self.queue.extend(state for state in asked if state in returned)

    def on_response(self, stats: FetchStats, polled_at: float, began_at: float, now: float) -> None:
        """Takes in what a response brought: its first bytes at `began_at`; the current poll began at `polled_at`.

        Of a poll that began after the first bytes had come nobody knows how long it would have waited for them.
        """
        size = stats.size
        since = max(self._asked_at, polled_at)
        waited = now - since if self.buffered == 0 else 0.0
        latency, bytes_took = max(began_at - since, 0.0), now - began_at
        if waited < LONG_WAIT_S / 4 or 0 < VERY_SLOW_RATIO * latency < bytes_took:
            self.size = max(self.size // 2, self._min_bytes)
        elif waited > LONG_WAIT_S and 2 * size > self.size and bytes_took < SLOW_RATIO * latency:
            self.size = min(2 * self.size, self._max_bytes)
        if self._max_decoded is not None and size:
            max_size = int(self._max_decoded * size / max(stats.decoded, 1))
            self.size = max(min(self.size, max_size), self._smallest)
        self.buffered += stats.records
        self.low_water = stats.records // 2
        returned = len(stats.returned)
        self._max_known = returned + 1 if returned < self._known else self._max_known + 1
        if size:
            self._record_size = size / stats.offsets
            self._usual_size = size / returned
