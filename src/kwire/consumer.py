"""Consumer: records of assigned partitions, as objects or as columns.

Layer 5: puts the engine's fetcher on the synchronous driver; the logic of fetching is in `kwire.engine.fetcher`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial

from kwire._codec import ConsumerRecord
from kwire._typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, override
from kwire.drivers.client import Client
from kwire.drivers.loggers import LateLogger
from kwire.engine import absent, arguments
from kwire.engine.absent import without
from kwire.engine.addresses import TopicPartition
from kwire.engine.admin.a02_list_offsets import ListOffsets
from kwire.engine.consumer_records import ConsumerRecords
from kwire.engine.fetcher import Fetcher
from kwire.engine.offsets import (
    EARLIEST,
    LATEST,
    NO_OFFSET,
    OffsetAndTimestamp,
    PartitionsLookup,
    isolation_code,
    time_of,
)
from kwire.engine.polling import LOOK_EVERY_S, Polling
from kwire.engine.settings import ConsumerSettings, configured_by, from_config, keywords
from kwire.errors import ConcurrentUseError, ConfigError

if TYPE_CHECKING:
    from kwire.engine.options import ConsumerOptions, Servers, Timeout

__all__ = ["Consumer", "ConsumerRecord", "ConsumerRecords", "TopicPartition"]

Partition = tuple[str, int]
Where = int | datetime | str
T = TypeVar("T")
At = TypeVar("At", bound=Partition)
Until = TypeVar("Until", bound=Partition)

_log = LateLogger("kwire.clients")


@configured_by(ConsumerSettings)
@without(absent.CONSUMER)
class Consumer(Client[ConsumerSettings]):
    """Reads records from partitions; use it from one thread at a time (`wakeup` and `close` from any).

        with Consumer("host:9092", auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["topic"])
            records = consumer.poll(timeout=1.0)

    Keywords are the settings below. Nothing is sent before the first call that
    needs an answer. Errors: ConfigError for settings and arguments; ConnectError with a cause for each address when no
    broker can be reached in the time asked; UnknownTopicError; BrokerError; and for bad data in the log one of the
    CodecErrors, after the records that precede it were given, with `.topic .partition .record_offset .seek_to`.
    """

    kind = "consumer"

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[ConsumerOptions]) -> None:
        self._open(ConsumerSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], bootstrap_servers: Servers | None = None, **options: Unpack[ConsumerOptions]
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win."""
        return cls._of(from_config(ConsumerSettings, config, **keywords(bootstrap_servers, options)))

    @override
    def _open(self, settings: ConsumerSettings, *, background: bool = False) -> None:
        super()._open(settings, background=background)
        after_step = self._core.after_step
        self._fetcher = Fetcher(self._core, settings, lambda text: after_step.append(partial(_log.warning, "%s", text)))
        self._polling = Polling(self._core, settings, self._fetcher)
        self._used = False

    # -- what is read -----------------------------------------------------------------------------------------------

    def assign(
        self,
        partitions: Iterable[Partition],
        *,
        at: Mapping[At, Where] | None = None,
        until: Mapping[Until, int] | None = None,
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

        def work(now: float) -> None:
            subscription = self._fetcher.subscription
            subscription.assign(wanted, now, at=offsets, until=ends)
            for tp, when in times.items():
                subscription.state(tp).reset(when)
            if times:
                self._fetcher.pump(now)

        self._call(work)

    def subscribe(self, topics: Iterable[str]) -> None:
        """Reads all partitions of these topics, also those that are added later. Not together with `assign`."""
        names = arguments.topic_names(topics)
        self._call(lambda now: self._fetcher.subscription.subscribe(names, now))

    def unsubscribe(self) -> None:
        """Reads nothing."""
        self.assign([])

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are read; after `subscribe`, those known so far."""
        return self._call(lambda now: set(self._fetcher.subscription.states))

    # -- records ----------------------------------------------------------------------------------------------------

    def poll(self, timeout: Timeout = 0.0, max_records: int | None = None) -> ConsumerRecords:
        """Records that came since the last poll, as soon as there are any; empty when `timeout` seconds passed (None:
        no limit), after `wakeup()`, and when every partition is at its `until`.
        Raises ConfigError while nothing is assigned or subscribed to. A broker that is lost is waited for without end;
        the logger `kwire.drivers` warns of it.

        `max_records` is the limit (default: `max_poll_records`, else about two megabytes of the log). The next fetch is
        sent when half of the records fetched were returned.
        """
        patience = arguments.poll_seconds(timeout)
        count = arguments.record_count(max_records, "max_records")
        records = self._alone(lambda: self._poll(patience, count))
        self._fetcher.hand_out.arrived = True  # no signal handler runs from here to the caller's assignment
        return records

    def _poll(self, timeout: float | None, count: int | None) -> ConsumerRecords:
        reactor, polling = self._reactor, self._polling
        reactor.call(polling.begin)
        reactor.poll_once()
        deadline = float("inf") if timeout is None else time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0 and not reactor.wait(polling.ready, min(left, LOOK_EVERY_S)):
            self._call_inside(polling.check)
        return ConsumerRecords(self._call_inside(lambda now: polling.take(count, now)))

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """All records, one after the other; waits for new ones. Ends after `wakeup()`, and when `done()`.

        What the loop has not been given yet when it is left, or when any other method is called in it, is not lost: it
        comes with the next poll or loop. So `position()` is right after the last record given, and a `seek()` or
        `pause()` in the loop holds from the next record on.
        """
        hand_out = self._fetcher.hand_out
        while records := self._alone(lambda: self._poll(None, None)):
            iterator = iter(records)
            hand_out.iterator = iterator
            hand_out.arrived = True
            yield from iterator

    def done(self) -> bool:
        """Whether every assigned partition has reached the offset given as `until`."""
        return self._call(lambda now: self._fetcher.subscription.done)

    def wakeup(self) -> None:
        """Makes a poll that waits, or else the next one, return at once with nothing; from any thread."""
        self._polling.woken = True
        self._reactor.wake()

    def pause(self, partitions: Iterable[Partition]) -> None:
        """Returns no records of these until `resume`; what was fetched already is kept."""
        self._set_paused(partitions, True)

    def resume(self, partitions: Iterable[Partition]) -> None:
        """Reads these again."""
        self._set_paused(partitions, False)

    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return self._call(lambda now: {tp for tp, state in self._fetcher.subscription.states.items() if state.paused})

    def _set_paused(self, partitions: Iterable[Partition], paused: bool) -> None:
        chosen = arguments.partitions(partitions)

        def work(now: float) -> None:
            for state in self._fetcher.subscription.chosen(chosen):
                state.paused = paused
            self._fetcher.pump(now)

        self._call(work)

    # -- positions --------------------------------------------------------------------------------------------------

    def seek(self, partition: Partition, where: Where) -> None:
        """The next record of an assigned partition is to be that of an offset (int), of a time (datetime), or
        "earliest" or "latest". Looked up, where it must be, with the next poll."""
        tp = arguments.partition(partition)
        offset, when = arguments.position(tp, where)

        def work(now: float) -> None:
            state = self._fetcher.subscription.state(tp)
            if offset is not None:
                state.seek(offset)
            elif when is not None:
                state.reset(when)
            self._fetcher.pump(now)

        self._call(work)

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

        self._call(work)

    def position(self, partition: Partition, timeout: Timeout = None) -> int:
        """The offset of the next record that a poll will return; looked up if it is not known yet."""
        tp = arguments.partition(partition)
        return self._alone(lambda: self._position(tp, timeout))

    def _position(self, tp: TopicPartition, timeout: Timeout) -> int:
        patience, polling = self._patience(timeout), self._polling
        self._call_inside(lambda now: polling.look_up(tp, now))
        self._reactor.wait(lambda: polling.has_position(tp), patience)
        found = self._call_inside(lambda now: polling.position(tp))
        if found is None:
            raise polling.no_position(tp, patience)
        return found

    def beginning_offsets(self, partitions: Iterable[Partition], timeout: Timeout = None) -> dict[TopicPartition, int]:
        """The offset of the first record of each partition."""
        return {tp: found.offset for tp, found in self._look_up(partitions, EARLIEST, timeout).items()}

    def end_offsets(self, partitions: Iterable[Partition], timeout: Timeout = None) -> dict[TopicPartition, int]:
        """The offset after the last record of each partition (with read_committed: after the last stable one)."""
        return {tp: found.offset for tp, found in self._look_up(partitions, LATEST, timeout).items()}

    def offsets_for_times(
        self, times: Mapping[At, int | datetime], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition whose timestamp is not before the time; None where there is none.

        Times are ms since the epoch or datetimes. Raises BrokerError (code 35) with brokers before Kafka 0.10.1.
        """
        wanted = {tp: time_of(when) for tp, when in arguments.by_partition(times, "times").items()}
        found = self._offsets(wanted, timeout)
        return {tp: None if entry.offset == NO_OFFSET else entry for tp, entry in found.items()}

    def partitions_for(self, topic: str, timeout: Timeout = None) -> list[TopicPartition]:
        """The partitions of a topic."""
        name = arguments.topic_name(topic)
        found: list[TopicPartition] = self._alone(
            lambda: self._ask(
                timeout, lambda now, deadline: PartitionsLookup(self._core, name, deadline=deadline, now=now)
            )
        )
        return found

    def _look_up(
        self, partitions: Iterable[Partition], when: int, timeout: Timeout
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        return self._offsets(dict.fromkeys(arguments.partitions(partitions), when), timeout)

    def _offsets(self, times: dict[TopicPartition, int], timeout: Timeout) -> dict[TopicPartition, OffsetAndTimestamp]:
        isolation = isolation_code(self.settings.isolation_level)
        found: dict[TopicPartition, OffsetAndTimestamp] = self._alone(
            lambda: self._run(ListOffsets(times, isolation=isolation), timeout)
        )
        return found

    # -- help -------------------------------------------------------------------------------------------------------

    def _alone(self, work: Callable[[], T]) -> T:
        """Does the work unless another call is in progress: the second one is told instead of made to wait.

        Neither another thread nor a signal comes between check and assignment, because no call stands there.
        """
        if self._used:
            raise ConcurrentUseError(
                "this consumer is in use by another thread, or by the call that this one "
                "interrupts; only wakeup() and close() may be called meanwhile"
            )
        try:
            self._used = True
            self._check_open()
            return work()
        finally:
            self._used = False

    def _call(self, work: Callable[[float], T]) -> T:
        """Does the work with the core to itself, after what the last poll returned was settled."""

        def settled(now: float) -> T:
            self._fetcher.settle()
            return work(now)

        return self._alone(lambda: self._reactor.call(settled))

    def _call_inside(self, work: Callable[[float], T]) -> T:
        self._check_open()
        return self._reactor.call(work)
