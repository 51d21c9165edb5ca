"""Positions that have to be looked up or checked: those committed, resets, seeks by time, and truncated logs.

Layer 3, no I/O. Each leader is asked by itself, and each partition moves on as its own row comes: a leader that hangs
holds up its own partitions only. Partitions without a position for default_api_timeout_ms are reported once for each
broker, and looked up further.

    committed  OffsetFetch, for a partition that is new to a consumer with a group; where nothing is committed, reset
    elections  where another broker leads a partition by now, it is asked although the last one has not answered
    reset      ListOffsets, for a partition without a position and with a time to look it up by. Where an offset is out
               of range, only after all that was fetched before it is with the caller
    validate   OffsetForLeaderEpoch v3 and later, when the metadata has a newer leader epoch than the position was last
               checked for: a log that ends before the position was truncated (KIP-320). With an auto_offset_reset the
               position goes back to where the logs part, with a warning; with "none" it is a LogTruncationError
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from kwire import errors, protocol
from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.offsets import (
    EARLIEST,
    LATEST,
    NO_OFFSET,
    isolation_code,
    list_offsets_request,
    offset_in,
    too_old_for,
    versions_for,
)
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.retry import is_retriable
from kwire.engine.consumer.partition_state import NO_EPOCH, PartitionState
from kwire.engine.consumer.subscription import Subscription
from kwire.engine.metadata.metadata import NO_LEADER
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import (
    AuthError,
    ConnectError,
    KafkaError,
    KafkaTimeoutError,
    LogTruncationError,
    NoOffsetForPartitionError,
    UnknownTopicError,
)
from kwire.errors.listing import first_of
from kwire.schema.api_keys import LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH

if TYPE_CHECKING:
    from kwire.engine.groups.committed import Found, OffsetFetches
    from kwire.engine.ports import Services

_VALIDATING_VERSIONS = range(3, 5)
"""Below, only brokers may ask (ClusterAction)."""

EpochPartition = protocol.OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition

Asked = dict[TopicPartition, tuple[PartitionState, int]]
"""The partitions of one request, each with its state and the revision of it that was asked for."""


class PositionLookup(Recoverable):
    """Looks up and checks the positions of one subscription. `on_change(now)`: some partition may be fetched by now."""

    def __init__(
        self,
        core: Services,
        settings: ConsumerSettings,
        subscription: Subscription,
        on_change: Callable[[float], None],
        on_warning: Callable[[str], None],
    ) -> None:
        self._core = core
        self._subscription = subscription
        self._on_change = on_change
        self._on_warning = on_warning
        self._isolation = isolation_code(settings.isolation_level)
        self._max_wait = settings.default_api_timeout_ms / 1000
        self._overdue_at = float("inf")
        self._wake: Timer | None = None
        self._at: dict[int, list[Asked]] = defaultdict(list)
        self._overdue: list[tuple[KafkaError, list[PartitionState]]] = []
        self.committed: OffsetFetches | None = None

    def pump(self, now: float) -> bool:
        """Asks for what is missing; False while some partition has no leader yet."""
        settled = True
        by_leader: dict[int, list[PartitionState]] = defaultdict(list)
        to_check: dict[int, list[PartitionState]] = defaultdict(list)
        new: list[PartitionState] = []
        soonest = float("inf")
        for state in self._subscription.states.values():
            if now < state.retry_at < soonest:
                soonest = state.retry_at
            if state.awaits_committed:
                self._begin_look_up(state, now)
                if not state.in_flight and state.fault is None and now >= state.retry_at:
                    new.append(state)
            elif state.fetch_at >= 0:
                if self._must_be_checked(state):
                    leader = self.leader(state, now)
                    if leader is not None and not state.in_flight and now >= state.retry_at:
                        to_check[leader].append(state)
            elif state.wants_lookup:
                self._begin_look_up(state, now)
                leader = self.leader(state, now)
                if leader is None:
                    settled = False
                elif not state.in_flight and now >= state.retry_at:
                    by_leader[leader].append(state)
            elif state.has_no_rule and state.fault is None:
                group_id = self.committed.group_id if self.committed is not None else None
                state.fault = NoOffsetForPartitionError(state.tp.topic, state.tp.partition, group_id)
        self._wake_at(soonest)
        if new:
            self._ask_committed(new, now)
        for leader, states in by_leader.items():
            self._ask_offsets(leader, states, now)
        for leader, states in to_check.items():
            self._ask_epochs(leader, states, now)
        return settled

    def _begin_look_up(self, state: PartitionState, now: float) -> None:
        if state.lookup_since is None:
            state.lookup_since = now
            self._watch(now + self._max_wait)

    def leader(self, state: PartitionState, now: float) -> int | None:
        """The partition's leader; without one, asks for metadata, or sets the fault where none will come."""
        cluster = self._core.cluster
        tp = state.tp
        leader = cluster.leader(tp.topic, tp.partition)
        if leader >= 0:
            return leader
        error = cluster.definite_error(tp.topic, tp.partition, newer_than=state.generation)
        if error is None:
            cluster.require_leader(now)
        elif now >= state.retry_at and state.fault is None:
            if not (self._subscription.by_group and isinstance(error, UnknownTopicError)):
                state.fault = error  # in a group `AssignedPartitions` tells: its leader may know of what is news here
            self.back_off([state], now)
            cluster.refresh(now)
        return None

    def back_off(self, states: Sequence[PartitionState], now: float) -> None:
        """Leaves the partitions alone for a while that grows with each failure in a row."""
        if not states:
            return
        for state in states:
            state.failures += 1
        retry_at = now + self._core.retry_backoff.wait(max(state.failures for state in states))
        for state in states:
            state.retry_at = retry_at
        self._wake_at(retry_at)

    def _wake_at(self, moment: float) -> None:
        """Looks at all partitions then, or earlier: one timer for however many wait."""
        if moment == float("inf") or (self._wake is not None and self._wake.active and self._wake.when <= moment):
            return
        if self._wake is not None:
            self._wake.cancel()
        self._wake = self._core.call_at(moment, self._on_change)

    def truncate(self, state: PartitionState, end: int | None, epoch: int, now: float) -> None:
        """The leader's log of the partition parts from ours at `end`; None where the leader does not know.

        What waits to be handed out is dropped. A LogTruncationError comes again until the user seeks: the position
        stays unchecked.
        """
        position = state.next_to_hand_out
        if end is None and state.chunks:
            self.back_off([state], now)  # what was fetched comes first
        elif end is not None and position <= end:
            state.go_on_at(position, state.offset_epoch)  # nothing that was handed out is gone
        elif not self._subscription.offset_reset.exists:
            state.go_on_at(position, state.offset_epoch)
            state.fault = LogTruncationError(state.tp.topic, state.tp.partition, position, end)
        else:
            where = f"offset {end}" if end is not None else "auto_offset_reset"
            self._on_warning(
                f"{state} was truncated below the position {position} by an unclean leader election: reading continues "
                f"at {where}; records read after that may be delivered again, or others in their place"
            )
            if end is None:
                self.reset(state, now)
            else:
                state.go_on_at(end, epoch)

    def reset(self, state: PartitionState, now: float) -> bool:
        """Has the position looked up by auto_offset_reset, once all that was fetched before is with the caller; whether
        there is such a rule."""
        time = self._subscription.offset_reset.time()
        if time is None:
            return False
        if state.chunks:
            self.back_off([state], now)
        else:
            state.look_up(time)
        return True

    # -- committed offsets ------------------------------------------------------------------------------------------

    def _ask_committed(self, states: list[PartitionState], now: float) -> None:
        assert self.committed is not None
        asked = _asked(states)
        self.committed.ask(list(asked), partial(self._on_committed, asked), partial(self._on_error, asked), now)

    def _on_committed(self, asked: Asked, found: Found, now: float) -> None:
        again: list[PartitionState] = []
        for tp, row in found.items():
            state = self._taken(asked, tp)
            if state is None:
                continue
            if row is None:
                state.awaits_committed = False
                state.failures = 0
            elif not isinstance(row, KafkaError):
                state.seek(row.offset, NO_EPOCH if row.leader_epoch is None else row.leader_epoch)
                self._subscription.moved.discard(state)
            else:
                again.append(state)
                if not is_retriable(row):
                    state.fault = row
        self.back_off(again, now)
        self._on_change(now)

    # -- offsets by time --------------------------------------------------------------------------------------------

    def _ask_offsets(self, leader: int, states: list[PartitionState], now: float) -> None:
        asked = self._asked_at(leader, states)
        times = {state.tp: LATEST if state.reset_to is None else state.reset_to for state in states}
        self._core.request(
            leader,
            LIST_OFFSETS,
            partial(list_offsets_request, self._core, times, self._isolation),
            partial(self._on_offsets, asked),
            partial(self._on_error, asked),
            now,
            versions=versions_for(self._isolation),
        )

    def _on_offsets(self, asked: Asked, response: protocol.ListOffsetsResponse, version: int, now: float) -> None:
        again: list[PartitionState] = []
        for topic in response.topics:
            for row in topic.partitions:
                state = self._taken(asked, TopicPartition(topic.name, row.partition_index))
                if state is None:
                    continue
                if row.error_code:
                    again.append(self._refused(state, row.error_code, "ListOffsets"))
                elif (offset := offset_in(row, version)) != NO_OFFSET:
                    state.go_on_at(offset, row.leader_epoch)
                elif state.reset_to in (EARLIEST, LATEST):
                    again.append(state)
                else:
                    state.look_up(LATEST)  # a time after the last record
        self._end(asked, again, now)

    # -- leader epochs ----------------------------------------------------------------------------------------------

    def _must_be_checked(self, state: PartitionState) -> bool:
        """Whether the leader changed since the position was known to be right; as long, nothing is fetched."""
        if state.fetch_at < 0 or state.fault is not None:
            return False
        epoch = self._core.cluster.leader_epoch(*state.tp)
        if epoch <= state.checked_epoch:
            return False
        if state.offset_epoch in (NO_EPOCH, epoch):
            if not state.in_flight:  # else records of an earlier epoch may be on their way
                state.checked_epoch = epoch
            return False
        return True

    def is_checked(self, state: PartitionState, epoch: int) -> bool:
        """Whether the position may be fetched from, of a leader of that epoch."""
        return epoch <= state.checked_epoch or not self._must_be_checked(state)

    def _ask_epochs(self, leader: int, states: list[PartitionState], now: float) -> None:
        asked = self._asked_at(leader, states)
        cluster = self._core.cluster
        made = protocol.OffsetForLeaderEpochRequest
        topics: dict[str, list[EpochPartition]] = defaultdict(list)
        epochs = {state.tp: cluster.leader_epoch(state.tp.topic, state.tp.partition) for state in states}
        for state in states:
            row = EpochPartition(
                partition=state.tp.partition,
                current_leader_epoch=epochs[state.tp],
                leader_epoch=state.offset_epoch,
            )
            topics[state.tp.topic].append(row)
        self._core.request(
            leader,
            OFFSET_FOR_LEADER_EPOCH,
            made(
                replica_id=-1,
                topics=[made.OffsetForLeaderTopic(topic=name, partitions=rows) for name, rows in topics.items()],
            ),
            partial(self._on_epochs, asked, epochs),
            partial(self._on_no_epochs, asked, epochs),
            now,
            versions=_VALIDATING_VERSIONS,
        )

    def _on_epochs(
        self,
        asked: Asked,
        epochs: dict[TopicPartition, int],
        response: protocol.OffsetForLeaderEpochResponse,
        version: int,
        now: float,
    ) -> None:
        again: list[PartitionState] = []
        for topic in response.topics:
            for row in topic.partitions:
                tp = TopicPartition(topic.topic, row.partition)
                state = self._taken(asked, tp)
                if state is None:
                    continue
                if row.error_code:
                    again.append(self._refused(state, row.error_code, "OffsetForLeaderEpoch"))
                    continue
                if row.end_offset < 0 or row.leader_epoch < 0:
                    self.truncate(state, None, NO_EPOCH, now)
                elif row.end_offset < state.fetch_at:
                    self.truncate(state, row.end_offset, row.leader_epoch, now)
                else:
                    state.checked_epoch = epochs[tp]
        self._end(asked, again, now)

    def _on_no_epochs(self, asked: Asked, epochs: dict[TopicPartition, int], error: KafkaError, now: float) -> None:
        if is_retriable(error) or isinstance(error, AuthError):
            self._on_error(asked, error, now)
            return
        for tp in list(asked):  # a broker that cannot say: as Java's client, the position is believed
            state = self._taken(asked, tp)
            if state is not None:
                state.checked_epoch = epochs[tp]
        self._on_change(now)

    # -- both -------------------------------------------------------------------------------------------------------

    def _asked_at(self, leader: int, states: Iterable[PartitionState]) -> Asked:
        """Notes that this leader is asked about these."""
        asked = _asked(states)
        self._at[leader] = [*filter(None, self._at[leader]), asked]
        return asked

    def leave_former_leaders(self) -> None:
        """A leader that hangs holds up nothing that another one has taken over."""
        for leader, questions in self._at.items():
            for asked in questions:
                for tp in list(asked):
                    if self._core.cluster.leader(tp.topic, tp.partition) not in (leader, NO_LEADER):
                        self._taken(asked, tp)

    def _taken(self, asked: Asked, tp: TopicPartition) -> PartitionState | None:
        """The state that a row is about, if it is still read from where it was when asked."""
        state, revision = asked.pop(tp, (None, -1))
        if state is None or state.revision != revision or self._subscription.states.get(tp) is not state:
            return None
        state.in_flight = False
        return state

    def _refused(self, state: PartitionState, code: int, api: str) -> PartitionState:
        """The partition, with its fault set if asking again will not help."""
        error = errors.broker.error_for(code, f"{api} of {state}")
        if not error.retriable:
            state.fault = error
        return state

    def _on_error(self, asked: Asked, error: KafkaError, now: float) -> None:
        again = [state for tp in list(asked) if (state := self._taken(asked, tp)) is not None]
        if not is_retriable(error) and not isinstance(error, AuthError):  # of which the poll tells
            fault = too_old_for(self._isolation, error)
            for state in again:
                state.fault = fault
        self.back_off(again, now)
        self._on_change(now)

    def _end(self, asked: Asked, again: list[PartitionState], now: float) -> None:
        """A response has been read: what it refused, or had no entry for, is requested again."""
        again += [state for tp in list(asked) if (state := self._taken(asked, tp)) is not None]
        if again:
            self._core.cluster.refresh(now)
        self.back_off(again, now)
        self._on_change(now)

    # -- what takes too long ----------------------------------------------------------------------------------------

    def _watch(self, moment: float) -> None:
        if moment < self._overdue_at:
            self._overdue_at = moment
            self._core.call_at(moment, self._look_for_overdue)

    @override
    def recover(self, now: float) -> None:
        """The fetcher looks at all partitions by itself."""
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        self._overdue_at = now
        self._core.call_at(now, self._look_for_overdue)

    def _look_for_overdue(self, now: float) -> None:
        """Tells of partitions that had no position for default_api_timeout_ms, one error for each broker."""
        self._overdue_at = float("inf")
        overdue: dict[int, list[PartitionState]] = defaultdict(list)
        cluster = self._core.cluster
        for state in self._subscription.states.values():
            if state.lookup_since is None or not (state.wants_lookup or state.awaits_committed):
                continue
            if state.lookup_since + self._max_wait <= now:
                state.lookup_since = now
                if cluster.generation and not self._is_told(state):
                    overdue[cluster.leader(state.tp.topic, state.tp.partition)].append(state)
            self._watch(state.lookup_since + self._max_wait)
        for leader, states in overdue.items():
            self._overdue.append((self._no_position(leader, states), states))
        if overdue:
            self._on_change(now)

    def _is_told(self, state: PartitionState) -> bool:
        """Whether polls, or the group, tell of a partition or topic that is not there."""
        cluster, tp = self._core.cluster, state.tp
        return cluster.generation > state.generation and cluster.is_missing(tp.topic, tp.partition)

    @property
    def has_overdue(self) -> bool:
        """Whether `take_overdue` would return an error."""
        return bool(self._overdue) and any(self._lacks_position(states) for _, states in self._overdue)

    def take_overdue(self) -> KafkaError | None:
        """The next error for partitions that still have no position; None without one."""
        while self._overdue:
            error, states = self._overdue.pop(0)
            if self._lacks_position(states):
                return error
        return None

    def _lacks_position(self, states: Iterable[PartitionState]) -> bool:
        current = self._subscription.states
        return any(state.lookup_since is not None and current.get(state.tp) is state for state in states)

    def _no_position(self, leader: int, states: list[PartitionState]) -> KafkaError:
        text = f"no position of {first_of(states, 5)} within {self._max_wait:g} s"
        if self.committed is not None and all(state.awaits_committed for state in states):
            return KafkaTimeoutError(f"{text}: OffsetFetch was not answered: {self.committed.trouble}")
        if leader < 0:
            first = states[0].tp
            why = self._core.cluster.why_no_leader(first.topic, first.partition)
            return KafkaTimeoutError(f"{text}: {why}")
        return ConnectError(f"{text}: the leader, {self._core.describe_node(leader)}, did not answer ListOffsets")


def _asked(states: Iterable[PartitionState]) -> Asked:
    """Notes that these are asked about."""
    asked: Asked = {}
    for state in states:
        state.in_flight = True
        asked[state.tp] = (state, state.revision)
    return asked
