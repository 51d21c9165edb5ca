"""Asks the cluster what a read covers and divides it into tasks; runs once, in Spark's planning process.

Costs one Metadata request and, for each leader, two ListOffsets requests, however many partitions there are. All ends
are bound here, so the tasks are pure functions of their ranges.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from random import random
from types import TracebackType
from typing import Any, Self

from kwire.drivers.reactor import Reactor
from kwire.engine.addresses import TopicPartition
from kwire.engine.admin_calls import describe_topics
from kwire.engine.calls import Call
from kwire.engine.cluster import TopicInfo
from kwire.engine.core import Core
from kwire.engine.offsets import OffsetAndTimestamp, OffsetLookup
from kwire.engine.settings import ConsumerSettings, from_config
from kwire.errors import ConfigError, KafkaTimeoutError
from kwire.spark.offsets import EARLIEST, LATEST, Bound, LogEnds, bind
from kwire.spark.options import CLIENT_SETTINGS, ReadOptions, Selection
from kwire.spark.planning import OffsetRange, Task, pack_tasks, split_ranges, task_count

# What a call may take beyond its own deadline, for the step that notices it.
_GRACE_S = 1.0


def plan_tasks(options: ReadOptions) -> list[Task]:
    """The tasks of a batch read; none where there is nothing to read.

    Raises ConfigError for bounds that contradict the log, DataLossError for records that are gone, UnknownTopicError,
    and ConnectError, with a cause for each address, when no broker answers within `kafka.default.api.timeout.ms`.
    """
    with _ClusterView(from_config(ConsumerSettings, options.client, **CLIENT_SETTINGS)) as view:
        leaders = _leaders(view, options.selection)
        ends = _log_ends(view, leaders)
        times = _offsets_of_times(view, (options.start, options.end), leaders)
    bound = bind(options.start, options.end, ends, times, options.fail_on_data_loss)
    whole = [OffsetRange(tp, start, end, leaders[tp]) for tp, (start, end) in bound.items()]
    max_records = options.max_records_per_partition
    ranges = split_ranges(whole, min_partitions=options.min_partitions, max_records=max_records)
    tasks = task_count(ranges, slots=_processors(), max_tasks=options.max_tasks, min_partitions=options.min_partitions)
    if options.max_tasks == 0:
        return [(each,) for each in ranges]
    return pack_tasks(ranges, tasks, max_records=max_records)


class _ClusterView:
    """Questions to the cluster, one after the other, over connections that end with it."""

    def __init__(self, settings: ConsumerSettings) -> None:
        self._settings = settings
        self._core = Core(settings, random)
        self._reactor = Reactor(self._core, background=False, name="spark-planner")
        self._patience = settings.default_api_timeout_ms / 1000

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reactor.close()

    def topics(self, names: Iterable[str] | None) -> dict[str, TopicInfo]:
        """These topics, or all; UnknownTopicError for one that does not exist."""
        chosen = None if names is None else list(names)
        call = self._reactor.call(
            lambda now: describe_topics(self._core, chosen, deadline=now + self._patience, now=now)
        )
        found: dict[str, TopicInfo] = self._answer(call)
        return found

    def offsets(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The offset of EARLIEST, LATEST or a time in each partition; LATEST where there is no record that late."""
        isolation = 1 if self._settings.isolation_level == "read_committed" else 0
        call = self._reactor.call(
            lambda now: OffsetLookup(self._core, times, isolation=isolation, deadline=now + self._patience, now=now)
        )
        found: dict[TopicPartition, OffsetAndTimestamp] = self._answer(call)
        return {tp: place.offset for tp, place in found.items()}

    def _answer(self, call: Call) -> Any:
        if not self._reactor.wait(lambda: call.done, self._patience + _GRACE_S):
            raise KafkaTimeoutError(f"{call.what} was not answered within {self._patience} s")
        return call.value()


def _leaders(view: _ClusterView, selection: Selection) -> dict[TopicPartition, int]:
    """The partitions that are read, in order, and the node id of each one's leader (-1 while it has none)."""
    if selection.partitions is not None:
        names = {tp.topic for tp in selection.partitions}
        topics = view.topics(sorted(names)) if names else {}
        return {tp: _leader(topics[tp.topic], tp) for tp in selection.partitions}
    if selection.topics is not None:
        topics = view.topics(selection.topics)
    else:
        topics = {
            name: info
            for name, info in view.topics(None).items()
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


def _log_ends(view: _ClusterView, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LogEnds]:
    """The present ends of each log; earliest is asked for first, so that it is never beyond latest."""
    earliest = view.offsets(dict.fromkeys(partitions, EARLIEST))
    latest = view.offsets(dict.fromkeys(partitions, LATEST))
    return {tp: LogEnds(first, max(first, latest[tp])) for tp, first in earliest.items()}


def _offsets_of_times(
    view: _ClusterView, bounds: Iterable[Bound], partitions: Iterable[TopicPartition]
) -> dict[tuple[TopicPartition, int], int]:
    found = {}
    for bound in bounds:
        if bound.is_time:
            bound.check_names_exactly(partitions)
            times = {tp: bound.at(tp) for tp in partitions}
            found.update({(tp, times[tp]): offset for tp, offset in view.offsets(times).items()})
    return found


def _processors() -> int:
    """How many tasks run at once as far as this process can know: Spark tells a source nothing of its executors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
