"""How a read becomes tasks: ranges of offsets, split as asked, then packed by leader and by number of offsets.

Pure functions: no socket, no Spark. Splitting follows Spark's Kafka source, so that `minPartitions` means the same.
Packing is kwire's own: a Python task costs Spark some 27 to 54 ms before its first row, so a task per partition, as
that source has it, makes a topic of many small partitions slow. A task therefore takes several ranges, of one leader
where that can be, so that it needs one connection.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kwire.engine.addresses import TopicPartition

# A task of this many small records runs some four times as long as Spark needs to start it.
RECORDS_PER_TASK: Final = 200_000

# What a range costs beside its records (its share of requests, its own Arrow batch), counted in records.
_RANGE_COST: Final = 200


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets `start` to `end`, the end excluded, of one partition, and the node id of its leader."""

    partition: TopicPartition
    start: int
    end: int
    leader: int = -1

    @property
    def size(self) -> int:
        """The number of offsets; a compacted or transactional log has fewer records in them."""
        return self.end - self.start


Task = tuple[OffsetRange, ...]


def split_ranges(
    ranges: Sequence[OffsetRange], *, min_partitions: int | None = None, max_records: int | None = None
) -> list[OffsetRange]:
    """Drops empty ranges and cuts the others, first to at most `max_records`, then to at least `min_partitions` pieces.

    Pieces are in proportion to a range's size; `min_partitions` is a hint, since shares are rounded. Ranges too small
    to be cut are first taken out of the sum, as in Spark's Kafka source (SPARK-36576, SPARK-49259).
    """
    ranges = [each for each in ranges if each.size > 0]
    if max_records is not None:
        ranges = [piece for each in ranges for piece in _cut(each, math.ceil(each.size / max_records))]
    if min_partitions is None or len(ranges) >= min_partitions:
        return ranges
    total = sum(each.size for each in ranges)
    whole_ranges = [each for each in ranges if _share(each.size, total, min_partitions) == 1]
    whole = {each.partition for each in whole_ranges}
    rest = total - sum(each.size for each in whole_ranges)
    rest_partitions = max(min_partitions - len(whole_ranges), 1)
    pieces: list[OffsetRange] = []
    for each in ranges:
        parts = 1 if each.partition in whole else _share(each.size, rest, rest_partitions)
        pieces.extend(_cut(each, parts))
    return pieces


def task_count(
    ranges: Sequence[OffsetRange],
    *,
    slots: int,
    max_tasks: int | None = None,
    min_partitions: int | None = None,
) -> int:
    """How many tasks these ranges are worth.

    `max_tasks` is a limit, 0 stands for one task for each range. Without it: enough to occupy `slots`, the number of
    tasks that run at once as far as it is known, and one for each RECORDS_PER_TASK; and never fewer than
    `min_partitions`. Never more than there are ranges.
    """
    if max_tasks == 0:
        return len(ranges)
    records = sum(each.size for each in ranges)
    wanted = max(slots, math.ceil(records / RECORDS_PER_TASK), min_partitions or 1)
    return min(len(ranges), wanted if max_tasks is None else min(wanted, max_tasks))


def pack_tasks(ranges: Sequence[OffsetRange], tasks: int, *, max_records: int | None = None) -> list[Task]:
    """Distributes the ranges over `tasks` tasks of about equal weight.

    With at least one task for each leader no task reads from two leaders. A task holds at most `max_records` offsets
    (ranges must have been split to that already); if that takes more than `tasks` tasks, there are more. Every task
    has at least one range; within a task ranges are sorted by partition and start.
    """
    if not ranges:
        return []
    packed: list[Task] = []
    for group, count in _groups(ranges, min(tasks, len(ranges))):
        packed.extend(_fill(group, count, max_records))
    return packed


def _groups(ranges: Sequence[OffsetRange], tasks: int) -> list[tuple[list[OffsetRange], int]]:
    """Ranges that may share a task, each group with its number of tasks: one group by leader, if tasks suffice."""
    by_leader: dict[int, list[OffsetRange]] = defaultdict(list)
    for each in ranges:
        by_leader[each.leader].append(each)
    if tasks < len(by_leader):
        return [(list(ranges), tasks)]
    counts = dict.fromkeys(sorted(by_leader), 1)
    loads = {leader: sum(map(_weight, group)) for leader, group in by_leader.items()}
    for _ in range(tasks - len(by_leader)):
        open_leaders = [leader for leader in counts if counts[leader] < len(by_leader[leader])]
        busiest = max(open_leaders, key=lambda leader: loads[leader] / counts[leader])
        counts[busiest] += 1
    return [(by_leader[leader], count) for leader, count in counts.items()]


def _fill(ranges: list[OffsetRange], tasks: int, max_records: int | None) -> list[Task]:
    """Largest range first, each to the lightest task; where that has no room, a task is added."""
    contents: list[list[OffsetRange]] = [[] for _ in range(tasks)]
    records = [0] * tasks
    by_load = [(0, index) for index in range(tasks)]
    for each in sorted(ranges, key=lambda each: (-each.size, each.partition, each.start)):
        load, index = by_load[0]
        if max_records is None or records[index] + each.size <= max_records or not contents[index]:
            heapq.heapreplace(by_load, (load + _weight(each), index))
        else:
            index = len(contents)
            contents.append([])
            records.append(0)
            heapq.heappush(by_load, (_weight(each), index))
        contents[index].append(each)
        records[index] += each.size
    return [tuple(sorted(content, key=lambda each: (each.partition, each.start))) for content in contents if content]


def _cut(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    """`parts` pieces of equal size, as far as there are offsets; what is left by rounding goes to the last ones."""
    pieces = []
    start = whole.start
    for left in range(parts, 0, -1):
        end = start + (whole.end - start) // left
        if end > start:
            pieces.append(replace(whole, start=start, end=end))
        start = end
    return pieces


def _share(size: int, total: int, parts: int) -> int:
    return max(math.floor(size / total * parts + 0.5), 1)


def _weight(each: OffsetRange) -> int:
    return each.size + _RANGE_COST
