"""The assignors "sticky" and "cooperative-sticky": even shares, and members keep what they have.

Layer 3, no I/O. Java's StickyAssignor and CooperativeStickyAssignor, on one algorithm: `sticky_constrained.py` where
all members read the same topics, else `sticky_general.py`. They differ in how a member says what it has:

    sticky               the assignor's user data: what it was assigned last, and in which generation (v1; v0 has no
                         generation). It rebalances eagerly: in the subscription it owns nothing by then
    cooperative-sticky   the subscription's owned partitions and, since its v2, their generation; before, the user data
                         has the generation, which is still written

and in the result: what goes from one member to another is given to neither by "cooperative-sticky". The first one gives
it up, joins again, and so the second one gets it in the next assignment.

User data that cannot be read counts as nothing, in generation -1. The newest generation of all is kept from one
assignment to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire._typing import override
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assignors.blobs import by_topic, topic_partitions
from kwire.engine.groups.assignors.contract import (
    COOPERATIVE,
    EAGER,
    NO_GENERATION,
    Assignment,
    Assignor,
    ClusterView,
    MemberSubscription,
)
from kwire.engine.groups.assignors.java_order import computed_order
from kwire.engine.groups.assignors.members import Members, topic_counts
from kwire.engine.groups.assignors.sticky_constrained import Constrained
from kwire.engine.groups.assignors.sticky_general import general
from kwire.engine.groups.assignors.sticky_owned import Claim, Owned, read_the_same
from kwire.engine.groups.assignors.sticky_racks import StickyRacks
from kwire.errors import CodecError
from kwire.protocol import group_blobs

_UserData = group_blobs.CooperativeStickyAssignorUserData
Assigned = dict[str, list[TopicPartition]]
Moving = Mapping[TopicPartition, str]


class _StickyBase(Assignor):
    def __init__(self) -> None:
        self._newest = NO_GENERATION

    def _claim(self, subscription: MemberSubscription) -> Claim:
        raise NotImplementedError

    def _share_out(self, cluster: ClusterView, members: Members) -> tuple[Assigned, Moving | None]:
        """The assignment, and what moves between members where that is known already."""
        counts = topic_counts(cluster, members)
        owned = Owned(counts, members, self._claim)
        self._newest = max(self._newest, owned.newest)
        racks = StickyRacks(cluster, counts, members)
        if not read_the_same(members):
            return general(counts, members, owned, racks, self._newest), None
        made = Constrained(cluster, counts, owned, racks)
        made.run()
        return made.assigned, made.moving


class Sticky(_StickyBase):
    """Java's StickyAssignor."""

    name = "sticky"

    def __init__(self) -> None:
        super().__init__()
        self._last: tuple[Sequence[TopicPartition], int] | None = None

    @override
    def user_data(self, topics: Sequence[str]) -> bytes | None:
        """What this member was assigned last, with its generation."""
        if self._last is None:
            return None
        partitions, generation = self._last
        rows = by_topic(partitions)
        row = group_blobs.StickyAssignorUserData.TopicPartition
        found = [row(topic=topic, partitions=rows[topic]) for topic in computed_order([of.topic for of in partitions])]
        return group_blobs.StickyAssignorUserData(previous_assignment=found, generation=generation).encode(1)

    @override
    def on_assignment(self, assignment: Assignment, generation: int) -> None:
        """Remembers it for the next user data."""
        self._last = assignment.partitions, generation

    @override
    def assign(self, cluster: ClusterView, members: Members) -> Assigned:
        """The partitions of each member."""
        return self._share_out(cluster, members)[0]

    @override
    def _claim(self, subscription: MemberSubscription) -> Claim:
        data = subscription.user_data
        if not data:
            return Claim((), None)
        try:
            newer = group_blobs.StickyAssignorUserData.decode(data, 1, strict=False)
        except CodecError:
            return _older_claim(data)
        return Claim(topic_partitions(newer.previous_assignment), newer.generation)


class CooperativeSticky(_StickyBase):
    """Java's CooperativeStickyAssignor."""

    name = "cooperative-sticky"
    protocols = (COOPERATIVE, EAGER)

    def __init__(self) -> None:
        super().__init__()
        self._generation = NO_GENERATION

    @override
    def user_data(self, topics: Sequence[str]) -> bytes | None:
        """The generation of this member's last assignment."""
        return _UserData(generation=self._generation).encode(0)

    @override
    def on_assignment(self, assignment: Assignment, generation: int) -> None:
        """Remembers the generation for the next user data."""
        self._generation = generation

    @override
    def assign(self, cluster: ClusterView, members: Members) -> Assigned:
        """The partitions of each member, without those that another one has to give up first."""
        assigned, moving = self._share_out(cluster, members)
        if moving is None:
            moving = _moving(members, assigned)
        for member in set(moving.values()):
            assigned[member] = [found for found in assigned[member] if moving.get(found) != member]
        return assigned

    @override
    def _claim(self, subscription: MemberSubscription) -> Claim:
        if subscription.generation >= 0:
            return Claim(subscription.owned_partitions, subscription.generation)
        if subscription.user_data is None:
            return Claim(subscription.owned_partitions, None)
        try:
            said = _UserData.decode(subscription.user_data, 0, strict=False).generation
        except CodecError:
            said = NO_GENERATION
        return Claim(subscription.owned_partitions, said)


def _older_claim(data: bytes) -> Claim:
    try:
        older = group_blobs.StickyAssignorUserData.decode(data, 0, strict=False)
    except CodecError:
        return Claim((), NO_GENERATION)
    return Claim(topic_partitions(older.previous_assignment), None)


def _moving(members: Members, assigned: Assigned) -> dict[TopicPartition, str]:
    """What a member gets that another one has owned, by the member that gets it."""
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for member, partitions in assigned.items():
        before = members[member].owned_partitions
        added.update(dict.fromkeys(set(partitions).difference(before), member))
        revoked.update(set(before).difference(partitions))
    return {partition: member for partition, member in added.items() if partition in revoked}
