"""Consumer: records of assigned partitions, as objects or as columns.

Layer 5: puts the engine's fetcher on the synchronous driver; fetching itself is in `kwire.engine.consumer.fetcher`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from threading import get_ident

from kwire._client import Client
from kwire._codec import ConsumerRecord
from kwire._typing import TYPE_CHECKING, Any, Never, Self, Unpack, override
from kwire.engine.admin import calls
from kwire.engine.calls import arguments
from kwire.engine.calls.offsets import EARLIEST, LATEST, OffsetAndTimestamp, PartitionsLookup
from kwire.engine.common import absent
from kwire.engine.common.absent import without
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.records import ConsumerRecords
from kwire.engine.settings.clients import ConsumerSettings
from kwire.engine.settings.config import configured_by, keywords
from kwire.errors import ClientClosedError, KafkaError
from kwire.fronts.consumer import At, ConsumerFront, Partition, T

if TYPE_CHECKING:
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.groups.membership import Membership, RebalanceEvent, Then
    from kwire.engine.settings.options import ConsumerOptions, Servers, Timeout
    from kwire.fronts.group_offsets import Committable, Place

CLOSE_TIMEOUT_S = 30.0
"""Seconds that close() takes at most to leave the group."""

__all__ = ["Consumer", "ConsumerRecord", "ConsumerRecords", "TopicPartition"]


@configured_by(ConsumerSettings)
@without(absent.CONSUMER)
class Consumer(ConsumerFront, Client[ConsumerSettings]):
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
    callers = "thread"
    reads_by_itself = True

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[ConsumerOptions]) -> None:
        self._open(ConsumerSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], bootstrap_servers: Servers | None = None, **options: Unpack[ConsumerOptions]
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win.

        One mapping may serve all clients: what only other kinds have is passed over, with a line at DEBUG.
        """
        return cls._configured(ConsumerSettings, config, bootstrap_servers, options)

    @override
    def _open(self, settings: ConsumerSettings, *, background: bool = False) -> None:
        Client._open(self, settings, background=background or settings.group_id is not None)
        self._open_fetcher()

    # -- records ----------------------------------------------------------------------------------------------------

    def poll(self, timeout: Timeout = 0.0, max_records: int | None = None, **unknown: Never) -> ConsumerRecords:
        """Records that came since the last poll, as soon as there are any; empty when `timeout` seconds passed (None:
        no limit), after `wakeup()`, and when every partition is at its `until`.
        Raises ConfigError while nothing is assigned or subscribed to. A broker that is lost is waited for without end;
        the logger `kwire.drivers` warns of it.

        `max_records` is the limit (default: `max_poll_records`, else about two megabytes of the log). The next fetch is
        sent when half of the records fetched were returned.
        """
        absent.refuse_keywords("poll", unknown, absent.POLL_KEYWORDS)
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
        membership = self._membership
        try:
            if membership is not None:
                self._rebalance(membership)
            while (left := deadline - time.monotonic()) > 0:
                if reactor.wait(polling.ready, min(left, polling.look_every)) and (
                    membership is None or not self._rebalance(membership)
                ):
                    break
                self._call_inside(polling.check)
        except BaseException:
            self._end_failed_poll()
            raise
        return self._call_inside(lambda now: polling.take_records(count, now))

    def _rebalance(self, membership: Membership) -> bool:
        """Does what the group wants done before the poll goes on, calls the listener for it; whether there was any."""
        called = membership.has_event
        failure = self._tell_all(membership)
        if failure is not None:
            raise failure
        return called

    def _tell_all(self, membership: Membership) -> KafkaError | None:
        """Calls the listener for all events; the first error that it raised."""
        self._check_may_listen()
        failure: KafkaError | None = None
        while (event := self._call_inside(membership.next_event)) is not None:
            error = self._tell_listener(event)
            if error is not None:
                failure = failure or self._listener_error(event, error)
            self._call_inside(partial(membership.event_done, event, error))
        return failure

    def _tell_listener(self, event: RebalanceEvent) -> Exception | None:
        handler = self._handler(event)
        if handler is None:
            return None
        try:
            self._listening = get_ident()
            handler(list(event.partitions))
        except Exception as error:
            return error
        finally:
            self._listening = None
        return None

    @override
    def _is_listener(self) -> bool:
        return self._listening is not None and self._listening == get_ident()

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

    def wakeup(self) -> None:
        """Makes a poll that waits, or else the next one, return at once with nothing; from any thread."""
        self._polling.woken = True
        self._reactor.wake()

    def unsubscribe(self) -> None:
        """Reads nothing any more, and leaves the group: what is finished is committed, and the listener called."""
        if self._membership is None or not self._membership.active:
            self.assign([])
            return
        membership, until = self._membership, time.monotonic() + self._patience(None)
        failure = self._alone(lambda: self._give_back(membership, until, _nothing))
        if failure is not None:
            raise failure

    def _give_back(self, membership: Membership, until: float, on_left: Then) -> KafkaError | None:
        """Gives all partitions back and leaves, also where the listener raises: returns its first error."""
        self._check_may_listen()
        failure: KafkaError | None = None
        try:
            self._call_inside(self._begin_to_leave)
            while not membership.can_leave and (left := until - time.monotonic()) > 0:
                self._reactor.wait(lambda: membership.has_event or membership.can_leave, left)
                failure = self._tell_all(membership) or failure
        finally:
            if not self._closed:
                self._step(lambda now: membership.leave(now, on_left))
        return failure

    @override
    def close(self, timeout: Timeout = CLOSE_TIMEOUT_S) -> None:
        """Leaves the group in order, for which it takes `timeout` seconds at most, and closes all connections. From any
        thread; idempotent: a second one waits for the first. While another thread is in a call, the listener is not
        called and nothing is committed.

        A static member (`group_instance_id`) does not leave: its partitions wait for it until the session is over.
        """
        until = time.monotonic() + self._patience(timeout)
        if self._membership is None or not self._reactor.owned_by_process:
            super().close()
            return
        with self._turn_to_close(until) as is_open:
            try:
                if is_open:
                    self._end_in_group(self._membership, until)
            except ClientClosedError:
                if not self._closed:
                    raise  # else another close() had less time, or was called by the listener
            finally:
                super().close()

    def _end_in_group(self, membership: Membership, until: float) -> None:
        failure = self._alone(
            lambda: self._end_alone(membership, until), beside=lambda: self._leave_in_haste(membership)
        )
        if failure is not None:
            raise failure

    def _end_alone(self, membership: Membership, until: float) -> KafkaError | None:
        """Commits what is finished, and leaves."""
        failure, over = None, list[float]()
        if membership.active:
            failure = self._give_back(membership, until, over.append)
        else:
            self._step(partial(self._begin_last_commit, until, over.append))
        self._reactor.wait(lambda: bool(over), max(until - time.monotonic(), 0.0))
        return failure

    def _leave_in_haste(self, membership: Membership) -> None:
        """Leaves while another call is in progress, which cannot be waited for."""
        if membership.active:
            self._step(lambda now: membership.leave(now, _nothing))

    # -- positions --------------------------------------------------------------------------------------------------

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
        return self._run_alone(calls.ends_of(partitions, EARLIEST, isolation_level=self._isolation), timeout)

    def end_offsets(self, partitions: Iterable[Partition], timeout: Timeout = None) -> dict[TopicPartition, int]:
        """The offset after the last record of each partition (with read_committed: after the last stable one)."""
        return self._run_alone(calls.ends_of(partitions, LATEST, isolation_level=self._isolation), timeout)

    def offsets_for_times(
        self, times: Mapping[At, int | datetime], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition whose timestamp is not before the time; None where there is none.

        Times are ms since the epoch or datetimes. Raises BrokerError (code 35) with brokers before Kafka 0.10.1.
        """
        question = calls.list_offsets(times, isolation_level=self._isolation, name="times")
        return self._run_alone(question, timeout)

    def partitions_for(self, topic: str, timeout: Timeout = None) -> list[TopicPartition]:
        """The partitions of a topic."""
        name = arguments.topic_name(topic)
        lookup = partial(PartitionsLookup, self._core, name)
        found: list[TopicPartition] = self._alone(lambda: self._ask(timeout, lookup))
        return found

    # -- the group's offsets ----------------------------------------------------------------------------------------

    def commit(self, what: Committable[Place] = None, *, timeout: Timeout = None, **unknown: Never) -> None:
        """Commits the offsets to go on from, and waits until the group's coordinator has them.

        `what` is None for all that poll() and iteration have handed out; the records of a poll; one record (the offset
        after it); or {(topic, partition): offset or OffsetAndMetadata}, of the next record to read. Where nothing has
        moved since the last commit nothing is sent.

        Errors: CommitFailedError where the group has gone on without this consumer, and poll() has to join it again, or
        has taken a partition since these records were returned;
        BrokerError (REBALANCE_IN_PROGRESS: poll, then commit again; FENCED_INSTANCE_ID; no authorization);
        KafkaTimeoutError or ConnectError after `timeout` seconds (default: `default_api_timeout_ms`).
        """
        absent.refuse_keywords("commit", unknown, absent.COMMIT_KEYWORDS)
        begin, until = self._committing(what, "commit"), time.monotonic() + self._patience(timeout)
        self._alone(lambda: self._ask(timeout, begin))
        self._callbacks.finish(until)

    def committed(
        self, partitions: Iterable[Partition], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed in these partitions, None where it is nothing. Offsets of an open transaction
        are waited for."""
        begin = self._fetching_committed(partitions)
        found: dict[TopicPartition, OffsetAndMetadata | None] = self._alone(lambda: self._ask(timeout, begin))
        return found

    def lag(self, timeout: Timeout = None) -> dict[TopicPartition, int]:
        """How many offsets each assigned partition has after the position, up to its end (with read_committed: the last
        stable offset); asks brokers for the ends."""
        return self._alone(lambda: self._lag(timeout))

    def _lag(self, timeout: Timeout) -> dict[TopicPartition, int]:
        until = time.monotonic() + self._patience(timeout)
        assigned = self._call_inside(self._settled_assignment)
        if not assigned:
            return {}
        ends = self._run(calls.ends_of(assigned, LATEST, isolation_level=self._isolation), timeout)
        left = max(until - time.monotonic(), 0.0)
        return {tp: max(ends[tp] - self._position(tp, left), 0) for tp in assigned}

    def _run_alone(self, question: calls.Question[T], timeout: Timeout) -> T:
        return self._alone(lambda: self._run(question, timeout))


def _nothing(now: float) -> None:
    """Nobody waits for the answer."""
