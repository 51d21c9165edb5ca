"""What the members say they own, before a sticky assignor keeps as much of it as it may.

Layer 3, no I/O. Members claim partitions with the generation in which they got them. Of two that claim the same one the
later generation has it; of two of one generation neither has. Partitions that do not exist are left out; Java's
assignors leave out topics that do not, and go wrong with a number beyond a topic's last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from kwire._typing import NamedTuple
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.contract import NO_GENERATION, MemberSubscription
from kwire.engine.groups.assignors.members import Members

_topic_of: Callable[[TopicPartition], str] = itemgetter(0)
_number_of: Callable[[TopicPartition], int] = itemgetter(1)


class Claim(NamedTuple):
    """What one member says that it owns; `generation` is None where it has none."""

    partitions: Sequence[TopicPartition]
    generation: int | None


Claims = Callable[[MemberSubscription], Claim]


class Owned:
    """Partitions by member, those claimed twice, and whether all members read the same topics."""

    def __init__(self, counts: Mapping[str, int], members: Members, claim_of: Claims) -> None:
        self._counts = counts
        self._members = members
        self._owners: dict[TopicPartition, str] = {}
        self._held: dict[str, dict[TopicPartition, None]] = {}
        self.contested: set[TopicPartition] = set()
        self.claims = {member: claim_of(subscription) for member, subscription in members.items()}
        self.newest = max(map(generation_of, self.claims.values()), default=NO_GENERATION)
        for member, claim in self.claims.items():
            self._take(member, claim)
        self.by_member = {member: list(held) for member, held in self._held.items()}

    def _take(self, member: str, claim: Claim) -> None:
        mine: dict[TopicPartition, None] = {}
        self._held[member] = mine
        if not claim.partitions:
            return
        existing = self._existing(claim.partitions)
        if self._owners.keys().isdisjoint(existing) and len(frozenset(existing)) == len(existing):
            mine.update(dict.fromkeys(existing))
            self._owners.update(dict.fromkeys(existing, member))
            return
        generation = generation_of(claim)
        for partition in existing:
            self._take_one(member, generation, partition)

    def _take_one(self, member: str, generation: int, partition: TopicPartition) -> None:
        other = self._owners.get(partition)
        if other is None:
            self._held[member][partition] = None
            self._owners[partition] = member
            return
        # The other's generation is the one of its subscription, also where its claim came with another.
        others = self._members[other].generation
        if generation < others:
            return
        self._held[other].pop(partition, None)
        self._owners[partition] = member
        if generation == others:
            self.contested.add(partition)
        else:
            self._held[member][partition] = None

    def _existing(self, partitions: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
        counts = self._counts
        lowest = min(counts.get(topic, 0) for topic in set(map(_topic_of, partitions)))
        numbers = list(map(_number_of, partitions))
        if max(numbers) < lowest and min(numbers) >= 0:
            return partitions
        return [found for found in partitions if 0 <= found.partition < counts.get(found.topic, 0)]


def generation_of(claim: Claim) -> int:
    """The claim's generation, -1 where it has none."""
    return NO_GENERATION if claim.generation is None else claim.generation


def read_the_same(members: Members) -> bool:
    """Whether all members have the same topics.

    As in Java the first member with any topics is what the others are compared with: members without topics that come
    before it do not count.
    """
    first: frozenset[str] = frozenset()
    for subscription in members.values():
        topics = subscription.topics
        if not first:
            first = frozenset(topics)
        elif len(topics) != len(first) or not first.issuperset(topics):
            return False
    return True
