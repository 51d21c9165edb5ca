"""The sticky assignment where all members read the same topics.

Layer 3, no I/O. With `low` = partitions / members, rounded down, and `high` rounded up, `extra` members get `high`:

    1  each member keeps what it owns and is near to it, by partition number and then topic: up to `high` while fewer
       than `extra` members have so many, else up to `low`; what is beyond is free
    2  where racks matter, each free partition, those with the fewest near members first, goes to the next near member
       below `low`, in turn, else to the first near one at `low`
    3  what is left goes round the members below `low` in the order of their ids, then one each to those at `low`

Java's ConstrainedAssignmentBuilder. The turns of step 3 are taken many at a time: as long as no member reaches `low`,
each member's share is every n-th partition.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import itemgetter

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.contract import ClusterView
from kwire.engine.groups.assignors.java_order import text_order
from kwire.engine.groups.assignors.sticky_owned import Owned
from kwire.engine.groups.assignors.sticky_racks import StickyRacks

_number_then_topic = itemgetter(1, 0)


class Constrained:
    """One run. `assigned` is the result, `moving` what one member passes to another, by the receiver."""

    def __init__(self, cluster: ClusterView, counts: Mapping[str, int], owned: Owned, racks: StickyRacks) -> None:
        self._cluster = cluster
        self._counts = counts
        self._owned = owned
        self._racks = racks
        self._total = sum(counts.values())
        self._low, self._extra = divmod(self._total, len(owned.by_member))
        self._high = self._low + (self._extra > 0)
        self._with_high = 0
        self._below: list[str] = []
        self._at_low: list[str] = []
        self._freed: dict[TopicPartition, str] = {}
        self.assigned: dict[str, list[TopicPartition]] = {}
        self.moving: dict[TopicPartition, str] = {}

    def run(self) -> None:
        """Makes the assignment."""
        for member, partitions in self._owned.by_member.items():
            self.assigned[member] = self._kept(member, partitions) if partitions else self._wanting(member)
        before = {member: len(kept) for member, kept in self.assigned.items()}
        self._below = text_order(self._below)
        self._at_low = text_order(self._at_low)
        free = self._racks.fewest_near_first(self._unassigned())
        if self._racks.in_use:
            free = self._give_near(free)
        self._give_in_turns(free)
        self._find_moving(before)

    # -- what members keep ------------------------------------------------------------------------------------------

    def _wanting(self, member: str) -> list[TopicPartition]:
        if self._low:
            self._below.append(member)
        elif self._with_high < self._extra:
            self._at_low.append(member)
        return []

    def _kept(self, member: str, partitions: list[TopicPartition]) -> list[TopicPartition]:
        mine = self._near_and_mine(member, partitions)
        if len(mine) < self._low:
            self._below.append(member)
            return mine
        if len(mine) >= self._high and self._with_high < self._extra:
            self._with_high += 1
            if self._with_high == self._extra:
                self._at_low.clear()
            return self._cut(member, mine, self._high)
        if self._with_high < self._extra:
            self._at_low.append(member)
        return self._cut(member, mine, self._low)

    def _near_and_mine(self, member: str, partitions: list[TopicPartition]) -> list[TopicPartition]:
        near = partitions
        if self._racks.in_use:
            near = self._racks.near_only(member, partitions)
            self._freed.update(
                dict.fromkeys((found for found in partitions if self._racks.is_far(member, found)), member)
            )
        if not self._owned.contested.isdisjoint(near):
            near = [partition for partition in near if partition not in self._owned.contested]
        return sorted(near, key=_number_then_topic)

    def _cut(self, member: str, mine: list[TopicPartition], size: int) -> list[TopicPartition]:
        self._freed.update(dict.fromkeys(mine[size:], member))
        return mine[:size]

    # -- what is free -----------------------------------------------------------------------------------------------

    def _unassigned(self) -> list[TopicPartition]:
        kept = set(chain.from_iterable(self.assigned.values()))
        if len(kept) == self._total:
            return []
        everything = map(self._cluster.partitions, text_order(self._counts))
        if not kept:
            return list(chain.from_iterable(everything))
        return [partition for row in everything for partition in row if partition not in kept]

    def _give_near(self, free: list[TopicPartition]) -> list[TopicPartition]:
        left: list[TopicPartition] = []
        turn = 0
        for partition in free:
            index = self._racks.next_near(partition, self._below, turn)
            if index >= 0:
                turn = self._give_below(partition, index)
            elif not self._give_at_low(partition):
                left.append(partition)
        return left

    def _give_below(self, partition: TopicPartition, index: int) -> int:
        """Gives the partition to the member; returns whose turn is next."""
        member = self._below[index]
        mine = self.assigned[member]
        mine.append(partition)
        if len(mine) >= self._low:
            del self._below[index]
            if len(mine) < self._high and self._with_high < self._extra:
                self._at_low.append(member)
        else:
            index += 1
        return index % len(self._below) if self._below else 0

    def _give_at_low(self, partition: TopicPartition) -> bool:
        index = self._racks.next_near(partition, self._at_low, 0)
        if index < 0:
            return False
        mine = self.assigned[self._at_low[index]]
        mine.append(partition)
        if len(mine) == self._high:
            del self._at_low[index]
            self._with_high += 1
            if self._with_high == self._extra:
                self._at_low.clear()
        return True

    def _give_in_turns(self, free: list[TopicPartition]) -> None:
        start = 0
        while self._below and start < len(free):
            turns = min(self._low - len(self.assigned[member]) for member in self._below)
            width = len(self._below)
            end = start + turns * width
            for index, member in enumerate(self._below):
                self.assigned[member] += free[start + index : end : width]
            self._at_low += [member for member in self._below if len(self.assigned[member]) == self._low]
            self._below = [member for member in self._below if len(self.assigned[member]) < self._low]
            start = end
        for member, partition in zip(self._at_low, free[start:], strict=False):
            self.assigned[member].append(partition)

    def _find_moving(self, before: Mapping[str, int]) -> None:
        contested = self._owned.contested
        if not self._freed and not contested:
            return
        for member, mine in self.assigned.items():
            for partition in mine[before[member] :]:
                if partition in contested or self._freed.get(partition, member) != member:
                    self.moving[partition] = member
