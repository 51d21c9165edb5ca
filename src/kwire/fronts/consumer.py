"""What both consumers share: all but the signatures of the calls that wait.

Layer 5, below the clients. This file makes the waits, and each consumer's door runs them; fetching is in
`kwire.engine.consumer.fetcher`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial

from kwire._typing import TYPE_CHECKING, Never, TypeVar, override
from kwire.drivers.loggers import LateLogger
from kwire.engine.admin.calls import ends_of, list_offsets
from kwire.engine.admin.inquiry import Inquiry
from kwire.engine.calls import arguments
from kwire.engine.calls.calls import result_of
from kwire.engine.calls.offsets import EARLIEST, LATEST, PartitionsLookup
from kwire.engine.common import absent
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer import waits
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.consumer.polling import Polling
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import ConfigError
from kwire.fronts.deserializers import deserialization_of
from kwire.fronts.front import Front

if TYPE_CHECKING:
    from re import Pattern
    from typing import ClassVar

    from kwire._codec import ConsumerRecord
    from kwire.engine.admin.calls import Question
    from kwire.engine.calls.offsets import OffsetAndMetadata, OffsetAndTimestamp
    from kwire.engine.common.topic_pattern import TopicPattern
    from kwire.engine.common.waits import Wait
    from kwire.engine.consumer.deserialization import DeserializedRecord
    from kwire.engine.consumer.hand_out import RecordIterator
    from kwire.engine.consumer.records import ConsumerRecords
    from kwire.engine.groups.membership import GroupMetadata, Membership
    from kwire.engine.settings.options import Timeout
    from kwire.fronts.group import CommitCallback, Group
    from kwire.fronts.health import Parts
    from kwire.fronts.interceptors import ConsumerInterceptors
    from kwire.fronts.metrics import Metrics

    AnyPartition = TypeVar("AnyPartition", bound=tuple[str, int])
    Committable = (
        ConsumerRecords | ConsumerRecord | DeserializedRecord | Mapping[AnyPartition, int | OffsetAndMetadata] | None
    )
    """`Committable[AnyPartition]` in a signature: a mapping's keys may be TopicPartitions or plain pairs."""
else:
    from kwire._typing import ClassVar

Partition = tuple[str, int]
SeekTarget = int | datetime | str
T = TypeVar("T")
Records = TypeVar("Records", bound="RecordIterator")
At = TypeVar("At", bound=Partition)
UntilOffset = TypeVar("UntilOffset", bound=Partition)

CLOSE_TIMEOUT_S = 30.0
"""Seconds that close() takes at most to leave the group."""

_log = LateLogger("kwire.clients")


class ConsumerFront(Front[ConsumerSettings]):
    """The base of the consumers; `_group` is None without a group_id."""

    _kind = "consumer"
    _one_caller = True

    _max_decoded: ClassVar[int | None] = None
    """Bytes of decompressed records, and of their index, that one response is to bring; None: no limit."""

    @override
    def _put_together(self) -> None:
        after_step = self._core.after_step
        self._fetcher = Fetcher(
            self._core,
            self.settings,
            lambda text: after_step.append(partial(_log.warning, "%s", text)),
            self._max_decoded,
        )
        self._group: Group | None = None
        if self.settings.group_id is not None:
            from kwire.fronts.group import Group

            self._group = Group(self._core, self.settings, self._fetcher, self._door)
        group = self._group
        membership, offsets = (None, None) if group is None else (group.membership, group.offsets)
        self._polling = Polling(self._core, self.settings, self._fetcher, membership, offsets)
        self._rebalances = None if group is None else group.rebalances
        self._deserialization = deserialization_of(self.settings)
        self._interceptors: ConsumerInterceptors | None = None
        if self.settings.interceptors:
            self._add_interceptors(self.settings.interceptors)

    def _add_interceptors(self, interceptors: Iterable[object]) -> None:
        """From now on these see what polls return and what is committed, after those that there are."""
        if self._interceptors is None:
            from kwire.fronts.interceptors import ConsumerInterceptors

            self._interceptors = made = ConsumerInterceptors()
            after_step = self._core.after_step
            if self._group is not None:
                self._group.offsets.tell_commits(lambda rows: after_step.append(partial(made.committed, rows)))
        self._interceptors.add(interceptors)

    @property
    def _membership(self) -> Membership | None:
        return None if self._group is None else self._group.membership

    @override
    def _add_metrics(self, found: Metrics) -> None:
        from kwire.fronts.metrics import add_consumer

        add_consumer(found, self._core, self._fetcher, self._membership)

    @override
    def _health_parts(self) -> Parts:
        from kwire.fronts.health import of_consumer

        return of_consumer(self._fetcher, self._membership)

    # -- what is read -----------------------------------------------------------------------------------------------

    def assign(
        self,
        partitions: Iterable[Partition],
        *,
        at: Mapping[At, SeekTarget] | None = None,
        until: Mapping[UntilOffset, int] | None = None,
    ) -> None:
        """Reads exactly these partitions. Those already assigned keep their positions.

        `at` says where reading begins, as a `seek` for each would: an offset (int), a time (datetime), "earliest" or
        "latest". `until` has offsets at which it ends: records from there on are neither fetched nor returned.
        """
        wanted = arguments.partitions(partitions)
        starts = {tp: arguments.position(tp, where) for tp, where in arguments.by_partition(at, "at").items()}
        offsets = {tp: offset for tp, (offset, _) in starts.items() if offset is not None}
        times = {tp: when for tp, (_, when) in starts.items() if when is not None}
        ends = {tp: arguments.offset(tp, end, "until") for tp, end in arguments.by_partition(until, "until").items()}
        for name, given in (("at", starts), ("until", ends)):
            if foreign := sorted(given.keys() - set(wanted)):
                raise ConfigError(f"{name} names {foreign[0]}, which is not among the partitions to assign")

        membership = self._membership
        if membership is not None and membership.active:
            raise ConfigError("assign() cannot be combined with subscribe() in a group: call unsubscribe() first")

        def work(now: float) -> None:
            subscription = self._fetcher.subscription
            if membership is not None and wanted:
                membership.stay_outside()
            subscription.assign(wanted, now, at=offsets, until=ends)
            for tp, when in times.items():
                subscription.state(tp).reset(when)
            if times:
                self._fetcher.pump(now)

        self._do(work)

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | Pattern[str] | None = None,
        listener: object = None,
        **unknown: Never,
    ) -> None:
        """Reads these topics, or those whose whole names match the pattern, also those that are added later: all of
        their partitions, or with a `group_id` those that the group assigns. Cannot be combined with `assign`.

        `listener` has `on_assigned(partitions)`, `on_revoked(partitions)` and `on_lost(partitions)`, or some of them:
        called inside `poll()`, before partitions are read, while positions may still be committed, and when it is too
        late for that (by `on_revoked` where there is no `on_lost`).
        """
        absent.refuse_keywords("subscribe", unknown, absent.SUBSCRIBE_KEYWORDS)
        names, wanted = arguments.topics_or_pattern(topics, pattern)
        arguments.check_listener(listener)
        group = self._group
        if group is None:
            matches = None if wanted is None else self._pattern(wanted)
            self._do(lambda now: self._fetcher.subscription.subscribe(names, now, matches))
            return
        if not names and wanted is None:
            self._door.begin(self._unsubscribing())
            return

        def work(now: float) -> None:
            group.membership.subscribe(None if wanted is not None else tuple(names), wanted, now)
            group.rebalances.listener = listener

        self._do(work)

    def _pattern(self, text: str) -> TopicPattern:
        from kwire.engine.common.topic_pattern import TopicPattern

        return TopicPattern(text, exclude_internal=self.settings.exclude_internal_topics)

    def _unsubscribing(self) -> Wait[None]:
        until = self._door.now() + self._patience(None)
        if self._group is None or not self._group.membership.active:
            self._door.call(self._read_nothing)
        else:
            yield from self._group.rebalances.leave_in_order(until)

    def _read_nothing(self, now: float) -> None:
        self._fetcher.settle()
        self._fetcher.subscription.assign([], now)

    def subscription(self) -> set[str]:
        """The topics subscribed to: those named, or those known to match the pattern. Where the coordinator matches it
        (group_protocol="consumer"), those of which it has assigned partitions to this member."""
        subscription = self._fetcher.subscription
        found: set[str] = self._do(lambda now: set(subscription.matched_or_named))
        return found

    def enforce_rebalance(self, reason: str = "the program calls for it") -> None:
        """Has the group assign its partitions anew, beginning with the next poll."""
        membership = self._require_group("enforce_rebalance").membership
        if not membership.active:
            raise ConfigError("enforce_rebalance() needs a subscription: call subscribe() first")
        self._do(lambda now: membership.rejoin(reason, now))

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are read; after `subscribe`, those known so far."""
        return self._do(lambda now: set(self._fetcher.subscription.states))

    def done(self) -> bool:
        """Whether every assigned partition has reached the offset given as `until`."""
        return self._do(lambda now: self._fetcher.subscription.done)

    def pause(self, partitions: Iterable[Partition]) -> None:
        """Returns no records of these until `resume`; what was fetched already is kept."""
        self._set_paused(partitions, True)

    def resume(self, partitions: Iterable[Partition]) -> None:
        """Reads these again."""
        self._set_paused(partitions, False)

    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return self._do(lambda now: {tp for tp, state in self._fetcher.subscription.states.items() if state.paused})

    def _set_paused(self, partitions: Iterable[Partition], paused: bool) -> None:
        chosen = arguments.partitions(partitions)

        def work(now: float) -> None:
            for state in self._fetcher.subscription.chosen(chosen):
                state.paused = paused
            self._fetcher.pump(now)

        self._do(work)

    # -- positions --------------------------------------------------------------------------------------------------

    def seek(self, partition: Partition, where: SeekTarget) -> None:
        """Moves an assigned partition to an offset (int), to a time (datetime), or to "earliest" or "latest".

        Looked up, where it must be, with the next poll.
        """
        tp = arguments.partition(partition)
        offset, when = arguments.position(tp, where)

        def work(now: float) -> None:
            state = self._fetcher.subscription.state(tp)
            if offset is not None:
                state.seek(offset)
            elif when is not None:
                state.reset(when)
            self._fetcher.pump(now)

        self._do(work)

    def seek_to_beginning(self, partitions: Iterable[Partition] | None = None) -> None:
        """The next records are the first there are, of these partitions or of all."""
        self._seek_all(partitions, EARLIEST)

    def seek_to_end(self, partitions: Iterable[Partition] | None = None) -> None:
        """The next records are those written from now on, of these partitions or of all."""
        self._seek_all(partitions, LATEST)

    def _seek_all(self, partitions: Iterable[Partition] | None, when: int) -> None:
        chosen = None if partitions is None else arguments.partitions(partitions)

        def work(now: float) -> None:
            for state in self._fetcher.subscription.chosen(chosen):
                state.reset(when)
            self._fetcher.pump(now)

        self._do(work)

    def wakeup(self) -> None:
        """Makes a poll that waits, or else the next one, return at once with nothing; from any thread."""
        self._polling.woken = True
        self._door.driver.wake()

    # -- the group's offsets ----------------------------------------------------------------------------------------

    def commit_async(
        self, what: Committable[AnyPartition] = None, *, callback: CommitCallback | None = None, **unknown: Never
    ) -> None:
        """As `commit`, without waiting: `callback(offsets, error)` is called when it is decided, with None for success,
        by the thread or loop that drives this consumer, and not under its lock; callbacks come in the order of the
        calls, and before a later `commit` returns. Commits are sent in that order, too, and repeated where that may
        help, but never after a later one: the last one wins."""
        absent.refuse_keywords("commit_async", unknown, absent.COMMIT_KEYWORDS)
        if callback is not None and not callable(callback):
            raise ConfigError(f"callback={callback!r}: expected a function of the offsets and the error, or None")
        group = self._require_group("commit_async")
        begin, patience, tell = group.committing(what), self._patience(None), group.on_committed(callback)
        self._do(lambda now: begin(now, now + patience, tell))

    def group_metadata(self) -> GroupMetadata:
        """How the group knows this consumer: for `Producer.send_offsets_to_transaction`. A member that has lost its
        partitions is named by what it was until polls have joined anew, and may commit nothing by that; a consumer that
        has called `assign()` is no member. CommitFailedError before the first join, ConfigError without a subscription.
        """
        offsets = self._require_group("group_metadata").offsets
        return self._do(lambda now: offsets.metadata())

    # -- what waits -------------------------------------------------------------------------------------------------

    def _polled(
        self, timeout: Timeout, max_records: int | None, unknown: Mapping[str, object]
    ) -> Wait[ConsumerRecords]:
        if unknown:
            absent.refuse_keywords("poll", unknown, absent.POLL_KEYWORDS)
        patience = arguments.poll_seconds(timeout)
        count = arguments.record_count(max_records, "max_records")
        polled = waits.poll(self._door, self._polling, self._rebalances, patience, count)
        if self._deserialization is not None:
            polled = waits.deserialized(polled, self._door, self._fetcher.hand_out, self._deserialization)
        return polled if self._interceptors is None else self._interceptors.consuming(polled)

    def _position(self, partition: Partition, timeout: Timeout) -> Wait[int]:
        return waits.position(self._door, self._polling, arguments.partition(partition), self._patience(timeout))

    def _asked(self, question: Question[T], timeout: Timeout) -> Wait[T]:
        return Inquiry(self._door, self._core, self._patience(timeout)).ask(question)

    def _ends(self, partitions: Iterable[Partition], when: int, timeout: Timeout) -> Wait[dict[TopicPartition, int]]:
        return self._asked(ends_of(partitions, when, isolation_level=self.settings.isolation_level), timeout)

    def _offsets_at(
        self, times: Mapping[At, int | datetime], timeout: Timeout
    ) -> Wait[dict[TopicPartition, OffsetAndTimestamp | None]]:
        question = list_offsets(times, isolation_level=self.settings.isolation_level, name="times")
        return self._asked(question, timeout)

    def _partitions(self, topic: str, timeout: Timeout) -> Wait[list[TopicPartition]]:
        lookup = partial(PartitionsLookup, self._core, arguments.topic_name(topic))
        return result_of(self._door, lookup, self._patience(timeout))

    def _committing(self, what: object, patience: float, unknown: Mapping[str, object]) -> Wait[None]:
        if unknown:
            absent.refuse_keywords("commit", unknown, absent.COMMIT_KEYWORDS)
        begin = self._require_group("commit").committing(what)
        return result_of(self._door, begin, patience)

    def _hand_out(self, iterator: Records) -> Records:
        """A loop over records begins: they are with the caller as far as it has come."""
        self._fetcher.hand_out.iterator = iterator
        self._fetcher.hand_out.arrived = True
        return iterator

    def _finish_callbacks(self, until: float) -> None:
        """Those of commits before: where another thread runs them now, it is waited for, until then."""
        if self._group is not None:
            self._group.callbacks.finish(until)

    def _committed(
        self, partitions: Iterable[Partition], timeout: Timeout
    ) -> Wait[dict[TopicPartition, OffsetAndMetadata | None]]:
        offsets = self._require_group("committed").offsets
        begin = partial(offsets.committed, arguments.partitions(partitions))
        return result_of(self._door, begin, self._patience(timeout))

    def _lag(self, timeout: Timeout) -> Wait[dict[TopicPartition, int]]:
        inquiry = Inquiry(self._door, self._core, self._patience(timeout))
        assigned = self._door.call(self._settled_assignment)
        if not assigned:
            return {}
        ends = yield from inquiry.ask(ends_of(assigned, LATEST, isolation_level=self.settings.isolation_level))
        found, left = {}, inquiry.seconds_left
        for tp in assigned:
            position = yield from waits.position(self._door, self._polling, tp, left)
            found[tp] = max(ends[tp] - position, 0)
        return found

    def _farewell(self, until: float) -> Wait[None] | None:
        """What comes before the end: leaving the group in order, if there is one."""
        leaving = None if self._rebalances is None else self._rebalances.close(until)
        return self._with_last_push(leaving, until)

    def _leave_at_once(self) -> None:
        if self._rebalances is not None:
            self._rebalances.leave_at_once()

    def _settled_assignment(self, now: float) -> list[TopicPartition]:
        self._fetcher.settle()
        return list(self._fetcher.subscription.states)

    # -- help -------------------------------------------------------------------------------------------------------

    def _require_group(self, what: str) -> Group:
        if self._group is None:
            raise ConfigError(f"{what}() needs a consumer group: give the consumer a group_id")
        return self._group

    def _do(self, work: Callable[[float], T]) -> T:
        """Does the work with the core to itself, after what the last poll returned was settled."""

        def settled(now: float) -> T:
            self._fetcher.settle()
            return work(now)

        return self._door.do(settled)
