"""Consumer for asyncio: records of assigned partitions, as objects or as columns.

Layer 5: puts the engine's fetcher on the loop driver; the logic of fetching is in `kwire.engine.fetcher`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from time import monotonic

import kwire.consumer
from kwire._codec import ConsumerRecord, LoopIterator
from kwire._typing import TYPE_CHECKING, Any, Self, Unpack, override
from kwire.aio.client import Client
from kwire.aio.like import like
from kwire.engine import absent, arguments
from kwire.engine.absent import without
from kwire.engine.addresses import TopicPartition
from kwire.engine.admin import calls
from kwire.engine.consumer_records import ConsumerRecords
from kwire.engine.offsets import EARLIEST, LATEST, OffsetAndTimestamp, PartitionsLookup
from kwire.engine.polling import LOOK_EVERY_S
from kwire.engine.settings import ConsumerSettings, configured_by, from_config, keywords
from kwire.fronts.consumer import At, ConsumerFront, Partition, T

if TYPE_CHECKING:
    from kwire.engine.options import ConsumerOptions, Servers, Timeout

__all__ = ["Consumer"]

DECODED_AT_ONCE = 2 << 20
"""Bytes of decompressed records, and of their index, that one response is to bring: about two milliseconds."""

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
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win."""
        return cls._of(from_config(ConsumerSettings, config, **keywords(bootstrap_servers, options)))

    @override
    def _open(self, settings: ConsumerSettings) -> None:
        super()._open(settings)
        self._open_fetcher(DECODED_AT_ONCE)
        self._turned_at = 0.0

    # -- records ----------------------------------------------------------------------------------------------------

    async def poll(self, timeout: Timeout = 0.0, max_records: int | None = None) -> ConsumerRecords:
        patience = arguments.poll_seconds(timeout)
        count = arguments.record_count(max_records, "max_records")
        records = await self._alone_while(lambda: self._poll(patience, count))
        self._fetcher.hand_out.arrived = True  # nothing is awaited from here to the caller's assignment
        return records

    async def _poll(self, timeout: float | None, count: int | None) -> ConsumerRecords:
        polling, wait = self._polling, self._driver.wait
        self._call_inside(polling.begin)
        await self._let_turn()
        deadline = float("inf") if timeout is None else monotonic() + timeout
        while (left := deadline - monotonic()) > 0 and not await wait(polling.ready, min(left, LOOK_EVERY_S)):
            self._call_inside(polling.check)
        return ConsumerRecords(self._call_inside(lambda now: polling.take(count, now)))

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

    # -- help -------------------------------------------------------------------------------------------------------

    async def _run_alone(self, question: calls.Question[T], timeout: Timeout) -> T:
        return await self._alone_while(lambda: self._run(question, timeout))

    async def _alone_while(self, work: Callable[[], Awaitable[T]]) -> T:
        """As `_alone`, for work that waits."""
        self._alone(self._driver.check_loop)
        self._used = True
        try:
            return await work()
        finally:
            self._used = False
