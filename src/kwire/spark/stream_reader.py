"""`readStream.format("kwire")`: the stream as Spark's Python Data Source API wants it, for PySpark 4.0 and newer.

Spark makes one reader in a process on the driver, where all but `read` is called, and pickles another one for the
tasks. What goes wrong within `streamReader()` reaches users as an UnboundLocalError, so that a fault in the options is
kept and raised by the first method that Spark calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kwire.errors import ConfigError, KafkaError, UnsupportedError
from kwire.spark.batch_reader import TaskPartition
from kwire.spark.options.stream import LIMITS, StreamOptions, parse_stream_options
from kwire.spark.ranges.stream_offsets import Offsets, is_marked, offsets_from_json, offsets_to_json
from kwire.spark.source_checks import check_schema
from kwire.spark.workers.shipped import Shipped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
    from pyspark.sql.types import StructType

    from kwire.spark.streams.source import StreamSource
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:  # before Spark 4.2
        SupportsTriggerAvailableNow = object

Json = dict[str, Any]


def stream_reader(options: Mapping[str, str], schema: StructType) -> KwireStreamReader:
    """The reader of these options, or one that raises at its first call what is wrong with them."""
    try:
        parsed = parse_stream_options(options)
        check_schema(schema.fieldNames(), parsed.columns, parsed.decoding)
    except KafkaError as fault:
        return KwireStreamReader(None, fault)
    return KwireStreamReader(parsed, None)


class KwireStreamReader(Shipped, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One stream; offsets are those of `stream_offsets`."""

    def __init__(self, options: StreamOptions | None, fault: KafkaError | None) -> None:
        self._options = options
        self._fault = fault
        self._source: StreamSource | None = None
        self._planned_to: Json | None = None

    def initialOffset(self) -> Json:  # noqa: N802 - Spark's names, here and below
        return offsets_to_json(self._opened().initial())

    def latestOffset(self, start: Json | None = None, limit: ReadLimit | None = None) -> Json:  # noqa: N802
        """The end of the next batch. Before Spark 4.2 it is asked for without the start, and cannot be limited."""
        source = self._opened()
        if limit is None:
            _check_unlimited(self._checked())
        begins = None if start is None else offsets_from_json(start)
        limited = limit is not None and type(limit).__name__ != "ReadAllAvailable"
        end = source.latest(begins, limited=limited)
        before = self._planned_to if start is None else start
        if before is not None and offsets_from_json(before) == end and not source.marks_first_batch:
            return before
        return offsets_to_json(end, marked=source.marks_first_batch)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """A limit that stands for all those of the options: Spark hands it back, or none where the trigger is Once."""
        from pyspark.sql.streaming import datasource as kinds

        trigger = self._checked().trigger
        if trigger.max_offsets is not None:
            return kinds.ReadMaxRows(trigger.max_offsets)
        if trigger.max_bytes is not None:
            return kinds.ReadMaxBytes(trigger.max_bytes)
        if trigger.min_offsets is not None:
            return kinds.ReadMinRows(trigger.min_offsets)
        return kinds.ReadAllAvailable()

    def reportLatestOffset(self) -> Json | None:  # noqa: N802
        """For the progress of the query: the ends of the logs, however far the batch went."""
        newest: Offsets | None = self._opened().newest()
        return offsets_to_json(newest) if newest else None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._opened().freeze()

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        self._planned_to = end
        tasks = self._opened().plan(offsets_from_json(start), offsets_from_json(end), marked=is_marked(end))
        return [TaskPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from kwire.spark.reading.read_task import read_task

        if not isinstance(partition, TaskPartition):
            return iter(())
        return read_task(self._checked(), partition.task)

    def commit(self, end: Json) -> None:
        self._opened().finished(offsets_from_json(end))

    def stop(self) -> None:
        if self._source is not None:
            self._source.close()

    def _checked(self) -> StreamOptions:
        if self._options is None:
            raise self._fault or ConfigError("The stream has no options")
        return self._options

    def _opened(self) -> StreamSource:
        if self._source is None:
            from kwire.spark.streams.source import StreamSource

            self._source = StreamSource(self._checked())
        return self._source


def _check_unlimited(options: StreamOptions) -> None:
    trigger = options.trigger
    given = zip(LIMITS, (trigger.max_offsets, trigger.min_offsets, trigger.max_bytes), strict=True)
    refused = [name for name, limit in given if limit is not None]
    if refused:
        needs = f"{refused[0]} needs" if len(refused) == 1 else f"{' and '.join(refused)} need"
        raise UnsupportedError(
            f"{needs} Spark 4.2 or newer, this is {pyspark.__version__}: before that Spark does not tell a Python "
            "source where a batch begins, and each batch reads all there is"
        )
