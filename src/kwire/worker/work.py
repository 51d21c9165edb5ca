"""The loop of both workers: poll, start what may begin, take back what has ended, commit what is done.

Layer 6. What waits is a generator of calls, so that it is written once: `threads.py` makes each call, `tasks.py` awaits
it. The loop alone uses the consumer, and polls on while handlers are busy: a worker that does not poll loses its place.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from datetime import timedelta
from functools import partial
from types import SimpleNamespace

from kwire._typing import TYPE_CHECKING, Any, Unpack
from kwire.drivers.loggers import LateLogger
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.settings.options import ClientOptions
from kwire.errors import BrokerError, CommitFailedError, ConfigError, ConnectError, KafkaTimeoutError
from kwire.worker.desk import Desk, Job, received
from kwire.worker.failures import Failures, unreadable

if TYPE_CHECKING:
    from typing import Literal

    from kwire.engine.settings.options import ConsumerOptions, Servers

Steps = Generator[Callable[[], Any], Any, None]
"""Calls to make, each with the result of the one before sent back, or its exception thrown in."""

MAX_POLL_RECORDS = 500
IDLE_POLL_S = 1.0
REBALANCE_IN_PROGRESS = 27

_log = LateLogger("kwire.worker")


def _passes(error: Exception) -> bool:
    """Whether a commit that failed so may be repeated, or is another member's business now."""
    if isinstance(error, BrokerError):
        return error.retriable or error.code == REBALANCE_IN_PROGRESS
    return isinstance(error, (CommitFailedError, KafkaTimeoutError, ConnectError))


class Work:
    """The base of the workers."""

    _consumer: Any = None
    _producer: Any = None

    def __init__(
        self,
        bootstrap_servers: Servers,
        topics: str | Iterable[str],
        *,
        handler: Callable[[Any], Any],
        concurrency: int = 8,
        order: Literal["partition", "key"] = "partition",
        batch: int | Literal[False] = False,
        retries: int = 3,
        backoff: float = 0.1,
        backoff_max: float = 30.0,
        retry_on: type[Exception] | tuple[type[Exception], ...] = Exception,
        retry_topics: Mapping[str, float | timedelta] | None = None,
        dead_letter_topic: str | None = None,
        max_in_hand: int = 1000,
        commit_interval: float = 1.0,
        stop_timeout: float = 30.0,
        signals: bool = True,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        group_id = options.get("group_id")
        if not group_id:
            raise ConfigError("a Worker needs a group_id: the group keeps what is done")
        if options.get("enable_auto_commit"):
            raise ConfigError("enable_auto_commit=True: a Worker commits what its handler has done, and nothing else")
        if order not in ("partition", "key"):
            raise ConfigError(f"order={order!r}: expected 'partition' or 'key'")
        for name, number, least in (
            ("concurrency", concurrency, 1),
            ("retries", retries, 0),
            ("max_in_hand", max_in_hand, 1),
            ("batch", 1 if batch is False else batch, 1),
        ):
            if number < least:
                raise ConfigError(f"{name}={number}: expected {least} or more")
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        self._failures = Failures(
            group_id, retries, backoff, backoff_max, retry_on, retry_topics or {}, dead_letter_topic
        )
        if repeated := sorted({*self._failures.delays, dead_letter_topic} & {*self._topics}, key=str):
            raise ConfigError(f"{repeated[0]!r} is among the topics to read: failed records need another one")
        if dead_letter_topic in self._failures.delays:
            raise ConfigError(f"dead_letter_topic={dead_letter_topic!r} is among the retry_topics")
        self._handler = handler
        self._concurrency = concurrency
        self._batched = batch is not False
        self._desk = Desk(order, concurrency, batch or 1, max_in_hand)
        self._commit_interval = commit_interval
        self._stop_timeout = stop_timeout
        self._signals = signals
        self._servers = bootstrap_servers
        self._consumer_options: ConsumerOptions = {
            "auto_offset_reset": "earliest",
            **options,
            "enable_auto_commit": False,
        }
        if options.get("key_deserializer") is not None or options.get("value_deserializer") is not None:
            self._consumer_options.setdefault("deserialize_errors", "keep")
        self._producer_options: Any = {
            name: value for name, value in options.items() if name in ClientOptions.__annotations__
        }
        self._ended: deque[Job] = deque()
        self._is_polling = False
        self._stop_at: float | None = None
        self._next_commit = 0.0
        self._fatal: BaseException | None = None
        self._open()

    def stop(self, timeout: float | None = None) -> None:
        """Has `run()` end: what is being handled is finished within `timeout` seconds (default: `stop_timeout`), what
        is done is committed, and the group is left."""
        self._stop_at = time.monotonic() + (self._stop_timeout if timeout is None else timeout)
        self._tell()
        if self._consumer is not None:
            self._consumer.wakeup()

    def _on_signal(self, *_: object) -> None:
        self.stop(None if self._stop_at is None else 0.0)

    # -- what the two kinds do differently ---------------------------------------------------------------------------

    def _open(self) -> None:
        """What the methods below need."""
        raise NotImplementedError

    def _start(self, job: Job) -> None:
        """Runs `_handle(job)` beside the loop, then `_end(job)`."""
        raise NotImplementedError

    def _tell(self) -> None:
        """Ends the `_wait` that is in progress."""
        raise NotImplementedError

    def _wait(self, seconds: float) -> Any:
        """Until `_tell`, or that long."""
        raise NotImplementedError

    def _delivered(self, delivery: Any) -> Any:
        """Until a record is written; raises why it is not."""
        raise NotImplementedError

    def _run(self, steps: Steps) -> Any:
        """Makes the calls."""
        raise NotImplementedError

    def _abandon(self) -> Any:
        """Handlers are still busy, and their time is over."""
        raise NotImplementedError

    # -- beside the loop, for each job -------------------------------------------------------------------------------

    def _handle(self, job: Job) -> Steps:
        records = [item.record for item in job.items]
        try:
            error: Exception | None = unreadable(records[0])
            if error is None:
                for item in job.items:
                    item.attempts_here += 1
                yield partial(self._handler, records if self._batched else records[0])
                return
        except Exception as raised:
            error = raised
        job.again_in = self._failures.wait_before_next(job.items[0], error)
        if job.again_in is None:
            yield from self._move_on(job, error)

    def _move_on(self, job: Job, error: Exception) -> Steps:
        for item in job.items:
            record = received(item.record)
            place = f"{record.topic}-{record.partition} at offset {record.offset}"
            topic = self._failures.next_topic(record.topic, error)
            if topic is None:
                error.add_note(f"The record is {place}; there is no dead_letter_topic for it.")
                raise error
            headers = self._failures.headers(item, topic, error, time.time() * 1000)
            delivery = self._producer.send(
                topic, record.value, key=record.key, headers=headers, timestamp=record.timestamp
            )
            yield partial(self._delivered, delivery)
            _log.warning("%s goes on to %s: %r", place, topic, error)

    def _end(self, job: Job, fatal: BaseException | None) -> None:
        job.fatal = fatal
        self._ended.append(job)
        self._tell()
        if self._is_polling:
            self._is_polling = False
            self._consumer.wakeup()

    # -- the loop ----------------------------------------------------------------------------------------------------

    def _working(self) -> Steps:
        """From the subscription to the end; raises what ended it, where that was not `stop()`."""
        listener = SimpleNamespace(
            on_revoked=lambda partitions: self._run(self._revoked(partitions)), on_lost=self._desk.drop
        )
        try:
            self._consumer.subscribe([*self._topics, *self._failures.delays], listener=listener)
            while self._stop_at is None:
                self._take_back()
                if self._fatal is not None:
                    raise self._fatal
                now = time.monotonic()
                for job in self._desk.start(now):
                    self._start(job)
                self._commit_sometimes(now)
                full, free = self._desk.full_and_free()
                self._consumer.pause(full)
                self._consumer.resume(free)
                yield from self._poll()
        finally:
            if self._stop_at is None:
                self._stop_at = time.monotonic() + self._stop_timeout
            yield from self._leave()

    def _poll(self) -> Steps:
        self._is_polling = True
        due = self._desk.next_due()
        timeout = IDLE_POLL_S if due is None else min(IDLE_POLL_S, max(0.0, due - time.monotonic()))
        if self._ended or self._stop_at is not None:
            timeout = 0.0
        records = yield partial(self._consumer.poll, timeout, MAX_POLL_RECORDS)
        self._is_polling = False
        now, epoch_ms = time.monotonic(), time.time() * 1000
        for record in records:
            wait, attempts = self._failures.state_of(record, epoch_ms)
            self._desk.take(record, now, now + wait, attempts)

    def _take_back(self) -> None:
        now = time.monotonic()
        while self._ended:
            job = self._ended.popleft()
            self._desk.finish(job, now)
            self._fatal = self._fatal or job.fatal

    def _commit_sometimes(self, now: float) -> None:
        if now >= self._next_commit and (offsets := self._desk.offsets()):
            self._next_commit = now + self._commit_interval
            self._consumer.commit_async(offsets, callback=self._on_committed)

    def _on_committed(self, offsets: object, error: Exception | None) -> None:
        if error is not None:
            self._desk.forget_sent()
            if not _passes(error):
                self._fatal = self._fatal or error

    def _commit(self) -> Steps:
        self._desk.forget_sent()
        if offsets := self._desk.offsets():
            try:
                yield partial(self._consumer.commit, offsets)
            except Exception as error:
                if not _passes(error):
                    raise
                _log.warning("Offsets were not committed, and their records will be handled again: %r", error)

    def _revoked(self, partitions: Iterable[TopicPartition]) -> Steps:
        """Before partitions go: what is being handled is finished, and what is done is committed."""
        partitions = list(partitions)
        interval = self._consumer.settings.max_poll_interval_ms / 1000
        until = time.monotonic() + min(self._stop_timeout, interval / 2)
        yield from self._finish(until, partial(self._desk.running_in, partitions))
        yield from self._commit()
        self._desk.drop(partitions)

    def _finish(self, until: float, running: Callable[[], int]) -> Steps:
        self._take_back()
        while running() and (left := min(until, self._stop_at or until) - time.monotonic()) > 0:
            yield partial(self._wait, left)
            self._take_back()

    def _leave(self) -> Steps:
        try:
            assert self._stop_at is not None
            yield from self._finish(self._stop_at, lambda: self._desk.running)
            if self._desk.running:
                _log.warning("Handlers of %d jobs are still busy, and are left", self._desk.running)
                yield self._abandon
            yield from self._commit()
            if self._fatal is not None:
                raise self._fatal
        finally:
            try:
                yield self._consumer.close
            finally:
                yield self._producer.close
