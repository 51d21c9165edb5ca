"""A consumer group by KIP-848: the coordinator assigns, and each member moves from epoch to epoch on its own.

    group's state   what it means
    Empty           no members
    Assigning       the group's epoch is above that of its target assignment: the next heartbeat computes it
    Reconciling     a member is not at its target yet
    Stable          every member is

    member's state        next, at a heartbeat of it
    stable                a newer target: keeps what both have. Something to revoke: unrevoked. Else the target's epoch
    unrevoked partitions  still owns them: no change, until its rebalance timeout fences it. Else as stable, again
    unreleased partitions the epoch is the target's, but another member has not let go of all: takes what is free

The epoch grows when subscriptions, or the topics subscribed to, change, and when a member leaves or is fenced. Topics
are looked at with each heartbeat. A pattern is resolved after the answer to the heartbeat that brought it, then as
topics come and go, at most every 10 s. Kafka's log has all of it, so a move of the coordinator only begins the sessions
anew.

Members that use the classic protocol, while a group migrates, are in `classic_members.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from kwire.errors import broker as codes
from kwire.testing.groups.server_assignors import NOTHING, PartitionSet, Subscriber, TopicPartition, assign
from kwire.testing.groups.topic_patterns import compiled

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState
    from kwire.testing.groups.classic_members import ClassicPart
    from kwire.testing.release import Release
    from kwire.testing.state.timers import Timer

LEFT_FOR_A_WHILE = -2
_PATTERNS_EVERY_S = 10.0


class MemberState(Enum):
    """How far a member is on the way to its target."""

    STABLE = "stable"
    UNREVOKED = "unrevoked partitions"
    UNRELEASED = "unreleased partitions"


@dataclass(slots=True, eq=False)
class ConsumerMember:
    """One member. `assigned` is what it may read, `revoking` what it has to let go of first.

    `since` is the epoch from which on it had each partition, as far as it got them here.
    """

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assignor: str | None = None
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: PartitionSet = NOTHING
    revoking: PartitionSet = NOTHING
    since: dict[TopicPartition, int] = field(default_factory=dict)
    classic: ClassicPart | None = None
    timers: dict[str, Timer] = field(default_factory=dict)

    def move_to(self, state: MemberState, epoch: int, assigned: PartitionSet, revoking: PartitionSet = NOTHING) -> None:
        """The result of a reconciliation."""
        self.previous_epoch, self.epoch = self.epoch, epoch
        self.state, self.assigned, self.revoking = state, assigned, revoking
        self.since = {each: self.since.get(each, epoch) for each in assigned}


@dataclass(slots=True, eq=False)
class ConsumerGroup:
    """One group. `epoch` is that of the subscriptions, `target_epoch` that of `targets`."""

    group_id: str
    cluster: ClusterState
    fence_member: Callable[[ConsumerGroup, ConsumerMember], None]
    release: Release
    node: int | None = None
    epoch: int = field(init=False)
    target_epoch: int = 0
    targets: dict[str, PartitionSet] = field(default_factory=dict)
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    empty_since_ms: int = 0
    _topics: dict[str, tuple[UUID, int]] = field(default_factory=dict)
    _matches: dict[str, frozenset[str]] = field(default_factory=dict)
    _names_matched: frozenset[str] = frozenset()
    _match_timer: Timer | None = None
    _assigned_at: float = -math.inf

    def __post_init__(self) -> None:
        self.epoch = self.release.first_group_epoch

    @property
    def type_name(self) -> str:
        return "consumer"

    @property
    def protocol_type(self) -> str:
        return "consumer"

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        at_target = all(self.is_at_target(member) for member in self.members.values())
        return "Stable" if at_target else "Reconciling"

    @property
    def statics(self) -> dict[str, str]:
        """Member ids by instance id."""
        return {m.instance_id: m.member_id for m in self.members.values() if m.instance_id is not None}

    def is_at_target(self, member: ConsumerMember) -> bool:
        return member.state is MemberState.STABLE and member.epoch == self.target_epoch

    # Members.

    def find_member(self, member_id: str, instance_id: str | None) -> ConsumerMember:
        """The member. Raises BrokerError for one that is unknown, or has been replaced."""
        if instance_id is not None:
            owner = self.statics.get(instance_id)
            if owner is None:
                raise codes.UNKNOWN_MEMBER_ID(f"Instance id {instance_id} is unknown.")
            if owner != member_id:
                raise codes.FENCED_INSTANCE_ID(
                    f"Static member {member_id} with instance id {instance_id} was fenced by member {owner}."
                )
        if member_id not in self.members:
            raise codes.UNKNOWN_MEMBER_ID(f"Member {member_id} is not a member of group {self.group_id}.")
        return self.members[member_id]

    def take_over(self, owner: ConsumerMember, member_id: str) -> ConsumerMember:
        """The instance of `owner` has come back as another member, which goes on with its partitions."""
        self._forget(owner)
        new = replace(owner, member_id=member_id, epoch=0, previous_epoch=0, timers={})
        self.members[member_id] = new
        self.targets[member_id] = self.targets.pop(owner.member_id, NOTHING)
        return new

    def fence(self, member: ConsumerMember) -> None:
        """The member is no longer one: it left, its session expired, or it did not revoke in time."""
        self.fence_member(self, member)

    def remove(self, members: Iterable[ConsumerMember]) -> None:
        """Forgets members; the group's epoch grows."""
        for member in members:
            self._forget(member)
            self.targets.pop(member.member_id, None)
        self.epoch += 1
        if not self.members:
            self.empty_since_ms = self.cluster.clock()
            self.target_epoch = self.epoch if self.release.assigns_to_nobody else self.target_epoch
        self._note_topics()

    def _forget(self, member: ConsumerMember) -> None:
        del self.members[member.member_id]
        for timer in member.timers.values():
            timer.cancel()

    # Timers.

    def call_in(self, member: ConsumerMember, what: str, delay_ms: int) -> None:
        """Fences the member unless `what` happens within the time, and is told by `happened`."""
        self.happened(member, what)
        when = self.cluster.now() + delay_ms / 1000
        member.timers[what] = self.cluster.timers.call_at(when, partial(self.fence, member))

    def happened(self, member: ConsumerMember, what: str) -> None:
        timer = member.timers.pop(what, None)
        if timer is not None:
            timer.cancel()

    def extend_session(self, member: ConsumerMember) -> None:
        """The member has shown that it is alive."""
        own = None if member.classic is None else member.classic.session_timeout_ms
        default = self.cluster.groups.configs.number(self.group_id, "consumer.session.timeout.ms")
        self.call_in(member, "session", default if own is None else own)

    # Subscriptions.

    def subscribed(self) -> dict[str, tuple[UUID, int]]:
        """The topics that members want and that exist, with their ids and numbers of partitions."""
        names = {name for member in self.members.values() for name in self.names_of(member)}
        found = {name: self.cluster.topics[name] for name in sorted(names) if name in self.cluster.topics}
        return {name: (topic.topic_id, len(topic.partitions)) for name, topic in found.items()}

    def names_of(self, member: ConsumerMember) -> frozenset[str]:
        """The topics that a member wants, by name and by pattern."""
        return frozenset(member.topics) | self._matches.get(member.pattern or "", frozenset())

    def update_epoch(self, *, changed: bool) -> None:
        """The epoch grows if a subscription has `changed`, or the topics have."""
        if changed or not self.epoch or self.subscribed() != self._topics:
            self.epoch += 1
            self._note_topics()
        elif self._wants_patterns() and frozenset(self.cluster.topics) != self._names_matched:
            self.match_patterns_in(_PATTERNS_EVERY_S)

    def match_patterns_in(self, delay_s: float) -> None:
        """Resolves the members' patterns soon; does nothing if that is going to happen anyway."""
        if self._match_timer is None or not self._match_timer.pending:
            self._match_timer = self.cluster.timers.call_at(self.cluster.now() + delay_s, self._match_patterns)

    def _match_patterns(self) -> None:
        names = frozenset(self.cluster.topics)
        self._names_matched = names
        found = {}
        for pattern in {member.pattern for member in self.members.values() if member.pattern}:
            matches = compiled(pattern).fullmatch
            found[pattern] = frozenset(name for name in names if matches(name))
        if found != self._matches:
            self._matches = found
            self.epoch += 1
            self._note_topics()

    def _wants_patterns(self) -> bool:
        return any(member.pattern for member in self.members.values())

    def _note_topics(self) -> None:
        self._topics = self.subscribed()

    def is_resolved(self, pattern: str) -> bool:
        """Whether it is known which topics the pattern matches."""
        return pattern in self._matches

    # Targets and reconciliation.

    def update_targets(self) -> None:
        """Computes the target assignment if that of the group's epoch is not there, but not too often."""
        properties, now = self.cluster.properties, self.cluster.now()
        too_soon = now < self._assigned_at + properties.group_consumer_assignment_interval_ms / 1000
        if self.epoch <= self.target_epoch or too_soon:
            return
        self._assigned_at = now
        known = {name: self._topics[name] for name in self._topics}
        assignor = self.preferred_assignor
        subscribers = [
            Subscriber(
                member.member_id,
                member.instance_id,
                frozenset(known[name][0] for name in self.names_of(member) if name in known),
                self.targets.get(member.member_id, NOTHING),
            )
            for member in self.members.values()
        ]
        self.targets = assign(assignor, subscribers, dict(known.values()))
        self.target_epoch = self.epoch

    @property
    def preferred_assignor(self) -> str:
        """The assignor that most members name; the broker's first one where nobody does."""
        names = [member.assignor for member in self.members.values() if member.assignor is not None]
        if names:
            return max(dict.fromkeys(names), key=names.count)
        return self.cluster.properties.group_consumer_assignors.split(",")[0].strip()

    def target_of(self, member: ConsumerMember) -> PartitionSet:
        return self.targets.get(member.member_id, NOTHING)

    def reconcile(self, member: ConsumerMember, owned: PartitionSet | None) -> None:
        """Moves a member on towards its target; `owned` is what it says that it has, None where it does not say."""
        if self.is_at_target(member):
            return
        if member.state is MemberState.UNREVOKED:
            if owned is None or owned & member.revoking:
                return
            self._next_assignment(member, member.epoch + 1, owned)
        else:
            self._next_assignment(member, member.epoch, owned)
        if member.classic is not None:
            return
        if member.state is not MemberState.UNREVOKED:
            self.happened(member, "revocation")
        elif "revocation" not in member.timers:
            self.call_in(member, "revocation", member.rebalance_timeout_ms)

    def _next_assignment(self, member: ConsumerMember, epoch: int, owned: PartitionSet | None) -> None:
        target = self.target_of(member)
        kept = member.assigned & target
        to_revoke = member.assigned - kept
        others = self._held_by_others(member)
        free = target - kept - others
        if to_revoke and (owned is None or owned & to_revoke):
            member.move_to(MemberState.UNREVOKED, epoch, kept, to_revoke)
            return
        unreleased = bool((target - kept) & others)
        state = MemberState.UNRELEASED if unreleased else MemberState.STABLE
        member.move_to(state, self.target_epoch, kept | free)

    def _held_by_others(self, member: ConsumerMember) -> set[TopicPartition]:
        return {
            each for other in self.members.values() if other is not member for each in other.assigned | other.revoking
        }

    def waits_for_others(self, member: ConsumerMember) -> bool:
        """Whether something of the member's target is still another's."""
        return bool((self.target_of(member) - member.assigned) & self._held_by_others(member))

    # Offsets.

    def check_commit(
        self,
        member_id: str,
        instance_id: str | None,
        epoch: int,
        *,
        version: int = 9,
        partitions: PartitionSet | None = None,
    ) -> None:
        """Raises BrokerError unless this member may commit offsets now.

        With `partitions` an older epoch is taken, too, if the member had all of them then.
        """
        if epoch < 0 and not self.members:
            return
        member = self.find_member(member_id, None)
        if member.classic is None and version < 9:
            raise codes.UNSUPPORTED_VERSION(
                "OffsetCommit version 9 or above must be used by members using the modern group protocol"
            )
        had_all = partitions is not None and all(member.since.get(each, epoch + 1) <= epoch for each in partitions)
        if not (had_all and epoch < member.epoch):
            self._check_epoch(member, epoch)

    def check_transactional_commit(self, member_id: str, instance_id: str | None, generation: int) -> None:
        """As `check_commit`, told as a classic group does; whoever names no member may commit at any time."""
        if generation < 0 and (not self.members or (not member_id and instance_id is None)):
            return
        member = self.find_member(member_id, None)
        if generation != member.epoch:
            raise codes.ILLEGAL_GENERATION(f"epoch {generation}; that of member {member_id} is {member.epoch}")

    def check_offset_delete(self) -> None:
        """Offsets may go at any time."""

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        """Raises BrokerError for a member that is none or of another epoch; anyone may read without naming one."""
        if member_id is None and epoch < 0:
            return
        self._check_epoch(self.find_member(member_id or "", None), epoch)

    def _check_epoch(self, member: ConsumerMember, epoch: int) -> None:
        if epoch == member.epoch:
            return
        code = codes.STALE_MEMBER_EPOCH if member.classic is None else codes.ILLEGAL_GENERATION
        raise code(f"epoch {epoch}; that of member {member.member_id} is {member.epoch}")

    def subscribes_to(self, topic: str) -> bool:
        """Whether a member reads the topic."""
        return any(topic in self.names_of(member) for member in self.members.values())

    def offsets_kept_from(self, topic: str, committed_ms: int) -> int | None:
        """Since when the retention of a topic's offset is counted; None: it is kept as long as this lasts."""
        if not self.members:
            return self.empty_since_ms
        return None if self.subscribes_to(topic) else committed_ms

    # Moves, and the end.

    def unload(self, code: int) -> None:
        """The coordinator is another node: every session begins anew."""
        for member in self.members.values():
            self.extend_session(member)

    def die(self) -> None:
        """The group was deleted, or has become one of another type."""
        for member in [*self.members.values()]:
            self._forget(member)
        if self._match_timer is not None:
            self._match_timer.cancel()


def by_topic(assignment: PartitionSet) -> Mapping[UUID, list[int]]:
    """Partitions by topic id, in order."""
    found: dict[UUID, list[int]] = {}
    for topic, partition in sorted(assignment):
        found.setdefault(topic, []).append(partition)
    return found
