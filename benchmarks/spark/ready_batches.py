"""A Python source that yields one ready batch again and again, and a sink that looks at no row: the least that any in
Python can cost. Like kwire it keeps collections short.

Its stream gives a fixed number of rows to each micro-batch. It writes to no broker, and reads from none unless it is
told to receive a topic's bytes meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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

from benchmarks.spark.received import rows_received
from kwire.spark.workers.heap import settle_heap

COLUMNS = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
_ROWS = 10_000
_TASKS = 2


class ReadyBatches(DataSource):
    """`format("ready-batches")`, with the options `rows`, `size` and `columns` (a DDL). Of a stream `rows` are all that
    come, and `maxOffsetsPerTrigger` those of a micro-batch. With `receive`, a topic of so many `partitions`, a batch
    read has a row for each record whose bytes have come.
    """

    @classmethod
    def name(cls) -> str:
        return "ready-batches"

    def schema(self) -> str:
        settle_heap()
        return str(self.options.get("columns", COLUMNS))

    def reader(self, schema: StructType) -> DataSourceReader:
        batches = self._made(schema)
        if "receive" in self.options:
            servers, topic = self.options["kafka.bootstrap.servers"], self.options["receive"]
            return _ReceivingReader(servers, topic, int(self.options["partitions"]), batches)
        return _Reader(int(self.options["rows"]), batches)

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
        settle_heap()
        return [InputPartition(self._rows // _TASKS) for _ in range(_TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._batches.of(partition.value)


class _ReceivingReader(DataSourceReader):
    def __init__(self, servers: str, topic: str, partitions: int, batches: _Batches) -> None:
        self._servers, self._topic, self._partitions, self._batches = servers, topic, partitions, batches

    def partitions(self) -> Sequence[InputPartition]:
        settle_heap()
        return [InputPartition(range(number, self._partitions, _TASKS)) for number in range(_TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._batches.of_all(rows_received(self._servers, self._topic, partition.value))


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
        tasks = min(_TASKS, -(-rows // _ROWS))
        return [InputPartition(rows * (number + 1) // tasks - rows * number // tasks) for number in range(tasks)]

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
        return self.of_all([rows])

    def of_all(self, counts: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """The rows of all counts together, in batches that are full but for the last."""
        batch = _batch(self._size, self._names)
        settle_heap()
        rows = 0
        for count in counts:
            rows += count
            while rows >= _ROWS:
                yield batch
                rows -= _ROWS
        if rows:
            yield batch.slice(0, rows)


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
