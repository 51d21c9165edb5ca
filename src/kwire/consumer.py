"""Consumer: records of assigned partitions, as objects or as columns.

Layer 5: puts the engine's fetcher on the synchronous driver; the logic of fetching is in `kwire.engine.fetcher`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from kwire._codec import ConsumedIterator, ConsumerRecord
from kwire._typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack
from kwire.drivers.client import Client
from kwire.engine import absent, arguments
from kwire.engine.absent import without
from kwire.engine.addresses import TopicPartition
from kwire.engine.consumer_records import ConsumerRecords
from kwire.engine.fetcher import Fetched, Fetcher
from kwire.engine.offsets import EARLIEST, LATEST, NO_OFFSET, OffsetAndTimestamp, OffsetLookup, isolation_code, time_of
from kwire.engine.settings import ConsumerSettings, configured_by, from_config, keywords
from kwire.errors import (
    ConcurrentUseError,
    ConfigError,
    ConnectError,
    KafkaError,
    KafkaTimeoutError,
)

if TYPE_CHECKING:
    from kwire.engine.options import ConsumerOptions, Servers, Timeout

__all__ = ["Consumer", "ConsumerRecord", "ConsumerRecords", "TopicPartition"]

Partition = tuple[str, int]
Where = int | datetime | str
T = TypeVar("T")
At = TypeVar("At", bound=Partition)
Until = TypeVar("Until", bound=Partition)

_LOOK_EVERY = 1.0
"""Seconds between two looks at what a poll waits for."""


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

    def _open(self, settings: ConsumerSettings, *, background: bool = False) -> None:
        super()._open(settings, background=background)
        self._fetcher = Fetcher(self._core, settings)
        self._used = False
        self._woken = False
        self._arrived = True
        self._handing: ConsumedIterator | None = None
        self._missing_since: dict[str, float] = {}

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
        "latest". `until` gives offsets at which it ends: records from there on are neither fetched nor given.
        """
        wanted = arguments.partitions(partitions)
        starts = {tp: arguments.position(tp, where) for tp, where in arguments.by_partition(at, "at").items()}
        offsets = {tp: offset for tp, (offset, _) in starts.items() if offset is not None}
        times = {tp: when for tp, (_, when) in starts.items() if when is not None}
        ends = {tp: arguments.offset(tp, end, "until") for tp, end in arguments.by_partition(until, "until").items()}
        if foreign := sorted(starts.keys() - set(wanted)):
            raise ConfigError(f"at names {foreign[0]}, which is not among the partitions to assign")

        def work(now: float) -> None:
            self._fetcher.assign(wanted, now, at=offsets, until=ends)
            for tp, when in times.items():
                self._fetcher.state(tp).reset(when)
            if times:
                self._fetcher.pump(now)

        self._call(work)

    def subscribe(self, topics: Iterable[str]) -> None:
        """Reads all partitions of these topics, also those that are added later. Not together with `assign`."""
        names = arguments.topic_names(topics)
        self._call(lambda now: self._fetcher.subscribe(names, now))

    def unsubscribe(self) -> None:
        """Reads nothing."""
        self.assign([])

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are read; after `subscribe`, those known so far."""
        return set(self._fetcher.states)

    # -- records ----------------------------------------------------------------------------------------------------

    def poll(self, timeout: Timeout = 0.0, max_records: int | None = None) -> ConsumerRecords:
        """Records that came since the last poll, as soon as there are any; empty when `timeout` seconds passed (None:
        no limit), after `wakeup()`, and when every partition is at its `until`.
        Raises ConfigError while nothing is assigned or subscribed to.

        `max_records` is the most to give (default: `max_poll_records`, else about two megabytes of the log). The next
        fetch is on its way when half of what was fetched is given.
        """
        patience = arguments.poll_seconds(timeout)
        asked = arguments.record_count(max_records, "max_records")
        most = self.settings.max_poll_records if asked is None else asked
        records = self._alone(lambda: self._poll(patience, most))
        self._arrived = True  # no signal handler runs from here to the caller's assignment
        return records

    def _poll(self, timeout: float | None, most: int | None) -> ConsumerRecords:
        begun = self._fetcher.polled_at = time.monotonic()
        if self._fetcher.is_due:
            self._call_inside(self._fetcher.pump_if_due)
        if self._fetcher.reads_nothing:
            raise ConfigError("there is nothing to poll: call assign() or subscribe() first")
        self._reactor.poll_once()
        if not self._something_to_say():
            self._await_records(timeout, begun)
        woken, self._woken = self._woken, False
        return ConsumerRecords(() if woken else self._call_inside(lambda now: self._take(most, now)))

    def _take(self, most: int | None, now: float) -> Fetched:
        taken = self._fetcher.take(most)
        self._fetcher.pump_if_due(now)
        return taken

    def _await_records(self, timeout: float | None, begun: float) -> None:
        """Drives until there is something to give or say; looks now and then whether waiting makes sense at all."""
        deadline = float("inf") if timeout is None else begun + timeout
        while not self._something_to_say():
            now = time.monotonic()
            left = deadline - now
            if left <= 0:
                break
            self._reactor.wait(self._something_to_say, min(left, _LOOK_EVERY))
            self._complain_of_missing_topics(time.monotonic())
        patience = self._patience(None)
        if timeout != 0 and time.monotonic() - begun >= min(patience, deadline - begun):
            self._complain_of_missing_brokers()

    def _something_to_say(self) -> bool:
        return self._woken or self._fetcher.has_something() or self._fetcher.done

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """All records, one after the other; waits for new ones. Ends after `wakeup()`, and when `done()`.

        What the loop has not been given yet when it is left, or when any other method is called in it, is not lost: it
        comes with the next poll or loop. So `position()` is right behind the last record given, and a `seek()` or
        `pause()` in the loop holds from the next record on.
        """
        most = self.settings.max_poll_records
        while records := self._alone(lambda: self._poll(None, most)):
            handing = iter(records)
            self._handing = handing
            self._arrived = True
            yield from handing

    def done(self) -> bool:
        """Whether every assigned partition has reached the offset given as `until`."""
        return self._alone(lambda: self._fetcher.done)

    def wakeup(self) -> None:
        """Makes a poll that waits, or else the next one, return at once with nothing; from any thread."""
        self._woken = True
        self._reactor.wake()

    def pause(self, partitions: Iterable[Partition]) -> None:
        """Gives no records of these until `resume`; what was fetched already is kept."""
        self._set_paused(partitions, True)

    def resume(self, partitions: Iterable[Partition]) -> None:
        """Reads these again."""
        self._set_paused(partitions, False)

    def paused(self) -> set[TopicPartition]:
        """The partitions that are paused."""
        return {tp for tp, state in self._fetcher.states.items() if state.paused}

    def _set_paused(self, partitions: Iterable[Partition], paused: bool) -> None:
        states = [self._fetcher.state(tp) for tp in arguments.partitions(partitions)]

        def work(now: float) -> None:
            for state in states:
                state.paused = paused
            self._fetcher.pump(now)

        self._call(work)

    # -- positions --------------------------------------------------------------------------------------------------

    def seek(self, partition: Partition, where: Where) -> None:
        """The next record of an assigned partition is to be that of an offset (int), of a time (datetime), or
        "earliest" or "latest". Looked up, where it must be, with the next poll."""
        state = self._fetcher.state(arguments.partition(partition))
        offset, when = arguments.position(state.tp, where)

        def work(now: float) -> None:
            if offset is not None:
                state.move(offset)
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
        chosen = self._all_assigned() if partitions is None else arguments.partitions(partitions)
        states = [self._fetcher.state(tp) for tp in chosen]

        def work(now: float) -> None:
            for state in states:
                state.reset(when)
            self._fetcher.pump(now)

        self._call(work)

    def _all_assigned(self) -> list[TopicPartition]:
        """The partitions that are read; raises ConfigError while those of a subscribed topic are not known."""
        known = {tp.topic for tp in self._fetcher.states}
        for topic in self._fetcher.topics:
            if topic not in known:
                raise ConfigError(
                    f"the partitions of {topic!r} are learned by poll(), so before the first there is nothing to "
                    "move; set auto_offset_reset, name the partitions by assign(), or seek after a poll"
                )
        return list(self._fetcher.states)

    def position(self, partition: Partition, timeout: Timeout = None) -> int:
        """The offset of the next record that a poll will give; looked up if it is not known yet."""
        tp = arguments.partition(partition)
        return self._alone(lambda: self._position(tp, timeout))

    def _position(self, tp: TopicPartition, timeout: Timeout) -> int:
        state = self._fetcher.state(tp)
        if state.position >= 0:
            return state.position
        self._call_inside(self._fetcher.pump_if_due)
        self._wait(lambda: state.position >= 0 or state.fault is not None, timeout, f"the position of {_name(tp)}")
        if state.position < 0 and state.fault is not None:
            fault, state.fault = state.fault, None
            raise fault
        return state.position

    def beginning_offsets(self, partitions: Iterable[Partition], timeout: Timeout = None) -> dict[TopicPartition, int]:
        """The offset of the first record of each partition."""
        return {tp: found.offset for tp, found in self._look_up(partitions, EARLIEST, timeout).items()}

    def end_offsets(self, partitions: Iterable[Partition], timeout: Timeout = None) -> dict[TopicPartition, int]:
        """The offset behind the last record of each partition (with read_committed: behind the last stable one)."""
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
        return self._alone(lambda: self._partitions_for(name, timeout))

    def _partitions_for(self, topic: str, timeout: Timeout) -> list[TopicPartition]:
        cluster = self._core.cluster
        self._call_inside(lambda now: cluster.track([topic], now))

        def missing() -> KafkaError | None:
            return cluster.definite_error(topic, 0, newer_than=0)

        def known() -> bool:
            info = cluster.topic(topic)
            return info is not None and (bool(info.partitions) or missing() is not None)

        self._wait(known, timeout, f"the partitions of {topic!r}", topic)
        error = missing()
        if error is not None:
            raise error
        return [TopicPartition(topic, partition) for partition in sorted(cluster.topics[topic].partitions)]

    def _look_up(
        self, partitions: Iterable[Partition], when: int, timeout: Timeout
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        return self._offsets(dict.fromkeys(arguments.partitions(partitions), when), timeout)

    def _offsets(self, times: dict[TopicPartition, int], timeout: Timeout) -> dict[TopicPartition, OffsetAndTimestamp]:
        isolation = isolation_code(self.settings.isolation_level)
        found: dict[TopicPartition, OffsetAndTimestamp] = self._alone(
            lambda: self._ask(
                timeout,
                lambda now, deadline: OffsetLookup(self._core, times, isolation=isolation, deadline=deadline, now=now),
            )
        )
        return found

    # -- help -------------------------------------------------------------------------------------------------------

    def _alone(self, work: Callable[[], T]) -> T:
        """Does the work unless another does some: who comes second is told instead of made to wait. What the last poll
        gave has arrived if that poll came to its end; of a loop that is under way, what it was given.

        Neither another thread nor a signal comes between look and leap, because no call stands there.
        """
        if self._used:
            raise ConcurrentUseError(
                "this consumer is in use by another thread, or by the call that this one "
                "interrupts; only wakeup() and close() may be called meanwhile"
            )
        try:
            self._used = True
            self._check_open()
            if self._handing is not None:
                self._fetcher.keep_rest(self._handing.end())
                self._handing = None
            self._fetcher.confirm(arrived=self._arrived)
            self._arrived = False
            return work()
        finally:
            self._used = False

    def _call(self, work: Callable[[float], T]) -> T:
        return self._alone(lambda: self._call_inside(work))

    def _call_inside(self, work: Callable[[float], T]) -> T:
        self._check_open()
        return self._reactor.call(work)

    def _wait(self, done: Callable[[], bool], timeout: Timeout, what: str, topic: str | None = None) -> None:
        patience = self._patience(timeout)
        if self._reactor.wait(done, patience):
            return
        cluster = self._core.cluster
        unknown = cluster.unknown_topic(topic) if topic is not None else None
        if unknown is not None:
            raise unknown
        self._complain_of_missing_brokers()
        raise KafkaTimeoutError(f"{what} was not known within {patience} s") from cluster.failure

    def _complain_of_missing_brokers(self) -> None:
        """Raises ConnectError, with a cause for each address, while no broker has ever been reached."""
        cluster = self._core.cluster
        if cluster.generation == 0 and isinstance(cluster.failure, ConnectError):
            raise ConnectError(cluster.failure.message, cluster.failure.causes)

    def _complain_of_missing_topics(self, now: float) -> None:
        """Raises UnknownTopicError for a topic that has been missing for default_api_timeout_ms."""
        patience = self.settings.default_api_timeout_ms / 1000
        for topic in self._fetcher.topics:
            error = self._core.cluster.unknown_topic(topic)
            if error is None:
                self._missing_since.pop(topic, None)
            elif now - self._missing_since.setdefault(topic, now) >= patience:
                del self._missing_since[topic]
                raise error


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
