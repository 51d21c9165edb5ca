"""The membership of one consumer in its group by the new protocol (KIP-848): the coordinator assigns, members follow.

Layer 3, no I/O. The coordinator says by heartbeats what a member is to read, by topic id. The member gives up what it
no longer is to read, then takes what is new, and tells the coordinator by its next heartbeat. What it gives up or takes
changes inside polls only, since between two polls the program may be processing records of any partition.

States, and what may follow each, printed from MOVES:

    state          what it is                                                may be followed by
    OUT            no member: nothing subscribed to, or left                 JOINING
    JOINING        heartbeats of epoch 0                                     DUE, FENCED, STALE, FATAL, COMMITTING, OUT
    STABLE         reads what the coordinator wants                          DUE, FENCED, STALE, FATAL, COMMITTING, OUT
    DUE            another assignment waits for a poll                       RECONCILING, ACKNOWLEDGING, NAMELESS,
                                                                             FENCED, STALE, FATAL, COMMITTING, OUT
    NAMELESS       reads the part of the assignment whose topics have names  DUE, FENCED, STALE, FATAL, COMMITTING, OUT
    RECONCILING    what goes is committed, on_revoked runs, then             ACKNOWLEDGING, DUE, FENCED, STALE, FATAL,
                   on_assigned                                               COMMITTING, OUT
    ACKNOWLEDGING  the next heartbeat says what is read now                  STABLE, DUE, FENCED, STALE, FATAL,
                                                                             COMMITTING, OUT
    FENCED         forgotten by the coordinator: nothing is read, on_lost    JOINING, UNSUBSCRIBED, OUT
                   runs
    STALE          left for want of polls: nothing is read, on_lost runs     JOINING, UNSUBSCRIBED, OUT
    UNSUBSCRIBED   no member any more, and none wanted: on_lost runs         OUT
    COMMITTING     unsubscribed: positions are committed                     LEAVING, OUT, FATAL
    LEAVING        unsubscribed: on_revoked runs                             OUT, FATAL
    FATAL          failed: each poll raises the error                        OUT

    error                                          while heartbeats are sent
    FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID         -> FENCED; after unsubscribe, nothing: it leaves
    TOPIC_AUTHORIZATION_FAILED                     the next poll raises it; the member stays and goes on asking
    UNRELEASED_INSTANCE_ID                         while JOINING: asks again until the session of the member that has
                                                   the instance id is over, as after a crash; polls raise it when that
                                                   takes longer than default_api_timeout_ms
    FENCED_INSTANCE_ID, UNSUPPORTED_ASSIGNOR, INVALID_REGULAR_EXPRESSION, INVALID_REQUEST,
    GROUP_MAX_SIZE_REACHED, GROUP_AUTHORIZATION_FAILED, GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION, unknown ones
                                                   -> FATAL; on_lost runs

A topic whose name is not known yet is held back: the rest of the assignment is read meanwhile. A topic made anew under
the same name has another id: its partitions are revoked and assigned.
Sources: KIP-848, KIP-1082 (members make their ids); Apache's client 4.3 where the KIPs leave it open, but for
UNRELEASED_INSTANCE_ID, after which that does not ask again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from kwire import protocol
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.groups.assigned import Missing
from kwire.engine.groups.consumer_group_states import (
    ACKNOWLEDGING,
    COMMITTING,
    DUE,
    FATAL,
    FENCED,
    JOINING,
    LEAVING,
    MOVES,
    NAMELESS,
    OUT,
    RECONCILING,
    STABLE,
    STALE,
    UNSUBSCRIBED,
)
from kwire.engine.groups.epoch_heartbeats import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_FOR_A_WHILE_EPOCH,
    EpochHeartbeats,
    new_member_id,
)
from kwire.engine.groups.group_errors import explained, overdue_words
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
from kwire.engine.groups.topic_names import TopicNames
from kwire.errors import BrokerError, KafkaError
from kwire.errors.listing import counted
from kwire.errors.wording import Wording
from kwire.schema.api_keys import CONSUMER_GROUP_HEARTBEAT
from kwire.schema.error_codes import (
    FENCED_MEMBER_EPOCH,
    STALE_MEMBER_EPOCH,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
)

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.consumer.subscription import Subscription
    from kwire.engine.groups.coordinator import Coordinator
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ConsumerSettings

_WHAT = "consumer groups of KIP-848 (Kafka 4.0)"
_INSTEAD = Wording("set {group_protocol}='classic'")

_MEMBER_STATES = frozenset({JOINING, STABLE, DUE, NAMELESS, RECONCILING, ACKNOWLEDGING})
_LEAVING_STATES = frozenset({COMMITTING, LEAVING})
_FIRST_VERSION_WITH_OWN_ID = 1
_NEVER = -1


class TargetAssignment(NamedTuple):
    """Partitions by topic id, numbered: one that the coordinator says again after another is another one."""

    number: int
    topics: Mapping[UUID, frozenset[int]]


NOTHING = TargetAssignment(_NEVER, {})

RELEASE_PAUSE_S = 1.0
"""Between two heartbeats that ask whether the instance id is free."""


class Reconciliation(NamedTuple):
    """The way from what is read to `goal`, or to the part of it that has names; `step` is the event waited for."""

    goal: TargetAssignment
    revoked: tuple[TopicPartition, ...]
    added: tuple[TopicPartition, ...]
    wanted: tuple[TopicPartition, ...]
    step: str | None = None


class _Sent(NamedTuple):
    """What was sent to the coordinator: what has not changed since is left out."""

    topics: frozenset[str] | None = None
    pattern: str | None = None
    owned: TargetAssignment | None = None
    rest: bool = False


class ConsumerMembership(Membership):
    """One consumer's membership by KIP-848; `heartbeat`, `forget_sent`, `on_heartbeat` and `heartbeat_refused` are for
    its heartbeats.

    _has_had_pattern the coordinator may know an older one of this member, which has to be taken back
    _target          what the coordinator wants; `_owned` what was, or is being, sent to it of what is read
    _reconciliation  the way between the two, while RECONCILING
    _farewell        numbers the times that it gave all back: what an earlier one has committed may end late
    """

    MOVES = MOVES
    counted = "epoch"

    def __init__(
        self, core: Services, settings: ConsumerSettings, coordinator: Coordinator, subscription: Subscription
    ) -> None:
        super().__init__(core, settings, coordinator, subscription)
        self.state = OUT
        self._heartbeats = EpochHeartbeats(core, coordinator, CONSUMER_GROUP_HEARTBEAT, self, self.log)
        self._names = TopicNames(core, self._on_names, self._on_nameless)
        self._nameless = Missing(settings, self)
        self._member_id = new_member_id(core.rng)
        self._epoch = JOIN_EPOCH
        self._topics: frozenset[str] = frozenset()
        self._pattern: str | None = None
        self._has_had_pattern = False
        self._target = NOTHING
        self._owned = NOTHING
        self._read: dict[UUID, frozenset[int]] = {}
        self._sent = _Sent()
        self._reconciliation: Reconciliation | None = None
        self._unreleased_since: float | None = None
        self._farewell = 0
        self._poll_limit = PollLimit(core, settings.max_poll_interval_ms / 1000, self._on_poll_overdue)
        self.recover_with(core)

    # -- what the base asks -----------------------------------------------------------------------------------------

    @property
    @override
    def metadata(self) -> GroupMetadata:
        assert self._settings.group_id is not None
        if self._epoch <= JOIN_EPOCH:
            return GroupMetadata(self._settings.group_id, group_instance_id=self._settings.group_instance_id)
        return GroupMetadata(self._settings.group_id, self._epoch, self._member_id, self._settings.group_instance_id)

    @override
    def who(self) -> tuple[str, int]:
        return self._member_id, self._epoch

    @property
    @override
    def is_stable(self) -> bool:
        return self.state == STABLE

    @override
    def subscribe(self, topics: tuple[str, ...] | None, pattern: str | None, now: float) -> None:
        self.active, self.is_outside = True, False
        self._topics = frozenset(topics or ())
        self._subscription.subscribe(topics or (), now)
        self._pattern = pattern
        self.fault = None
        if self.state == FATAL:
            self.move(OUT)
        self._heartbeats.hurry(now)

    @override
    def poll(self, now: float) -> None:
        self._poll_limit.poll(now)
        if not self.active:
            return
        if self.state == OUT:
            self._join("the consumer has subscribed", now)
        elif self.state == STALE and not self.events and self._current is None:
            self._join("there are polls again", now)

    @override
    def end_poll(self, now: float) -> None:
        self._poll_limit.end(now)

    @override
    def rejoin(self, reason: str, now: float) -> None:
        """There is nothing to begin: the coordinator assigns. What changed is sent at once."""
        self._heartbeats.hurry(now)

    @override
    def refused(self, code: int, now: float) -> bool:
        """A commit was refused: with a stale epoch, the next heartbeat has the new one; else it says what is wrong."""
        self._heartbeats.hurry(now)
        return code == STALE_MEMBER_EPOCH and self.state in _MEMBER_STATES

    @override
    def take_fault(self) -> KafkaError | None:
        if self.state == FATAL and isinstance(self.fault, BrokerError):
            return type(self.fault)(self.fault.context)
        return super().take_fault()

    # -- leaving ----------------------------------------------------------------------------------------------------

    @override
    def unsubscribe(self, now: float) -> None:
        self._poll_limit.stop()
        if self.state in (FENCED, STALE):
            self.move(UNSUBSCRIBED)
        elif self.state in _MEMBER_STATES:
            self._reconciliation = None
            self.move(COMMITTING)
            self.events.clear()
            self._give_back(now)

    def _give_back(self, now: float) -> None:
        if kept := self._not_told():
            self._farewell += 1
            self._commit_first(kept, now, partial(self._on_committed, self._farewell))
        else:
            self.move(LEAVING)

    def _on_committed(self, farewell: int, now: float) -> None:
        if self.state == COMMITTING and farewell == self._farewell:
            self.move(LEAVING)
            self._tell_all()

    def _tell_all(self) -> None:
        """Has the listener called for all that it does not know to go."""
        if kept := self._not_told():
            self.add_event(REVOKED if self._epoch > JOIN_EPOCH else LOST, kept)

    @property
    @override
    def can_leave(self) -> bool:
        return self.state != COMMITTING and not self.events and self._current is None

    @override
    def leave(self, now: float, on_done: Then) -> None:
        was_member = self.state in _LEAVING_STATES or self.state in _MEMBER_STATES
        if was_member:
            static = self._settings.group_instance_id is not None
            self.log.info("leaves%s: %s", ", and keeps its place as a static member" if static else "", WHY_IT_LEAVES)
        self.active = self.has_joined = False
        self.fault = None
        self.lost_by = "it has left the group"
        self._unreleased_since = None
        self._give_up(now)
        self.forget_events()
        self._subscription.assign((), now)
        self._names.stop()
        if self.state != OUT:
            self.move(OUT)
        if was_member:
            self._say_goodbye(on_done, now)
        else:
            self._heartbeats.stop()
            on_done(now)

    def _say_goodbye(self, on_done: Then, now: float) -> None:
        self._epoch = JOIN_EPOCH
        self._heartbeats.leave(self._goodbye, on_done, now)

    def _goodbye(self, version: int) -> protocol.ConsumerGroupHeartbeatRequest:
        settings = self._settings
        return protocol.ConsumerGroupHeartbeatRequest(
            group_id=settings.group_id or "",
            member_id=self._member_id,
            member_epoch=LEAVE_EPOCH if settings.group_instance_id is None else LEAVE_FOR_A_WHILE_EPOCH,
            instance_id=settings.group_instance_id,
        )

    def _give_up(self, now: float) -> None:
        """Reads nothing more, and owns nothing."""
        self._reconciliation = None
        self._target = self._owned = NOTHING
        self._read = {}
        self._subscription.assign_by_group((), now)

    # -- joining and losing -----------------------------------------------------------------------------------------

    def _join(self, reason: str, now: float) -> None:
        self._epoch = JOIN_EPOCH
        self.log.info("joins: %s", reason)
        self._target = self._owned = NOTHING
        self.move(JOINING)
        self._heartbeats.begin(now)

    def _not_told(self) -> tuple[TopicPartition, ...]:
        """The partitions that are read, without those that on_revoked is running for."""
        current = self._current
        gone = frozenset(current.partitions if current is not None and current.kind != ASSIGNED else ())
        return tuple(tp for tp in self._subscription.states if tp not in gone)

    def _lose_all(self, state: str, reason: str, now: float) -> None:
        """Out of the group: nothing is read any more, and on_lost is to run."""
        self.lost_by = reason
        self.log.info("is out of the group: %s", reason)
        self.move(state)
        self._tell_loss(now)

    def _tell_loss(self, now: float) -> None:
        self._heartbeats.stop()
        self._epoch = JOIN_EPOCH
        self._reconciliation = None
        self.events.clear()
        lost = self._not_told()
        self._subscription.set_revoking(lost, now)
        if lost:
            self.add_event(LOST, lost)
        else:
            self._after_loss(now)

    def _after_loss(self, now: float) -> None:
        self._give_up(now)
        if self.state == FENCED:
            self._join("the coordinator has forgotten it", now)

    def _fail(self, error: KafkaError, now: float) -> None:
        self.fault = error
        self._poll_limit.stop()
        self._lose_all(FATAL, str(error), now)

    def _on_poll_overdue(self, now: float) -> None:
        """No poll for max_poll_interval_ms: leaves, so that others get the partitions; the next poll joins again."""
        if self.state in _MEMBER_STATES:
            self.warn(overdue_words(self._settings))
            self._lose_all(STALE, "there was no poll for max_poll_interval_ms", now)
            self._heartbeats.leave(self._goodbye, _nothing, now)

    # -- heartbeats -------------------------------------------------------------------------------------------------

    def heartbeat(self, version: int) -> protocol.ConsumerGroupHeartbeatRequest:
        """What the coordinator is to hear now: all when joining, later what has changed."""
        settings, sent, joins = self._settings, self._sent, self.state == JOINING
        message = protocol.ConsumerGroupHeartbeatRequest(
            group_id=settings.group_id or "",
            member_id=self._id_for(version),
            member_epoch=self._epoch,
            instance_id=settings.group_instance_id,
        )
        if joins or not sent.rest:
            message.rebalance_timeout_ms = settings.max_poll_interval_ms
            message.server_assignor = settings.group_remote_assignor
        if joins:
            message.rack_id = settings.client_rack or None
        if joins or sent.topics != self._topics:
            message.subscribed_topic_names = sorted(self._topics)
        if self._pattern != sent.pattern or (joins and (self._pattern is not None or self._has_had_pattern)):
            message.subscribed_topic_regex = self._pattern or ""
            self._has_had_pattern = True
        if joins or sent.owned != self._owned:
            message.topic_partitions = _rows(self._owned.topics)
        self._sent = _Sent(self._topics, self._pattern, self._owned, True)
        if self.state == ACKNOWLEDGING:
            is_all = self._owned == self._target
            self.move(STABLE if is_all else DUE)  # names may have come since it was decided what to read
        return message

    def _id_for(self, version: int) -> str:
        """In version 0 the coordinator makes the ids."""
        own = version >= _FIRST_VERSION_WITH_OWN_ID or self._epoch > JOIN_EPOCH
        return self._member_id if own else ""

    def forget_sent(self) -> None:
        """The next heartbeat says everything."""
        self._sent = _Sent()

    def on_heartbeat(self, response: protocol.ConsumerGroupHeartbeatResponse, version: int, now: float) -> None:
        """A heartbeat was answered."""
        if self.state not in _MEMBER_STATES or response.member_epoch < 0:
            return
        if version < _FIRST_VERSION_WITH_OWN_ID and response.member_id:
            self._member_id = response.member_id
        joins, self._epoch = self._epoch == JOIN_EPOCH, response.member_epoch
        self._unreleased_since = None
        self.has_joined = True
        self._be_member(self.metadata)
        if joins:
            self.log.info("joined")
        if response.assignment is not None:
            self._take_target(response.assignment, now)

    def _take_target(self, assignment: protocol.ConsumerGroupHeartbeatResponse.Assignment, now: float) -> None:
        topics = {row.topic_id: frozenset(row.partitions) for row in assignment.topic_partitions}
        if self._target is NOTHING or topics != self._target.topics:
            self._target = TargetAssignment(self._target.number + 1, topics)
            self.rebalances += 1
            self.log.info(
                "rebalances: the coordinator assigns %s", counted(sum(map(len, topics.values())), "partition")
            )
        if self._owned != self._target and self.state not in (DUE, RECONCILING):
            self.move(DUE)
        self._names.find((*topics, *self._read), now)

    def heartbeat_refused(self, error: KafkaError, now: float) -> None:
        """A heartbeat met an error that is not about the way to the coordinator."""
        code = error.code if isinstance(error, BrokerError) else None
        if code in (FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID):
            if self.state in _LEAVING_STATES:
                self._heartbeats.stop()
                self._epoch = JOIN_EPOCH
            else:
                self._lose_all(FENCED, f"the coordinator answered {type(error).__name__}", now)
        elif code == TOPIC_AUTHORIZATION_FAILED:
            self.fault = error
        elif code == UNRELEASED_INSTANCE_ID and self.state == JOINING:
            self._wait_for_release(error, now)
        else:
            self._fail(self._explained(error), now)

    def _wait_for_release(self, error: KafkaError, now: float) -> None:
        """The instance id is taken: by a member that died, whose session will be over, or by one that lives."""
        self._heartbeats.wait(RELEASE_PAUSE_S, now)
        if self._unreleased_since is None:
            self._unreleased_since = now
            self.warn(
                Wording(
                    "group {group!r}: {group_instance_id}={instance!r} is in use by another member, perhaps of an "
                    "earlier process: this consumer joins when that session expires",
                    group=self._settings.group_id,
                    instance=self._settings.group_instance_id,
                )
            )
        elif now - self._unreleased_since >= self._settings.default_api_timeout_ms / 1000:
            self.fault = self._explained(error)

    def _explained(self, error: KafkaError) -> KafkaError:
        return explained(error, _WHAT, _INSTEAD, self._coordinator.node, self._core)

    # -- reconciling ------------------------------------------------------------------------------------------------

    @property
    @override
    def has_event(self) -> bool:
        return super().has_event or self.state == DUE

    @override
    def next_event(self, now: float) -> RebalanceEvent | None:
        if self.state == DUE:
            self._reconcile(now)
        return super().next_event(now)

    def _on_names(self, now: float) -> None:
        if self.state == NAMELESS:
            self.move(DUE)

    def _on_nameless(self, topic_ids: Collection[UUID], now: float) -> None:
        """Topics of these ids may have been assigned, and no broker knows their names."""
        targets = {topic_id: self._target.topics.get(topic_id) for topic_id in sorted(topic_ids)}
        self._nameless.look(
            {
                f"{', '.join(map(str, sorted(numbers)))} of the topic with id {topic_id}": "no broker has that id"
                for topic_id, numbers in targets.items()
                if numbers
            },
            now,
        )

    def _reconcile(self, now: float) -> None:
        """Begins to read what the coordinator wants, as far as the names are known."""
        goal = self._named(self._target)
        if self._owned is not NOTHING and goal.topics == self._owned.topics:
            if self._owned.number != goal.number:
                self._acknowledge(goal, now)
            else:
                self.move(NAMELESS)
            return
        read, wanted = self._partitions(self._read), self._partitions(goal.topics)
        way = Reconciliation(
            goal,
            tuple(sorted(tp for key, tp in read.items() if key not in wanted)),
            tuple(sorted(tp for key, tp in wanted.items() if key not in read)),
            tuple(sorted(wanted.values())),
        )
        self._reconciliation, self.state = way, self.checked(RECONCILING)
        if way.revoked:
            self._subscription.set_revoking(way.revoked, now)
            self._commit_first(way.revoked, now, partial(self._revoke, way))
        else:
            self._assign(way, now)

    def _named(self, target: TargetAssignment) -> TargetAssignment:
        """The part of it that consists of topics whose names are known."""
        known = {topic: numbers for topic, numbers in target.topics.items() if self._names.name(topic) is not None}
        return TargetAssignment(target.number, known)

    def _partitions(self, topics: Mapping[UUID, Iterable[int]]) -> dict[tuple[UUID, int], TopicPartition]:
        return {
            (topic, number): TopicPartition(self._names.name(topic) or "", number)
            for topic, numbers in topics.items()
            for number in numbers
        }

    def _revoke(self, way: Reconciliation, now: float) -> None:
        if self._reconciliation is way:
            self._reconciliation = way._replace(step=REVOKED)
            self.add_event(REVOKED, way.revoked)

    def _assign(self, way: Reconciliation, now: float) -> None:
        self._reconciliation = way._replace(step=ASSIGNED)
        self._subscription.assign_by_group(way.wanted, now)
        self._read = dict(way.goal.topics)
        self.add_event(ASSIGNED, way.added)

    @override
    def on_event_done(self, event: RebalanceEvent, now: float) -> None:
        way = self._reconciliation
        if event.kind == LOST:
            self._after_loss(now)
            if self.state in (JOINING, STALE):
                self.poll(now)
        elif way is None or event.kind != way.step:
            self._drop(event, now)
        elif event.kind == REVOKED:
            self._drop(event, now)
            self._assign(way, now)
        else:
            self._reconciliation = None
            self._acknowledge(way.goal, now)

    def _drop(self, event: RebalanceEvent, now: float) -> None:
        """The listener knows that these go: they go."""
        if event.kind == REVOKED:
            gone = frozenset(event.partitions)
            self._subscription.assign_by_group([tp for tp in self._subscription.states if tp not in gone], now)

    def _acknowledge(self, goal: TargetAssignment, now: float) -> None:
        """Has the next heartbeat say what is read now."""
        self._owned, self.state = goal, self.checked(ACKNOWLEDGING)
        self._heartbeats.hurry(now)

    @override
    def recover(self, now: float) -> None:
        """The step was interrupted on the way to a listener's event, perhaps, or from it: begins that again."""
        self._poll_limit.recover(now)
        if self.state in _MEMBER_STATES and not self._heartbeats.is_running:
            self._heartbeats.begin(now)
        if self._current is not None or self.events:
            return
        if self.state == COMMITTING:
            self._give_back(now)
            return
        if self.state == LEAVING:
            self._tell_all()
            return
        if self.state in (FENCED, STALE, FATAL, UNSUBSCRIBED):
            self._tell_loss(now)
            return
        if self.state in (NAMELESS, RECONCILING):
            self._reconciliation, self.state = None, self.checked(DUE)
        self._subscription.release(self._subscription.states, now)


def _rows(
    topics: Mapping[UUID, Iterable[int]],
) -> list[protocol.ConsumerGroupHeartbeatRequest.TopicPartitions]:
    made = protocol.ConsumerGroupHeartbeatRequest.TopicPartitions
    return [made(topic_id=topic, partitions=sorted(numbers)) for topic, numbers in sorted(topics.items())]


def _nothing(now: float) -> None:
    """There is nothing to do after the last heartbeat."""
