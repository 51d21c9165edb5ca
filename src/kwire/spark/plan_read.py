"""Asks the cluster what a read covers and divides it into tasks; runs once, in Spark's planning process.

Costs one Metadata request and, for each leader, two ListOffsets requests, however many partitions there are. All ends
are bound here, so the tasks are pure functions of their ranges.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial

from kwire.admin import Admin, TopicInfo
from kwire.engine.addresses import TopicPartition
from kwire.engine.settings import AdminSettings, ConsumerSettings, from_config
from kwire.errors import ConfigError
from kwire.spark.client_options import CLIENT_SETTINGS, errors_by_option
from kwire.spark.offsets import EARLIEST, LATEST, Bound, LogEnds, bind
from kwire.spark.options import ReadOptions, Selection
from kwire.spark.planning import OffsetRange, Task, pack_tasks, split_ranges, task_count

_LookUp = Callable[[Mapping[TopicPartition, int]], dict[TopicPartition, int]]
_WHEN = {EARLIEST: "earliest", LATEST: "latest"}


def plan_tasks(options: ReadOptions) -> list[Task]:
    """The tasks of a batch read; none where there is nothing to read.

    Raises ConfigError for bounds that contradict the log, DataLossError for records that are gone, UnknownTopicError,
    and ConnectError, with a cause for each address, when no broker answers within `kafka.default.api.timeout.ms`.
    """
    settings = from_config(ConsumerSettings, options.client, **CLIENT_SETTINGS)
    with _admin(settings, options) as admin:
        look_up = partial(_offsets, admin, settings.isolation_level)
        leaders = _leaders(admin, options.selection)
        ends = _log_ends(look_up, leaders)
        times = _offsets_of_times(look_up, (options.start, options.end), leaders)
    bound = bind(options.start, options.end, ends, times, options.fail_on_data_loss)
    whole = [OffsetRange(tp, start, end, leaders[tp]) for tp, (start, end) in bound.items()]
    max_records = options.max_records_per_partition
    ranges = split_ranges(whole, min_partitions=options.min_partitions, max_records=max_records)
    tasks = task_count(ranges, slots=_processors(), max_tasks=options.max_tasks, min_partitions=options.min_partitions)
    if options.max_tasks == 0:
        return [(each,) for each in ranges]
    return pack_tasks(ranges, tasks, max_records=max_records)


def _admin(settings: ConsumerSettings, options: ReadOptions) -> Admin:
    """An Admin of the same cluster; what only a consumer has is left out."""
    with errors_by_option(options.client, on_this_host=True):
        return Admin(**{name: value for name, value in settings.given().items() if name in AdminSettings.table})


def _offsets(admin: Admin, isolation_level: str, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The offset of EARLIEST, LATEST or a time in each partition; LATEST where there is no record that late."""
    when: dict[tuple[str, int], int | datetime | str] = {tp: _WHEN.get(time, time) for tp, time in times.items()}
    found = admin.list_offsets(when, isolation_level=isolation_level)
    return {tp: LATEST if place is None else place.offset for tp, place in found.items()}


def _leaders(admin: Admin, selection: Selection) -> dict[TopicPartition, int]:
    """The partitions that are read, in order, and the node id of each one's leader (-1 while it has none)."""
    if selection.partitions is not None:
        names = {tp.topic for tp in selection.partitions}
        topics = admin.describe_topics(sorted(names)) if names else {}
        return {tp: _leader(topics[tp.topic], tp) for tp in selection.partitions}
    if selection.topics is not None:
        topics = admin.describe_topics(selection.topics)
    else:
        topics = {
            name: info
            for name, info in admin.describe_topics().items()
            if not info.is_internal and re.search(selection.pattern or "", name)
        }
    return {
        TopicPartition(name, number): info.leader
        for name, topic in sorted(topics.items())
        for number, info in sorted(topic.partitions.items())
    }


def _leader(topic: TopicInfo, tp: TopicPartition) -> int:
    found = topic.partitions.get(tp.partition)
    if found is None:
        raise ConfigError(f"assign names {tp}, which does not exist; {tp.topic} has {len(topic.partitions)} partitions")
    return found.leader


def _log_ends(look_up: _LookUp, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LogEnds]:
    """The present ends of each log; earliest is asked for first, so that it is never beyond latest."""
    earliest = look_up(dict.fromkeys(partitions, EARLIEST))
    latest = look_up(dict.fromkeys(partitions, LATEST))
    return {tp: LogEnds(first, max(first, latest[tp])) for tp, first in earliest.items()}


def _offsets_of_times(
    look_up: _LookUp, bounds: Iterable[Bound], partitions: Iterable[TopicPartition]
) -> dict[tuple[TopicPartition, int], int]:
    found = {}
    for bound in bounds:
        if bound.is_time:
            bound.check_names_exactly(partitions)
            times = {tp: bound.at(tp) for tp in partitions}
            found.update({(tp, times[tp]): offset for tp, offset in look_up(times).items()})
    return found


def _processors() -> int:
    """How many tasks run at once as far as this process can know: Spark tells a source nothing of its executors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
