"""A Python source that yields one ready batch again and again, and a sink that looks at no row: the least that any in
Python can cost. Like kwire it keeps collections short.

Its stream gives a fixed number of rows to each micro-batch. It reads no broker, and writes to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from kwire.spark.workers.heap import settle_heap

COLUMNS = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
_ROWS = 10_000
_TASKS = 2


class ReadyBatches(DataSource):
    """`format("ready-batches")`, with the options `rows`, `size` and `columns` (a DDL). Of a stream `rows` are all that
    come, and `maxOffsetsPerTrigger` those of a micro-batch.
    """

    @classmethod
    def name(cls) -> str:
        return "ready-batches"

    def schema(self) -> str:
        return str(self.options.get("columns", COLUMNS))

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(int(self.options["rows"]), self._made(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        rows = int(self.options["rows"])
        return _StreamReader(rows, int(self.options["maxOffsetsPerTrigger"]), self._made(schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return _Writer()

    def _made(self, schema: StructType) -> _Batches:
        return _Batches(int(self.options.get("size", "100")), schema.names)


class _Reader(DataSourceReader):
    def __init__(self, rows: int, batches: _Batches) -> None:
        self._rows, self._batches = rows, batches

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(self._rows // _TASKS) for _ in range(_TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._batches.of(partition.value)


class _StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, rows: int, rows_of_a_batch: int, batches: _Batches) -> None:
        self._rows, self._rows_of_a_batch, self._batches = rows, rows_of_a_batch, batches

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"rows": 0}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        return {"rows": min(start["rows"] + self._rows_of_a_batch, self._rows)}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._rows_of_a_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """The end is known from the start."""

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        rows = end["rows"] - start["rows"]
        return [InputPartition(rows * (number + 1) // _TASKS - rows * number // _TASKS) for number in range(_TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._batches.of(partition.value)


class _Writer(DataSourceArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()


class _Batches:
    def __init__(self, size: int, names: Sequence[str]) -> None:
        self._size, self._names = size, tuple(names)

    def of(self, rows: int) -> Iterator[pa.RecordBatch]:
        batch = _batch(self._size, self._names)
        settle_heap()
        for start in range(0, rows, _ROWS):
            yield batch.slice(0, min(_ROWS, rows - start))


@cache
def _batch(size: int, names: Sequence[str]) -> pa.RecordBatch:
    columns = {
        "key": pa.array([b"k" * 16] * _ROWS),
        "value": pa.array([b"v" * size] * _ROWS),
        "topic": pa.array(["topic"] * _ROWS),
        "partition": pa.array([3] * _ROWS, pa.int32()),
        "offset": pa.array(range(_ROWS), pa.int64()),
        "timestamp": pa.array([1_700_000_000_000_000] * _ROWS, pa.timestamp("us", tz="UTC")),
        "timestampType": pa.array([0] * _ROWS, pa.int32()),
        "id": pa.array(range(_ROWS), pa.int64()),
        "price": pa.array([1.25] * _ROWS),
        "name": pa.array(["n" * 50] * _ROWS),
    }
    return pa.RecordBatch.from_pydict({name: columns[name] for name in names})
