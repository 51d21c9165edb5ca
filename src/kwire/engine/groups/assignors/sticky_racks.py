"""Racks of consumers and partitions as the sticky assignors use them (KIP-881).

Layer 3, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.contract import ClusterView
from kwire.engine.groups.assignors.members import Members, racks_matter


class StickyRacks:
    """Who is near to what. `in_use` is False where racks bring nothing; then nothing is far.

    The count of near consumers, by which partitions are sorted, is kept even so, as in Java.
    """

    def __init__(self, cluster: ClusterView, counts: Mapping[str, int], members: Members) -> None:
        self._racks: dict[str, Sequence[frozenset[str]]] = {}
        self._consumers: dict[str, str] = {}
        self._near: dict[str, int] = {}
        consumers = {member: rack for member in members if (rack := members[member].rack_id)}
        if consumers:
            self._racks = {topic: cluster.racks(topic) for topic in counts}
            for rack in consumers.values():
                self._near[rack] = self._near.get(rack, 0) + 1
        if racks_matter(self._near, [racks for of in self._racks.values() for racks in of]):
            self._consumers = consumers
        self.in_use = bool(self._consumers)

    def is_far(self, consumer: str, partition: TopicPartition) -> bool:
        """Whether the consumer's rack is known and has no replica of the partition."""
        rack = self._consumers.get(consumer)
        return rack is not None and rack not in self._racks[partition.topic][partition.partition]

    def near_only(self, consumer: str, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Those that are not far."""
        return [partition for partition in partitions if not self.is_far(consumer, partition)]

    def fewest_near_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Sorted by how many consumers have the rack of a replica, which are the hardest to place first."""
        if not self._near:
            return partitions
        return sorted(partitions, key=self._near_consumers)

    def next_near(self, partition: TopicPartition, consumers: Sequence[str], first: int) -> int:
        """The index of the first consumer, from `first` on and round, in the rack of a replica; -1 without one."""
        racks = self._racks[partition.topic][partition.partition]
        for step in range(len(consumers) if racks else 0):
            index = (first + step) % len(consumers)
            if self._consumers.get(consumers[index]) in racks:
                return index
        return -1

    def _near_consumers(self, partition: TopicPartition) -> int:
        return sum(self._near.get(rack, 0) for rack in self._racks[partition.topic][partition.partition])
