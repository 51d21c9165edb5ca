"""What a worker has in hand: which records may be handled now, and how far each partition is done.

Layer 6, no I/O. Records that keep their order share a lane, and a lane has one job at a time. It is idle (no entry),
ready, waiting (until its first record is due), or busy. What is committed is the offset below which all is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count

from kwire._typing import Any
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.deserialization import DeserializedRecord


def received(record: Any) -> Any:
    """The record as it was received, with the bytes of its key and value."""
    return record.received if isinstance(record, DeserializedRecord) else record


class Progress:
    """How far one partition is done, from its assignment until it is taken away."""

    __slots__ = ("done", "gone", "position", "running", "sent", "unfinished")

    def __init__(self) -> None:
        self.unfinished: deque[int] = deque()
        self.done: set[int] = set()
        self.position: int | None = None
        self.sent: int | None = None
        self.running = 0
        self.gone = False

    def finish(self, offset: int) -> None:
        self.done.add(offset)
        while self.unfinished and self.unfinished[0] in self.done:
            first = self.unfinished.popleft()
            self.done.remove(first)
            self.position = first + 1


class Item:
    """One record in hand: when it may be handled, and how often it was, here and before it came to this topic."""

    __slots__ = ("attempts_before", "attempts_here", "due", "progress", "record")

    def __init__(self, record: Any, progress: Progress, due: float, attempts_before: int) -> None:
        self.record = record
        self.progress = progress
        self.due = due
        self.attempts_before = attempts_before
        self.attempts_here = 0


class Job:
    """Records of one lane for one call of the handler, and how that ended: done, to be repeated, or fatal."""

    __slots__ = ("again_in", "fatal", "items", "lane")

    def __init__(self, lane: Lane, items: list[Item]) -> None:
        self.lane = lane
        self.items = items
        self.again_in: float | None = None
        self.fatal: BaseException | None = None


class Lane:
    """The records that must be handled one after the other."""

    __slots__ = ("items", "key", "placed")

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.items: deque[Item] = deque()
        self.placed = False


class Desk:
    """All that is in hand; `batch` is how many records a job may have, `limit` how many a partition may."""

    def __init__(self, order: str, concurrency: int, batch: int, limit: int) -> None:
        self._by_key = order == "key"
        self._concurrency = concurrency
        self._batch = batch
        self._limit = limit
        self._lanes: dict[Hashable, Lane] = {}
        self._ready: deque[Lane] = deque()
        self._waiting: list[tuple[float, int, Lane]] = []
        self._tie = count()
        self._partitions: dict[TopicPartition, Progress] = {}
        self.paused: set[TopicPartition] = set()
        self.running = 0

    # -- records come and go ----------------------------------------------------------------------------------------

    def take(self, record: Any, now: float, due: float, attempts_before: int) -> None:
        tp = TopicPartition(record.topic, record.partition)
        progress = self._partitions.setdefault(tp, Progress())
        progress.unfinished.append(record.offset)
        key: Hashable = tp
        if self._by_key:
            with_key = received(record).key
            key = (tp, record.offset if with_key is None else with_key)
        lane = self._lanes.setdefault(key, Lane(key))
        lane.items.append(Item(record, progress, due, attempts_before))
        if not lane.placed:
            self._place(lane, now)

    def start(self, now: float) -> Iterator[Job]:
        """Jobs to begin now, as many as may run at once."""
        while self._waiting and self._waiting[0][0] <= now:
            self._ready.append(heappop(self._waiting)[2])
        while self._ready and self.running < self._concurrency:
            lane = self._ready.popleft()
            while lane.items and lane.items[0].progress.gone:
                lane.items.popleft()
            if not lane.items or lane.items[0].due > now:
                self._place(lane, now)
                continue
            job = Job(lane, self._next_of(lane, now))
            self.running += 1
            job.items[0].progress.running += 1
            yield job

    def finish(self, job: Job, now: float) -> None:
        """Takes back a job: its records are done, or, where it is to be repeated, first in their lane again."""
        self.running -= 1
        job.items[0].progress.running -= 1
        if job.again_in is not None:
            for item in reversed(job.items):
                item.due = now + job.again_in
                job.lane.items.appendleft(item)
        elif job.fatal is None:
            for item in job.items:
                item.progress.finish(item.record.offset)
        self._place(job.lane, now)

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Forgets partitions. A lane with a running job stays busy: its records are not handled twice at once."""
        for tp in partitions:
            self.paused.discard(tp)
            if (progress := self._partitions.pop(tp, None)) is not None:
                progress.gone = True

    def _next_of(self, lane: Lane, now: float) -> list[Item]:
        """The first record, and in batches those after it that are in the same state."""
        first = lane.items.popleft()
        items = [first]
        while lane.items and len(items) < self._batch:
            item = lane.items[0]
            if item.progress is not first.progress or item.attempts_here != first.attempts_here or item.due > now:
                break
            items.append(lane.items.popleft())
        return items

    def _place(self, lane: Lane, now: float) -> None:
        lane.placed = bool(lane.items)
        if not lane.items:
            del self._lanes[lane.key]
        elif lane.items[0].due > now:
            heappush(self._waiting, (lane.items[0].due, next(self._tie), lane))
        else:
            self._ready.append(lane)

    # -- what the loop asks -----------------------------------------------------------------------------------------

    def next_due(self) -> float | None:
        """When the next waiting record may be handled."""
        return self._waiting[0][0] if self._waiting else None

    def running_in(self, partitions: Iterable[TopicPartition]) -> int:
        return sum(self._partitions[tp].running for tp in partitions if tp in self._partitions)

    def full_and_free(self) -> tuple[set[TopicPartition], set[TopicPartition]]:
        """The partitions to pause and those to read again: a full one, and a paused one that is half empty."""
        in_hand = {tp: len(progress.unfinished) for tp, progress in self._partitions.items()}
        full = {tp for tp, number in in_hand.items() if number >= self._limit} - self.paused
        free = {tp for tp in self.paused if in_hand[tp] <= self._limit // 2}
        self.paused |= full
        self.paused -= free
        return full, free

    def offsets(self) -> dict[TopicPartition, int]:
        """What is to be committed and was not sent yet; from now on it counts as sent."""
        found: dict[TopicPartition, int] = {}
        for tp, progress in self._partitions.items():
            if progress.position is not None and progress.position != progress.sent:
                found[tp] = progress.sent = progress.position
        return found

    def forget_sent(self) -> None:
        """A commit failed: the next one sends all again."""
        for progress in self._partitions.values():
            progress.sent = None
