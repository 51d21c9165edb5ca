"""Finds the segments of a read and divides them into tasks; runs once, in Spark's planning process.

Lists the folders and reads indexes and some headers; all bounds become positions here, so that a task is a pure
function of its pieces.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import TypeVar

from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError
from kwire.errors.listing import counted, first_of
from kwire.log_files.folders import LogFolder, find_logs
from kwire.log_files.names import INTERNAL_TOPICS
from kwire.log_files.partition_log import PartitionLog
from kwire.log_files.splits import Piece, pieces_of
from kwire.log_files.transactions import NO_TRANSACTIONS, Transactions, find_transactions
from kwire.spark.logs.storage import storages_of
from kwire.spark.options.log import LogOptions
from kwire.spark.options.read import Selection
from kwire.spark.ranges.offsets import LATEST, Bound, LogEnds, bind
from kwire.spark.ranges.tasks import DEFAULT_RECORD_SIZE, ROWS_OF_A_BATCH_TASK, slots
from kwire.spark.workers.logs import tell_from

_log = logging.getLogger("kwire.spark")

LogTask = tuple[Piece, ...]
_Logs = dict[TopicPartition, PartitionLog]

# Some thousand rows: a task's start costs as much as reading some ten megabytes, but what follows the read counts.
_SMALLEST_TASK = ROWS_OF_A_BATCH_TASK * DEFAULT_RECORD_SIZE
_QUESTIONS_AT_ONCE = 16
_T = TypeVar("_T")


def plan_log_tasks(options: LogOptions) -> list[LogTask]:
    """The tasks of a read of segments; none where there is nothing to read.

    Raises ConfigError where no segments are, where two folders hold the same partition, and for bounds that contradict
    the logs; DataLossError for offsets that are not in them; OSError for what cannot be listed or read.
    """
    tell_from(options.log_level)
    logs = _logs(options)
    transactions = _of_each(logs, lambda _, log: _transactions(options, log))
    ends = _of_each(logs, lambda tp, log: _ends(log, transactions[tp]))
    times = _offsets_of_times(logs, (options.start, options.end), ends)
    bound = bind(options.start, options.end, ends, times, options.fail_on_data_loss)
    size = sum(log.size_of(*bound[tp]) for tp, log in logs.items())
    target = _target(options, size)
    pieces = _of_each(logs, lambda tp, log: pieces_of(log, *bound[tp], target, transactions[tp].aborted))
    if options.policy.on_corrupt == "stop":
        units = [tuple(pieces[tp]) for tp in sorted(pieces) if pieces[tp]]
    else:
        units = [(piece,) for tp in sorted(pieces) for piece in pieces[tp]]
    tasks = _at_most(_packed(units, target), options.max_tasks)
    _log.info("%s", _plan_text(bound, size, tasks))
    return tasks


def _plan_text(bound: Mapping[TopicPartition, tuple[int, int]], size: int, tasks: Sequence[LogTask]) -> str:
    places = [f"{tp} from {start} to {end}" for tp, (start, end) in sorted(bound.items()) if start < end]
    count = counted(len(tasks), "task")
    return f"{size} bytes of segments in {count}: {first_of(places, 20) or 'nothing to read'}"


def _logs(options: LogOptions) -> _Logs:
    folders: dict[TopicPartition, list[LogFolder]] = defaultdict(list)
    wanted = None if options.selection is None else _wanted(options.selection)
    storages = storages_of(options.paths)
    for root, (storage, paths) in enumerate(storages):
        for folder in find_logs(storage, paths, root=root, wanted=wanted, place=options.place):
            found = folders[TopicPartition(folder.topic, folder.partition)]
            found.append(folder)
            if len(found) > 1 and not options.merge_replicas:
                raise ConfigError(_replicas(found))
    logs = {tp: PartitionLog([storage for storage, _ in storages], found) for tp, found in folders.items()}
    if not logs:
        what = " that assign, subscribe or subscribePattern name" if wanted else ""
        raise ConfigError(f"found no segments{what}: {', '.join(_shown(options))}")
    return logs


def _shown(options: LogOptions) -> list[str]:
    return [storage.shown(path) for storage, paths in storages_of(options.paths) for path in paths]


def _replicas(folders: Sequence[LogFolder]) -> str:
    one, other = folders
    return (
        f"{one.topic}-{one.partition} was found twice, in {one.path} and in {other.path}: "
        "replicas of one partition would be read twice. "
        "Name one of them, or set the option replicas to merge, which takes each offset once, by leader epoch"
    )


def _wanted(selection: Selection) -> Callable[[str, int], bool]:
    if selection.partitions is not None:
        partitions = frozenset(selection.partitions)
        return lambda topic, partition: TopicPartition(topic, partition) in partitions
    if selection.topics is not None:
        topics = frozenset(selection.topics)
        return lambda topic, _: topic in topics
    pattern = re.compile(selection.pattern or "")
    return lambda topic, _: topic not in INTERNAL_TOPICS and pattern.search(topic) is not None


def _of_each(logs: _Logs, question: Callable[[TopicPartition, PartitionLog], _T]) -> dict[TopicPartition, _T]:
    """The answer for each log; several at a time where a question takes round trips."""
    if all(log.is_local for log in logs.values()):
        return {tp: question(tp, log) for tp, log in logs.items()}
    with ThreadPoolExecutor(_QUESTIONS_AT_ONCE) as threads:
        return dict(zip(logs, threads.map(question, logs, logs.values()), strict=True))


def _transactions(options: LogOptions, log: PartitionLog) -> Transactions:
    return find_transactions(log, log.start_offset) if options.read_committed else NO_TRANSACTIONS


def _ends(log: PartitionLog, transactions: Transactions) -> LogEnds:
    """`latest` is what a consumer can read up to."""
    latest = log.end_offset if transactions.stable_offset is None else min(log.end_offset, transactions.stable_offset)
    return LogEnds(log.start_offset, max(log.start_offset, latest))


def _offsets_of_times(
    logs: _Logs, bounds: Iterable[Bound], ends: Mapping[TopicPartition, LogEnds]
) -> dict[tuple[TopicPartition, int], int]:
    found = {}
    for bound in bounds:
        if bound.is_time:
            bound.check_names_exactly(logs)
            for tp, offset in _of_each(logs, partial(_offset_of_time, bound)).items():
                found[tp, bound.at(tp)] = LATEST if offset is None or offset >= ends[tp].latest else offset
    return found


def _offset_of_time(bound: Bound, tp: TopicPartition, log: PartitionLog) -> int | None:
    return log.offset_of_time(bound.at(tp))


def _target(options: LogOptions, total: int) -> int:
    """How many bytes a task should read: as the options say, but enough for all slots where that is worth a start."""
    at_once = options.slots or slots()
    count = max(round(total / options.bytes_per_task), min(at_once, total // _SMALLEST_TASK), options.min_partitions)
    if options.max_tasks:
        count = min(count, options.max_tasks)
    return total // count + 1


def _packed(units: Iterable[LogTask], target: int) -> list[LogTask]:
    """Fills tasks in order up to about `target` bytes."""
    tasks: list[list[Piece]] = []
    filled = target
    for unit in units:
        size = sum(piece.end - piece.start for piece in unit)
        if filled + size // 2 >= target:
            tasks.append([])
            filled = 0
        tasks[-1].extend(unit)
        filled += size
    return [tuple(task) for task in tasks]


def _at_most(tasks: Sequence[LogTask], count: int | None) -> list[LogTask]:
    if count is None or len(tasks) <= count:
        return list(tasks)
    cuts = [len(tasks) * number // count for number in range(count + 1)]
    return [tuple(each for task in tasks[begin:end] for each in task) for begin, end in pairwise(cuts)]
