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
from kwire.engine.addresses import TopicPartition
from kwire.engine.consumer_records import ConsumerRecords
from kwire.engine.fetcher import Fetched, Fetcher
from kwire.engine.offsets import EARLIEST, LATEST, NO_OFFSET, OffsetAndTimestamp, OffsetLookup, time_of
from kwire.engine.settings import ConsumerSettings, documented, from_config, keywords
from kwire.errors import (
    ConcurrentUseError,
    ConfigError,
    ConnectError,
    KafkaError,
    KafkaTimeoutError,
    NotInThisVersionError,
)

if TYPE_CHECKING:
    from kwire.engine.options import ConsumerOptions, Servers

__all__ = ["Consumer", "ConsumerRecord", "ConsumerRecords", "TopicPartition"]

Partition = tuple[str, int]
T = TypeVar("T")

_NOT_YET = frozenset({"commit", "committed"})

_LOOK_EVERY = 1.0
"""Seconds between two looks at what a poll waits for."""


@documented(ConsumerSettings)
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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _NOT_YET:
                raise NotInThisVersionError(
                    f"Consumer.{name}() needs a consumer group, and groups are not in this "
                    "version of kwire: keep positions by position() and seek()"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # -- what is read -----------------------------------------------------------------------------------------------

    def assign(
        self,
        partitions: Iterable[Partition],
        *,
        at: Mapping[Partition, int] | None = None,
        until: Mapping[Partition, int] | None = None,
    ) -> None:
        """Reads exactly these partitions. Those already assigned keep their positions.

        `at` gives offsets at which reading begins, as a `seek` for each would; `until` gives offsets at which it ends:
        records from there on are neither fetched nor given.
        """
        wanted = [_partition(entry) for entry in partitions]
        starts = {_partition(entry): offset for entry, offset in (at or {}).items()}
        ends = {_partition(entry): offset for entry, offset in (until or {}).items()}
        if foreign := sorted(starts.keys() - set(wanted)):
            raise ConfigError(f"at names {foreign[0]}, which is not among the partitions to assign")
        for tp, offset in starts.items():
            _check_offset(tp, offset)
        self._call(lambda now: self._fetcher.assign(wanted, now, at=starts, until=ends))

    def subscribe(self, topics: Iterable[str]) -> None:
        """Reads all partitions of these topics, also those that are added later. Not together with `assign`."""
        if isinstance(topics, str):
            topics = [topics]
        names = tuple(dict.fromkeys(topics))
        for name in names:
            _topic(name)

        self._call(lambda now: self._fetcher.subscribe(names, now))

    def unsubscribe(self) -> None:
        """Reads nothing."""
        self.assign([])

    def assignment(self) -> set[TopicPartition]:
        """The partitions that are read; after `subscribe`, those known so far."""
        return set(self._fetcher.states)

    # -- records ----------------------------------------------------------------------------------------------------

    def poll(self, timeout: float | None = 0.0, max_records: int | None = None) -> ConsumerRecords:
        """Records that came since the last poll, as soon as there are any; empty when `timeout` seconds passed (None:
        no limit), after `wakeup()`, and when every partition is at its `until`.
        Raises ConfigError while nothing is assigned or subscribed to.

        `max_records` is the most to give (default: `max_poll_records`, else about two megabytes of the log). The next
        fetch is on its way when half of what was fetched is given.
        """
        most = self.settings.max_poll_records if max_records is None else max_records
        if most is not None and most < 1:
            raise ConfigError(f"max_records={max_records!r}: a number from 1, or None")
        records = self._alone(lambda: self._poll(timeout, most))
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
        states = [self._fetcher.state(_partition(entry)) for entry in partitions]

        def work(now: float) -> None:
            for state in states:
                state.paused = paused
            self._fetcher.pump(now)

        self._call(work)

    # -- positions --------------------------------------------------------------------------------------------------

    def seek(self, partition: Partition, where: int | datetime | str) -> None:
        """The next record of an assigned partition is to be that of an offset (int), of a time (datetime), or
        "earliest" or "latest". Looked up, where it must be, with the next poll."""
        state = self._fetcher.state(_partition(partition))
        if isinstance(where, int) and not isinstance(where, bool):
            _check_offset(state.tp, where)
            self._call(lambda now: self._moved(lambda: state.move(where), now))
        else:
            when = time_of(where)
            self._call(lambda now: self._moved(lambda: state.reset(when), now))

    def _moved(self, move: Callable[[], None], now: float) -> None:
        move()
        self._fetcher.pump(now)

    def seek_to_beginning(self, partitions: Iterable[Partition] | None = None) -> None:
        """The next records are the first there are, of these partitions or of all."""
        self._seek_all(partitions, EARLIEST)

    def seek_to_end(self, partitions: Iterable[Partition] | None = None) -> None:
        """The next records are those written from now on, of these partitions or of all."""
        self._seek_all(partitions, LATEST)

    def _seek_all(self, partitions: Iterable[Partition] | None, when: int) -> None:
        chosen = list(self._fetcher.states) if partitions is None else [_partition(entry) for entry in partitions]
        states = [self._fetcher.state(tp) for tp in chosen]

        def work(now: float) -> None:
            for state in states:
                state.reset(when)
            self._fetcher.pump(now)

        self._call(work)

    def position(self, partition: Partition, timeout: float | None = None) -> int:
        """The offset of the next record that a poll will give; looked up if it is not known yet."""
        tp = _partition(partition)
        return self._alone(lambda: self._position(tp, timeout))

    def _position(self, tp: TopicPartition, timeout: float | None) -> int:
        state = self._fetcher.state(tp)
        if state.position >= 0:
            return state.position
        self._call_inside(self._fetcher.pump_if_due)
        self._wait(lambda: state.position >= 0 or state.fault is not None, timeout, f"the position of {_name(tp)}")
        if state.position < 0 and state.fault is not None:
            fault, state.fault = state.fault, None
            raise fault
        return state.position

    def beginning_offsets(
        self, partitions: Iterable[Partition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """The offset of the first record of each partition."""
        return {tp: found.offset for tp, found in self._look_up(partitions, EARLIEST, timeout).items()}

    def end_offsets(self, partitions: Iterable[Partition], timeout: float | None = None) -> dict[TopicPartition, int]:
        """The offset behind the last record of each partition (with read_committed: behind the last stable one)."""
        return {tp: found.offset for tp, found in self._look_up(partitions, LATEST, timeout).items()}

    def offsets_for_times(
        self, times: Mapping[Partition, int | datetime], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition whose timestamp is not before the time; None where there is none.

        Times are ms since the epoch or datetimes. Raises BrokerError (code 35) with brokers before Kafka 0.10.1.
        """
        wanted = {_partition(entry): time_of(when) for entry, when in times.items()}
        found = self._offsets(wanted, timeout)
        return {tp: None if entry.offset == NO_OFFSET else entry for tp, entry in found.items()}

    def partitions_for(self, topic: str, timeout: float | None = None) -> list[TopicPartition]:
        """The partitions of a topic."""
        _topic(topic)
        return self._alone(lambda: self._partitions_for(topic, timeout))

    def _partitions_for(self, topic: str, timeout: float | None) -> list[TopicPartition]:
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
        self, partitions: Iterable[Partition], when: int, timeout: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        return self._offsets({_partition(entry): when for entry in partitions}, timeout)

    def _offsets(
        self, times: dict[TopicPartition, int], timeout: float | None
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        isolation = 1 if self.settings.isolation_level == "read_committed" else 0
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

    def _wait(self, done: Callable[[], bool], timeout: float | None, what: str, topic: str | None = None) -> None:
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


def _check_offset(tp: TopicPartition, offset: int) -> None:
    if offset < 0:
        raise ConfigError(f"offset {offset} of {tp} is negative")


def _topic(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ConfigError(f"{name!r} is no topic name")
    return name


def _partition(entry: Partition) -> TopicPartition:
    if not isinstance(entry, tuple) or len(entry) != 2:
        raise ConfigError(f"{entry!r} is no partition; a TopicPartition or (topic, number) is")
    topic, partition = entry
    if isinstance(partition, bool) or not isinstance(partition, int) or partition < 0:
        raise ConfigError(f"{entry!r} is no partition: {partition!r} is not a number from 0")
    return TopicPartition(_topic(topic), partition)


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
