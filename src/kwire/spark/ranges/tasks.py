"""How a read becomes tasks: ranges of offsets, cut where that pays, then packed by leader and by cost.

No socket, no Spark. `minPartitions` and `maxRecordsPerPartition` cut as Spark's Kafka source does, so that they mean
the same. The rest is kwire's own: a Python task costs Spark 7 to 15 ms of CPU before its first row, as much as 20,000
small records (30 ms in a young JVM), so a task per partition, as that source has it, makes a topic of many small
partitions slow. A task therefore takes several ranges, of one leader where that can be, so that it needs one
connection. But what follows the read in its stage, a function in Python or a call over the network for each row, runs
in the same tasks, and may cost any multiple of it: where there are some thousands of rows, all slots get a task.

Costs are counted in `units` of the fixed cost of one record, about 0.5 microseconds in Spark and its worker together.
"""

from __future__ import annotations

import heapq
import logging
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError
from kwire.errors.listing import counted, first_of

_log = logging.getLogger("kwire.spark")

# Bytes that cost as much as the fixed part of a record.
_BYTES_PER_UNIT: Final = 200
# What a range costs beside its records: its share of requests, its own Arrow batch.
_RANGE_COST: Final = 200
# So many rows are worth a task for what follows the read. Micro-batches come several times a second: a trickle is one.
ROWS_OF_A_BATCH_TASK: Final = 500
ROWS_OF_A_STREAM_TASK: Final = 2_000
# A partition is cut for what follows where so many rows are in each piece: to read them costs as much as their task.
_ROWS_OF_A_PIECE: Final = 15_000
# Less work than this is not worth a task of its own for the read alone: to start one costs a third to a sixth of it.
_WORTH_A_TASK: Final = 100_000
# A task of this size runs for some three seconds: what it costs to start it does not count any more.
_FULL_TASK: Final = 6_000_000
_FULL_TASK_BYTES: Final = 512 << 20
# More tasks than this are worth a word where they are small, and more pieces than this are more than a driver bears.
_MANY_TASKS: Final = 10_000
_TOO_MANY_PIECES: Final = 1_000_000
# Where `kwire.spark.register` says how many tasks the session runs at once.
SLOTS_VARIABLE: Final = "KWIRE_SPARK_SLOTS"
# Where brokers do not tell how large records are.
DEFAULT_RECORD_SIZE: Final = 128


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets `start` to `end`, the end excluded, of one partition; the node id of its leader, and the topic's id where
    it is known. `record_size` is the mean number of bytes of an offset.
    """

    partition: TopicPartition
    start: int
    end: int
    leader: int = -1
    topic_id: UUID | None = None
    record_size: float = DEFAULT_RECORD_SIZE

    @property
    def size(self) -> int:
        """The number of offsets; a compacted or transactional log has fewer records in them."""
        return self.end - self.start

    @property
    def rows(self) -> int:
        """How many records there may be; a log with less than a byte for an offset has lost most to compaction."""
        return min(self.size, math.ceil(self.size * self.record_size))

    @property
    def cost(self) -> int:
        """What it costs to read the range, in units."""
        return _RANGE_COST + math.ceil(self.rows + self.size * self.record_size / _BYTES_PER_UNIT)


Task = tuple[OffsetRange, ...]


@dataclass(frozen=True, slots=True)
class TaskLimits:
    """What the options say of tasks: at least `min_partitions` (a hint), at most `max_tasks` (0: one for each range),
    and at most `max_records` offsets in each.
    """

    min_partitions: int | None = None
    max_records: int | None = None
    max_tasks: int | None = None


NO_LIMITS: Final = TaskLimits()


def slots() -> int:
    """How many tasks run at once as far as this process can know: Spark does not tell a source about its executors."""
    told = os.environ.get(SLOTS_VARIABLE, "")
    if told.isdecimal() and int(told):
        return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def plan(
    ranges: Sequence[OffsetRange], *, limits: TaskLimits, slots: int, rows_of_a_task: int, cut: bool = False
) -> list[Task]:
    """The tasks that read these ranges, of which `slots` run at once; none where every range is empty. Logs them.

    `rows_of_a_task` rows are worth a task, as long as there are slots and ranges for it.

    With `cut`, a range that costs more than its share is cut, so that all slots work and no task runs for too long,
    unless `limits` tell a number of tasks. The rows of a partition are then in the order of their offsets within each
    piece only.
    """
    _check_pieces(ranges, limits)
    pieces = split_ranges(ranges, min_partitions=limits.min_partitions, max_records=limits.max_records)
    cut = cut and limits.min_partitions is None and limits.max_tasks != 0
    count = task_count(pieces, slots=slots, rows_of_a_task=rows_of_a_task, limits=limits, cut=cut)
    tasks = _tasks_of(pieces, limits, count, cut)
    if len(tasks) > _MANY_TASKS and sum(each.cost for each in pieces) < len(tasks) * _WORTH_A_TASK:
        _log.warning(
            "%d tasks for %d offsets%s: a task costs Spark 7 to 15 ms of CPU before its first row",
            len(tasks),
            sum(each.size for each in pieces),
            _because_of(limits),
        )
    _log.info("%s", _plan_text(ranges, tasks))
    return tasks


def _plan_text(ranges: Sequence[OffsetRange], tasks: Sequence[Task]) -> str:
    """What is read, for the log: `70 offsets in 3 tasks: orders-0 from 23 to 93`."""
    places = [f"{each.partition} from {each.start} to {each.end}" for each in ranges if each.size]
    offsets, count = counted(sum(each.size for each in ranges), "offset"), counted(len(tasks), "task")
    return f"{offsets} in {count}: {first_of(places, 20) or 'nothing to read'}"


def _tasks_of(pieces: list[OffsetRange], limits: TaskLimits, tasks: int, cut: bool) -> list[Task]:
    if limits.max_tasks == 0:
        return [(each,) for each in pieces]
    if cut:
        pieces = cut_large(pieces, tasks)
    return pack_tasks(pieces, tasks, max_records=limits.max_records)


def _check_pieces(ranges: Sequence[OffsetRange], limits: TaskLimits) -> None:
    by_size = sum(math.ceil(each.size / (limits.max_records or max(each.size, 1))) for each in ranges)
    pieces = max(by_size, min(limits.min_partitions or 0, sum(each.size for each in ranges)))
    if pieces > _TOO_MANY_PIECES:
        raise ConfigError(f"{pieces} tasks or parts of tasks{_because_of(limits)}; the limit is {_TOO_MANY_PIECES}")


def _because_of(limits: TaskLimits) -> str:
    given = {
        "maxRecordsPerPartition": limits.max_records,
        "minPartitions": limits.min_partitions,
        "maxTasks": limits.max_tasks,
    }
    shown = ", ".join(f"{name}={value}" for name, value in given.items() if value is not None)
    return f" with {shown}" if shown else ""


def cut_large(ranges: Sequence[OffsetRange], tasks: int) -> list[OffsetRange]:
    """Cuts each range that costs more than an even share of `tasks` tasks into that many pieces."""
    share = sum(each.cost for each in ranges) / tasks if tasks else 0
    return [piece for each in ranges for piece in _cut(each, max(math.floor(each.cost / share + 0.5), 1))]


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
    rows_of_a_task: int,
    limits: TaskLimits = NO_LIMITS,
    cut: bool = False,
) -> int:
    """How many tasks these ranges are worth, which may be cut with `cut`.

    Without limits: as many as `slots`, the number of tasks that run at once as far as it is known, or a multiple of
    that where they would be more than full; fewer where neither the read nor the number of rows is worth them.
    """
    cost = sum(each.cost for each in ranges)
    full = max(cost / _FULL_TASK, sum(each.size * each.record_size for each in ranges) / _FULL_TASK_BYTES)
    turns = max(math.floor(full / slots + 0.5), 1)
    wanted = min(slots * turns, math.ceil(cost / _WORTH_A_TASK))
    rows = sum(each.rows for each in ranges)
    pieces = max(len(ranges), rows // _ROWS_OF_A_PIECE) if cut else len(ranges)
    by_rows = min(slots, pieces, math.ceil(rows / rows_of_a_task))
    wanted = max(wanted, by_rows, min(limits.min_partitions or 0, len(ranges)))
    return wanted if limits.max_tasks is None else min(wanted, limits.max_tasks)


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
    loads = {leader: sum(each.cost for each in group) for leader, group in by_leader.items()}
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
            heapq.heapreplace(by_load, (load + each.cost, index))
        else:
            index = len(contents)
            contents.append([])
            records.append(0)
            heapq.heappush(by_load, (each.cost, index))
        contents[index].append(each)
        records[index] += each.size
    return [tuple(sorted(content, key=lambda each: (each.partition, each.start))) for content in contents if content]


def _cut(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    """`parts` pieces of equal size, as far as there are offsets; what is left by rounding goes to the last ones."""
    pieces = []
    start = whole.start
    for left in range(min(parts, whole.size), 0, -1):
        end = start + (whole.end - start) // left
        if end > start:
            pieces.append(replace(whole, start=start, end=end))
        start = end
    return pieces


def _share(size: int, total: int, parts: int) -> int:
    return max(math.floor(size / total * parts + 0.5), 1)
