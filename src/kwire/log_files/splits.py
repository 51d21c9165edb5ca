"""Cuts the logs that are read into pieces of about equal size, at batches.

Every entry of an `.index` is a place to cut; without one, the headers of the batches show where they begin.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kwire.log_files.folders import Segment
from kwire.log_files.indexes import Aborted
from kwire.log_files.overlaps import Stretch
from kwire.log_files.partition_log import PartitionLog

# A rest that is smaller than this share of a piece stays with the piece before it.
_SMALLEST_REST: Final = 0.25
_NO_END: Final = (1 << 63) - 1


@dataclass(frozen=True)
class Piece:
    """Whole batches of one segment, from byte `start` to byte `end`, and which of their offsets are read.

    `root` is the number of its storage; `size` is the segment's own; `may_be_cut` when it is the log's last segment,
    which may end within a batch.
    """

    root: int
    path: str
    topic: str
    partition: int
    start: int
    end: int
    size: int
    first_offset: int
    end_offset: int
    base_offset: int
    is_0_7: bool = False
    may_be_cut: bool = False
    aborted: tuple[Aborted, ...] = ()


def pieces_of(log: PartitionLog, start: int, end: int, target: int, aborted: Sequence[Aborted] = ()) -> list[Piece]:
    """The pieces that hold the offsets from `start` up to `end`, in order, each of about `target` bytes.

    What is read to the log's end is read to its last byte: what looks like the end may be damage.
    """
    reads_to_end = end == log.end_offset
    if start > end or (start == end and not reads_to_end):
        return []
    return [
        piece
        for stretch in log.chosen
        if (stretch.first < end and stretch.end > start) or (reads_to_end and stretch is log.chosen[-1])
        for piece in _pieces(log, stretch, start, end, target, aborted)
    ]


def _pieces(
    log: PartitionLog, stretch: Stretch, start: int, end: int, target: int, aborted: Sequence[Aborted]
) -> Iterator[Piece]:
    segment = stretch.segment
    is_last = stretch is log.stretches[-1]
    whole = stretch.to_last_byte and end >= stretch.end
    end = _NO_END if whole and is_last else min(end, stretch.end)
    first = log.position_of(segment, max(start, stretch.first))
    last = segment.size if whole else log.position_after(segment, end)
    concerned = tuple(each for each in aborted if each.last >= stretch.first and each.first < stretch.end)
    for begin, stop in pairwise([first, *_cuts(log, segment, first, last, target), last]):
        if begin < stop:
            yield Piece(
                segment.root,
                segment.path,
                log.topic,
                log.partition,
                begin,
                stop,
                segment.size,
                max(start, stretch.first),
                end,
                segment.base_offset,
                segment.is_0_7,
                is_last,
                concerned,
            )


def _cuts(log: PartitionLog, segment: Segment, first: int, last: int, target: int) -> Iterator[int]:
    """Positions between `first` and `last` at which batches begin."""
    limit = last - int(target * _SMALLEST_REST)
    if first + target >= limit:
        return
    positions = log.offset_index(segment).positions
    if not positions:
        yield from _hopped(log, segment, first, limit, target)
        return
    while (at := bisect_left(positions, first + target)) < len(positions) and positions[at] < limit:
        first = positions[at]
        yield first


def _hopped(log: PartitionLog, segment: Segment, first: int, limit: int, target: int) -> Iterator[int]:
    for frame in log.frames(segment, first, limit):
        if frame.position >= first + target:
            first = frame.position
            yield first
