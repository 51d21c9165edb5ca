"""The sticky assignment where members read different topics.

Layer 3, no I/O. Java's GeneralAssignmentBuilder:

    1  each member keeps what it owns, of topics it still reads and near to it
    2  every free partition, those of topics with the fewest readers first, goes to the reader with the fewest
       partitions, of equals the one with the least id; where racks matter, first to near ones, then to any
    3  partition by partition, while a reader has two fewer than the partition's owner: it goes to an earlier owner that
       has two fewer, else to the reader with the fewest; again, until none moves. First only the free ones, unless
       something had to be taken away in step 1, then all
    4  if that has made it no better, by the differences of all pairs of members, it is undone; but not where nobody had
       kept anything in step 1

Members and topics that have nothing in common with others are left out of 3 and 4. An earlier owner is one that claims
the partition with an older generation than the newest of all. Java asks before each partition of step 3 whether all is
balanced, by going over all partitions; here it is kept by topic: the fewest that a reader and the most that an owner of
its partitions has.

An earlier owner may by now not read the topic, and gets the partition even so, as in Java; its client joins again then.
Where step 3 would never end for that, as Java's does not, all is done again without earlier owners.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping

from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.contract import NO_GENERATION
from kwire.engine.groups.assignors.java_order import text_order
from kwire.engine.groups.assignors.members import Members
from kwire.engine.groups.assignors.sticky_movements import Movements
from kwire.engine.groups.assignors.sticky_owned import Owned, generation_of
from kwire.engine.groups.assignors.sticky_racks import StickyRacks

Held = dict[TopicPartition, None]
"""The partitions of one member, in order."""


def general(
    counts: Mapping[str, int], members: Members, owned: Owned, racks: StickyRacks, newest: int
) -> dict[str, list[TopicPartition]]:
    """The assignment; without regard to earlier owners where that would not end."""
    one = General(counts, members, owned, racks, newest)
    found = one.run()
    if one.is_endless:
        found = General(counts, members, owned, racks, NO_GENERATION).run()
    return found


class General:
    """One run."""

    def __init__(
        self, counts: Mapping[str, int], members: Members, owned: Owned, racks: StickyRacks, newest: int
    ) -> None:
        self._counts = counts
        self._racks = racks
        self._earlier = _earlier_owners(owned, newest)
        topics = {member: [topic for topic in members[member].topics if topic in counts] for member in members}
        self._max_held = {member: self._partitions_of(of) for member, of in topics.items()}
        readers = _readers(counts, topics)
        self._reader_count = {topic: len(of) for topic, of in readers.items()}
        self._readers = {topic: frozenset(of) for topic, of in readers.items()}
        self._held: dict[str, Held] = {}
        self._owner: dict[TopicPartition, str] = {}
        self._takes_away = False
        self.is_endless = False
        for member, partitions in owned.by_member.items():
            self._held[member] = self._kept(member, frozenset(topics[member]), partitions)
        self._by_size = BySize({member: len(of) for member, of in self._held.items()})
        self._moves = Movements()

    def run(self) -> dict[str, list[TopicPartition]]:
        """The assignment."""
        everything = self._in_order()
        free = [partition for partition in everything if partition not in self._owner]
        starts_empty = not self._held[self._by_size.last()]
        self._give(free)
        shared = {topic for topic, readers in self._reader_count.items() if readers > 1}
        held = self._held
        self._held = {member: of for member, of in held.items() if self._takes_part(member, shared)}
        self._by_size.keep(self._held)
        before = {member: dict(of) for member, of in self._held.items()}
        moved = self._balance(shared, free, everything)
        if not starts_empty and moved and _imbalance(self._held) >= _imbalance(before):
            self._held = before
        return {member: list(self._held.get(member, of)) for member, of in held.items()}

    # -- steps 1 and 2 ----------------------------------------------------------------------------------------------

    def _partitions_of(self, topics: Collection[str]) -> int:
        chosen = self._counts if len(topics) == len(self._counts) else topics
        return sum(self._counts[topic] for topic in chosen)

    def _kept(self, member: str, topics: Collection[str], partitions: Iterable[TopicPartition]) -> Held:
        kept: Held = {}
        for partition in partitions:
            if partition.topic not in topics or self._racks.is_far(member, partition):
                self._takes_away = True
            else:
                kept[partition] = None
                self._owner[partition] = member
        return kept

    def _in_order(self) -> list[TopicPartition]:
        topics = sorted(text_order(self._counts), key=self._reader_count.__getitem__)
        return [TopicPartition(topic, number) for topic in topics for number in range(self._counts[topic])]

    def _give(self, free: Iterable[TopicPartition]) -> None:
        left = free
        if self._racks.in_use:
            left = [partition for partition in free if not self._give_one(partition, near=True)]
        for partition in left:
            self._give_one(partition, near=False)

    def _give_one(self, partition: TopicPartition, *, near: bool) -> bool:
        readers = self._readers[partition.topic]
        for member in self._by_size if readers else ():
            if member in readers and not (near and self._racks.is_far(member, partition)):
                self._held[member][partition] = None
                self._owner[partition] = member
                self._by_size.change(member, 1)
                return True
        return False

    # -- steps 3 and 4 ----------------------------------------------------------------------------------------------

    def _takes_part(self, member: str, shared: Collection[str]) -> bool:
        held = self._held[member]
        return len(held) < self._max_held[member] or any(partition.topic in shared for partition in held)

    def _balance(
        self, shared: Collection[str], free: Iterable[TopicPartition], everything: Iterable[TopicPartition]
    ) -> bool:
        self._state = _Balance(
            {topic: self._readers[topic] for topic in shared}, self._held, self._max_held, self._by_size
        )
        if not self._takes_away:
            self._move_while_better([partition for partition in free if partition.topic in shared])
        return self._move_while_better([partition for partition in everything if partition.topic in shared])

    def _move_while_better(self, partitions: list[TopicPartition]) -> bool:
        has_moved, moved = False, bool(partitions)
        states: set[int] = set()
        while moved:
            moved = False
            for partition in partitions:
                if self._state.is_balanced():
                    break
                moved |= self._move_if_better(partition)
            has_moved |= moved
            state = hash(frozenset(self._owner.items()))
            if moved and state in states:
                self.is_endless = True
                break
            states.add(state)
        return has_moved

    def _move_if_better(self, partition: TopicPartition) -> bool:
        has = len(self._held[self._owner[partition]])
        earlier = self._earlier.get(partition)
        if earlier is not None and earlier in self._held and has > len(self._held[earlier]) + 1:
            self._move(partition, earlier)
            return True
        if has > self._state.fewest_of(partition.topic) + 1:
            readers = self._readers[partition.topic]
            self._move(partition, next(member for member in self._by_size if member in readers))
            return True
        return False

    def _move(self, wanted: TopicPartition, target: str) -> None:
        partition = self._moves.instead_of(wanted, self._owner[wanted], target)
        source = self._owner[partition]
        self._moves.move(partition, source, target)
        del self._held[source][partition]
        self._held[target][partition] = None
        self._owner[partition] = target
        self._by_size.change(source, -1)
        self._by_size.change(target, 1)
        self._state.moved(partition.topic, source, target)


class _Balance:
    """Whether a reader of a topic has two partitions fewer than an owner of one of its partitions."""

    def __init__(
        self,
        readers: Mapping[str, Collection[str]],
        held: Mapping[str, Held],
        max_held: Mapping[str, int],
        by_size: BySize,
    ) -> None:
        self._readers = readers
        self._max_held = max_held
        self._by_size = by_size
        self._owners: dict[str, dict[str, int]] = {topic: {} for topic in readers}
        for member, partitions in held.items():
            for topic, _ in partitions:
                if topic in self._owners:
                    self._owners[topic][member] = self._owners[topic].get(member, 0) + 1
        self._fewest: dict[str, int] = {}
        self._known: bool | None = None

    def is_balanced(self) -> bool:
        """Whether no partition can go to a reader that has two fewer than its owner."""
        if self._known is None:
            low, high = self._by_size.range()
            self._known = low >= high - 1 or not any(map(self._is_uneven, self._readers))
        return self._known

    def fewest_of(self, topic: str) -> int:
        """How many partitions the reader with the fewest has."""
        found = self._fewest.get(topic)
        if found is None:
            found = self._fewest[topic] = min(map(self._by_size.sizes.__getitem__, self._readers[topic]))
        return found

    def moved(self, topic: str, source: str, target: str) -> None:
        """A partition of the topic has gone from one member to another."""
        owners = self._owners[topic]
        owners[source] -= 1
        if not owners[source]:
            del owners[source]
        owners[target] = owners.get(target, 0) + 1
        self._fewest.clear()
        self._known = None

    def _is_uneven(self, topic: str) -> bool:
        sizes = self._by_size.sizes
        wanting = [sizes[reader] for reader in self._readers[topic] if sizes[reader] != self._max_held[reader]]
        return bool(wanting) and max(map(sizes.__getitem__, self._owners[topic]), default=0) > min(wanting) + 1


class BySize:
    """Members by how many partitions they have, of equals by id."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = sizes
        self._names = text_order(sizes)
        self._ranks = {member: rank for rank, member in enumerate(self._names)}
        self._keys = sorted(map(self._key, sizes))

    def __iter__(self) -> Iterator[str]:
        """The members, those with the fewest first."""
        width = len(self._names)
        return (self._names[key % width] for key in self._keys)

    def last(self) -> str:
        """The member with the most."""
        return self._names[self._keys[-1] % len(self._names)]

    def range(self) -> tuple[int, int]:
        """The fewest and the most that a member has."""
        return self._keys[0] // len(self._names), self._keys[-1] // len(self._names)

    def change(self, member: str, by: int) -> None:
        """The member has so many more."""
        del self._keys[bisect_left(self._keys, self._key(member))]
        self.sizes[member] += by
        insort(self._keys, self._key(member))

    def keep(self, members: Collection[str]) -> None:
        """Drops all others."""
        self._keys = sorted(map(self._key, members))

    def _key(self, member: str) -> int:
        return self.sizes[member] * len(self._names) + self._ranks[member]


def _readers(counts: Iterable[str], topics: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    readers: dict[str, list[str]] = {topic: [] for topic in counts}
    for member, of in topics.items():
        for topic in of:
            readers[topic].append(member)
    return readers


def _earlier_owners(owned: Owned, newest: int) -> dict[TopicPartition, str]:
    """Who claims a partition with an older generation than the newest; of several the one with the latest."""
    found: dict[TopicPartition, tuple[str, int]] = {}
    for member, claim in owned.claims.items():
        generation = generation_of(claim)
        if generation < newest:
            for partition in claim.partitions:
                other = found.get(partition)
                if other is None or generation > other[1]:
                    found[partition] = (member, generation)
    return {partition: member for partition, (member, _) in found.items()}


def _imbalance(held: Mapping[str, Held]) -> int:
    """The differences of all pairs of members, summed up."""
    sizes = sorted(map(len, held.values()))
    return sum(size * (2 * index - len(sizes) + 1) for index, size in enumerate(sizes))
