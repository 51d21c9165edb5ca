"""The assignor "range": of each topic a run of partitions for each member that reads it.

Layer 3, no I/O. Java's RangeAssignor. A topic's members stand in `in_instance_order`; each gets partitions / members of
them, rounded down, and the first ones one more until all are given out. Topics with the same partition count and the
same members are so read alike (co-partitioned).

    c0, c1; t0 and t1 of three partitions each     c0: t0-0 t0-1 t1-0 t1-1     c1: t0-2 t1-2

Racks (KIP-881), where they matter for at least one topic, come first, within the same shares:

    one topic with these members and this count    each member in order takes the partitions with a replica in its rack
    several                                        partition by partition: the first member takes it in all of these
                                                   topics that has a share left in all and a replica of all in its rack
    then                                           what is left is given out as above, and each list is sorted

A member without a rack matches every partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from kwire._typing import override
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.contract import Assignor, ClusterView, partitions_of
from kwire.engine.groups.assignors.java_order import text_key
from kwire.engine.groups.assignors.members import Members, in_instance_order, racks_matter, topic_counts


class Range(Assignor):
    """Java's RangeAssignor."""

    name = "range"

    @override
    def assign(self, cluster: ClusterView, members: Members) -> dict[str, list[TopicPartition]]:
        """The partitions of each member."""
        assigned: dict[str, list[TopicPartition]] = {member: [] for member in members}
        topics = _topics(cluster, members, assigned)
        uses_racks = any(topic.needs_racks for topic in topics)
        if uses_racks:
            for alike in _grouped(topics):
                _assign_by_racks(alike)
        for topic in topics:
            topic.assign_ranges()
        if uses_racks:
            for partitions in assigned.values():
                partitions.sort(key=lambda found: (text_key(found.topic), found.partition))
        return assigned


class _Topic:
    """One topic: who reads it, what each of them may still get, and which partitions nobody has yet."""

    def __init__(
        self, name: str, readers: Sequence[str], racks: Sequence[frozenset[str]], members: Members,
        assigned: dict[str, list[TopicPartition]],
    ) -> None:  # fmt: skip
        self._name = name
        self._assigned = assigned
        self.readers = tuple(readers)
        self.count = len(racks)
        self._share, self._extras = divmod(len(racks), len(readers))
        self._taken = dict.fromkeys(readers, 0)
        self._left = dict.fromkeys(range(len(racks)))
        self._reader_racks = {reader: rack for reader in readers if (rack := members[reader].rack_id)}
        self._racks = racks
        self.needs_racks = racks_matter(frozenset(self._reader_racks.values()), racks)

    @property
    def has_racks(self) -> bool:
        """Whether a reader has a rack."""
        return bool(self._reader_racks)

    def room(self, reader: str) -> int:
        """How many partitions the reader may still get."""
        return max(0, self._share + (self._extras > 0) - self._taken[reader])

    def is_near(self, reader: str, partition: int) -> bool:
        """Whether the partition has a replica in the reader's rack; a reader without one is near to all."""
        rack = self._reader_racks.get(reader)
        return rack is None or rack in self._racks[partition]

    def assign_ranges(self) -> None:
        """Gives each reader, in order, the first partitions that are left."""
        for reader in self.readers:
            self.give(reader, list(islice(self._left, self.room(reader))))

    def assign_near(self) -> None:
        """Gives each reader, in order, the first near partitions that are left."""
        for reader in self.readers:
            near = (partition for partition in self._left if self.is_near(reader, partition))
            self.give(reader, list(islice(near, self.room(reader))))

    def give(self, reader: str, partitions: Sequence[int]) -> None:
        """The reader has these from now on."""
        if not partitions:
            return
        self._assigned[reader] += partitions_of(self._name, partitions)
        self._taken[reader] += len(partitions)
        if self._taken[reader] > self._share:
            self._extras -= 1
        for partition in partitions:
            del self._left[partition]


def _topics(cluster: ClusterView, members: Members, assigned: dict[str, list[TopicPartition]]) -> list[_Topic]:
    readers: dict[str, dict[str, None]] = {}
    for member in in_instance_order(members):
        for topic in members[member].topics:
            readers.setdefault(topic, {})[member] = None
    counts = topic_counts(cluster, members)
    return [_Topic(topic, tuple(readers[topic]), cluster.racks(topic), members, assigned) for topic in counts]


def _grouped(topics: Sequence[_Topic]) -> list[list[_Topic]]:
    groups: dict[tuple[tuple[str, ...], int], list[_Topic]] = {}
    for topic in topics:
        if topic.has_racks:
            groups.setdefault((topic.readers, topic.count), []).append(topic)
    return list(groups.values())


def _assign_by_racks(topics: Sequence[_Topic]) -> None:
    if len(topics) > 1:
        _assign_alike(topics)
    elif topics[0].needs_racks:
        topics[0].assign_near()


def _assign_alike(topics: Sequence[_Topic]) -> None:
    readers = list(topics[0].readers)
    for partition in range(topics[0].count):
        reader = next((reader for reader in readers if _may_have(topics, reader, partition)), None)
        if reader is None:
            continue
        for topic in topics:
            topic.give(reader, (partition,))
        if not any(topic.room(reader) for topic in topics):
            readers.remove(reader)


def _may_have(topics: Sequence[_Topic], reader: str, partition: int) -> bool:
    return all(topic.room(reader) > 0 and topic.is_near(reader, partition) for topic in topics)
