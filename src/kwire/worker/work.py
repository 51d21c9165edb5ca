"""The worker: polls, has each lane worked through by a task, commits what is done, and gives partitions up in order.

Layer 6. All of it runs on one event loop; how the handler is called is what `threads.py` and `tasks.py` differ in. The
loop polls on while handlers are busy: a worker that does not poll loses its place in the group.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from datetime import timedelta
from inspect import iscoroutine
from types import SimpleNamespace

from kwire._codec import tenure_of
from kwire._inside import tenures
from kwire._typing import TYPE_CHECKING, Any, Unpack
from kwire.aio.consumer import Consumer
from kwire.aio.producer import Producer
from kwire.drivers.loggers import LateLogger
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.settings.options import ClientOptions
from kwire.errors import BrokerError, CommitFailedError, ConfigError, ConnectError, KafkaError, KafkaTimeoutError
from kwire.errors.listing import counted
from kwire.schema.error_codes import REBALANCE_IN_PROGRESS
from kwire.worker.failures import Failures
from kwire.worker.progress import Item, Lane, Partition, received, unreadable

if TYPE_CHECKING:
    from typing import Literal

    from kwire.engine.settings.options import ConsumerOptions, Servers

MAX_POLL_RECORDS = 500
MIN_POLL_S = 0.01
MAX_POLL_S = 1.0
LOOK_EVERY_S = 0.1
LARGEST_RECORD = 2**31 - 1
"""Of the producer: what a topic took, its retry topic is asked to take, too."""
UNBOUNDED = 2**63 - 1
"""Of the producer's buffer: each lane has one record in it at most, which is in hand anyway."""
FAREWELL_S = 5.0
"""For the last commit, for leaving the group, and for handlers that were cancelled: each takes so long at most."""
STOPPED_BY = (signal.SIGTERM, signal.SIGINT)

_log = LateLogger("kwire.worker")


def _passes(error: Exception) -> bool:
    """Whether a commit that failed so may be repeated, or is another member's business now."""
    if isinstance(error, BrokerError):
        return error.retriable or error.code == REBALANCE_IN_PROGRESS
    return isinstance(error, (CommitFailedError, KafkaTimeoutError, ConnectError))


class Work:
    """The base of the workers."""

    _consumer: Consumer
    _producer: Producer

    def __init__(
        self,
        bootstrap_servers: Servers,
        topics: str | Iterable[str],
        *,
        handler: Callable[[Any], Any],
        concurrency: int = 8,
        order: Literal["partition", "key"] = "partition",
        batch: int | Literal[False] = False,
        retries: float = 3,
        backoff: float = 0.1,
        backoff_max: float = 30.0,
        retry_on: type[Exception] | tuple[type[Exception], ...] = Exception,
        retry_topics: Mapping[str, float | timedelta] | None = None,
        dead_letter_topic: str | None = None,
        max_in_hand: int = 1000,
        commit_interval: float = 1.0,
        stop_timeout: float = 20.0,
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
        most = 1 if batch is False else batch
        numbers = {"concurrency": concurrency, "max_in_hand": max_in_hand, "batch": most, "retries": retries + 1}
        for name, number in numbers.items():
            if number < 1:
                raise ConfigError(f"{name}={number - (name == 'retries')} is too small")
        delays = {
            topic: delay.total_seconds() if isinstance(delay, timedelta) else delay
            for topic, delay in (retry_topics or {}).items()
        }
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        for topic in (*delays, dead_letter_topic):
            if topic in self._topics:
                raise ConfigError(f"{topic!r} is among the topics to read: failed records need another one")
        if dead_letter_topic in delays:
            raise ConfigError(f"dead_letter_topic={dead_letter_topic!r} is among the retry_topics")
        self._failures = Failures(group_id, retries, backoff, backoff_max, retry_on, delays, dead_letter_topic)
        self._handler = handler
        self._batched = batch is not False
        self._most = most
        self._by_key = order == "key"
        self._concurrency = concurrency
        self._max_in_hand = max_in_hand
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
        self._partitions: dict[TopicPartition, Partition] = {}
        self._lanes: dict[object, Lane] = {}
        self._slots = asyncio.Semaphore(concurrency)
        self._first_run = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_at: float | None = None
        self._committed: dict[TopicPartition, int] = {}
        self._next_commit = 0.0
        self._fatal: BaseException | None = None
        self._cancels = False

    async def _call(self, given: Any) -> object:
        """Calls the handler; what it returns where nothing here awaits that. For the subclass to define."""
        raise NotImplementedError

    def stop(self, timeout: float | None = None) -> None:
        """Has `run()` end: what is being handled is finished within `timeout` seconds (default: `stop_timeout`), what
        is done is committed, and the group is left. From any thread, and from a signal handler."""
        self._stop_at = time.monotonic() + (self._stop_timeout if timeout is None else timeout)
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._consumer.wakeup)

    def _begin(self) -> None:
        """Raises where `run()` was called before, and leaves that one alone."""
        if not self._first_run.acquire(blocking=False):
            raise ConfigError("run() was called before: make another Worker")

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        if not self._signals or threading.current_thread() is not threading.main_thread():
            yield
            return
        stop = lambda *_: self.stop(None if self._stop_at is None else 0.0)  # noqa: E731
        before = {number: signal.signal(number, stop) for number in STOPPED_BY}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)

    # -- the loop ----------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """From the subscription to the end; raises what ended it, where that was not `stop()`."""
        async with AsyncExitStack() as opened:
            self._producer = Producer(
                self._servers,
                max_request_size=LARGEST_RECORD,
                buffer_memory=UNBOUNDED,
                **self._producer_options,
            )
            opened.push_async_callback(self._close, self._producer)
            self._consumer = Consumer(self._servers, **self._consumer_options)
            opened.push_async_callback(self._close, self._consumer)
            self._loop = asyncio.get_running_loop()
            listener = SimpleNamespace(on_revoked=self._give_up, on_lost=self._forget)
            self._consumer.subscribe([*self._topics, *self._failures.delays], listener=listener)
            patience = min(max(self._commit_interval, MIN_POLL_S), MAX_POLL_S)
            most = min(MAX_POLL_RECORDS, self._consumer.settings.max_poll_records or MAX_POLL_RECORDS)
            try:
                while self._stop_at is None and self._fatal is None:
                    for record in await self._consumer.poll(patience, most):
                        self._take(record)
                    self._pause_and_resume()
                    self._commit_sometimes()
            finally:
                await self._leave()
        if self._fatal is not None:
            raise self._fatal

    def _take(self, record: Any) -> None:
        tp = TopicPartition(record.topic, record.partition)
        partition, tenure = self._partitions.get(tp), tenure_of(received(record))
        if partition is None or partition.tenure != tenure:
            self._forget([tp])
            partition = self._partitions[tp] = Partition(tenure)
        wait, attempts = self._failures.state_of(record, time.time() * 1000)
        item = Item(record, partition, time.monotonic() + wait, attempts)
        partition.unfinished.append(item)
        key: object = tp
        if self._by_key:
            with_key = received(record).key
            key = (tp, record.offset if with_key is None else with_key)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(tp)
            lane.task = asyncio.create_task(self._work_through(lane, key))
        lane.items.append(item)

    def _pause_and_resume(self) -> None:
        for tp, partition in self._partitions.items():
            in_hand = len(partition.unfinished)
            if not partition.paused and in_hand >= self._max_in_hand:
                self._consumer.pause([tp])
                partition.paused = True
            elif partition.paused and in_hand <= self._max_in_hand // 2:
                self._consumer.resume([tp])
                partition.paused = False

    def _fail(self, error: BaseException) -> None:
        """Has `run()` end with this error."""
        self._fatal = self._fatal or error
        self._consumer.wakeup()

    # -- handling ----------------------------------------------------------------------------------------------------

    async def _work_through(self, lane: Lane, key: object) -> None:
        try:
            while lane.items and self._fatal is None:
                first = lane.items[0]
                if not first.partition.may_begin(first):
                    lane.items.popleft()
                elif (wait := first.due - time.monotonic()) > 0:
                    await first.partition.sleep(wait)
                else:
                    async with self._slots:
                        if first.partition.may_begin(first):
                            await self._handle(lane)
        except asyncio.CancelledError as error:
            if not self._cancels:
                failure = RuntimeError("a handler cannot go on: its task was cancelled")
                failure.__cause__ = error
                self._fail(failure)
            raise
        except BaseException as error:
            self._fail(error)
        finally:
            del self._lanes[key]

    async def _handle(self, lane: Lane) -> None:
        """Handles what comes first in the lane: it is done after that, or else is first again."""
        items = lane.next_batch(self._most, time.monotonic())
        for item in items:
            item.busy = True
        is_done = await self._is_done_with(items)
        for item in items:
            item.busy = False
        if is_done:
            partition = items[0].partition
            for item in items:
                lane.items.popleft()
                partition.finish(item)
            if partition.paused and len(partition.unfinished) <= self._max_in_hand // 2:
                self._consumer.wakeup()

    async def _is_done_with(self, items: list[Item]) -> bool:
        """Whether they are handled, or written to their next topic; else they are to be handled again."""
        error = await self._attempt(items)
        if error is None:
            return True
        wait = self._failures.wait_before_next(items[0], error)
        if wait is None and len(items) == 1:
            await self._move_on(items[0], error)
            return True
        for item in items:
            item.due = time.monotonic() + (wait or 0.0)
            item.alone = item.alone or wait is None
        _log.info("%s is to be handled again in %g s: %r", _place(items[0].record), wait or 0.0, error)
        return False

    async def _attempt(self, items: list[Item]) -> Exception | None:
        """Why the handler has not done these; None where it has."""
        records = [item.record for item in items]
        if (error := unreadable(records[0])) is not None:
            return error
        for item in items:
            item.attempts += 1
        try:
            result = await self._call(records if self._batched else records[0])
        except Exception as error:
            return error
        if iscoroutine(result):
            result.close()
            raise ConfigError("the handler returned what has to be awaited: use kwire.aio.Worker")
        return None

    async def _move_on(self, item: Item, error: Exception) -> None:
        """Writes a record to its next topic; raises where that fails, or where there is none."""
        record = received(item.record)
        topic = self._failures.next_topic(record.topic, error)
        if topic is None:
            error.add_note(f"The record is {_place(record)}; there is no dead_letter_topic for it.")
            raise error
        headers = self._failures.headers(item, topic, error, time.time() * 1000)
        await self._producer.send(topic, record.value, key=record.key, headers=headers)
        _log.warning("%s goes on to %s: %r", _place(record), topic, error)

    # -- commits -----------------------------------------------------------------------------------------------------

    def _positions(self) -> dict[TopicPartition, int]:
        """What is done; not of a topic that was recreated since, where the same offsets are those of other records."""
        current = tenures(self._consumer)
        found = {tp: each.position for tp, each in self._partitions.items() if current.get(tp) == each.tenure}
        return {tp: position for tp, position in found.items() if position is not None}

    def _commit_sometimes(self) -> None:
        now, positions = time.monotonic(), self._positions()
        if now >= self._next_commit and positions != self._committed:
            self._next_commit, self._committed = now + self._commit_interval, positions
            self._consumer.commit_async(positions, callback=self._on_committed)

    def _on_committed(self, offsets: object, error: Exception | None) -> None:
        if error is not None:
            self._committed = {}
            if not _passes(error):
                self._fail(error)

    async def _commit(self) -> None:
        if positions := self._positions():
            try:
                await self._consumer.commit(positions, timeout=FAREWELL_S)
            except Exception as error:
                if not _passes(error) and self._fatal is None:
                    raise
                _log.warning("Offsets were not committed, and their records will be handled again: %r", error)

    # -- partitions go, and the end ----------------------------------------------------------------------------------

    async def _give_up(self, partitions: Iterable[TopicPartition]) -> None:
        """Before partitions go: what is being handled is finished, and what is done is committed."""
        partitions = set(partitions)
        interval = self._consumer.settings.max_poll_interval_ms / 1000
        try:
            await self._finish(partitions, time.monotonic() + min(self._stop_timeout, interval / 2))
            await self._commit()
        except Exception as error:
            self._fail(error)
        finally:
            self._forget(partitions)

    async def _finish(self, partitions: set[TopicPartition], until: float) -> set[asyncio.Task[None]]:
        """Winds up these partitions, and waits for what is being handled; what is still busy then."""
        for tp in partitions & self._partitions.keys():
            self._partitions[tp].wind_up()
        busy = {lane.task for lane in self._lanes.values() if lane.tp in partitions}
        while busy and (left := min(until, self._stop_at or until) - time.monotonic()) > 0:
            _, busy = await asyncio.wait(busy, timeout=min(left, LOOK_EVERY_S))
            self._commit_sometimes()
        return busy

    def _forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Partitions are gone. What is busy in their lanes goes on: a record is not handled twice at once."""
        for tp in partitions:
            if (partition := self._partitions.pop(tp, None)) is not None:
                partition.end()

    async def _leave(self) -> None:
        self._stop_at = self._stop_at or time.monotonic() + self._stop_timeout
        busy: set[asyncio.Task[None]] = set()
        try:
            busy = await self._finish({*self._partitions, *(lane.tp for lane in self._lanes.values())}, self._stop_at)
        finally:
            self._cancels = True
            for lane in self._lanes.values():
                lane.task.cancel()
            if busy:
                late = sum(item.busy for partition in self._partitions.values() for item in partition.unfinished)
                _log.warning("Handlers are still busy with %s, and are left", counted(late, "record"))
                await asyncio.wait(busy, timeout=FAREWELL_S)
        await self._commit()
        self._forget([*self._partitions])

    async def _close(self, client: Producer | Consumer) -> None:
        try:
            await client.close(FAREWELL_S)
        except KafkaError as error:
            _log.warning("%r was not closed in order: %r", client, error)


def _place(record: Any) -> str:
    return f"{record.topic}-{record.partition} at offset {record.offset}"
