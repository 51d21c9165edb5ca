"""Consumer for asyncio: records of assigned partitions, as objects or as columns.

Layer 5: puts the engine's fetcher on the loop driver; the logic of fetching is in `kwire.engine.consumer.fetcher`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from importlib import import_module
from inspect import isawaitable
from time import monotonic

import kwire.consumer
from kwire._codec import ConsumerRecord, LoopIterator
from kwire._typing import TYPE_CHECKING, Any, Never, Self, Unpack, override
from kwire.aio.client import Client
from kwire.aio.like import like
from kwire.consumer import CLOSE_TIMEOUT_S
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

__all__ = ["Consumer"]

DECODED_AT_ONCE = 2 << 20
"""Bytes of decompressed records, and of their index, that one response is to bring: about two milliseconds."""

NEEDED_IN_GROUPS = (
    "encodings.utf_16_be",
    "kwire.engine.connections.group_probe",
    *(
        f"kwire.schema.{name}"
        for name in (
            "group_blobs",
            "k08_offset_commit",
            "k09_offset_fetch",
            "k10_find_coordinator",
            "k11_join_group",
            "k12_heartbeat",
            "k13_leave_group",
            "k14_sync_group",
            "k68_consumer_group_heartbeat",
        )
    ),
)
"""What the first requests of a group need: imported before, as `PRELOADED` of every client."""

_listening_in: ContextVar[frozenset[object]] = ContextVar("_listening_in", default=frozenset())
"""The calls of listeners that a task runs in: those of the tasks that began it, too."""

LONG_TURN_S = 0.001
"""Seconds after which a poll lets the loop turn once, though it has records at hand."""


@configured_by(ConsumerSettings)
@without(absent.CONSUMER)
@like(kwire.consumer.Consumer)
class Consumer(ConsumerFront, Client[ConsumerSettings]):
    """Reads records from partitions; use it from one task at a time (`wakeup` and `close` from any of its loop).

        async with kwire.aio.Consumer("host:9092", auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["topic"])
            async for record in consumer: ...

    What waits is a coroutine; to cancel it loses no record. What only sets what is read is a plain method. Keywords are
    the settings below. Errors: ConfigError for settings and arguments; ConnectError with a cause for each address when
    no broker can be reached in the time asked; UnknownTopicError; BrokerError; and for bad data in the log one of the
    CodecErrors, after the records that precede it were given, with `.topic .partition .record_offset .seek_to`.
    """

    kind = "consumer"
    callers = "task"

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
    def _open(self, settings: ConsumerSettings) -> None:
        super()._open(settings)
        self._open_fetcher(DECODED_AT_ONCE)
        self._turned_at = 0.0
        self._leaving: asyncio.Future[None] | None = None
        if settings.group_id is not None:
            for name in NEEDED_IN_GROUPS:
                import_module(name)

    # -- records ----------------------------------------------------------------------------------------------------

    async def poll(self, timeout: Timeout = 0.0, max_records: int | None = None, **unknown: Never) -> ConsumerRecords:
        absent.refuse_keywords("poll", unknown, absent.POLL_KEYWORDS)
        patience = arguments.poll_seconds(timeout)
        count = arguments.record_count(max_records, "max_records")
        records = await self._alone_while(lambda: self._poll(patience, count))
        self._fetcher.hand_out.arrived = True  # nothing is awaited from here to the caller's assignment
        return records

    async def _poll(self, timeout: float | None, count: int | None) -> ConsumerRecords:
        polling, wait = self._polling, self._driver.wait
        self._call_inside(polling.begin)
        deadline = float("inf") if timeout is None else monotonic() + timeout
        membership = self._membership
        try:
            await self._let_turn()
            if membership is not None:
                await self._rebalance(membership)
            while (left := deadline - monotonic()) > 0:
                if await wait(polling.ready, min(left, polling.look_every)) and (
                    membership is None or not await self._rebalance(membership)
                ):
                    break
                self._call_inside(polling.check)
        except BaseException:
            self._end_failed_poll()
            raise
        return self._call_inside(lambda now: polling.take_records(count, now))

    async def _rebalance(self, membership: Membership) -> bool:
        """Does what the group wants done before the poll goes on, calls the listener for it; whether there was any."""
        called = membership.has_event
        failure = await self._tell_all(membership)
        if failure is not None:
            raise failure
        return called

    async def _tell_all(self, membership: Membership) -> KafkaError | None:
        """Calls the listener for all events; the first error that it raised."""
        self._check_may_listen()
        failure: KafkaError | None = None
        while (event := self._call_inside(membership.next_event)) is not None:
            error = await self._tell_listener(event)
            if error is not None:
                failure = failure or self._listener_error(event, error)
            self._call_inside(partial(membership.event_done, event, error))
        return failure

    async def _tell_listener(self, event: RebalanceEvent) -> Exception | None:
        handler = self._handler(event)
        if handler is None:
            return None
        listening = object()
        outer = _listening_in.set(_listening_in.get() | {listening})
        try:
            self._listening = listening
            returned = handler(list(event.partitions))
            if isawaitable(returned):
                await returned
        except Exception as error:
            return error
        finally:
            self._listening = None
            _listening_in.reset(outer)
        return None

    @override
    def _is_listener(self) -> bool:
        return self._listening is not None and self._listening in _listening_in.get()

    async def _let_turn(self) -> None:
        """Lets the loop turn where it has not for long, and where what has come may not have been read."""
        if not self._polling.ready():
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # what the first finds to be read is read before the second is over
        elif monotonic() - self._turned_at > LONG_TURN_S:
            await asyncio.sleep(0)
        else:
            return
        self._turned_at = monotonic()

    def __aiter__(self) -> LoopIterator:
        """All records, one after the other; waits for new ones. Ends after `wakeup()`, and when `done()`.

        What the loop has not been given yet when it is left, or when any other method is called in it, is not lost: it
        comes with the next poll or loop. So `position()` is right after the last record given, and a `seek()` or
        `pause()` in the loop holds from the next record on.
        """
        return LoopIterator(self._next_record)

    async def _next_record(self, iterator: LoopIterator) -> ConsumerRecord:
        """The next record, of another poll if need be, after the loop has turned."""
        await asyncio.sleep(0)
        iterator.turned()
        hand_out = self._fetcher.hand_out
        while (record := iterator.take()) is None:
            records = await self._alone_while(lambda: self._poll(None, None))
            iterator.turned()
            hand_out.iterator = iterator.begin(iter(records))
            hand_out.arrived = True
            if not records:
                raise StopAsyncIteration
        return record

    def wakeup(self) -> None:
        """Makes a poll that waits, or else the next one, return at once with nothing; from any task of the loop."""
        self._polling.woken = True
        if self._driver.loop is not None:
            self._driver.wake()

    @override
    def unsubscribe(self) -> asyncio.Future[None]:
        """Reads nothing any more, and leaves the group: what is finished is committed, and the listener called.

        Begun at once; what it returns can be awaited, and coroutines of this consumer wait for it by themselves. Where
        that is cancelled the consumer leaves without further ado.
        """
        self._driver.check_loop()
        if self._membership is None or not self._membership.active:
            self.assign([])
            over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            over.set_result(None)
            return over
        membership, until = self._membership, monotonic() + self._patience(None)
        self._check_may_listen()
        self._call(membership.unsubscribe)
        self._used = True
        self._leaving = asyncio.ensure_future(self._unsubscribe(membership, until))
        self._leaving.add_done_callback(partial(self._on_left, membership))
        return self._leaving

    async def _unsubscribe(self, membership: Membership, until: float) -> None:
        try:
            failure = await self._give_back(membership, until, _nothing)
        finally:
            self._used = False
            self._leaving = None
        if failure is not None:
            raise failure

    def _on_left(self, membership: Membership, task: asyncio.Future[None]) -> None:
        """The task was cancelled before it began; one that has ended has said so in that turn."""
        if self._leaving is not task:
            return
        self._used = False
        self._leaving = None
        if membership.active and not self._closed:
            self._step(lambda now: membership.leave(now, _nothing))

    async def _give_back(self, membership: Membership, until: float, on_left: Then) -> KafkaError | None:
        """Gives all partitions back and leaves, also where the listener raises: returns its first error."""
        failure: KafkaError | None = None
        try:
            while not membership.can_leave and (left := until - monotonic()) > 0:
                await self._driver.wait(lambda: membership.has_event or membership.can_leave, left)
                failure = await self._tell_all(membership) or failure
        finally:
            if not self._closed:
                self._step(lambda now: membership.leave(now, on_left))
        return failure

    @override
    async def close(self, timeout: Timeout = CLOSE_TIMEOUT_S) -> None:
        """Leaves the group in order, for which it takes `timeout` seconds at most, and closes all connections.
        Idempotent: a second one waits for the first. While another task is in a call, the listener is not called and
        nothing is committed.

        A static member (`group_instance_id`) does not leave: its partitions wait for it until the session is over.
        """
        until = monotonic() + self._patience(timeout)
        if self._membership is None or not self._driver.at_home or self._is_listener():
            await self._close_in_haste()
            return
        async with self._turn_to_close(until) as is_open:
            try:
                if is_open:
                    await self._end_in_group(self._membership, until)
            except ClientClosedError:
                if not self._closed:
                    raise  # else another close() had less time, or was called by the listener
            finally:
                await super().close()

    async def _close_in_haste(self) -> None:
        """Closes where nothing can be waited for: inside the listener, in another event loop, in a forked child."""
        if self._driver.at_home and not self._closed:
            self._leave_in_haste()
        await super().close()

    def _leave_in_haste(self) -> None:
        membership = self._membership
        if membership is not None and membership.active:
            self._step(lambda now: membership.leave(now, _nothing))

    async def _end_in_group(self, membership: Membership, until: float) -> None:
        if self._leaving is not None:
            await asyncio.wait([self._leaving], timeout=max(until - monotonic(), 0.0))
        if self._used:
            self._leave_in_haste()
            return
        failure = await self._alone_while(lambda: self._end_alone(membership, until))
        if failure is not None:
            raise failure

    async def _end_alone(self, membership: Membership, until: float) -> KafkaError | None:
        """Commits what is finished, and leaves."""
        failure, over = None, list[float]()
        if membership.active:
            self._call_inside(self._begin_to_leave)
            failure = await self._give_back(membership, until, over.append)
        else:
            self._step(partial(self._begin_last_commit, until, over.append))
        await self._driver.wait(lambda: bool(over), max(until - monotonic(), 0.0))
        return failure

    # -- positions --------------------------------------------------------------------------------------------------

    async def position(self, partition: Partition, timeout: Timeout = None) -> int:
        tp = arguments.partition(partition)
        return await self._alone_while(lambda: self._position(tp, timeout))

    async def _position(self, tp: TopicPartition, timeout: Timeout) -> int:
        patience, polling = self._patience(timeout), self._polling
        self._call_inside(lambda now: polling.look_up(tp, now))
        await self._driver.wait(lambda: polling.has_position(tp), patience)
        found = self._call_inside(lambda now: polling.position(tp))
        if found is None:
            raise polling.no_position(tp, patience)
        return found

    async def beginning_offsets(
        self, partitions: Iterable[Partition], timeout: Timeout = None
    ) -> dict[TopicPartition, int]:
        return await self._run_alone(calls.ends_of(partitions, EARLIEST, isolation_level=self._isolation), timeout)

    async def end_offsets(self, partitions: Iterable[Partition], timeout: Timeout = None) -> dict[TopicPartition, int]:
        return await self._run_alone(calls.ends_of(partitions, LATEST, isolation_level=self._isolation), timeout)

    async def offsets_for_times(
        self, times: Mapping[At, int | datetime], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        question = calls.list_offsets(times, isolation_level=self._isolation, name="times")
        return await self._run_alone(question, timeout)

    async def partitions_for(self, topic: str, timeout: Timeout = None) -> list[TopicPartition]:
        lookup = partial(PartitionsLookup, self._core, arguments.topic_name(topic))
        found: list[TopicPartition] = await self._alone_while(lambda: self._ask(timeout, lookup))
        return found

    # -- the group's offsets ----------------------------------------------------------------------------------------

    async def commit(self, what: Committable[Place] = None, *, timeout: Timeout = None, **unknown: Never) -> None:
        absent.refuse_keywords("commit", unknown, absent.COMMIT_KEYWORDS)
        begin = self._committing(what, "commit")
        await self._alone_while(lambda: self._ask(timeout, begin))
        self._callbacks.run()

    async def committed(
        self, partitions: Iterable[Partition], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        begin = self._fetching_committed(partitions)
        found: dict[TopicPartition, OffsetAndMetadata | None]
        found = await self._alone_while(lambda: self._ask(timeout, begin))
        return found

    async def lag(self, timeout: Timeout = None) -> dict[TopicPartition, int]:
        return await self._alone_while(lambda: self._lag(timeout))

    async def _lag(self, timeout: Timeout) -> dict[TopicPartition, int]:
        until = monotonic() + self._patience(timeout)
        assigned = self._call_inside(self._settled_assignment)
        if not assigned:
            return {}
        ends = await self._run(calls.ends_of(assigned, LATEST, isolation_level=self._isolation), timeout)
        left = max(until - monotonic(), 0.0)
        return {tp: max(ends[tp] - await self._position(tp, left), 0) for tp in assigned}

    # -- help -------------------------------------------------------------------------------------------------------

    async def _run_alone(self, question: calls.Question[T], timeout: Timeout) -> T:
        return await self._alone_while(lambda: self._run(question, timeout))

    async def _alone_while(self, work: Callable[[], Awaitable[T]]) -> T:
        """As `_alone`, for work that waits."""
        if self._is_listener():
            return await work()
        if self._leaving is not None:
            await asyncio.wait([self._leaving])
        self._alone(self._driver.check_loop)
        self._used = True
        try:
            return await work()
        finally:
            self._used = False


def _nothing(now: float) -> None:
    """Nobody waits for the answer."""
