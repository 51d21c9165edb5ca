"""The membership of one consumer in a classic group: its members join, the leader assigns, all follow.

Layer 3, no I/O. A rebalance begins inside a poll, because the user has to give partitions back before the member joins;
JoinGroup and SyncGroup then go on in the background; and what they brought is handed over inside a poll again.

States, and what may follow each, printed from MOVES:

    state      what it is                                                may be followed by
    OUT        nothing is sent; no member, or a failed one               PREPARING, LEAVING, FENCED
    PREPARING  positions are committed, then on_revoked or on_lost runs  JOINING, OUT, LEAVING, FENCED
    JOINING    JoinGroup is on its way, or waits for a retry             SYNCING, JOINING, OUT, LEAVING, FENCED
    SYNCING    the leader assigns; SyncGroup is on its way               JOINED, JOINING, OUT, LEAVING, FENCED
    JOINED     an assignment waits for a poll                            REVOKING, HANDING, STABLE, OUT, LEAVING, FENCED
    REVOKING   what goes is committed, then on_revoked runs; or on_lost  HANDING, STABLE, JOINED, OUT, LEAVING, FENCED
    HANDING    reads what was assigned; on_assigned runs                 STABLE, OUT, LEAVING, FENCED
    STABLE     reads what was assigned                                   PREPARING, OUT, LEAVING, FENCED
    LEAVING    unsubscribed: positions are committed, on_revoked runs    OUT, LEAVING, FENCED
    FENCED     another member has the group_instance_id: each poll       OUT, LEAVING
               raises that

Heartbeats are sent in PREPARING, JOINED, REVOKING, HANDING, STABLE and LEAVING, to a coordinator that knows the member:
a held JoinGroup or SyncGroup says that it lives. max_poll_interval_ms holds in all states with a member but JOINING,
where the coordinator counts: a member that does not poll leaves (a static one only falls silent), its partitions are
lost, and its next poll joins again.

A join is wanted after `subscribe` with other topics, `rejoin`, and where
    a heartbeat, or a commit, says REBALANCE_IN_PROGRESS
    the topics that match the pattern are others than those joined with
    the leader sees other partitions (with a client_rack: racks) than those it has assigned
    partitions were revoked by a cooperative assignment: their next owner waits for this one to join without them
    an assignment came for topics that are not subscribed to any more
Metadata is compared whenever it comes after the join, and with what it has become meanwhile when the join ends.

    error                                         JoinGroup, SyncGroup           Heartbeat, commit
    NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE,   joins again after the backoff  the coordinator is looked up
    lost connections
    COORDINATOR_LOAD_IN_PROGRESS                  joins again after the backoff  sent again
    REBALANCE_IN_PROGRESS                         joins again                    a join is wanted
    MEMBER_ID_REQUIRED, INVALID_SESSION_TIMEOUT   see `joining.py`               -
    UNKNOWN_MEMBER_ID                             forgets its id: what it owns is lost; joins again
    ILLEGAL_GENERATION                            keeps its id: what it owns is lost; joins again
    FENCED_INSTANCE_ID                            -> FENCED; what it owns is lost
    any other                                     the next poll raises it -> OUT; the poll after that tries again

eager         everything is revoked before the member joins
cooperative   what the new assignment lacks is revoked after it came; the rest is read all the while (KIP-429)
lost          instead of revoked, where the coordinator forgot the member, or the group was in a generation without it
              (its JoinGroup was not answered in time): others may read these partitions already
Sources: Apache's client 4.3 (ConsumerCoordinator, AbstractCoordinator); KIP-62, 345, 394, 429, 792, 800, 814, 881.
"""

from __future__ import annotations

from functools import partial

from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.request import Purpose
from kwire.engine.common.retry import is_retriable
from kwire.engine.groups.assignors import assignors_of
from kwire.engine.groups.classic_states import (
    FENCED,
    HANDING,
    JOINED,
    JOINING,
    LEAVING,
    MOVES,
    OUT,
    PREPARING,
    REVOKING,
    STABLE,
    SYNCING,
)
from kwire.engine.groups.group_errors import overdue_words
from kwire.engine.groups.heartbeats import Heartbeats
from kwire.engine.groups.joining import Joining
from kwire.engine.groups.member import Member
from kwire.engine.groups.membership import (
    ASSIGNED,
    LOST,
    REVOKED,
    WHY_IT_LEAVES,
    GroupMetadata,
    Membership,
    RebalanceEvent,
    Then,
)
from kwire.engine.groups.poll_limit import PollLimit
from kwire.engine.groups.topic_watch import TopicWatch
from kwire.errors import AuthError, BrokerError, KafkaError, broker
from kwire.errors.wording import Wording
from kwire.schema.api_keys import LEAVE_GROUP
from kwire.schema.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    MEMBER_ID_REQUIRED,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)

if TYPE_CHECKING:
    from kwire.engine.consumer.subscription import Subscription
    from kwire.engine.groups.coordinator import Coordinator
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ConsumerSettings

TRIES_AT_ONCE = 3
"""How many joins in a row are made again without a wait."""

_AT_ONCE = frozenset({REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION})
_LATER = frozenset({COORDINATOR_LOAD_IN_PROGRESS})
_FORGOTTEN = frozenset({UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION})
_BETWEEN_POLLS = frozenset({OUT, STABLE})
_IN_THE_AIR = frozenset({JOINING, SYNCING})
_WITH_ASSIGNMENT = frozenset({JOINED, REVOKING, HANDING, STABLE})

OURS, FORGOTTEN, MISSED = "ours", "forgotten", "missed"


class GivingBack:
    """Partitions for which on_revoked runs as soon as a commit is done. Each time it is another one."""

    __slots__ = ("going",)

    def __init__(self, going: tuple[TopicPartition, ...]) -> None:
        self.going = going


class ClassicMembership(Membership):
    """One consumer's membership in its group.

    _wanted       why a join is wanted; None where it is not
    _hold         whether the partitions that it owns are its own: OURS, or one of these until on_lost has run
                      FORGOTTEN  the coordinator has forgotten the member
                      MISSED     the group was in a generation without the member: others may have had them
    _assignment   what SyncGroup brought, while JOINED or REVOKING
    _giving_back  in PREPARING, REVOKING or LEAVING: what goes once it is committed; None before and after the commit
    """

    MOVES = MOVES

    def __init__(
        self, core: Services, settings: ConsumerSettings, coordinator: Coordinator, subscription: Subscription
    ) -> None:
        super().__init__(core, settings, coordinator, subscription)
        self.state = OUT
        self._member = Member(settings)
        self._assignors = assignors_of(settings.partition_assignment_strategy)
        self._topics = TopicWatch(core, settings, subscription)
        self._joining = Joining(
            core,
            settings,
            coordinator,
            self._member,
            self._assignors,
            on_joined=self._on_joined,
            on_roles=self._topics.lead,
            on_synced=self._on_synced,
            on_failed=self._on_join_failed,
        )
        self._heartbeats = Heartbeats(core, settings, coordinator, self._member, self._on_heartbeat_refused, self.log)
        self._poll_limit = PollLimit(core, settings.max_poll_interval_ms / 1000, self._on_poll_overdue)
        self._wanted: str | None = None
        self._hold = OURS
        self._giving_back: GivingBack | None = None
        self._assignment: tuple[TopicPartition, ...] = ()
        self._failures = 0
        self._foreign: list[str] = []
        self._retry: Timer | None = None
        core.cluster.listeners.append(self._on_metadata)
        self.recover_with(core)

    # -- what the front sees ----------------------------------------------------------------------------------------

    @property
    @override
    def metadata(self) -> GroupMetadata:
        if self._hold == MISSED:
            return GroupMetadata(self._member.group_id, group_instance_id=self._member.instance_id)
        return self._member.metadata

    @override
    def who(self) -> tuple[str, int]:
        return self._member.member_id, self._member.generation

    @property
    @override
    def is_stable(self) -> bool:
        return self.state == STABLE and self._wanted is None

    @property
    @override
    def is_joining(self) -> bool:
        return self.state == JOINING

    @property
    @override
    def purpose(self) -> int:
        return Purpose.DATA if self._joining.may_be_held else Purpose.COORDINATOR

    @override
    def subscribe(self, topics: tuple[str, ...] | None, pattern: str | None, now: float) -> None:
        if self.state == FENCED:
            self._reset()
        self._topics.subscribe(topics or (), pattern, now)
        self.active, self.is_outside = True, False
        self.fault = None
        if self.state == OUT:
            self._want("the consumer has subscribed")
        elif self._topics.changed:
            self._want("the subscription has changed")

    @override
    def poll(self, now: float) -> None:
        if self.active:
            self._poll_limit.poll(now)

    @override
    def end_poll(self, now: float) -> None:
        self._poll_limit.end(now)

    @override
    def rejoin(self, reason: str, now: float) -> None:
        if self.active and self.state not in (*_IN_THE_AIR, LEAVING):
            self._want(reason)

    @override
    def refused(self, code: int, now: float) -> bool:
        if self.state in _IN_THE_AIR or not self._member.is_known:
            return False
        return self._take_in(broker.error_for(code, f"OffsetCommit of group {self._member.group_id!r}"), now)

    @override
    def take_fault(self) -> KafkaError | None:
        fault = self.fault
        if self.state != FENCED:
            self.fault = None
        elif fault is not None:
            self.fault = broker.error_for(FENCED_INSTANCE_ID, self._fenced_words())
        return fault

    # -- events -----------------------------------------------------------------------------------------------------

    @property
    @override
    def has_event(self) -> bool:
        return super().has_event or self.state == JOINED or self._may_begin

    @property
    def _may_begin(self) -> bool:
        return (
            self._wanted is not None
            and self.state in _BETWEEN_POLLS
            and self.active
            and self.fault is None
            and self._topics.known
        )

    @override
    def next_event(self, now: float) -> RebalanceEvent | None:
        if self._current is None and not self.events:
            if self.state == JOINED:
                self._hand_over(now)
            elif self._may_begin:
                self._prepare(now)
        return super().next_event(now)

    @override
    def on_event_done(self, event: RebalanceEvent, now: float) -> None:
        if event.kind != ASSIGNED:
            gone = set(event.partitions)
            self._subscription.assign_by_group([tp for tp in self._owned if tp not in gone], now)
        if self.events:
            return
        if self.state == PREPARING:
            self._join(now)
        elif self.state == REVOKING:
            self._go_on_handing_over(now)
        elif self.state == HANDING:
            self.move(STABLE)
        elif self.state == FENCED:
            self._tell(LOST, self._owned, now)

    @property
    def can_leave(self) -> bool:
        """Whether nothing that unsubscribing has begun is left to do but to leave."""
        if self.state == LEAVING:
            return self._giving_back is None and not self.has_event
        return self.state in (OUT, FENCED)

    @property
    def _owned(self) -> tuple[TopicPartition, ...]:
        return tuple(self._subscription.states) if self._subscription.by_group else ()

    # -- before the join --------------------------------------------------------------------------------------------

    def _prepare(self, now: float) -> None:
        """Gives back what has to be given back before the member joins."""
        self.move(PREPARING)
        owned = self._owned
        self.log.info("rebalances: %s" if self._member.is_known else "joins: %s", self._wanted)
        if self._hold != OURS or not self._member.is_known:
            self._hold = OURS
            self._tell(LOST, owned, now)
            return
        keeps = self._assignors.cooperative
        going = tuple(tp for tp in owned if not (keeps and self._topics.wants(tp.topic)))
        self._subscription.set_revoking(going, now)
        self._give_back(GivingBack(going), owned, now)

    def _break_off(self, to: str) -> None:
        """Goes into that state, and no further with what is being given back."""
        self._giving_back, self.state = None, self.checked(to)

    def _give_back(self, giving_back: GivingBack, finished: tuple[TopicPartition, ...], now: float) -> None:
        """Commits these, then has the listener called."""
        self._giving_back = giving_back
        self._commit_first(finished, now, partial(self._committed, giving_back))

    def _committed(self, giving_back: GivingBack, now: float) -> None:
        if self._giving_back is not giving_back:
            return
        self._giving_back = None
        if self._hold == OURS:
            self._tell(REVOKED, giving_back.going, now)
        else:
            self._hold = OURS
            self._tell(LOST, self._owned, now)

    def _tell(self, kind: str, partitions: tuple[TopicPartition, ...], now: float) -> None:
        """Has on_revoked run for these; continues at once where there are none."""
        if partitions:
            self._subscription.set_revoking(partitions, now)
            self.add_event(kind, partitions)
        elif self.state == PREPARING:
            self._join(now)
        elif self.state == REVOKING:
            self._go_on_handing_over(now)

    # -- the join ---------------------------------------------------------------------------------------------------

    def _join_again(self, now: float) -> None:
        """The wait has ended, or metadata came. A timer that was interrupted runs twice."""
        if self.state == JOINING and not self._joining.in_progress:
            self._join(now)

    def _join(self, now: float) -> None:
        self._cancel_join()
        self.move(JOINING)
        self._heartbeats.stop()
        if not self._topics.known:
            return  # metadata that brings the topics calls again
        reason, self._wanted = self._wanted or "rejoins", None
        self._topics.join()
        self._joining.begin(self._topics.joined, self._owned, reason, now)

    def _on_joined(self, now: float) -> None:
        self.move(SYNCING)
        if self._hold == FORGOTTEN:
            self._hold = OURS
        if self._goes_on:
            self._be_member(self._member.metadata)
        elif self._owned:
            self._hold = MISSED
            self.lost_by = "it was not part of a generation of the group"
            self._subscription.set_revoking(self._owned, now)

    @property
    def _goes_on(self) -> bool:
        """Whether it owns partitions, and was part of the generation before: nobody else has been given them."""
        before, member = self.joined_as, self._member
        return (
            bool(self._owned)
            and before is not None
            and self.lost_by is None
            and before.member_id == member.member_id
            and before.generation_id + 1 == member.generation
        )

    def _on_synced(self, partitions: tuple[TopicPartition, ...], now: float) -> None:
        self._assignment, self.state = partitions, self.checked(JOINED)
        self.rebalances += 1
        self.has_joined = True
        role = " as its leader" if self._topics.leads else ""
        self.log.info("joined%s; the assignor is %r", role, self._member.protocol)
        self._coordinator.serves()
        self._failures = 0
        self._want_if_topics_changed()
        self._heartbeats.begin(now)
        if self._poll_limit.is_over(now):
            self._on_poll_overdue(now)

    def _on_join_failed(self, error: KafkaError, now: float) -> None:
        self._coordinator.is_lost(error, now)
        self._core.note_trouble(error, now)
        self.failed_rebalances += 1
        code = error.code if isinstance(error, BrokerError) else None
        self.log.failed("joining", error)
        self._want(f"rebalance failed due to {type(error).__name__}")
        if code in _FORGOTTEN:
            self._forget(error, keep_id=code == ILLEGAL_GENERATION)
            self.lost_by = f"the coordinator answered {type(error).__name__}"
            if self._owned:
                self._subscription.set_revoking(self._owned, now)
                self.move(OUT)  # the next poll tells of the loss, then joins
                return
        if code == FENCED_INSTANCE_ID:
            self._fence(error, now)
        elif code in _AT_ONCE and self._failures < TRIES_AT_ONCE:
            self._failures += 1
            self._join(now)
        elif code in _AT_ONCE or code in _LATER or (is_retriable(error) and not isinstance(error, AuthError)):
            self._join_later(now)
        else:
            self._fail(error)

    def _join_later(self, now: float) -> None:
        self.move(JOINING)
        self._failures += 1
        self._retry = self._core.call_at(now + self._core.retry_backoff.wait(self._failures), self._join_again)

    # -- after the join ---------------------------------------------------------------------------------------------

    def _hand_over(self, now: float) -> None:
        """In a poll: what SyncGroup brought becomes what is read."""
        if self._hold == MISSED and self._owned:
            self.move(REVOKING)
            self._tell(LOST, self._owned, now)
            return
        self._hold = OURS
        self._be_member(self._member.metadata)
        wanted = set(self._assignment)
        foreign = sorted({tp.topic for tp in wanted if not self._topics.wants(tp.topic)})
        if foreign:
            self._warn_of_foreign(foreign)
            self.move(STABLE)
            self._want("the assignment is of topics that are not subscribed to any more")
            return
        going = tuple(tp for tp in self._owned if tp not in wanted)
        if not going:
            self._assign(now)
            return
        self.move(REVOKING)
        self._want("partitions were revoked, and wait for their next owner")
        self._subscription.set_revoking(going, now)
        self._give_back(GivingBack(going), going, now)

    def _go_on_handing_over(self, now: float) -> None:
        """What goes is gone."""
        if self._hold == MISSED:
            self._hand_over(now)
        else:
            self._assign(now)

    def _warn_of_foreign(self, topics: list[str]) -> None:
        """The leader has assigned topics that this member has not asked for: it will again, so it is said once."""
        if not self._topics.changed and topics != self._foreign:
            self._foreign = topics
            self.warn(
                f"group {self._member.group_id!r} has assigned partitions of {topics} to this consumer, which is "
                f"subscribed to {list(self._topics.joined)}: it joins again. The leader's assignor "
                f"{self._member.protocol!r} is at fault"
            )

    def _assign(self, now: float) -> None:
        owned = set(self._owned)
        added = [tp for tp in self._assignment if tp not in owned]
        self._subscription.assign_by_group(self._assignment, now)
        self.add_event(ASSIGNED, added)
        self.move(HANDING)

    # -- refusals ---------------------------------------------------------------------------------------------------

    def _on_heartbeat_refused(self, error: KafkaError, now: float) -> None:
        self._take_in(error, now)

    def _take_in(self, error: KafkaError, now: float) -> bool:
        """A heartbeat or a commit of the present generation was refused."""
        code = error.code if isinstance(error, BrokerError) else None
        if code == REBALANCE_IN_PROGRESS:
            if self.state in _WITH_ASSIGNMENT:
                self._want("the group is rebalancing")
        elif code in _FORGOTTEN:
            self._forget(error, keep_id=code == ILLEGAL_GENERATION)
            self._lose(f"the coordinator answered {type(error).__name__}", now)
        elif code == FENCED_INSTANCE_ID:
            self._fence(error, now)
        else:
            self._forget(error, keep_id=True)
            self._lose(f"the coordinator answered {type(error).__name__}", now)
            self.fault = error
        return True

    def _lose(self, reason: str, now: float) -> None:
        """The member is none; the next poll joins."""
        self._lose_all(reason, now)
        if self.state in (*_WITH_ASSIGNMENT, *_IN_THE_AIR):
            self._break_off(OUT)

    def _lose_all(self, reason: str, now: float) -> None:
        """What it owns is lost, and handed out no more."""
        self.lost_by = reason
        self._subscription.set_revoking(self._owned, now)
        self._heartbeats.stop()
        self._joining.cancel()
        self._want(reason)

    def _forget(self, why: object, *, keep_id: bool) -> None:
        if self._member.is_known:
            self.log.info("is out of the group: %s", why)
        self._hold = FORGOTTEN
        if keep_id:
            self._member.forget_generation()
        else:
            self._member.forget()

    def _fence(self, error: KafkaError, now: float) -> None:
        self._forget(error, keep_id=False)
        self._lose_all("fenced", now)
        self._wanted = None
        self._break_off(FENCED)
        self._poll_limit.stop()
        self.fault = broker.error_for(FENCED_INSTANCE_ID, self._fenced_words())
        if self._owned and self._current is None:
            self.events.clear()
            self._tell(LOST, self._owned, now)

    def _fenced_words(self) -> str:
        return Wording(
            "{group_instance_id}={instance!r} of group {group!r} was taken by another member; this consumer is no "
            "longer in the group",
            instance=self._member.instance_id,
            group=self._member.group_id,
        )

    def _fail(self, error: KafkaError) -> None:
        """Rejoining automatically would not help: the next poll raises why, and the one after that tries."""
        self.fault = error
        self.move(OUT)

    def _on_poll_overdue(self, now: float) -> None:
        if self.state == JOINING or not self._member.is_known:
            return
        self.warn(overdue_words(self._settings))
        why = "there was no poll for max_poll_interval_ms"
        self._send_leave(why, now, None)
        self._forget(why, keep_id=False)
        self._lose(why, now)

    # -- leaving ----------------------------------------------------------------------------------------------------

    @override
    def unsubscribe(self, now: float) -> None:
        self.fault = None
        self._wanted = None
        self._poll_limit.stop()
        self._cancel_join()
        self.events.clear()
        self._current = None
        self._break_off(LEAVING)
        self._give_all_back(now)

    def _give_all_back(self, now: float) -> None:
        owned = self._owned
        self._subscription.set_revoking(owned, now)
        if self._hold != OURS or not self._member.is_known:
            self._tell(LOST, owned, now)
            self._hold = OURS
        else:
            self._give_back(GivingBack(owned), owned, now)

    def _cancel_join(self) -> None:
        self._joining.cancel()
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    @override
    def leave(self, now: float, on_done: Then) -> None:
        self._tell_leave()
        self._send_leave(WHY_IT_LEAVES, now, on_done)
        self._reset()
        self.forget_events()
        self._subscription.assign((), now)

    def _tell_leave(self) -> None:
        if self._member.is_known:
            static = self._member.instance_id is not None
            self.log.info("leaves%s: %s", ", and keeps its place as a static member" if static else "", WHY_IT_LEAVES)

    def _reset(self) -> None:
        self._heartbeats.stop()
        self._poll_limit.stop()
        self._cancel_join()
        self._joining.forget_topics()
        self._topics.forget()
        self._member.forget()
        self.lost_by = "it has left the group"
        self._hold = OURS
        self._wanted = None
        self.active = self.has_joined = False
        if self.state != OUT:
            self._break_off(OUT)

    def _send_leave(self, reason: str, now: float, on_done: Then | None) -> None:
        """Leaves, unless the member is static: it keeps its partitions until its session expires.

        A coordinator that holds a JoinGroup or SyncGroup of the member reads nothing more on that connection.
        """
        done = on_done or _nothing
        member = self._member
        if not member.member_id or member.instance_id is not None or self._coordinator.node is None:
            done(now)
            return
        self._coordinator.request(
            LEAVE_GROUP,
            member.leaving(reason),
            lambda response, version, now: done(now),
            lambda error, now: done(now),
            now,
            purpose=self.purpose,
            versions=member.leave_versions,
        )

    # -- metadata ---------------------------------------------------------------------------------------------------

    def _want(self, reason: str) -> None:
        if self._wanted is None:
            self._wanted = reason

    def _on_metadata(self, now: float) -> None:
        self._joining.on_metadata(now)
        if self.state == JOINING and self._retry is None:
            self._join_again(now)
        elif self.state in _WITH_ASSIGNMENT:
            self._want_if_topics_changed()

    def _want_if_topics_changed(self) -> None:
        """The metadata may have changed since the member said what it wants, or since it led."""
        if why := self._topics.why_rejoin():
            self._want(why)

    @override
    def recover(self, now: float) -> None:
        """What was begun is begun again."""
        self._poll_limit.recover(now)
        self._heartbeats.recover(now)
        self._joining.recover(now)
        self._cancel_join()
        if self.state in _IN_THE_AIR:
            self._join_later(now)
            return
        if self._hold == FORGOTTEN and self.state in _WITH_ASSIGNMENT:
            self._lose("a step was interrupted", now)
        if self._member.is_known and self.state not in (OUT, FENCED):
            self._heartbeats.begin(now)
        if self._current is None and not self.events:
            self._begin_again(now)

    def _begin_again(self, now: float) -> None:
        """A step was interrupted on the way to a listener's event, or from it."""
        self._giving_back = None
        if self.state == LEAVING:
            self._give_all_back(now)
            return
        if self.state == PREPARING:
            self.move(OUT)
            self._want("a step was interrupted")
        elif self.state == REVOKING:
            self.move(JOINED)
        elif self.state == HANDING:
            self.move(STABLE)
        if self._hold == OURS:
            self._subscription.release(self._owned, now)


def _nothing(now: float) -> None:
    """Nobody waits."""
