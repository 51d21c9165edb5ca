"""A classic group: its members, their generation, and the rebalance from one to the next.

    state                 next, and why
    Empty                 PreparingRebalance: a member joins. Dead: deleted
    PreparingRebalance    CompletingRebalance: all members (re)joined, or the rebalance timeout passed: those who did
                          not are removed, but static ones. Empty: none is left
    CompletingRebalance   Stable: the leader has handed in the assignment. PreparingRebalance: a member joins, leaves,
                          expires, or has not sent SyncGroup within the rebalance timeout
    Stable                PreparingRebalance: a member joins, leaves, expires, or joins again with other metadata; the
                          leader joins again
    Dead                  no way out

What Kafka writes to its log is kept in `stored`: only that survives a move to another coordinator. It is written when
the group is made, when an assignment is handed in, when the last member has gone, and when a static member is replaced.
Other releases' names: before 1.1 CompletingRebalance is called AwaitingSync.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from kwire.errors import CodecError
from kwire.errors import broker as codes
from kwire.protocol import ConsumerProtocolSubscription, JoinGroupResponse, SyncGroupResponse
from kwire.testing.groups.held import Held
from kwire.testing.groups.java import in_hash_order
from kwire.testing.groups.server_assignors import PartitionSet

if TYPE_CHECKING:
    from kwire.testing.cluster import ClusterState
    from kwire.testing.state.timers import Timer

CONSUMER = "consumer"
NEW_MEMBER_TIMEOUT_MS = 5 * 60 * 1000
_SHORTEST_S = 0.001


class State(Enum):
    """Where the group is, by Kafka's names."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(slots=True, eq=False)
class ClassicMember:
    """A member with its metadata per protocol, its assignment, and the requests of it that wait."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    protocol_type: str
    protocols: dict[str, bytes]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    assignment: bytes = b""
    is_new: bool = False
    joining: Held[JoinGroupResponse] | None = None
    syncing: Held[SyncGroupResponse] | None = None
    session: Timer | None = None

    def vote(self, candidates: set[str]) -> str:
        """The candidate that this member likes best."""
        return next(name for name in self.protocols if name in candidates)

    def stored(self) -> ClassicMember:
        """A copy without what only lives in memory."""
        return replace(self, protocols=dict(self.protocols), is_new=False, joining=None, syncing=None, session=None)


@dataclass(frozen=True, slots=True)
class Stored:
    """The group as its log has it."""

    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: tuple[ClassicMember, ...] = ()


@dataclass(slots=True, eq=False)
class ClassicGroup:
    """One group. Members are in the order in which they came; `node` is its coordinator."""

    group_id: str
    cluster: ClusterState
    state: State = State.EMPTY
    previous: State = State.DEAD
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    node: int | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    pending: dict[str, Timer] = field(default_factory=dict)
    pending_sync: set[str] = field(default_factory=set)
    empty_since_ms: int = 0
    stored: Stored = Stored()
    _new_member_added: bool = False
    _join_timer: Timer | None = None
    _sync_timer: Timer | None = None

    @property
    def type_name(self) -> str:
        return "classic"

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def statics(self) -> dict[str, str]:
        """Member ids by instance id."""
        return {m.instance_id: m.member_id for m in self.members.values() if m.instance_id is not None}

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def all_joined(self) -> bool:
        return not self.pending and all(member.joining is not None for member in self.members.values())

    # Members.

    def supports(self, protocol_type: str, names: Mapping[str, bytes]) -> bool:
        """Whether a member with these protocols could be one of the group. One that rebalances may have lost all."""
        if self.state is State.EMPTY:
            return bool(protocol_type and names)
        shared = self.candidates() if self.members else names
        return protocol_type == self.protocol_type and not names.keys().isdisjoint(shared)

    def candidates(self) -> set[str]:
        """The protocols that every member has."""
        counts = Counter(name for member in self.members.values() for name in member.protocols)
        return {name for name, count in counts.items() if count == len(self.members)}

    def chosen_protocol(self) -> str:
        """The candidate with the most votes; a tie is decided as Java's HashMap does."""
        candidates = self.candidates()
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(in_hash_order(votes), key=lambda name: votes[name])

    def check_member(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """The member. Raises BrokerError for one that is not in the group, or has been replaced."""
        if instance_id is not None:
            owner = self.statics.get(instance_id)
            if owner is None:
                raise codes.UNKNOWN_MEMBER_ID(f"group {self.group_id!r} has no instance {instance_id!r}")
            if owner != member_id:
                raise codes.FENCED_INSTANCE_ID(f"instance {instance_id!r} is member {owner!r} now")
        if member_id not in self.members:
            raise codes.UNKNOWN_MEMBER_ID(f"group {self.group_id!r} has no member {member_id!r}")
        return self.members[member_id]

    def add_pending(self, member_id: str, session_timeout_ms: int) -> None:
        """Expects a join with this id, which was just given out, within the session timeout."""
        when = self.cluster.now() + session_timeout_ms / 1000
        self.pending[member_id] = self.cluster.timers.call_at(when, partial(self._expire_pending, member_id))

    def remove_pending(self, member_id: str) -> None:
        """The id will not be used, or is a member's now."""
        self.pending.pop(member_id).cancel()

    def add(self, member: ClassicMember) -> None:
        """Takes in a member; the first one is the leader."""
        if not self.members:
            self.protocol_type = member.protocol_type
        if member.member_id in self.pending:
            self.remove_pending(member.member_id)
        self.members[member.member_id] = member
        if self.leader is None:
            self.leader = member.member_id

    def join(self, member: ClassicMember) -> None:
        """A new member joins, and a rebalance begins or goes on."""
        member.is_new = True
        if self.state is State.PREPARING and self.previous is State.EMPTY:
            self._new_member_added = True
        self.add(member)
        self.extend_session(member, NEW_MEMBER_TIMEOUT_MS)
        self.rebalance_or_complete()

    def remove(self, member_id: str) -> None:
        """Forgets a member; what waits for it is answered with UNKNOWN_MEMBER_ID (Kafka forgets a SyncGroup)."""
        member = self.members.pop(member_id)
        if member.session is not None:
            member.session.cancel()
        if member.joining is not None:
            member.joining.answer(JoinGroupResponse(error_code=codes.UNKNOWN_MEMBER_ID.code))
        if member.syncing is not None:
            member.syncing.answer(SyncGroupResponse(error_code=codes.UNKNOWN_MEMBER_ID.code))
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_sync.discard(member_id)

    def replace_static(self, old_id: str, new_id: str) -> ClassicMember:
        """The instance has come back as another member; what waits for the old one is fenced."""
        old = self.members[old_id]
        fenced = codes.FENCED_INSTANCE_ID.code
        if old.joining is not None:
            old.joining.answer(JoinGroupResponse(error_code=fenced, member_id=old_id, protocol_name=None))
        if old.syncing is not None:
            old.syncing.answer(SyncGroupResponse(error_code=fenced))
        if old.session is not None:
            old.session.cancel()
        new = replace(old, member_id=new_id, is_new=False, joining=None, syncing=None, session=None)
        self.members = {m.member_id: m for m in (new if m is old else m for m in self.members.values())}
        self.pending_sync.discard(old_id)
        if self.leader == old_id:
            self.leader = new_id
        self.extend_session(new)
        return new

    # Sessions.

    def extend_session(self, member: ClassicMember, timeout_ms: int | None = None) -> None:
        """The member has shown that it is alive."""
        if member.session is not None:
            member.session.cancel()
        timeout = member.session_timeout_ms if timeout_ms is None else timeout_ms
        when = self.cluster.now() + timeout / 1000
        member.session = self.cluster.timers.call_at(when, partial(self._expire, member.member_id))

    def _expire(self, member_id: str) -> None:
        member = self.members[member_id]
        waits = member.joining is not None or member.syncing is not None
        if not waits or member.is_new:
            self.remove(member_id)
            self.rebalance_without()

    def _expire_pending(self, member_id: str) -> None:
        del self.pending[member_id]
        if self.state is State.PREPARING and self.all_joined:
            self._complete_join()

    # Offsets.

    def check_commit(
        self,
        member_id: str,
        instance_id: str | None,
        generation: int,
        *,
        version: int = 9,
        partitions: PartitionSet | None = None,
    ) -> None:
        """Raises BrokerError unless this member may commit offsets now; notes that it is alive."""
        if generation < 0 and self.state is State.EMPTY:
            return
        if generation < 0 and not member_id and instance_id is None:
            raise codes.UNKNOWN_MEMBER_ID(f"group {self.group_id!r} has members; only they may commit")
        member = self.check_generation(member_id, instance_id, generation)
        if self.state is State.COMPLETING:
            raise codes.REBALANCE_IN_PROGRESS(f"group {self.group_id!r} waits for its assignment")
        self.extend_session(member)

    def check_transactional_commit(self, member_id: str, instance_id: str | None, generation: int) -> None:
        """As `check_commit` for offsets of a transaction: whoever names no member may commit at any time."""
        if generation < 0 and self.state is State.EMPTY:
            return
        if generation >= 0 or member_id or instance_id is not None:
            self.check_generation(member_id, instance_id, generation)

    def check_generation(self, member_id: str, instance_id: str | None, generation: int) -> ClassicMember:
        """The member. Raises BrokerError if it is not one, or is of another generation."""
        member = self.check_member(member_id, instance_id)
        if generation != self.generation:
            raise codes.ILLEGAL_GENERATION(f"generation {generation}; it is {self.generation}")
        return member

    def check_offset_delete(self) -> None:
        """Raises BrokerError if members that are no consumers may need the offsets."""
        if self.members and self.protocol_type != CONSUMER:
            raise codes.NON_EMPTY_GROUP(f"group {self.group_id!r} is {self.state_name}")

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Anyone may read what a classic group has committed."""

    # Rebalances.

    def rebalance_without(self) -> None:
        """Members are gone."""
        if self.state in (State.STABLE, State.COMPLETING):
            self.prepare_rebalance()
        elif self.state is State.PREPARING and self.all_joined:
            self._complete_join()

    def rebalance_or_complete(self) -> None:
        """A member has joined: begins a rebalance, or ends the one in progress if this was the last one missing."""
        if self.state is not State.PREPARING:
            self.prepare_rebalance()
        else:
            self.maybe_complete_join()

    def maybe_complete_join(self) -> None:
        """Ends the rebalance in progress once all have joined; a group's first one lasts its time."""
        if self.state is State.PREPARING and self.previous is not State.EMPTY and self.all_joined:
            self._complete_join()

    def prepare_rebalance(self) -> None:
        """Has all members join again."""
        if self.state is State.COMPLETING:
            self._refuse_syncs(codes.REBALANCE_IN_PROGRESS.code)
        self._stop_waiting_for_syncs()
        was_empty = self.state is State.EMPTY
        self._enter(State.PREPARING)
        if was_empty:
            self._new_member_added = False
            delay_ms = self.cluster.properties.group_initial_rebalance_delay_ms
            self._wait_for_first_members(delay_ms, max(self.rebalance_timeout_ms - delay_ms, 0))
        elif self.all_joined:
            self._complete_join()
        else:
            self._join_timer = self._call_in(self.rebalance_timeout_ms, self._complete_join)

    def _wait_for_first_members(self, delay_ms: int, left_ms: int) -> None:
        if delay_ms == 0:
            self._complete_join()
            return
        self._join_timer = self._call_in(delay_ms, partial(self._first_members_joined, delay_ms, left_ms))

    def _first_members_joined(self, delay_ms: int, left_ms: int) -> None:
        if not self._new_member_added or left_ms == 0:
            self._complete_join()
            return
        self._new_member_added = False
        again_ms = min(self.cluster.properties.group_initial_rebalance_delay_ms, left_ms)
        self._wait_for_first_members(again_ms, max(left_ms - delay_ms, 0))

    def _complete_join(self) -> None:
        """Ends the join phase, without the dynamic members who have not joined."""
        _cancel(self._join_timer)
        for member in [*self.members.values()]:
            if member.joining is None and member.instance_id is None:
                self.remove(member.member_id)
        if self.members and not self._elect_joined_leader():
            self._join_timer = self._call_in(self.rebalance_timeout_ms, self._complete_join)
            return
        self.generation += 1
        self.pending_sync.clear()
        if not self.members:
            self.protocol = None
            self._enter(State.EMPTY)
            self.store()
            return
        self.protocol = self.chosen_protocol()
        self._enter(State.COMPLETING)
        for member in self.members.values():
            self.answer_join(member)
            self.extend_session(member)
            member.is_new = False
        self.pending_sync.update(self.members)
        self._sync_timer = self._call_in(self.rebalance_timeout_ms, self._expire_syncs)

    def _elect_joined_leader(self) -> bool:
        """Whether the leader, the former one or another, is among those who have joined."""
        joined = [member.member_id for member in self.members.values() if member.joining is not None]
        if joined and self.leader not in joined:
            self.leader = joined[0]
        return bool(joined)

    def answer_join(self, member: ClassicMember) -> None:
        """Tells a member that waits in JoinGroup about the generation."""
        if member.joining is not None:
            member.joining.answer(self.described_to(member.member_id))
            member.joining = None

    def described_to(self, member_id: str) -> JoinGroupResponse:
        """The generation, as the answer to a member's JoinGroup; the leader sees all members."""
        members = self.members.values() if member_id == self.leader else ()
        name = self.protocol or ""
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol,
            leader=self.leader or "",
            member_id=member_id,
            members=[
                JoinGroupResponse.JoinGroupResponseMember(
                    member_id=each.member_id, group_instance_id=each.instance_id, metadata=each.protocols.get(name, b"")
                )
                for each in members
            ],
        )

    # Assignments.

    def take_assignments(self, assignments: Mapping[str, bytes]) -> None:
        """The leader's SyncGroup: whoever has nothing in it is assigned nothing."""
        for member in self.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        self._enter(State.STABLE)
        self.store()
        for member in self.members.values():
            if member.syncing is not None:
                member.syncing.answer(self.assignment_of(member))
                member.syncing = None
                self.extend_session(member)

    def assignment_of(self, member: ClassicMember) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type=self.protocol_type, protocol_name=self.protocol, assignment=member.assignment
        )

    def synced(self, member_id: str) -> None:
        """This member has sent its SyncGroup."""
        self.pending_sync.discard(member_id)
        if not self.pending_sync:
            self._stop_waiting_for_syncs()

    def _expire_syncs(self) -> None:
        for member_id in self.pending_sync & self.members.keys():
            self.remove(member_id)
        self.prepare_rebalance()

    def _stop_waiting_for_syncs(self) -> None:
        self.pending_sync.clear()
        _cancel(self._sync_timer)

    def _refuse_syncs(self, code: int) -> None:
        for member in self.members.values():
            member.assignment = b""
            if member.syncing is not None:
                member.syncing.answer(SyncGroupResponse(error_code=code))
                member.syncing = None
                self.extend_session(member)

    # Topics, as far as the members say which ones.

    def subscribes_to(self, topic: str) -> bool:
        """Whether a member of a consumer group reads the topic; with metadata that cannot be read, any."""
        if self.protocol_type != CONSUMER:
            return False
        if self.protocol is None:
            return bool(self.members)
        try:
            return any(topic in _topics(member.protocols.get(self.protocol, b"")) for member in self.members.values())
        except CodecError:
            return True

    def offsets_kept_from(self, topic: str, committed_ms: int) -> int | None:
        """Since when the retention of a topic's offset is counted; None: it is kept as long as this lasts."""
        if self.protocol_type is None:
            return committed_ms
        if self.state is State.EMPTY:
            return self.empty_since_ms
        if self.state is State.STABLE and self.protocol_type == CONSUMER and not self.subscribes_to(topic):
            return committed_ms
        return None

    # The log, and the end.

    def store(self) -> None:
        """Writes the group to its log."""
        members = tuple(member.stored() for member in self.members.values())
        self.stored = Stored(self.generation, self.protocol_type, self.protocol, self.leader, members)

    def unload(self, code: int) -> None:
        """The coordinator is another node: what waits is answered with `code`, the log alone remains."""
        self._drop_requests_and_timers(code)
        log = self.stored
        self.generation, self.protocol_type, self.protocol = log.generation, log.protocol_type, log.protocol
        self.leader = log.leader
        self.members = {member.member_id: member.stored() for member in log.members}
        self.previous, self.state = State.DEAD, State.STABLE if self.members else State.EMPTY
        for member in self.members.values():
            self.extend_session(member)

    def die(self, code: int = codes.COORDINATOR_NOT_AVAILABLE.code) -> None:
        """The group was deleted, or has become one of another type; what waits is answered with `code`."""
        self._drop_requests_and_timers(code)
        self.state = State.DEAD

    def _drop_requests_and_timers(self, code: int) -> None:
        for member in self.members.values():
            if member.joining is not None:
                member.joining.answer(JoinGroupResponse(error_code=code, member_id=member.member_id))
            if member.syncing is not None:
                member.syncing.answer(SyncGroupResponse(error_code=code))
            if member.session is not None:
                member.session.cancel()
        for member_id in [*self.pending]:
            self.remove_pending(member_id)
        self._stop_waiting_for_syncs()
        _cancel(self._join_timer)

    def _enter(self, state: State) -> None:
        self.previous, self.state = self.state, state
        if state is State.EMPTY:
            self.empty_since_ms = self.cluster.clock()

    def _call_in(self, delay_ms: int, callback: Callable[[], None]) -> Timer:
        return self.cluster.timers.call_at(self.cluster.now() + max(delay_ms / 1000, _SHORTEST_S), callback)


def _cancel(timer: Timer | None) -> None:
    if timer is not None:
        timer.cancel()


def _topics(metadata: bytes) -> list[str]:
    """The topics of a consumer's metadata, which every version begins with."""
    return list(ConsumerProtocolSubscription.decode(metadata[2:], 0, strict=False).topics)
