"""Reads the ranges of one task in a Spark worker and yields their records as Arrow batches.

A range ends when the position has reached its end, not when a certain record has come: compaction, aborted transactions
and control records leave offsets without one. A worker keeps one consumer for each set of client properties, so that
the tasks that follow find their connections open.
"""

from __future__ import annotations

import atexit
import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import zip_longest
from typing import Final

import pyarrow as pa

from kwire.consumer import Consumer
from kwire.engine.addresses import TopicPartition
from kwire.errors import BrokerError, KafkaTimeoutError
from kwire.records import Records
from kwire.spark.client_options import CLIENT_SETTINGS, errors_by_option
from kwire.spark.columns import ColumnBatches
from kwire.spark.offsets import DataLossError, data_loss_text
from kwire.spark.options import ReadOptions
from kwire.spark.planning import OffsetRange, Task

_log = logging.getLogger("kwire.spark")

_POLL_S: Final = 0.5
# A poll returns all that a response brought: it is cut into batches here, and shorter polls cost a tenth more.
_MOST_PER_POLL: Final = 1 << 24
_OFFSET_OUT_OF_RANGE: Final = 1

_idle_consumers: dict[tuple[tuple[str, str], ...], Consumer] = {}


def read_task(options: ReadOptions, task: Task) -> Iterator[pa.RecordBatch]:
    """The records of all ranges, partition after partition as they arrive, in offset order within each range.

    Raises DataLossError when records of a range are gone and `fail_on_data_loss` is set (else they are left out, with a
    warning), KafkaTimeoutError when nothing has come for `poll_timeout_s`, and CodecError, with topic, partition and
    offset, for damaged records.
    """
    batches = ColumnBatches(options.columns)
    with _borrowed_consumer(options) as consumer:
        for ranges in _rounds(task):
            for tp, records in _RangeReader(consumer, ranges, options).read():
                yield from batches.add(records, tp.topic, tp.partition)
    yield from batches.flush()


@contextmanager
def _borrowed_consumer(options: ReadOptions) -> Iterator[Consumer]:
    """The worker's consumer for these properties. One whose task failed or was stopped is closed, not used again."""
    name = tuple(sorted(options.client.items()))
    with errors_by_option(options.client, on_this_host=True):
        consumer = _idle_consumers.pop(name, None) or Consumer.from_config(options.client, **CLIENT_SETTINGS)
    try:
        yield consumer
    except BaseException:
        consumer.close()
        raise
    _idle_consumers[name] = consumer


@atexit.register
def close_idle_consumers() -> None:
    """Closes the connections that this process keeps for later tasks."""
    while _idle_consumers:
        _idle_consumers.popitem()[1].close()


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


class _RangeReader:
    """Reads one range in each of several partitions."""

    def __init__(self, consumer: Consumer, ranges: Sequence[OffsetRange], options: ReadOptions) -> None:
        self._consumer = consumer
        self._ranges = ranges
        self._fail_on_data_loss = options.fail_on_data_loss
        self._patience = options.poll_timeout_s

    def read(self) -> Iterator[tuple[TopicPartition, Records]]:
        consumer = self._consumer
        starts: dict[tuple[str, int], int] = {each.partition: each.start for each in self._ranges}
        ends: dict[tuple[str, int], int] = {each.partition: each.end for each in self._ranges}
        consumer.assign(ends, at=starts, until=ends)
        last_progress, reached = time.monotonic(), -1
        while not consumer.done():
            try:
                polled = consumer.poll(timeout=_POLL_S, max_records=_MOST_PER_POLL)
            except BrokerError as error:
                if error.code != _OFFSET_OUT_OF_RANGE:
                    raise
                self._pass_what_is_lost()
                continue
            if polled:
                last_progress = time.monotonic()
                yield from polled.by_partition().items()
                continue
            positions = sum(consumer.position(tp) for tp in ends)
            if positions != reached:
                last_progress, reached = time.monotonic(), positions
            elif time.monotonic() - last_progress > self._patience:
                raise KafkaTimeoutError(self._silence())

    def _unfinished(self) -> list[tuple[OffsetRange, int]]:
        """The ranges not read to their end, each with its position."""
        positions = [(each, self._consumer.position(each.partition)) for each in self._ranges]
        return [(each, position) for each, position in positions if position < each.end]

    def _pass_what_is_lost(self) -> None:
        """Some position is outside its log: fails, or goes on at the first record that the log still has."""
        unfinished = self._unfinished()
        partitions = [each.partition for each, _ in unfinished]
        earliest = self._consumer.beginning_offsets(partitions)
        latest = self._consumer.end_offsets(partitions)
        for each, position in unfinished:
            tp = each.partition
            if earliest[tp] <= position <= latest[tp]:
                continue
            text = data_loss_text(tp, position, each.end, f"the log has [{earliest[tp]}, {latest[tp]})")
            if self._fail_on_data_loss:
                raise DataLossError(text)
            _log.warning("%s", text)
            self._consumer.seek(tp, min(earliest[tp], each.end) if position < earliest[tp] else each.end)

    def _silence(self) -> str:
        places = [f"{each.partition} at offset {position} of {each.end}" for each, position in self._unfinished()]
        shown = ", ".join(places[:5]) + (f" and {len(places) - 5} more" if len(places) > 5 else "")
        return (
            f"Cannot fetch records: nothing came within {self._patience:g} s (kafkaConsumer.pollTimeoutMs). "
            f"Not read to their end: {shown}"
        )
