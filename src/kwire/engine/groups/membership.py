"""What a consumer and its front see of its group, whichever protocol it is a member by.

Layer 3, no I/O. The base of `classic.py` and `consumer_group.py`: the events for the user's listener and how they are
handed over, the commit before partitions go, and the fault that the next poll raises. Partitions change hands only
inside a poll (or close, or unsubscribe), since the user may be processing their records: a wait (`rebalances.py`) asks
`has_event`, has the listener run for each `next_event`, outside the core, and says `event_done`.

An event is there whether or not the user has a listener. One whose listener was cut short (Ctrl-C) without `event_done`
comes again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable

from kwire._typing import TYPE_CHECKING, NamedTuple
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.lifecycle import Lifecycle
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import Purpose
from kwire.engine.groups.assigned import AssignedPartitions, Missing
from kwire.engine.groups.group_log import GroupLog, Listed
from kwire.errors import KafkaError, KafkaTimeoutError

if TYPE_CHECKING:
    from kwire.engine.consumer.subscription import Subscription
    from kwire.engine.groups.coordinator import Coordinator
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ConsumerSettings

NO_GENERATION = -1
NO_MEMBER = ""

ASSIGNED = "assigned"
REVOKED = "revoked"
LOST = "lost"

WHY_IT_LEAVES = "the consumer unsubscribed from all topics, or is being closed"

Then = Callable[[float], None]
BeforeRevoke = Callable[[Collection[TopicPartition], float, Then], None]
"""hook(partitions, now, on_done): does what is to be done before these go, then calls on_done(now), at once perhaps."""


class GroupMetadata(NamedTuple):
    """A member as commits and transactions name it; the generation is a member epoch in a KIP-848 group."""

    group_id: str
    generation_id: int = NO_GENERATION
    member_id: str = NO_MEMBER
    group_instance_id: str | None = None


class RebalanceEvent(NamedTuple):
    """A call of the listener: `kind` is ASSIGNED, REVOKED or LOST, the partitions are sorted."""

    kind: str
    partitions: tuple[TopicPartition, ...]


class Membership(Lifecycle, Recoverable):
    """One consumer's part in its group. Subclasses define `subscribe`, `poll`, `rejoin`, `refused` and `leave`.

    counted        what the group counts

    active         from `subscribe` to `leave`: the consumer is a member, or will be after its next poll
    events         events that the front has not taken; `_current` is the one it has
    fault          raised by the next poll
    before_revoke  hooks that run one after the other before partitions go, as long as their offsets can be committed
    warn           takes a text for the log; set by the front
    log            takes what happens to the membership
    has_joined     it has been a member since it subscribed
    joined_as      the member to which the assignment belongs that polls reported last, even if it has left; None before
    lost_by        why it is none any more, in words, until the consumer has joined anew
    rebalances     how many have brought an assignment; `failed_rebalances`: how many have not
    is_outside     the program has assigned partitions to itself, and this consumer is no member
    """

    counted = "generation"

    def __init__(
        self, core: Services, settings: ConsumerSettings, coordinator: Coordinator, subscription: Subscription
    ) -> None:
        assert settings.group_id is not None
        self._core = core
        self._settings = settings
        self._coordinator = self.coordinator = coordinator
        self._subscription = subscription
        self._current: RebalanceEvent | None = None
        self.active = False
        self.has_joined = False
        self.joined_as: GroupMetadata | None = None
        self.lost_by: str | None = None
        self.is_outside = False
        self._told_trouble_at = 0.0
        coordinator.on_trouble = self._on_trouble
        self.rebalances = 0
        self.failed_rebalances = 0
        self.events: deque[RebalanceEvent] = deque()
        self.fault: KafkaError | None = None
        self.before_revoke: list[BeforeRevoke] = []
        self.warn: Callable[[str], object] = _ignore
        self.log = GroupLog(settings.group_id, settings.group_instance_id, self.counted, self.who)
        core.cluster.listeners.append(AssignedPartitions(core, subscription, Missing(settings, self)).on_metadata)

    @property
    def group_id(self) -> str:
        """The group's name."""
        return self._settings.group_id or ""

    def stay_outside(self) -> None:
        """The program assigns partitions to itself."""
        self.is_outside = True

    def _be_member(self, member: GroupMetadata) -> None:
        self.joined_as, self.lost_by = member, None

    def _on_trouble(self, what: str, since: float, now: float) -> None:
        """The coordinator has failed. After default_api_timeout_ms of that, each such time: a member that was one goes
        on trying, and warns; for one that never was, perhaps nothing will ever help: the next poll says so."""
        patience = self._settings.default_api_timeout_ms / 1000
        if not self.active or not self._core.cluster.generation or now - max(since, self._told_trouble_at) < patience:
            return
        self._told_trouble_at = now
        group = f"group {self._settings.group_id!r}"
        if self.has_joined:
            self.warn(
                f"{group}: requests to its coordinator have failed for {now - since:.0f} s, and are retried: {what}"
            )
        else:
            self.fault = self.fault or KafkaTimeoutError(f"{group} was not joined within {patience:g} s: {what}")

    # -- for the subclass to define ---------------------------------------------------------------------------------

    @property
    def metadata(self) -> GroupMetadata:
        """The member as its commits name it."""
        raise NotImplementedError

    def who(self) -> tuple[str, int]:
        """The member id and the generation at present."""
        return self.metadata.member_id, self.metadata.generation_id

    @property
    def is_stable(self) -> bool:
        """Whether no rebalance is on that the member knows of."""
        raise NotImplementedError

    @property
    def is_joining(self) -> bool:
        """Whether the group may be in a generation that the member has yet to hear of."""
        return False

    @property
    def purpose(self) -> int:
        """The connection that its commits go over, and its farewell after them: one on which nothing is held."""
        return Purpose.COORDINATOR

    def subscribe(self, topics: tuple[str, ...] | None, pattern: str | None, now: float) -> None:
        """Wants these topics, or those that match the pattern, from the next poll on."""
        raise NotImplementedError

    def poll(self, now: float) -> None:
        """A poll begins, or still waits."""
        raise NotImplementedError

    def end_poll(self, now: float) -> None:
        """The poll has ended: max_poll_interval_ms starts to count."""

    def rejoin(self, reason: str, now: float) -> None:
        """Has the next poll begin a rebalance."""
        raise NotImplementedError

    def refused(self, code: int, now: float) -> bool:
        """A commit of the present generation was refused with that code; whether the member takes that in."""
        raise NotImplementedError

    def unsubscribe(self, now: float) -> None:
        """Begins to give all partitions back; `leave` is called when no event is left."""
        raise NotImplementedError

    def leave(self, now: float, on_done: Then) -> None:
        """Tells the coordinator; calls on_done(now) when it has answered, or cannot be reached."""
        raise NotImplementedError

    @property
    def can_leave(self) -> bool:
        """After `unsubscribe`: whether all is given back, so that `leave` may be called."""
        return not self.has_event

    # -- events -----------------------------------------------------------------------------------------------------

    @property
    def has_event(self) -> bool:
        """Whether the front should ask for the next event: there is one, or one may begin to be made."""
        return self._current is not None or bool(self.events)

    def next_event(self, now: float) -> RebalanceEvent | None:
        """The event to run the listener for; the same one again until `event_done`. Its time is the user's."""
        if self._current is None and self.events:
            self._current = self.events.popleft()
        if self._current is not None:
            self.end_poll(now)
        return self._current

    def event_done(self, event: RebalanceEvent, error: BaseException | None, now: float) -> None:
        """The listener has returned, or raised that."""
        if event.kind == ASSIGNED:
            self._subscription.release(event.partitions, now)
        self._current = None
        self.on_event_done(event, now)

    def on_event_done(self, event: RebalanceEvent, now: float) -> None:
        """For the subclass: the state machine goes on."""

    def add_event(self, kind: str, partitions: Iterable[TopicPartition]) -> None:
        """Has the listener called."""
        event = RebalanceEvent(kind, tuple(sorted(partitions)))
        self.events.append(event)
        if kind == ASSIGNED:
            self.log.assigned(event.partitions, len(self._subscription.states))
        elif kind == LOST:
            self.log.lost(event.partitions)
        else:
            self.log.info("revoked %s", Listed(event.partitions))

    def take_fault(self) -> KafkaError | None:
        """The error for the poll to raise: once."""
        fault, self.fault = self.fault, None
        return fault

    def forget_events(self) -> None:
        """The member has left: events still queued are of partitions that it does not have any more."""
        self.events.clear()
        self._current = None

    # -- before partitions go ---------------------------------------------------------------------------------------

    def _commit_first(self, partitions: Collection[TopicPartition], now: float, then: Then) -> None:
        """Runs the hooks, one after the other, then calls then(now)."""
        hooks = deque(self.before_revoke)

        def go_on(now: float) -> None:
            if hooks:
                hooks.popleft()(partitions, now, go_on)
            else:
                then(now)

        go_on(now)


def _ignore(text: str) -> None:
    """Where there is no log."""
