"""A stream's side of the cluster: where it starts, how far each micro-batch goes, which tasks read it.

Lives in the process that Spark keeps on the driver for the life of a query, and keeps one connection to each broker
there. Knows nothing of PySpark; `stream_reader` is its translation. What a batch covers is decided by the offsets that
Spark writes to its checkpoint, never by what this object remembers, so that a query may be killed at any point.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar
from uuid import UUID

from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError, UnknownTopicError
from kwire.errors.listing import counted, first_of
from kwire.spark.options.stream import StreamOptions
from kwire.spark.planning.live_cluster import SIZES_WITHIN_S, LiveCluster
from kwire.spark.ranges.offsets import EARLIEST, LATEST, DataLossError
from kwire.spark.ranges.stream_limits import MinimumWait, limit_bytes, limit_offsets
from kwire.spark.ranges.stream_offsets import Offsets
from kwire.spark.ranges.tasks import (
    DEFAULT_RECORD_SIZE,
    ROWS_OF_A_STREAM_TASK,
    OffsetRange,
    Task,
    plan,
    slots,
)
from kwire.spark.streams.group import GroupCommits
from kwire.spark.streams.loss import check_frozen_ends, judge, loss_text
from kwire.spark.workers.logs import tell_from

_log = logging.getLogger("kwire.spark")

Answer = TypeVar("Answer")

# A broker that has just become leader may answer with an older offset.
_ATTEMPTS: Final = 3
_BETWEEN_ATTEMPTS_S: Final = 1.0
# A batch with fewer is planned without the size of its records. They are asked for no sooner than this again, and after
# a question that failed no sooner than that.
_MANY_OFFSETS: Final = 10_000
_SIZES_LAST_S: Final = 60.0
_SIZES_AGAIN_S: Final = 10.0

_FIRST_BATCH_OF_SPARKS: Final = (
    "The checkpoint has a first batch that Spark's own Kafka source made and did not finish, and its log of offsets "
    "does not have the start of that batch. {}. To read it as it was, start once with the option startingOffsets set "
    "to the second line of the checkpoint's file sources/0/0"
)


class StreamSource:
    """One stream. `initial`, `latest` and `plan` are called by turns, as Spark's micro-batches need them."""

    def __init__(
        self,
        options: StreamOptions,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        tell_from(options.log_level)
        self._options = options
        self._sleep = sleep
        self._cluster = LiveCluster(options.client)
        self._initial: Offsets | None = None
        self._position: Offsets | None = None
        self._moving: frozenset[TopicPartition] = frozenset()
        self._begun = False
        self.marks_first_batch = False
        self._leaders: dict[TopicPartition, int] = {}
        self._newest: Offsets | None = None
        self._available_now = False
        self._frozen: Offsets | None = None
        self._topic_ids: dict[str, UUID] = {}
        self._recreated: set[str] = set()
        self._sizes = _RecordSizes(self._cluster, clock, are_needed=options.trigger.max_bytes is not None)
        self._group: GroupCommits | None = None
        if options.commit_group is not None:
            self._group = GroupCommits(options.commit_group, self._cluster.commit_offsets, clock)
        self._wait: MinimumWait | None = None
        if options.trigger.min_offsets is not None:
            self._wait = MinimumWait(options.trigger.min_offsets, options.trigger.max_delay_s, clock)

    def close(self) -> None:
        self._cluster.close()

    def initial(self) -> Offsets:
        """Where a new query starts, the same at every call.

        A query that was stopped in its first batch asks for it again when it is started again, though the checkpoint
        has the end of that batch already. A start that moves, as `latest` does, would then be beyond that end. So the
        first batch reads nothing of such a partition, and its end there is the start: see `latest` and `_start_of`.
        """
        if self._initial is None:
            self._initial = self._look_up_start()
        return self._initial

    def latest(self, start: Offsets | None, *, limited: bool) -> Offsets:
        """The end of the batch that begins at `start`: `start` itself if there is none to be made.

        After it `marks_first_batch` tells whether the end is to bear the mark of `stream_offsets`.
        """
        if start is None:
            start = self.initial() if self._position is None else self._position
        self.finished(start)
        end = self._newest_offsets(start)
        self.marks_first_batch = self._initial is not None and not self._begun and bool(self._moving)
        if self._initial is not None and self.marks_first_batch:
            end = {**end, **{tp: self._initial[tp] for tp in self._moving if tp in end}}
        self._begun = True
        return self._limited(start, end) if limited else end

    def newest(self) -> Offsets | None:
        """The ends of the logs as they were last seen; None before that."""
        return self._newest

    def freeze(self) -> None:
        """Lets the stream end at what is the latest offset next: Trigger.AvailableNow."""
        self._available_now = True

    def finished(self, end: Offsets) -> None:
        """The query has read all before `end`. Spark says so late, and of a run's last batch never: `latest` says it
        of the batch before.
        """
        if self._group is not None:
            self._group.commit(end)

    def plan(self, start: Offsets, end: Offsets, *, marked: bool = False) -> list[Task]:
        """The tasks of the batch from `start` to `end`; the same batch may be planned again, in another run. `marked`
        says that the end bears the mark.

        Raises DataLossError, if `failOnDataLoss`, where the log does not have what the checkpoint says.
        """
        self._position = end
        start = self._start_of(start, end, marked)
        if start == end:
            return []
        if self._frozen is not None:
            check_frozen_ends(self._frozen, end, self._look_up_latest(end))
        if not end.keys() <= self._leaders.keys():
            self._ask_until(self._partitions, lambda there: not end.keys() <= set(there))
        judged = judge(start, end, self._first_of(end.keys() - start.keys()), self._recreated)
        self._recreated = set()
        if judged.losses:
            self._report_loss(loss_text(judged.losses, fails=self._options.fail_on_data_loss))
        return self._tasks(judged.ranges)

    def _tasks(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> list[Task]:
        """Few tasks: on a trickle one, however many partitions there are. Sizes are asked for where they may matter."""
        many = sum(last - first for first, last in ranges.values()) > _MANY_OFFSETS
        sizes = (self._sizes.of(list(ranges)) if many else None) or {}
        whole = [
            OffsetRange(
                tp,
                first,
                last,
                self._leaders.get(tp, -1),
                self._topic_ids.get(tp.topic),
                sizes.get(tp, DEFAULT_RECORD_SIZE),
            )
            for tp, (first, last) in ranges.items()
        ]
        at_once = self._options.slots or slots()
        return plan(whole, limits=self._options.limits, slots=at_once, rows_of_a_task=ROWS_OF_A_STREAM_TASK)

    def _report_loss(self, text: str) -> None:
        if self._options.fail_on_data_loss:
            raise DataLossError(text)
        _log.warning("%s", text)

    def _start_of(self, start: Offsets, end: Offsets, marked: bool) -> Offsets:
        """The start of a batch, which is a query's first one, made in an earlier run, if nothing was asked before it.

        Of that one the start has just been looked up again. Where it moves nothing was read if the end is marked,
        unless the log itself has lost what is before the end. There may be partitions now that were not there when the
        end was written; the next batch will have them.
        """
        if self._begun or start != self._initial:
            return start
        by_time = self._options.start.is_time
        moved = {tp for tp in end if tp in self._moving or (by_time and start.get(tp, 0) > end[tp])}
        if moved and not marked:
            fails = self._options.fail_on_data_loss
            done = "Its records would be lost" if fails else "It is taken to have none, since failOnDataLoss is false"
            self._report_loss(_FIRST_BATCH_OF_SPARKS.format(done))
        self._tell_of_a_start_that_may_have_moved(start, end)
        earliest = self._first_of(moved)
        return {
            tp: end[tp] if tp in moved and earliest[tp] <= end[tp] else offset
            for tp, offset in start.items()
            if tp in end
        }

    def _tell_of_a_start_that_may_have_moved(self, start: Offsets, end: Offsets) -> None:
        """Of a first batch that is made again: what was removed from the heads of logs since, nobody knows."""
        bound = self._options.start
        heads = {tp: start[tp] for tp in start.keys() & end.keys() if bound.is_time or bound.at(tp) == EARLIEST}
        cut = [f"{tp} at {offset}" for tp, offset in sorted(heads.items()) if offset > 0 and tp not in self._moving]
        if cut:
            _log.warning(
                "The first batch is made again, from the first records that there are now (%s): the checkpoint does "
                "not tell whether some were removed since it was begun",
                first_of(cut, 10),
            )

    def _partitions(self) -> list[TopicPartition]:
        self._leaders = self._cluster.partitions(self._options.selection, to_read=not self._topic_ids)
        now = self._cluster.topic_ids
        self._recreated |= {
            topic for topic in now.keys() & self._topic_ids.keys() if now[topic] != self._topic_ids[topic]
        }
        self._topic_ids |= now
        return list(self._leaders)

    def _latest_of(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return self._cluster.latest(partitions) if partitions else {}

    def _first_of(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The earliest offsets of those of the partitions that exist."""
        there = {tp: EARLIEST for tp in partitions if tp in self._leaders}
        return self._cluster.offsets_for_times(there) if there else {}

    def _newest_offsets(self, start: Offsets) -> Offsets:
        if self._frozen is not None:
            return self._frozen
        self._newest = self._look_up_latest(start)
        if self._available_now:
            self._frozen = self._newest
        return self._newest

    def _look_up_latest(self, start: Offsets) -> Offsets:
        """The latest offsets; asks again while one is before `start`, while one of its partitions is not there, and
        while a topic is not.
        """

        def is_behind(latest: dict[TopicPartition, int]) -> bool:
            behind = {tp: (start[tp], offset) for tp, offset in latest.items() if offset < start.get(tp, 0)}
            if behind:
                _log.warning("Offsets went backwards (partition: before, now): %s", _shown(behind))
            return bool(behind) or not start.keys() <= latest.keys()

        return self._ask_until(lambda: self._latest_of(self._partitions()), is_behind)

    def _ask_until(self, question: Callable[[], Answer], is_doubtful: Callable[[Answer], bool]) -> Answer:
        """The answer to a question that is asked again while it is doubtful, or a topic is not there; the last one
        counts. A broker that has just started, or just become leader, may not know better.
        """
        for _ in range(_ATTEMPTS - 1):
            try:
                answer = question()
            except UnknownTopicError as error:
                _log.warning("%s; asking again", error)
            else:
                if not is_doubtful(answer):
                    return answer
            self._sleep(_BETWEEN_ATTEMPTS_S)
        return question()

    def _look_up_start(self) -> Offsets:
        """The start of a new query; `_moving` are the partitions where it would be another one later."""
        bound = self._options.start
        partitions = self._ask_until(self._partitions, lambda there: False)
        bound.check_names_exactly(partitions)
        numbers = {tp: bound.at(tp) for tp in partitions}
        asked = {tp: number for tp, number in numbers.items() if bound.is_time or number < 0}
        found = self._cluster.offsets_for_times(asked) if asked else {}
        if not bound.is_time:
            self._moving = frozenset(tp for tp, number in numbers.items() if number == LATEST)
            return {**numbers, **found}
        without = [tp for tp, offset in found.items() if offset == LATEST]
        if without and bound.no_match == "error":
            raise ConfigError(
                f"{bound.option}: No offset matched from request of topic-partition {without[0]} and timestamp "
                f"{numbers[without[0]]}. With startingOffsetsByTimestampStrategy=latest it starts at its end"
            )
        self._moving = frozenset(without)
        return {**found, **self._latest_of(without)}

    def _limited(self, start: Offsets, newest: Offsets) -> Offsets:
        limits = self._options.trigger
        if self._wait is not None and self._frozen is None and self._wait.holds_back(start, newest):
            return start
        if limits.max_offsets is None and limits.max_bytes is None:
            return newest
        begins = {**start, **self._first_of(newest.keys() - start.keys())}
        ends = newest
        if limits.max_offsets is not None:
            ends = limit_offsets(limits.max_offsets, begins, ends)
        if limits.max_bytes is not None:
            ends = limit_bytes(limits.max_bytes, begins, ends, self._known_sizes(list(ends)))
        return ends

    def _known_sizes(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, float]:
        sizes = self._sizes.of(partitions)
        if sizes is None:
            raise ConfigError(
                "maxBytesPerTrigger: the brokers do not report how large their logs are (DescribeLogDirs needs the "
                "permission Describe on the cluster); use maxOffsetsPerTrigger"
            )
        return sizes


class _RecordSizes:
    """The mean sizes of records, asked for now and then. Those that were told last count until they are told anew."""

    def __init__(self, cluster: LiveCluster, clock: Callable[[], float], *, are_needed: bool) -> None:
        self._cluster = cluster
        self._clock = clock
        self._known: Mapping[TopicPartition, float] = {}
        self._old_at = clock()
        self._has_failed = False
        self._are_needed = are_needed
        self._waits_long = are_needed

    def of(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, float] | None:
        """The size for each of these partitions, DEFAULT_RECORD_SIZE where it is not known; None if the brokers never
        tell.
        """
        is_missing = not self._has_failed and not self._known.keys() >= set(partitions)
        if partitions and (is_missing or self._clock() >= self._old_at):
            within = None if self._waits_long else SIZES_WITHIN_S
            sizes = self._cluster.record_sizes(partitions, within=within)
            if sizes is None:
                return None
            self._take(sizes, partitions)
        return {tp: self._known.get(tp) or DEFAULT_RECORD_SIZE for tp in partitions}

    def _take(self, sizes: dict[TopicPartition, float], asked: Collection[TopicPartition]) -> None:
        self._waits_long = False
        self._has_failed = not sizes
        self._known = {tp: self._known[tp] for tp in asked if tp in self._known} | sizes
        self._old_at = self._clock() + (_SIZES_AGAIN_S if self._has_failed else _SIZES_LAST_S)
        guessed = sum(tp not in self._known for tp in asked)
        if guessed and self._are_needed:
            _log.warning(
                "The brokers do not report how large their logs are at the moment: maxBytesPerTrigger assumes %d bytes "
                "for a record of %s until they do",
                DEFAULT_RECORD_SIZE,
                counted(guessed, "partition"),
            )


def _shown(behind: dict[TopicPartition, tuple[int, int]]) -> str:
    return first_of((f"{tp}: {before}, {now}" for tp, (before, now) in sorted(behind.items())), 10)
