"""Consumer: records of assigned partitions, as objects or as columns.

Layer 5: puts the engine's fetcher on the synchronous driver; the logic of fetching is in `kwire.engine.fetcher`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial

from kwire._client import Client
from kwire._codec import ConsumerRecord
from kwire._typing import TYPE_CHECKING, Any, Self, Unpack, override
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
        Client._open(self, settings, background=background)
        self._open_fetcher()

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

    def wakeup(self) -> None:
        """Makes a poll that waits, or else the next one, return at once with nothing; from any thread."""
        self._polling.woken = True
        self._reactor.wake()

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

    def _run_alone(self, question: calls.Question[T], timeout: Timeout) -> T:
        return self._alone(lambda: self._run(question, timeout))
