"""Consumer: records of assigned partitions, as objects or as columns.

Layer 5: puts the engine's fetcher on the synchronous driver; fetching itself is in `kwire.engine.consumer.fetcher`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from kwire._client import Client
from kwire._codec import ConsumerRecord
from kwire._typing import TYPE_CHECKING, Any, Never, Self, Unpack, override
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

    _reads_by_itself = True

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

    @override
    def _open(self, settings: ConsumerSettings, *, background: bool = False) -> None:
        super()._open(settings, background=background or settings.group_id is not None)

    # -- records ----------------------------------------------------------------------------------------------------

    def poll(self, timeout: Timeout = 0.0, max_records: int | None = None, **unknown: Never) -> ConsumerRecords:
        """Records that came since the last poll, as soon as there are any; empty when `timeout` seconds passed (None:
        no limit), after `wakeup()`, and when every partition is at its `until`.
        Raises ConfigError while nothing is assigned or subscribed to. A broker that is lost is waited for as long as it
        takes; the logger `kwire.drivers` warns of it.

        `max_records` is the limit (default: `max_poll_records`, else about two megabytes of the log). The next fetch is
        sent when half of the records fetched were returned.
        """
        records = self._door.run(self._polled(timeout, max_records, unknown))
        self._fetcher.hand_out.arrived = True  # nothing runs from here to the caller's assignment
        return records

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """All records, one after the other; waits for new ones. Ends after `wakeup()`, and when `done()`.

        What the loop has not been given yet when it is left, or when any other method is called in it, is not lost: it
        comes with the next poll or loop. So `position()` is right after the last record given, and a `seek()` or
        `pause()` in the loop holds from the next record on.
        """
        while records := self._door.run(self._polled(None, None, {})):
            yield from self._hand_out(iter(records))

    if not TYPE_CHECKING:
        __aiter__ = other_blocks.FOR

    def unsubscribe(self) -> None:
        """Stops reading and leaves the group: what is finished is committed, and the listener is called."""
        self._door.begin(self._unsubscribing())

    @override
    def close(self, timeout: Timeout = CLOSE_TIMEOUT_S) -> None:
        """Leaves the group in order, for which it takes `timeout` seconds at most, and closes all connections.
        Idempotent: a second one waits for the first. While another call is in progress, the listener is not called and
        nothing is committed.

        A static member (`group_instance_id`) does not leave: its partitions wait for it until the session expires.
        """
        until = self._door.now() + self._patience(timeout)
        self._door.close(self._farewell(until), until, beside=self._leave_at_once)

    # -- positions --------------------------------------------------------------------------------------------------

    def position(self, partition: Partition, timeout: Timeout = None) -> int:
        """The offset of the next record that a poll will return; looked up if it is not known yet."""
        return self._door.run(self._position(partition, timeout))

    def beginning_offsets(self, partitions: Iterable[Partition], timeout: Timeout = None) -> dict[TopicPartition, int]:
        """The offset of the first record of each partition."""
        return self._door.run(self._ends(partitions, EARLIEST, timeout))

    def end_offsets(self, partitions: Iterable[Partition], timeout: Timeout = None) -> dict[TopicPartition, int]:
        """The offset after the last record of each partition (with read_committed: after the last stable one)."""
        return self._door.run(self._ends(partitions, LATEST, timeout))

    def offsets_for_times(
        self, times: Mapping[At, int | datetime], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition whose timestamp is not before the time; None where there is none.

        Times are ms since the epoch or datetimes. Raises BrokerError (code 35) with brokers before Kafka 0.10.1.
        """
        return self._door.run(self._offsets_at(times, timeout))

    def partitions_for(self, topic: str, timeout: Timeout = None) -> list[TopicPartition]:
        """The partitions of a topic."""
        return self._door.run(self._partitions(topic, timeout))

    # -- the group's offsets ----------------------------------------------------------------------------------------

    def commit(self, what: Committable[AnyPartition] = None, *, timeout: Timeout = None, **unknown: Never) -> None:
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
        self._door.run(self._committing(what, patience, unknown))
        self._finish_callbacks(until)

    def committed(
        self, partitions: Iterable[Partition], timeout: Timeout = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The group's committed offset in each of these partitions, None where there is none. Offsets of an open
        transaction are waited for."""
        return self._door.run(self._committed(partitions, timeout))

    def lag(self, timeout: Timeout = None) -> dict[TopicPartition, int]:
        """How many offsets each assigned partition has after the position, up to its end (with read_committed: the last
        stable offset); asks brokers for the ends."""
        return self._door.run(self._lag(timeout))
