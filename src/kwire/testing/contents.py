"""The topics and records of the embedded broker as a test sees them, without a client.

Every method raises UnknownTopicError for what is not there, BrokerError for what a client would have been refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kwire import records
from kwire.errors import ConfigError, UnknownTopicError
from kwire.testing.cluster import ClusterState
from kwire.testing.records.producer_state import Aborted
from kwire.testing.records.record_sets import whole_entries_of
from kwire.testing.state.partition import Partition, Topic
from kwire.testing.state.record_checks import check_records

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Contents", "Hidden"]


class Hidden(NamedTuple):
    """The control batches of a partition, the batches of these `aborted` transactions, and all from `stable_offset` on.

    That is where the first open transaction begins; None hides only control batches.
    """

    aborted: frozenset[Aborted] = frozenset()
    stable_offset: int | None = None

    def hides(self, batch: records.BatchHeader) -> bool:
        if batch.is_control or (self.stable_offset is not None and batch.base_offset >= self.stable_offset):
            return True
        return any(
            each.producer_id == batch.producer_id and each.first_offset <= batch.base_offset < each.last_offset
            for each in self.aborted
        )


class Contents:
    """What `cluster` holds."""

    generation = None

    def __init__(self, cluster: ClusterState) -> None:
        self._cluster = cluster

    def create_topic(self, name: str, partitions: int, settings: Mapping[str, str] | None) -> None:
        self._cluster.create_topic(name, partitions, settings)

    def delete_topic(self, name: str) -> None:
        self._cluster.delete_topic(self._topic(name))

    def partition_counts(self) -> dict[str, int]:
        """Without Kafka's own topics."""
        return {name: len(each.partitions) for name, each in self._cluster.topics.items() if not each.is_internal}

    def append(self, topic: str, partition: int, record_set: Buffer) -> int:
        place, entries = self._partition(topic, partition), whole_entries_of(record_set)
        check_records(entries, place.topic.settings, self._cluster.clock())
        stamp = self._cluster.clock() if place.topic.settings.append_time else None
        first = place.append(entries, stamp, self._cluster.clock())
        self._cluster.appended(place)
        return first

    def whole(self, topic: str, partition: int) -> bytes:
        return self._partition(topic, partition).log.whole()

    def hidden(self, topic: str, partition: int, *, committed: bool) -> Hidden:
        """The batches of a partition that programs do not see; with `committed` those that read committed records."""
        place = self._partition(topic, partition)
        aborted = place.producers.aborted if committed else []
        return Hidden(frozenset(aborted), place.last_stable_offset if committed else None)

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        log = self._partition(topic, partition).log
        return log.start_offset, log.end_offset

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        self._partition(topic, partition).delete_before(offset)

    def compact(self, topic: str | None) -> None:
        """Compacts a topic, or all that are compacted, to their very ends."""
        chosen = self._cluster.topics.values() if topic is None else [self._topic(topic)]
        for each in chosen:
            if not each.settings.compacts and topic is not None:
                raise ConfigError(f"topic {topic!r} does not have cleanup.policy=compact")
            for partition in each.partitions if each.settings.compacts else ():
                self._cluster.upkeep.compact(partition, partition.log.end_offset)

    def _topic(self, name: str) -> Topic:
        found = self._cluster.topics.get(name)
        if found is None:
            raise UnknownTopicError(f"the broker has no topic {name!r}; it has {sorted(self._cluster.topics)}")
        return found

    def _partition(self, name: str, index: int) -> Partition:
        topic = self._topic(name)
        if not 0 <= index < len(topic.partitions):
            raise UnknownTopicError(f"topic {name!r} has partitions 0 to {len(topic.partitions) - 1}, not {index}")
        return topic.partitions[index]
