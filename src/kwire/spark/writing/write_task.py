"""Writes the rows of one task in a Spark worker: Arrow columns to a producer, without a Python object for each row.

A task ends when the brokers have acknowledged every row of it. A row that could not be written ends it with the row's
number in the task, its topic and partition, and the reason. A worker keeps its producer for the tasks that follow;
after a failed task it is closed, with what it still held.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from kwire._codec import SentRows
from kwire.columns.sent_rows import first_failure, int32s
from kwire.errors import BrokerError, CodecError, DeliveryError, KafkaError
from kwire.errors.listing import counted, first_of
from kwire.errors.wording import spelled
from kwire.producer import Producer
from kwire.schema.error_codes import INVALID_RECORD, INVALID_TIMESTAMP, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE
from kwire.spark.options.client import errors_by_option, options_of
from kwire.spark.options.write import WriteOptions
from kwire.spark.workers.clients import borrowed
from kwire.spark.workers.heap import settle_heap
from kwire.spark.workers.kept_producer import KeptProducer
from kwire.spark.workers.logs import task_name, tell_from

_log = logging.getLogger("kwire.spark")

_FAULTS_OF_ROWS: Final = frozenset({MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP, INVALID_RECORD})
_RECORD_COLUMNS = ("value", "key", "headers")


class WriteError(KafkaError):
    """Rows of a task that were not written. `row` is the number of the first in its task, from 0 on; `is_final` says
    that it is the row's own fault, so that no repetition writes it.
    """

    def __init__(self, text: str, row: int, *, is_final: bool = False) -> None:
        super().__init__(text)
        self.row = row
        self.is_final = is_final


@dataclass(frozen=True)
class TaskReport:
    """What one task wrote: how many rows, and for each (topic, partition) the offset after the last of them."""

    rows: int = 0
    next_offsets: dict[tuple[str, int], int] = field(default_factory=dict)


def write_task(options: WriteOptions, batches: Iterable[pa.RecordBatch]) -> TaskReport:
    """Writes the rows at least once, with the worker's producer for these options."""
    settle_heap()
    tell_from(options.log_level)
    with borrowed_producer(options) as producer:
        return write_rows(options, batches, producer)


def write_rows(options: WriteOptions, batches: Iterable[pa.RecordBatch], producer: Producer) -> TaskReport:
    """Writes the rows with this producer and waits until each is acknowledged. It begins and ends no transaction.

    Raises WriteError for rows that cannot be written, or were not.
    """
    began = time.monotonic()
    writing = _Writing(options, producer)
    for batch in batches:
        if batch.num_rows:
            writing.send(batch)
    report = writing.finish()
    if _log.isEnabledFor(logging.INFO):
        places = [f"{topic}-{partition}" for topic, partition in sorted(report.next_offsets)]
        seconds = time.monotonic() - began
        _log.info("%s wrote %s to %s in %.3f s", task_name(), counted(report.rows, "row"), first_of(places, 5), seconds)
    return report


@contextmanager
def borrowed_producer(options: WriteOptions) -> Iterator[Producer]:
    """The worker's producer for these properties; closed, without waiting for what it holds, when the block fails.
    Errors of the block name options.
    """

    def make() -> KeptProducer:
        with errors_by_option(options.client, on_this_host=True):
            return KeptProducer(Producer.from_config(options.client))

    name = ("producer", *sorted(options.client.items()))
    with borrowed(make, name) as kept, errors_by_option(options.client):
        yield kept.producer


class _Writing:
    """One task's rows on their way. `_sent` holds the batches with rows that are not acknowledged yet, in order."""

    def __init__(self, options: WriteOptions, producer: Producer) -> None:
        self._topic = options.topic
        self._client = options.client
        self._producer = producer
        self._rows = 0
        self._sent: deque[tuple[int, SentRows]] = deque()
        self._next_offsets: dict[tuple[str, int], int] = {}

    def send(self, batch: pa.RecordBatch) -> None:
        topics, topic_of = self._topics(batch)
        partition_of = self._partitions(batch)
        columns = batch.select([name for name in _RECORD_COLUMNS if name in batch.schema.names])
        rows = SentRows(self._producer._accumulator)
        self._sent.append((self._rows, rows))
        try:
            rows.send(topics, columns, topic_of, partition_of)
        except KafkaError as error:
            self._raise_failed()
            number = len(rows)
            topic = topics[0] if topic_of is None else batch.column("topic")[number].as_py()
            raise self._refused(number, f"(topic {topic})", error) from error
        self._rows += batch.num_rows
        self._settle()

    def finish(self) -> TaskReport:
        """Waits until every row is acknowledged."""
        try:
            self._producer.flush()
        except DeliveryError:
            self._raise_failed()
            raise
        self._settle()
        if self._sent:
            raise WriteError("the producer was flushed, but rows are not acknowledged", self._sent[0][0])
        return TaskReport(self._rows, self._next_offsets)

    # -- where rows go ----------------------------------------------------------------------------------------------

    def _topics(self, batch: pa.RecordBatch) -> tuple[list[str], memoryview | None]:
        """The topics, and which of them each row goes to (None: the only one). The option goes before the column."""
        if self._topic is not None:
            return [self._topic], None
        import pyarrow.compute as pc  # costs a worker 40 ms, and most do without it

        column = batch.column("topic")
        if column.null_count:
            text = "the topic is null. Use the option topic to set one for all rows"
            raise self._refused(_first(pc.is_null(column)), "", text)
        if pc.all(pc.equal(column, column[0])).as_py():
            return [column[0].as_py()], None
        encoded = column.dictionary_encode()
        return encoded.dictionary.to_pylist(), int32s(encoded.indices)

    def _partitions(self, batch: pa.RecordBatch) -> memoryview | None:
        """The partition of each row, -1 where it is null; None where all are."""
        if "partition" not in batch.schema.names:
            return None
        column = batch.column("partition")
        if column.null_count == len(column):
            return None
        import pyarrow.compute as pc

        if pc.min(column).as_py() < 0:
            row = _first(pc.less(column, 0))
            text = (
                f"Invalid partition: {column[row]}; partitions count from 0, and null leaves the choice to the producer"
            )
            raise self._refused(row, "", text)
        return int32s(pc.fill_null(column, -1))

    # -- what became of them ----------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Lets go of the batches whose rows are all acknowledged. Raises WriteError if one was not written."""
        while self._sent and self._sent[0][1].all_complete:
            rows = self._sent[0][1]
            if rows.failed()[0]:
                self._raise_failed()
            for place, offset in rows.next_offsets().items():
                self._next_offsets[place] = max(offset, self._next_offsets.get(place, 0))
            self._sent.popleft()

    def _raise_failed(self) -> None:
        """Raises WriteError for the first row that is known to have failed, with the number of all such rows."""
        if (failure := first_failure(self._sent)) is not None:
            row, topic, partition, reason, count = failure
            place = f"{topic}-{partition}" if partition >= 0 else f"topic {topic}"
            others = f" (the first of {count} rows that failed so far)" if count > 1 else ""
            why = spelled(str(reason), options_of(self._client))
            text = f"row {row} of the task was not written to {place}{others}: {why}"
            raise WriteError(text, row, is_final=_is_the_rows_fault(reason)) from reason

    def _refused(self, row: int, where: str, reason: object) -> WriteError:
        """For a row of the batch at hand that cannot be written at all."""
        text = spelled(str(reason), options_of(self._client))
        place = f" {where}" if where else ""
        number = self._rows + row
        is_final = not isinstance(reason, KafkaError) or _is_the_rows_fault(reason)
        return WriteError(f"row {number} of the task{place} cannot be written: {text}", number, is_final=is_final)


def _is_the_rows_fault(reason: object) -> bool:
    return isinstance(reason, ValueError | CodecError) or (
        isinstance(reason, BrokerError) and reason.code in _FAULTS_OF_ROWS
    )


def _first(matches: pa.BooleanArray) -> int:
    import pyarrow.compute as pc

    row: int = pc.index(matches, pa.scalar(True)).as_py()
    return row
