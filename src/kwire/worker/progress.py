"""What a worker has in hand: each partition's records, in lanes, and the offset below which all of them are done.

Layer 6, no I/O. Records that keep their order share a lane: those of one partition, or those of one key in it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from itertools import takewhile
from math import inf

from kwire._typing import Any
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.deserialization import DeserializedRecord
from kwire.errors import SerializationError


def received(record: Any) -> Any:
    """The record as it was received, with the bytes of its key and value."""
    return record.received if isinstance(record, DeserializedRecord) else record


def unreadable(record: Any) -> SerializationError | None:
    """Why a record has no key or value to hand to a handler."""
    return next((part for part in (record.value, record.key) if isinstance(part, SerializationError)), None)


class Partition:
    """One partition, from its assignment until it is taken away, or its topic is recreated.

    tenure       the number of that assignment, which its records bear
    unfinished   its records in hand, from the first that is not done on
    position     the offset to continue from: all before it is done; None while nothing is
    """

    def __init__(self, tenure: int) -> None:
        self.tenure = tenure
        self.unfinished: deque[Item] = deque()
        self.position: int | None = None
        self.paused = False
        self._last: float = inf
        self._change = asyncio.Event()

    def finish(self, item: Item) -> None:
        """The record is done; what is done after one that is not has to wait."""
        item.done = True
        while self.unfinished and self.unfinished[0].done:
            self.position = self.unfinished.popleft().record.offset + 1

    def may_begin(self, item: Item) -> bool:
        """Whether there is still time for it."""
        return bool(item.record.offset <= self._last)

    def wind_up(self) -> None:
        """Has nothing begin any more but what is needed for all that is done, or being handled, to be committed."""
        self._begin_until(max((item.record.offset for item in self.unfinished if item.done or item.busy), default=-1))

    def end(self) -> None:
        """Has nothing begin any more."""
        self._begin_until(-1)

    def _begin_until(self, last: int) -> None:
        self._last = last
        self._change.set()
        self._change = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """For so long, or until less may begin."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._change.wait(), seconds)


class Item:
    """One record in hand: not to be handled before `due`, `alone` if not in a batch with others, `busy` while it is.

    attempts, attempts_before   how often it was handled, and how often before it came to this topic
    """

    __slots__ = ("alone", "attempts", "attempts_before", "busy", "done", "due", "partition", "record")

    def __init__(self, record: Any, partition: Partition, due: float, attempts_before: int) -> None:
        self.record = record
        self.partition = partition
        self.due = due
        self.attempts_before = attempts_before
        self.attempts = 0
        self.alone = unreadable(record) is not None
        self.busy = False
        self.done = False


class Lane:
    """Records of one partition that are handled one after the other, by one task."""

    def __init__(self, tp: TopicPartition) -> None:
        self.tp = tp
        self.items: deque[Item] = deque()
        self.task: asyncio.Task[None]

    def next_batch(self, most: int, now: float) -> list[Item]:
        """The first record, and those after it that may go with it, `most` in all; they stay in the lane."""
        first = self.items[0]
        if first.alone or most == 1:
            return [first]

        def goes_along(item: Item) -> bool:
            same = item.partition is first.partition and item.attempts == first.attempts
            return same and item.due <= now and not item.alone and item.partition.may_begin(item)

        return [item for item, _ in zip(takewhile(goes_along, self.items), range(most), strict=False)]
