"""The membership of one consumer in a share group (KIP-932): the coordinator says which partitions to fetch from.

Layer 3, no I/O. An assignment only spreads the members over the partitions: what was acquired stays so until it is
acknowledged or its lock runs out, so nothing has to be given up or agreed upon, and there is no listener.

States, and what may follow each, printed from MOVES:

    state   what it is                          may be followed by
    OUT     no member                           MEMBER
    MEMBER  heartbeats, from epoch 0 on         OUT, FATAL
    FATAL   failed: each poll raises the error  OUT

"""

from __future__ import annotations

from collections.abc import Callable

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.lifecycle import Lifecycle, Moves, State
from kwire.engine.common.recovery import Recoverable
from kwire.engine.groups.epoch_heartbeats import JOIN_EPOCH, LEAVE_EPOCH, EpochHeartbeats, new_member_id
from kwire.engine.groups.group_errors import explained
from kwire.engine.groups.group_log import GroupLog, Listed
from kwire.engine.groups.membership import WHY_IT_LEAVES
from kwire.engine.groups.poll_limit import PollLimit
from kwire.engine.groups.topic_names import TopicNames
from kwire.errors import BrokerError, KafkaError
from kwire.schema.api_keys import SHARE_GROUP_HEARTBEAT
from kwire.schema.error_codes import FENCED_MEMBER_EPOCH, TOPIC_AUTHORIZATION_FAILED, UNKNOWN_MEMBER_ID

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.groups.coordinator import Coordinator
    from kwire.engine.ports import Services
    from kwire.engine.settings.clients import ShareConsumerSettings

OUT = "out of the group"
MEMBER = "member"
FATAL = "failed"

MOVES: Moves = {
    OUT: State("no member", {MEMBER: "a poll, with a subscription"}),
    MEMBER: State(
        "heartbeats, from epoch 0 on",
        {
            OUT: "forgotten by the coordinator (joins again at once), no poll for max_poll_interval_ms, or `leave`",
            FATAL: "an error that waiting does not mend",
        },
    ),
    FATAL: State("failed: each poll raises the error", {OUT: "subscribe"}),
}

_WHAT = "share groups (Kafka 4.1)"
_INSTEAD = "use a Consumer, or enable the feature share.version"


class ShareMembership(Lifecycle, Recoverable):
    """One member. `assigned` has the partitions to fetch from, by topic id and number; `on_change(now)` is called when
    that changes. `fault` is raised by the next poll."""

    MOVES = MOVES

    def __init__(
        self,
        core: Services,
        settings: ShareConsumerSettings,
        coordinator: Coordinator,
        on_change: Callable[[float], None],
    ) -> None:
        self._core = core
        self._settings = settings
        self._coordinator = coordinator
        self._on_change = on_change
        self.log = GroupLog(settings.group_id, None, "epoch", self.who)
        self._heartbeats = EpochHeartbeats(core, coordinator, SHARE_GROUP_HEARTBEAT, self, self.log)
        self._names = TopicNames(core, self._resolve)
        self._poll_limit = PollLimit(core, settings.max_poll_interval_ms / 1000, self._on_poll_overdue)
        self._epoch = JOIN_EPOCH
        self._target: dict[UUID, tuple[int, ...]] = {}
        self._sent: tuple[str, ...] | None = None
        self._has_joined = False
        self.member_id = new_member_id(core.rng)
        self.topics: tuple[str, ...] = ()
        self.state = OUT
        self.assigned: dict[tuple[UUID, int], TopicPartition] = {}
        self.fault: KafkaError | None = None
        self.recover_with(core)

    def subscribe(self, topics: tuple[str, ...], now: float) -> None:
        """Wants records of these topics, from the next poll on."""
        self.topics = topics
        self.fault = None
        if self.state == FATAL:
            self.move(OUT)
        self._heartbeats.hurry(now)

    def poll(self, now: float) -> None:
        """A poll begins, or still waits."""
        self._poll_limit.poll(now)
        if self.topics and self.state == OUT:
            self._join("the consumer has subscribed, and polls", now)

    def end_poll(self, now: float) -> None:
        """The poll has ended."""
        self._poll_limit.end(now)

    def take_fault(self) -> KafkaError | None:
        """The error for the poll to raise: once, or each time where the membership has failed."""
        if self.state == FATAL and isinstance(self.fault, BrokerError):
            return type(self.fault)(self.fault.context)
        fault, self.fault = self.fault, None
        return fault

    def leave(self, now: float, on_done: Callable[[float], None]) -> None:
        """Tells the coordinator; calls on_done(now) when it has answered, or cannot be reached."""
        self._poll_limit.stop()
        self._names.stop()
        was_member = self.state == MEMBER
        self.topics = ()
        if was_member:
            self.log.info("leaves: %s", WHY_IT_LEAVES)
            self.move(OUT)
        self._drop(now)
        if was_member:
            self._heartbeats.leave(self._goodbye, on_done, now)
        else:
            on_done(now)

    @override
    def recover(self, now: float) -> None:
        """Heartbeats that were not begun, or not stopped, are."""
        self._poll_limit.recover(now)
        if self.state != MEMBER:
            self._heartbeats.stop()
        elif not self._heartbeats.is_running:
            self._heartbeats.begin(now)

    @property
    def group_id(self) -> str:
        """The group's name."""
        return self._settings.group_id

    def who(self) -> tuple[str, int]:
        """The member id and epoch at present."""
        return self.member_id, self._epoch

    def _join(self, reason: str, now: float) -> None:
        self._epoch = JOIN_EPOCH
        self.log.info("joins: %s", reason)
        self.move(MEMBER)
        self._has_joined = False
        self._heartbeats.begin(now)

    def _drop(self, now: float) -> None:
        """Fetches nothing more."""
        self._heartbeats.stop()
        self._target = {}
        self._resolve(now)

    def _on_poll_overdue(self, now: float) -> None:
        if self.state == MEMBER:
            self.log.info("leaves: there was no poll for max_poll_interval_ms")
            self.move(OUT)
            self._drop(now)
            self._heartbeats.leave(self._goodbye, _nothing, now)

    # -- heartbeats -------------------------------------------------------------------------------------------------

    def heartbeat(self, version: int) -> protocol.ShareGroupHeartbeatRequest:
        """What the coordinator is to hear now."""
        joins = self._epoch == JOIN_EPOCH
        message = self._message(self._epoch)
        if joins:
            message.rack_id = self._settings.client_rack or None
        if joins or self._sent != self.topics:
            message.subscribed_topic_names = sorted(self.topics)
        self._sent = self.topics
        return message

    def _goodbye(self, version: int) -> protocol.ShareGroupHeartbeatRequest:
        return self._message(LEAVE_EPOCH)

    def _message(self, epoch: int) -> protocol.ShareGroupHeartbeatRequest:
        return protocol.ShareGroupHeartbeatRequest(
            group_id=self._settings.group_id, member_id=self.member_id, member_epoch=epoch
        )

    def forget_sent(self) -> None:
        """The answer may be lost, and an assignment with it, which is told once: the next heartbeat joins anew."""
        self._sent = None
        self._epoch = JOIN_EPOCH

    def on_heartbeat(self, response: protocol.ShareGroupHeartbeatResponse, version: int, now: float) -> None:
        """A heartbeat was answered."""
        if self.state != MEMBER or response.member_epoch < 0:
            return
        self._epoch = response.member_epoch
        if not self._has_joined:
            self._has_joined = True
            self.log.info("joined")
        if response.assignment is not None:
            self._target = {row.topic_id: tuple(row.partitions) for row in response.assignment.topic_partitions}
            self._names.find(self._target, now)
            self._resolve(now)

    def heartbeat_refused(self, error: KafkaError, now: float) -> None:
        """A heartbeat met an error that is not about the way to the coordinator."""
        code = error.code if isinstance(error, BrokerError) else None
        if code in (FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID):
            self.log.info("is out of the group: %s", error)
            self.move(OUT)
            self._drop(now)
            self._join("the coordinator has forgotten it", now)
        elif code == TOPIC_AUTHORIZATION_FAILED:
            self.fault = error
        else:
            self.fault = explained(error, _WHAT, _INSTEAD, self._coordinator.node, self._core)
            self.log.info("is out of the group: %s", self.fault)
            self._poll_limit.stop()
            self.move(FATAL)
            self._drop(now)

    def _resolve(self, now: float) -> None:
        """Takes in what of the assignment has names."""
        found = {
            (topic_id, number): TopicPartition(name, number)
            for topic_id, numbers in self._target.items()
            for number in numbers
            if (name := self._names.name(topic_id)) is not None
        }
        if found != self.assigned:
            self._tell_change(set(self.assigned.values()), set(found.values()))
            self.assigned = found
            self._on_change(now)

    def _tell_change(self, before: set[TopicPartition], after: set[TopicPartition]) -> None:
        if before - after:
            self.log.info("revoked %s", Listed(before - after))
        if after - before:
            self.log.assigned(after - before, len(after))


def _nothing(now: float) -> None:
    """There is nothing to do after the last heartbeat."""
