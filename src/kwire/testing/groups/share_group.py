"""A share group (KIP-932): its members, and which partitions each of them fetches from.

Any number of members may share a partition, so nobody has to revoke anything: a member is at the group's epoch as soon
as it heartbeats. With more partitions than members each has its own; with more members than partitions, each has one,
and those of a partition are as many as of any other. Records and their locks are in `share_partition.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from kwire.errors import broker as codes
from kwire.testing.groups.server_assignors import NOTHING, PartitionSet

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState
    from kwire.testing.state.timers import Timer

ASSIGNOR = "simple"


@dataclass(slots=True, eq=False)
class ShareMember:
    """One member, and what it fetches from."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    epoch: int = 0
    previous_epoch: int = 0
    assigned: PartitionSet = NOTHING
    session: Timer | None = None


@dataclass(slots=True, eq=False)
class ShareGroup:
    """One group. Its epoch grows with subscriptions, topics and members."""

    group_id: str
    cluster: ClusterState
    node: int | None = None
    epoch: int = 0
    target_epoch: int = 0
    targets: dict[str, PartitionSet] = field(default_factory=dict)
    members: dict[str, ShareMember] = field(default_factory=dict)
    _topics: dict[str, tuple[UUID, int]] = field(default_factory=dict)
    _assigned_at: float = -math.inf

    @property
    def type_name(self) -> str:
        return "share"

    @property
    def protocol_type(self) -> str:
        return "share"

    @property
    def state_name(self) -> str:
        return "Stable" if self.members else "Empty"

    @property
    def is_empty(self) -> bool:
        return not self.members

    def find_member(self, member_id: str) -> ShareMember:
        """The member. Raises BrokerError (UNKNOWN_MEMBER_ID)."""
        if member_id not in self.members:
            raise codes.UNKNOWN_MEMBER_ID(f"Member {member_id} is not a member of group {self.group_id}.")
        return self.members[member_id]

    def remove(self, member: ShareMember) -> None:
        """The member has left, or its session has expired."""
        if member.session is not None:
            member.session.cancel()
        self.members.pop(member.member_id, None)
        self.targets.pop(member.member_id, None)
        self.epoch += 1
        self._topics = self._subscribed()
        if not self.members:
            self.target_epoch = self.epoch

    def extend_session(self, member: ShareMember) -> None:
        """The member has shown that it is alive."""
        if member.session is not None:
            member.session.cancel()
        timeout_ms = self.cluster.groups.configs.number(self.group_id, "share.session.timeout.ms")
        member.session = self.cluster.timers.call_at(
            self.cluster.now() + timeout_ms / 1000, partial(self.remove, member)
        )

    def advance(self, member: ShareMember, *, changed: bool) -> None:
        """Brings the group's epoch, its targets and the member up to date."""
        if changed or not self.epoch or self._subscribed() != self._topics:
            self.epoch += 1
            self._topics = self._subscribed()
        properties, now = self.cluster.properties, self.cluster.now()
        too_soon = now < self._assigned_at + properties.group_share_assignment_interval_ms / 1000
        if self.epoch > self.target_epoch and not too_soon:
            self._assigned_at = now
            self._know_partitions()
            self.targets = self._assigned()
            self.target_epoch = self.epoch
        if member.epoch != self.target_epoch:
            member.previous_epoch, member.epoch = member.epoch, self.target_epoch
        member.assigned = self.targets.get(member.member_id, NOTHING)

    def _subscribed(self) -> dict[str, tuple[UUID, int]]:
        names = {name for member in self.members.values() for name in member.topics}
        found = {name: self.cluster.topics[name] for name in sorted(names) if name in self.cluster.topics}
        return {name: (topic.topic_id, len(topic.partitions)) for name, topic in found.items()}

    def _know_partitions(self) -> None:
        """Has the state of each partition that the group reads from now on."""
        for name in self._topics:
            for partition in self.cluster.topics[name].partitions:
                self.cluster.groups.shares.partition(self.group_id, partition)

    def _assigned(self) -> dict[str, PartitionSet]:
        targets: dict[str, set[tuple[UUID, int]]] = {member_id: set() for member_id in self.members}
        for name, (topic_id, count) in self._topics.items():
            readers = sorted(member.member_id for member in self.members.values() if name in member.topics)
            for at in range(max(count, len(readers)) if count else 0):
                targets[readers[at % len(readers)]].add((topic_id, at % count))
        return {member_id: frozenset(target) for member_id, target in targets.items()}

    # What share groups do not have: offsets that are committed.

    def check_commit(
        self,
        member_id: str,
        instance_id: str | None,
        epoch: int,
        *,
        version: int = 9,
        partitions: PartitionSet | None = None,
    ) -> None:
        """Raises BrokerError (GROUP_ID_NOT_FOUND)."""
        raise codes.GROUP_ID_NOT_FOUND(f"Group {self.group_id} is not a consumer group.")

    def check_transactional_commit(self, member_id: str, instance_id: str | None, generation: int) -> None:
        """Raises BrokerError (GROUP_ID_NOT_FOUND)."""
        self.check_commit(member_id, instance_id, generation)

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Nothing is committed, so nothing is found."""

    def check_offset_delete(self) -> None:
        """Raises BrokerError (GROUP_ID_NOT_FOUND)."""
        self.check_commit("", None, -1)

    def subscribes_to(self, topic: str) -> bool:
        """Whether a member reads the topic."""
        return any(topic in member.topics for member in self.members.values())

    def offsets_kept_from(self, topic: str, committed_ms: int) -> int | None:
        return None

    # Moves, and the end.

    def unload(self, code: int) -> None:
        """The coordinator is another node: every session begins anew."""
        for member in self.members.values():
            self.extend_session(member)

    def die(self) -> None:
        """The group was deleted."""
        for member in [*self.members.values()]:
            self.remove(member)
