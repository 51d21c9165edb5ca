"""Consumer for asyncio: records of assigned partitions, as objects or as columns.

Layer 5: puts the engine's fetcher on the loop driver; the logic of fetching is in `kwire.engine.consumer.fetcher`.

What only runs a wait is written by `make docs`, from the methods of `consumer.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from importlib import import_module

from kwire._codec import ConsumerRecord, LoopIterator
from kwire._typing import TYPE_CHECKING, Any, Never, Self, Unpack, override
from kwire.aio.client import Client
from kwire.engine.calls.offsets import EARLIEST, LATEST, OffsetAndTimestamp
from kwire.engine.common import absent, other_blocks
from kwire.engine.common.absent import without
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.records import ConsumerRecords
from kwire.engine.settings.clients import ConsumerSettings
from kwire.engine.settings.config import configured_by, keywords
from kwire.fronts.consumer import CLOSE_TIMEOUT_S, At, ConsumerFront, Partition

if TYPE_CHECKING:
    from kwire.engine.calls.offsets import OffsetAndMetadata
    from kwire.engine.settings.options import ConsumerOptions, Servers, Timeout
    from kwire.fronts.consumer import AnyPartition, Committable

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


@configured_by(ConsumerSettings)
@without(absent.CONSUMER)
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

    def __init__(self, bootstrap_servers: Servers | None = None, **options: Unpack[ConsumerOptions]) -> None:
        self._open(ConsumerSettings(**keywords(bootstrap_servers, options)))

    @classmethod
    def from_config(
        cls, config: Mapping[str, Any], bootstrap_servers: Servers | None = None, **options: Unpack[ConsumerOptions]
    ) -> Self:
        """From a mapping of dotted names (Java's, librdkafka's, with or without `kafka.`); keywords win.

        One mapping may serve all clients: what only other kinds have is ignored, with a line at DEBUG.
        """
        return cls._configured(ConsumerSettings, config, bootstrap_servers, options)

    _max_decoded = DECODED_AT_ONCE

    @override
    def _open(self, settings: ConsumerSettings) -> None:
        super()._open(settings)
        if settings.group_id is not None:
            for name in NEEDED_IN_GROUPS:
                import_module(name)

    # -- records ----------------------------------------------------------------------------------------------------

    async def poll(self, timeout: Timeout = 0.0, max_records: int | None = None, **unknown: Never) -> ConsumerRecords:
        """Records that came since the last poll, as soon as there are any; empty when `timeout` seconds passed (None:
        no limit), after `wakeup()`, and when every partition is at its `until`.
        Raises ConfigError while nothing is assigned or subscribed to. A broker that is lost is waited for as long as it
        takes; the logger `kwire.drivers` warns of it.

        `max_records` is the limit (default: `max_poll_records`, else about two megabytes of the log). The next fetch is
        sent when half of the records fetched were returned.
        """
        records = await self._door.run(self._polled(timeout, max_records, unknown))
        self._fetcher.hand_out.arrived = True  # nothing runs from here to the caller's assignment
        return records

    @override
    async def close(self, timeout: Timeout = CLOSE_TIMEOUT_S) -> None:
        """Leaves the group in order, for which it takes `timeout` seconds at most, and closes all connections.
        Idempotent: a second one waits for the first. While another call is in progress, the listener is not called and
        nothing is committed.

        A static member (`group_instance_id`) does not leave: its partitions wait for it until the session expires.
        """
        until = self._door.now() + self._patience(timeout)
        await self._door.close(self._farewell(until), until, beside=self._leave_at_once)

    # -- positions --------------------------------------------------------------------------------------------------

    async def position(self, partition: Partition, timeout: Timeout = None) -> int:
        """The offset of the next record that a poll will return; looked up if it is not known yet."""
        return await self._door.run(self._position(partition, timeout))

    async def beginning_offsets(
        self, partitions: Iterable[Partition], timeout: Timeout = None
    ) -> dict[TopicPartition, int]:
        """The offset of the first record of each partition."""
        return await self._door.run(self._ends(partitions, EARLIEST, timeout))

    async def end_offsets(self, partitions: Iterable[Partition], timeout: Timeout = None) -> dict[TopicPartition, int]:
        """The offset after the last record of each partition (with read_committed: after the last stable one)."""
        return await self._door.run(self._ends(partitions, LATEST, timeout))

    async def offsets_for_times(
        self, times: Mapping[At, int | datetime], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition whose timestamp is not before the time; None where there is none.

        Times are ms since the epoch or datetimes. Raises BrokerError (code 35) with brokers before Kafka 0.10.1.
        """
        return await self._door.run(self._offsets_at(times, timeout))

    async def partitions_for(self, topic: str, timeout: Timeout = None) -> list[TopicPartition]:
        """The partitions of a topic."""
        return await self._door.run(self._partitions(topic, timeout))

    # -- the group's offsets ----------------------------------------------------------------------------------------

    async def commit(
        self, what: Committable[AnyPartition] = None, *, timeout: Timeout = None, **unknown: Never
    ) -> None:
        """Commits the offsets to continue from, and waits until the group's coordinator has them.

        `what` is None for all that poll() and iteration have handed out; the records of a poll; one record (the offset
        after it); or {(topic, partition): offset or OffsetAndMetadata}, of the next record to read. Where nothing has
        moved since the last commit nothing is sent.

        Errors: CommitFailedError where the group has rebalanced without this consumer, and poll() has to rejoin it, or
        has taken a partition since these records were returned;
        BrokerError (REBALANCE_IN_PROGRESS: poll, then commit again; FENCED_INSTANCE_ID; no authorization);
        KafkaTimeoutError or ConnectError after `timeout` seconds (default: `default_api_timeout_ms`).
        """
        patience = self._patience(timeout)
        until = self._door.now() + patience
        await self._door.run(self._committing(what, patience, unknown))
        self._finish_callbacks(until)

    async def committed(
        self, partitions: Iterable[Partition], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The group's committed offset in each of these partitions, None where there is none. Offsets of an open
        transaction are waited for."""
        return await self._door.run(self._committed(partitions, timeout))

    async def lag(self, timeout: Timeout = None) -> dict[TopicPartition, int]:
        """How many offsets each assigned partition has after the position, up to its end (with read_committed: the last
        stable offset); asks brokers for the ends."""
        return await self._door.run(self._lag(timeout))

    # -- what is different on an event loop --------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """All records, one after the other; waits for new ones. Ends after `wakeup()`, and when `done()`.

        What the loop has not been given yet when it is left, or when any other method is called in it, is not lost: it
        comes with the next poll or loop. So `position()` is right after the last record given, and a `seek()` or
        `pause()` in the loop holds from the next record on.
        """
        return LoopIterator(self._next_record) if self._deserialization is None else self._deserialized_records()

    async def _deserialized_records(self) -> AsyncIterator[Any]:
        while records := await self._door.run(self._polled(None, None, {})):
            for record in self._hand_out(iter(records)):
                yield record

    async def _next_record(self, iterator: LoopIterator) -> ConsumerRecord:
        """The next record, of another poll if need be, after the loop has turned."""
        await asyncio.sleep(0)
        iterator.turned()
        while (record := iterator.take()) is None:
            records = await self._door.run(self._polled(None, None, {}))
            iterator.turned()
            self._hand_out(iterator.begin(iter(records)))
            if not records:
                raise StopAsyncIteration
        return record

    if not TYPE_CHECKING:
        __iter__ = other_blocks.ASYNC_FOR

    def unsubscribe(self) -> asyncio.Future[None]:
        """Reads nothing any more, and leaves the group: what is finished is committed, and the listener called.

        Begun at once; what it returns can be awaited, and coroutines of this consumer wait for it by themselves. Where
        that is cancelled the consumer leaves without further ado.
        """
        return self._door.begin(self._unsubscribing())
