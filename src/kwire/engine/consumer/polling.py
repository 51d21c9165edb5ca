"""The poll of a consumer: when it may return, which records, and which errors it raises.

Layer 3, no I/O; used with the core to itself. `waits.py` has the order of its calls: `begin`, until `ready()`, `check`
now and then, `take`.

    brokers    a poll never fails because its own time-out is short. While no broker was ever reached it returns
               nothing; after default_api_timeout_ms of such polls it raises ConnectError, with a cause for each address
    refusals   an AuthError is raised as soon as no broker is left that has records of the assignment: by a poll once
               for each attempt of the engine, by `position` each time
    group      membership first: rebalance events (run by the wait), then its error
    topics     one that is missing is waited for; after default_api_timeout_ms of polls it is an UnknownTopicError. One
               that the cluster refuses for good is raised by the next poll. In a group, a missing one is a warning
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.retry import afresh
from kwire.engine.consumer.fetcher import HAND_OVER_RECORDS, Fetched, Fetcher
from kwire.engine.consumer.poll_patience import PollPatience
from kwire.engine.consumer.records import ConsumerRecords
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import AuthError, ConfigError, KafkaError, KafkaTimeoutError

if TYPE_CHECKING:
    from kwire.engine.consumer.poll_size import PollSize
    from kwire.engine.groups.group_offsets import GroupOffsets
    from kwire.engine.groups.membership import Membership
    from kwire.engine.ports import Services

LOOK_EVERY_S = 1.0
"""Seconds between two calls of `check` while a poll waits."""

LOOKS_IN_MAX_POLL_INTERVAL = 3
"""How often `check` is called within max_poll_interval_ms, at least: a poll that waits is a poll."""


class Polling:
    """The polls of one consumer. `woken` makes the current poll, or the next one, return at once with nothing."""

    def __init__(
        self,
        core: Services,
        settings: ConsumerSettings,
        fetcher: Fetcher,
        membership: Membership | None = None,
        offsets: GroupOffsets | None = None,
    ) -> None:
        self._core = core
        self._cluster = core.cluster
        self._fetcher = fetcher
        self._max_records = settings.max_poll_records
        self._patience = PollPatience(core.cluster, settings.default_api_timeout_ms / 1000)
        self._told: AuthError | None = None
        self._membership = membership
        self._offsets = offsets
        self.woken = False
        self.look_every = LOOK_EVERY_S
        self._size: PollSize | None = None
        if membership is not None:
            self._size = _poll_size(settings)
            self.look_every = min(LOOK_EVERY_S, settings.max_poll_interval_ms / 1000 / LOOKS_IN_MAX_POLL_INTERVAL)

    def begin(self, now: float) -> None:
        """Begins a poll; raises ConfigError while nothing is assigned or subscribed to."""
        self._fetcher.settle(finished=True)
        self._fetcher.polled_at = now
        self._patience.begin(now)
        if self._membership is not None:
            self._membership.poll(now)
        if self._size is not None:
            self._size.begin(now)
        if self._offsets is not None:
            self._offsets.maybe_auto_commit(now)
        self._fetcher.pump_if_due(now)
        if self._fetcher.subscription.reads_nothing:
            raise ConfigError("there is nothing to poll: call assign() or subscribe() first")

    def ready(self) -> bool:
        """Whether the poll may return."""
        return (
            self.woken
            or self._fetcher.has_something()
            or self._fetcher.subscription.done
            or (self._core.refused and self._news_of_refusal() is not None)
            or (self._membership is not None and (self._membership.has_event or self._membership.fault is not None))
        )

    def take(self, max_records: int | None, now: float) -> Fetched:
        """Takes the records that the poll returns; raises an error that comes before them."""
        woken, self.woken = self.woken, False
        if self._membership is not None:
            self._membership.end_poll(now)
        if woken:
            return []
        if self._membership is not None and (fault := self._membership.take_fault()) is not None:
            raise fault
        if not self.ready():
            self._check(now)
        if self._core.refused and not self._fetcher.has_something():
            self._raise_refusal()
        limit = self._max_records if max_records is None else max_records
        if self._size is None:
            taken = self._fetcher.take(limit)
        else:
            taken = self._fetcher.take(limit, self._size.limit)
            self._size.end(sum(len(records) for _, records in taken), now)
        self._fetcher.pump_if_due(now)
        return taken

    def take_records(self, max_records: int | None, now: float) -> ConsumerRecords:
        """As `take`, for the caller of the poll."""
        taken = self.take(max_records, now)
        return ConsumerRecords(taken)

    def _raise_refusal(self) -> None:
        refusal = self._news_of_refusal()
        if refusal is not None:
            self._told = refusal
            raise afresh(refusal)

    def _news_of_refusal(self) -> AuthError | None:
        """Why no broker can be fetched from, unless that was raised before."""
        refusal = self._core.refusal or self._refusal_of_leaders()
        return refusal if refusal is not self._told else None

    def _refusal_of_leaders(self) -> AuthError | None:
        """The refusal of one of the leaders that are read from, if all of them refuse."""
        states = [state for state in self._fetcher.subscription.states.values() if not state.stopped]
        leaders = {self._cluster.leader(state.tp.topic, state.tp.partition) for state in states}
        refusals = [self._core.refusal_of(leader) for leader in leaders]
        return next(iter(refusals), None) if None not in refusals else None

    def check(self, now: float) -> None:
        """Raises what makes waiting any longer useless. The poll goes on, and commits what earlier ones returned."""
        if self._membership is not None:
            self._membership.poll(now)
        if self._offsets is not None:
            self._offsets.maybe_auto_commit(now)
        self._check(now)

    def _check(self, now: float) -> None:
        self._patience.check_brokers(now)
        subscription = self._fetcher.subscription
        group = self._membership if subscription.by_group else None
        if group is None:
            self._patience.check_topics(subscription.topics, self._core, now)
            return
        for topic, error in self._patience.to_warn_of(subscription.topics, now):
            if all(tp.topic != topic for tp in subscription.states):  # else the membership tells
                group.warn(f"{error}; the group reads it once it exists")

    # -- positions --------------------------------------------------------------------------------------------------

    def look_up(self, tp: TopicPartition, now: float) -> None:
        """Makes sure that the position of an assigned partition is looked up; ConfigError for another."""
        self._fetcher.settle()
        self._fetcher.subscription.state(tp)
        self._core.retry_refused(now)
        self._fetcher.pump_if_due(now)

    def has_position(self, tp: TopicPartition) -> bool:
        """Whether `position` would return or raise something but a time-out."""
        state = self._fetcher.subscription.states.get(tp)
        known = state is None or state.position >= 0 or state.fault is not None
        return known or self._refusal_at(tp) is not None

    def _refusal_at(self, tp: TopicPartition) -> AuthError | None:
        if not self._core.refused:
            return None
        return self._core.refusal or self._core.refusal_of(self._cluster.leader(tp.topic, tp.partition))

    def position(self, tp: TopicPartition) -> int | None:
        """The offset of the next record that a poll will return; None while it is not known. Raises its fault."""
        state = self._fetcher.subscription.state(tp)
        if state.position >= 0:
            return state.position
        fault, state.fault = state.fault, None
        if fault is not None:
            raise fault
        refusal = self._refusal_at(tp)
        if refusal is not None:
            raise afresh(refusal)
        return None

    def no_position(self, tp: TopicPartition, waited: float) -> KafkaError:
        """The error for a position that did not become known within `waited` seconds."""
        what = f"the position of {tp} was not known within {waited:g} s"
        if self._cluster.topic(tp.topic) is None:
            return self._cluster.no_answer(what)
        error = KafkaTimeoutError(what)
        error.__cause__ = self._cluster.failure
        return error


def _poll_size(settings: ConsumerSettings) -> PollSize:
    from kwire.engine.consumer.poll_size import PollSize

    return PollSize(settings.max_poll_interval_ms / 1000, HAND_OVER_RECORDS)
