"""Reads the ranges of one task in a Spark worker and yields their records as Arrow batches.

A range ends when the position has reached its end, not when a certain record has come: compaction, aborted transactions
and control records leave offsets without one. A worker keeps one consumer for each set of client properties.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Final

import pyarrow as pa

from kwire._inside import topic_id
from kwire.consumer import Consumer
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import BrokerError, KafkaError, KafkaTimeoutError, UnknownTopicError
from kwire.errors.listing import counted, first_of
from kwire.records import Records
from kwire.schema.error_codes import OFFSET_OUT_OF_RANGE
from kwire.spark.options.client import CLIENT_SETTINGS, errors_by_option
from kwire.spark.options.read import ReadOptions
from kwire.spark.ranges.offsets import DataLossError
from kwire.spark.ranges.tasks import OffsetRange, Task
from kwire.spark.reading.columns import ColumnBatches
from kwire.spark.reading.count import Count
from kwire.spark.reading.read_loss import Loss, LossCheck, is_recreated
from kwire.spark.workers.clients import borrowed
from kwire.spark.workers.heap import settle_heap
from kwire.spark.workers.logs import task_name, tell_from

_log = logging.getLogger("kwire.spark")

_POLL_S: Final = 0.5
# A poll returns all that a response brought: it is cut into batches here, and shorter polls cost a tenth more.
_MAX_PER_POLL: Final = 1 << 24
_FIRST_LOOK_S: Final = 1.0


def read_task(options: ReadOptions, task: Task) -> Iterator[pa.RecordBatch]:
    """The records of all ranges, partition after partition as they arrive, in offset order within each range.

    Raises DataLossError when records of a range are gone and `fail_on_data_loss` is set (else they are left out, with a
    warning), KafkaTimeoutError when nothing has come for `poll_timeout_s`, CodecError, with topic, partition and
    offset, for damaged records, and DecodeError for those that a decoder cannot read.
    """
    settle_heap()
    tell_from(options.log_level)
    batches = ColumnBatches(options.columns, options.decoding)
    name = ("consumer", *sorted(options.client.items()))
    with borrowed(partial(_consumer, options), name) as consumer, errors_by_option(options.client):
        for ranges in _rounds(task):
            for tp, records in _RangeReader(consumer, ranges, options).read():
                yield from batches.add(records, tp.topic, tp.partition)
    yield from batches.flush()


def _consumer(options: ReadOptions) -> Consumer:
    with errors_by_option(options.client, on_this_host=True):
        return Consumer.from_config(options.client, **CLIENT_SETTINGS)


def _rounds(task: Task) -> Iterator[list[OffsetRange]]:
    """The ranges of a task in rounds with each partition once, since a consumer has one position in each.

    Ranges that continue each other are first made one.
    """
    by_partition: dict[TopicPartition, list[OffsetRange]] = defaultdict(list)
    for each in sorted(task, key=lambda each: (each.partition, each.start)):
        own = by_partition[each.partition]
        if own and own[-1].end == each.start:
            own[-1] = replace(own[-1], end=each.end)
        else:
            own.append(each)
    for ranges in zip_longest(*by_partition.values()):
        yield [each for each in ranges if each is not None]


class _Silence:
    """How long nothing has come, and when to look for the reason: after 1 s, 2 s, 4 s and so on."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.break_()

    def break_(self) -> None:
        self._since = time.monotonic()
        self._next_look = min(_FIRST_LOOK_S, self.patience)

    @property
    def is_too_long(self) -> bool:
        return time.monotonic() - self._since > self.patience

    def is_time_to_look(self) -> bool:
        if time.monotonic() - self._since < self._next_look:
            return False
        self._next_look *= 2
        return True


class _RangeReader:
    """Reads one range in each of several partitions."""

    def __init__(self, consumer: Consumer, ranges: Sequence[OffsetRange], options: ReadOptions) -> None:
        self._consumer = consumer
        self._ranges = ranges
        self._fail_on_data_loss = options.fail_on_data_loss
        self._silence = _Silence(options.poll_timeout_s)
        self._check = LossCheck(options.client)
        self._suspected: set[TopicPartition] = set()
        self._told: set[TopicPartition] = set()

    def read(self) -> Iterator[tuple[TopicPartition, Records]]:
        began = time.monotonic()
        counts = {each.partition: Count() for each in self._ranges}
        for tp, records in self._read():
            counts[tp].add(records)
            yield tp, records
        if _log.isEnabledFor(logging.INFO):
            self._tell(counts, time.monotonic() - began)

    def _tell(self, counts: Mapping[TopicPartition, Count], seconds: float) -> None:
        task = task_name()
        for each in self._ranges:
            count = counts[each.partition]
            _log.info(
                "%s read %s, offsets %d to %d: %s, %d bytes, in %.3f s",
                task, each.partition, each.start, each.end, counted(count.rows, "row"), count.size, seconds,
            )  # fmt: skip

    def _read(self) -> Iterator[tuple[TopicPartition, Records]]:
        consumer = self._consumer
        starts: dict[tuple[str, int], int] = {each.partition: each.start for each in self._ranges}
        ends: dict[tuple[str, int], int] = {each.partition: each.end for each in self._ranges}
        consumer.assign(ends, at=starts, until=ends)
        reached = -1
        while not consumer.done():
            try:
                polled = consumer.poll(timeout=_POLL_S, max_records=_MAX_PER_POLL)
            except (BrokerError, UnknownTopicError) as error:
                self._judge(error)
                continue
            if polled:
                yield from polled.by_partition().items()
                self._silence.break_()
                continue
            positions = sum(consumer.position(tp) for tp in ends)
            if positions != reached:
                self._silence.break_()
                reached = positions
            self._look_for_the_reason()
        self._check_topics()

    def _unfinished(self) -> list[tuple[OffsetRange, int]]:
        """The ranges not read to their end, each with its position."""
        positions = [(each, self._consumer.position(each.partition)) for each in self._ranges]
        return [(each, position) for each, position in positions if position < each.end]

    def _judge(self, error: KafkaError) -> None:
        """Goes on after a loss if that is what the error is about."""
        if not isinstance(error, UnknownTopicError) and getattr(error, "code", None) != OFFSET_OUT_OF_RANGE:
            raise error
        if not self._pass(self._check.losses(self._unfinished())):
            if self._silence.is_too_long:
                raise error
            time.sleep(_POLL_S)

    def _look_for_the_reason(self) -> None:
        """After some silence: passes what is found lost twice in a row, since a broker's first answer may be old."""
        is_too_long = self._silence.is_too_long
        if not is_too_long and not self._silence.is_time_to_look():
            return
        losses = self._check.losses(self._unfinished())
        self._pass([loss for loss in losses if is_too_long or loss.partition in self._suspected])
        self._suspected = {loss.partition for loss in losses}
        if self._silence.is_too_long:
            raise KafkaTimeoutError(self._silence_text())

    def _pass(self, losses: Sequence[Loss]) -> bool:
        """Fails because of a loss, or goes on after it; returns whether some range goes on elsewhere."""
        if losses and self._fail_on_data_loss:
            raise DataLossError(losses[0].text)
        moved = [loss for loss in losses if loss.goes_on_at != self._consumer.position(loss.partition)]
        for loss in moved:
            if loss.partition not in self._told:
                _log.warning("%s", loss.text)
            self._told.add(loss.partition)
            self._consumer.seek(loss.partition, loss.goes_on_at)
            self._silence.break_()
        return bool(moved)

    def _check_topics(self) -> None:
        """Fails if the rows are those of a topic that was created after the read was planned."""
        if not self._fail_on_data_loss:
            return
        doubtful = [each for each in self._ranges if is_recreated(each, topic_id(self._consumer, each.partition.topic))]
        if doubtful:
            self._pass(self._check.losses([(each, each.start) for each in doubtful]))

    def _silence_text(self) -> str:
        places = (f"{each.partition} at offset {position} of {each.end}" for each, position in self._unfinished())
        trouble = "" if self._check.trouble is None else f". {self._check.trouble}"
        return (
            f"Cannot fetch records: nothing came within {self._silence.patience:g} s (kafkaConsumer.pollTimeoutMs). "
            f"Not read to their end: {first_of(places, 5)}{trouble}"
        )
