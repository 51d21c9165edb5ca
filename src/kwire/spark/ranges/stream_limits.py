"""How far the next micro-batch of a stream goes: its limits, and what they come to on the offsets there are.

The arithmetic of `maxOffsetsPerTrigger` and `minOffsetsPerTrigger` is that of Spark's Kafka source, its rounding
included, so that both make the same batches of the same log. `maxBytesPerTrigger` is kwire's own. No I/O; the clock is
passed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kwire.engine.common.addresses import TopicPartition
from kwire.spark.ranges.stream_offsets import Offsets

DEFAULT_MAX_DELAY_S: Final = 900.0


@dataclass(frozen=True)
class TriggerLimits:
    """The limits of one micro-batch; None: no limit. `max_delay_s` ends the wait for `min_offsets`."""

    max_offsets: int | None = None
    min_offsets: int | None = None
    max_bytes: int | None = None
    max_delay_s: float = DEFAULT_MAX_DELAY_S


NO_LIMITS: Final = TriggerLimits()


class MinimumWait:
    """Holds micro-batches back until there are `min_offsets`, or until the last one is `max_delay_s` ago.

    The first batch of a run never waits.
    """

    def __init__(self, min_offsets: int, max_delay_s: float, clock: Callable[[], float]) -> None:
        self._min_offsets = min_offsets
        self._max_delay_s = max_delay_s
        self._clock = clock
        self._last_batch: float | None = None

    def holds_back(self, start: Offsets, latest: Offsets) -> bool:
        """Whether there is no batch now. Partitions that are not in `start` count from offset 0."""
        now = self._clock()
        if self._last_batch is not None and now - self._last_batch < self._max_delay_s:
            new = sum(offset - start.get(tp, 0) for tp, offset in latest.items())
            if new < self._min_offsets:
                return True
        self._last_batch = now
        return False


def limit_offsets(limit: int, start: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    """The end of a batch of about `limit` offsets, divided among partitions in proportion to what they have.

    A share below 1 becomes 1, every other one is rounded down. `start` holds the new partitions, too, as far as their
    first offset is known. A partition that has nothing, or less than nothing, ends at its latest offset.
    """
    sizes = _backlog(start, latest)
    total = float(sum(sizes.values()))
    ends = dict(latest)
    for tp, size in sizes.items():
        share = limit * (size / total)
        ends[tp] = min(latest[tp], start[tp] + _rounded(share))
    return ends


def limit_bytes(
    limit: int, start: Offsets, latest: Offsets, sizes: Mapping[TopicPartition, float]
) -> dict[TopicPartition, int]:
    """The end of a batch of about `limit` bytes, where an offset of a partition has `sizes` bytes in the mean.

    Divided in proportion to the bytes that partitions have; each that has records gets one at least.
    """
    backlog = _backlog(start, latest)
    bytes_of = {tp: count * max(sizes.get(tp, 1.0), 1.0) for tp, count in backlog.items()}
    total = sum(bytes_of.values())
    ends = dict(latest)
    if total <= limit:
        return ends
    for tp, count in backlog.items():
        ends[tp] = min(latest[tp], start[tp] + _rounded(count * (limit / total)))
    return ends


def _backlog(start: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
    return {tp: end - start[tp] for tp, end in latest.items() if tp in start and end > start[tp]}


def _rounded(share: float) -> int:
    return math.ceil(share) if share < 1 else math.floor(share)
