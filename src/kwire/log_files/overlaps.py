"""Segments that hold the same offsets, each offset once: by the leader epoch that was valid last.

Tiered storage may hold a segment twice, or two leaders' segments after an unclean election; replicas hold all twice.
Where a later epoch begins, offsets of earlier epochs end, whatever their leaders have written after it. What is left
is the same in all copies, but for what compaction has removed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from kwire.log_files.folders import Segment
from kwire.log_files.frames import Frame


@dataclass(frozen=True)
class Stretch:
    """The offsets from `first` up to `end` that one segment holds; `to_last_byte` when nothing of it is after them."""

    segment: Segment
    first: int
    end: int
    to_last_byte: bool


class _Run(NamedTuple):
    """Batches of one leader epoch in a segment."""

    first: int
    end: int
    epoch: int
    segment: Segment


def disjoint(
    segments: Sequence[Segment],
    end_of: Callable[[Segment], int],
    frames_of: Callable[[Segment], Iterable[Frame]],
    noted: Iterable[tuple[int, int]],
) -> list[Stretch]:
    """The stretches of `segments`, which ascend by base offset. `noted` are (epoch, first offset) from checkpoints."""
    stretches: list[Stretch] = []
    group: list[tuple[Segment, int]] = []
    group_end = 0
    for segment in segments:
        end = end_of(segment)
        if group and segment.base_offset >= group_end:
            stretches += _of_group(group, frames_of, noted)
            group = []
        group.append((segment, end))
        group_end = max(end, group_end)
    if group:
        stretches += _of_group(group, frames_of, noted)
    if stretches and stretches[-1].end == group_end:
        stretches[-1] = replace(stretches[-1], to_last_byte=True)
    return stretches


def _of_group(
    group: list[tuple[Segment, int]],
    frames_of: Callable[[Segment], Iterable[Frame]],
    noted: Iterable[tuple[int, int]],
) -> list[Stretch]:
    if len(group) == 1:
        segment, end = group[0]
        return [Stretch(segment, segment.base_offset, end, True)]
    runs = [run for segment, end in group for run in _runs(segment, end, frames_of)]
    limits = _limits(runs, noted)
    valid = [run._replace(end=min(run.end, limits[run.epoch])) for run in runs]
    return _chosen([run for run in valid if run.first < run.end])


def _runs(segment: Segment, end: int, frames_of: Callable[[Segment], Iterable[Frame]]) -> list[_Run]:
    begins: list[tuple[int, int]] = []
    for frame in frames_of(segment):
        if not begins or begins[-1][1] != frame.leader_epoch:
            first = frame.base_offset if begins else segment.base_offset
            begins.append((first, frame.leader_epoch))
    return [_Run(first, following, epoch, segment) for (first, epoch), (following, _) in pairwise([*begins, (end, -1)])]


def _limits(runs: Iterable[_Run], noted: Iterable[tuple[int, int]]) -> dict[int, int]:
    """By epoch, the offset at which a later one begins."""
    begins: dict[int, int] = defaultdict(lambda: 1 << 63)
    epochs = {run.epoch for run in runs}
    for epoch, first in [*((run.epoch, run.first) for run in runs), *noted]:
        begins[epoch] = min(begins[epoch], first)
    limits = {}
    lowest = 1 << 63
    for epoch in sorted(begins, reverse=True):
        if epoch in epochs:
            limits[epoch] = lowest
        lowest = min(lowest, begins[epoch])
    return limits


def _chosen(runs: list[_Run]) -> list[Stretch]:
    """Goes on in the same segment as long as it can, then in the one that reaches furthest."""
    stretches: list[Stretch] = []
    offset = min((run.first for run in runs), default=0)
    while rest := [run for run in runs if run.end > offset]:
        offset = max(offset, min(run.first for run in rest))
        last = stretches[-1].segment if stretches else None
        best = max((run for run in rest if run.first <= offset), key=lambda run: (run.segment is last, run.end))
        if best.segment is last and stretches[-1].end == offset:
            stretches[-1] = Stretch(best.segment, stretches[-1].first, best.end, False)
        else:
            stretches.append(Stretch(best.segment, offset, best.end, False))
        offset = best.end
    return stretches
