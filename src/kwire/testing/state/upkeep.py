"""What time does to logs: retention (cleanup.policy=delete) and the log cleaner (cleanup.policy=compact).

    retention   a segment goes once its newest record is older than retention.ms, at the next look:
                log.retention.check.interval.ms after the last one, or when a test turns the clock. As long as nobody
                has set retention.ms, a record is no older than the time since it came
    compaction  log.cleaner.backoff.ms after an append, or when a test turns the clock: all but the segment that is
                written to, if min.cleanable.dirty.ratio or max.compaction.lag.ms calls for it. Not what is younger than
                min.compaction.lag.ms, nor what lies after the beginning of an open transaction

Each partition that has something to wait for has one timer; others cost nothing.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from kwire.testing.records.compaction import Compaction

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState
    from kwire.testing.state.partition import Partition


class Upkeep:
    """Looks after the logs of a cluster."""

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster
        self._began = cluster.now()

    def appended(self, partition: Partition) -> None:
        """Something was written: has the partition looked at when its time has come."""
        if partition.upkeep is None:
            self._schedule(partition)

    def settings_changed(self, partition: Partition) -> None:
        """Other times hold from now on."""
        self.stop(partition)
        self._schedule(partition)

    def stop(self, partition: Partition) -> None:
        if partition.upkeep is not None:
            partition.upkeep.cancel()
            partition.upkeep = None

    def run_all(self) -> None:
        """Looks at every log now."""
        for topic in self._cluster.topics.values():
            for partition in topic.partitions:
                self.run(partition)

    def run(self, partition: Partition) -> None:
        """Looks at a log now, and sees to when it is to be looked at again."""
        self.stop(partition)
        self._retain(partition)
        settings = partition.topic.settings
        if settings.compacts and self._is_dirty(partition):
            self.compact(partition, partition.log.active_offset)
        self._schedule(partition, after_run=True)

    def compact(self, partition: Partition, before: int) -> None:
        """Compacts what lies before an offset, as far as it may be."""
        settings, now_ms = partition.topic.settings, self._cluster.clock()
        before = min(before, partition.last_stable_offset, self._end_of_old(partition, now_ms))
        Compaction(
            partition.log,
            partition.producers.aborted,
            before=before,
            now_ms=now_ms,
            delete_retention=settings.delete_retention,
        ).run()
        self._cluster.wake([partition])

    def _end_of_old(self, partition: Partition, now_ms: int) -> int:
        """The offset before which nothing is too young to be compacted."""
        lag = partition.topic.settings.min_compaction_lag
        if not lag:
            return partition.log.end_offset
        for base_offset, _, _, largest in partition.log.segments():
            if largest > now_ms - lag:
                return base_offset
        return partition.log.end_offset

    def _is_dirty(self, partition: Partition) -> bool:
        """Whether there is enough to compact, or something that has waited too long."""
        log, settings, now_ms = partition.log, partition.topic.settings, self._cluster.clock()
        end = min(log.active_offset, partition.last_stable_offset, self._end_of_old(partition, now_ms))
        dirty = [each for each in log.segments() if each[0] >= log.compacted_to and each[0] < end]
        if not dirty:
            return bool(log.tombstones) and min(log.tombstones.values()) < now_ms
        total = sum(size for base_offset, size, _, _ in log.segments() if base_offset < end)
        lag = settings.max_compaction_lag
        waited_too_long = lag is not None and now_ms - dirty[0][2] > lag
        return waited_too_long or sum(size for _, size, _, _ in dirty) >= settings.min_cleanable_ratio * total

    def _retain(self, partition: Partition) -> None:
        settings, log = partition.topic.settings, partition.log
        if settings.retention_ms is None or not settings.deletes:
            return
        start = log.start_without_expired(
            settings.retention_ms, self._cluster.clock(), by_arrival=not settings.retention_is_set
        )
        if start > log.start_offset:
            partition.delete_before(start)
            self._cluster.wake([partition])

    def _schedule(self, partition: Partition, *, after_run: bool = False) -> None:
        due = [
            at for at in (self._retention_due(partition), self._compaction_due(partition, after_run)) if at is not None
        ]
        if due:
            partition.upkeep = self._cluster.timers.call_at(min(due), partial(self.run, partition))

    def _retention_due(self, partition: Partition) -> float | None:
        settings = partition.topic.settings
        if settings.retention_ms is None or not settings.deletes:
            return None
        expiry = partition.log.expiry(settings.retention_ms, by_arrival=not settings.retention_is_set)
        if expiry is None:
            return None
        every = self._cluster.properties.log_retention_check_interval_ms / 1000
        due = self._moment(expiry)
        return self._began + (math.floor((due - self._began) / every) + 1) * every if every else due

    def _compaction_due(self, partition: Partition, after_run: bool) -> float | None:
        """After an append soon; after a look when time alone makes another one worth while."""
        settings, log = partition.topic.settings, partition.log
        if not settings.compacts:
            return None
        backoff = self._cluster.now() + self._cluster.properties.log_cleaner_backoff_ms / 1000
        if not after_run:
            return backoff if log.end_offset > log.compacted_to else None
        due = [self._moment(deadline + 1) for deadline in log.tombstones.values()]
        waiting = [each for each in log.segments() if log.compacted_to <= each[0] < log.active_offset]
        for _, _, first, largest in waiting[:1]:
            due.append(self._moment(largest + settings.min_compaction_lag + 1))
            if settings.max_compaction_lag is not None:
                due.append(self._moment(first + settings.max_compaction_lag + 1))
        later = [at for at in due if at > self._cluster.now()]
        return max(min(later), backoff) if later else None

    def _moment(self, time_ms: int) -> float:
        """A time of day by the monotonic clock; not before now."""
        return self._cluster.now() + max(time_ms - self._cluster.clock(), 0) / 1000
