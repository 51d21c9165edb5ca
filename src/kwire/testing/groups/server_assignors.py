"""The assignors of the coordinator: who gets which partitions, of members with their subscriptions.

uniform   as many partitions for each as possible, and each keeps what it has as far as that allows
range     of each topic a range for each member, as even as possible; members by instance id, then by member id
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from uuid import UUID

TopicPartition = tuple[UUID, int]
PartitionSet = frozenset[TopicPartition]
NOTHING: PartitionSet = frozenset()


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member as an assignor sees it: `topics` are those that exist, `owned` is its target so far."""

    member_id: str
    instance_id: str | None
    topics: frozenset[UUID]
    owned: PartitionSet


def assign(name: str, members: Sequence[Subscriber], partitions: Mapping[UUID, int]) -> dict[str, PartitionSet]:
    """The target assignment by member id, of topics with their numbers of partitions."""
    if not members:
        return {}
    return _range(members, partitions) if name == "range" else _uniform(members, partitions)


def _range(members: Sequence[Subscriber], partitions: Mapping[UUID, int]) -> dict[str, PartitionSet]:
    ordered = sorted(members, key=lambda m: (m.instance_id is None, m.instance_id or "", m.member_id))
    targets: dict[str, set[TopicPartition]] = {member.member_id: set() for member in members}
    for topic, count in partitions.items():
        readers = [member for member in ordered if topic in member.topics]
        start = 0
        for at, member in enumerate(readers):
            end = start + count // len(readers) + (at < count % len(readers))
            targets[member.member_id].update((topic, index) for index in range(start, end))
            start = end
    return {member_id: frozenset(target) for member_id, target in targets.items()}


def _uniform(members: Sequence[Subscriber], partitions: Mapping[UUID, int]) -> dict[str, PartitionSet]:
    everything = [(topic, index) for topic, count in partitions.items() for index in range(count)]
    if all(member.topics == members[0].topics for member in members):
        return _evenly(members, [each for each in everything if each[0] in members[0].topics])
    return _balanced(members, everything)


def _evenly(members: Sequence[Subscriber], wanted: list[TopicPartition]) -> dict[str, PartitionSet]:
    """Members with one subscription: the quota of each, of what it has first."""
    fewest, extra = divmod(len(wanted), len(members))
    known = set(wanted)
    quotas, targets, taken = [], [], set[TopicPartition]()
    for at, member in enumerate(members):
        quotas.append(fewest + (at < extra))
        kept = sorted(member.owned & known - taken)[: quotas[-1]]
        taken.update(kept)
        targets.append(kept)
    free = iter([each for each in wanted if each not in taken])
    for quota, target in zip(quotas, targets, strict=True):
        target.extend(each for _, each in zip(range(quota - len(target)), free, strict=False))
    return {member.member_id: frozenset(target) for member, target in zip(members, targets, strict=True)}


def _balanced(members: Sequence[Subscriber], everything: list[TopicPartition]) -> dict[str, PartitionSet]:
    """Members with different subscriptions: each partition to the reader that has fewest, then moves that even out."""
    targets = _kept(members, set(everything))
    owners = {each: member_id for member_id, target in targets.items() for each in target}
    readers = {topic: [m.member_id for m in members if topic in m.topics] for topic in {each[0] for each in everything}}
    for each in everything:
        if each not in owners and readers[each[0]]:
            owners[each] = min(readers[each[0]], key=lambda member_id: len(targets[member_id]))
            targets[owners[each]].add(each)
    while _even_out(targets, owners, readers):
        pass
    return {member_id: frozenset(target) for member_id, target in targets.items()}


def _kept(members: Sequence[Subscriber], known: Set[TopicPartition]) -> dict[str, set[TopicPartition]]:
    targets, taken = {}, set[TopicPartition]()
    for member in members:
        kept = {each for each in member.owned if each in known and each[0] in member.topics} - taken
        taken |= kept
        targets[member.member_id] = kept
    return targets


def _even_out(
    targets: dict[str, set[TopicPartition]], owners: dict[TopicPartition, str], readers: Mapping[UUID, list[str]]
) -> bool:
    """Moves what makes two members more alike; tells whether there was anything."""
    moved = False
    for each, owner in owners.items():
        other = min(readers[each[0]], key=lambda member_id: len(targets[member_id]))
        if len(targets[owner]) > len(targets[other]) + 1:
            targets[owner].discard(each)
            targets[other].add(each)
            owners[each] = other
            moved = True
    return moved
