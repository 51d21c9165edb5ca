"""A Python source that yields one ready batch again and again: the least that any Python source can cost.

Its stream gives a fixed number of rows to each micro-batch. It reads no broker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

COLUMNS = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
_ROWS = 10_000
_TASKS = 2


class ReadyBatches(DataSource):
    """`format("ready-batches")` with the options `rows`, `size` and `columns` (a DDL)."""

    @classmethod
    def name(cls) -> str:
        return "ready-batches"

    def schema(self) -> str:
        return str(self.options.get("columns", COLUMNS))

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader(int(self.options["rows"]), int(self.options.get("size", "100")), schema.names)


class _Reader(DataSourceReader):
    def __init__(self, rows: int, size: int, names: Sequence[str]) -> None:
        self._rows, self._size, self._names = rows, size, names

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(_TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        batch = pa.RecordBatch.from_pydict({name: self._column(name) for name in self._names})
        for _ in range(self._rows // _TASKS // _ROWS):
            yield batch

    def _column(self, name: str) -> pa.Array:
        columns = {
            "key": pa.array([b"k" * 16] * _ROWS),
            "value": pa.array([b"v" * self._size] * _ROWS),
            "topic": pa.array(["topic"] * _ROWS),
            "partition": pa.array([3] * _ROWS, pa.int32()),
            "offset": pa.array(range(_ROWS), pa.int64()),
            "timestamp": pa.array([1_700_000_000_000_000] * _ROWS, pa.timestamp("us", tz="UTC")),
            "timestampType": pa.array([0] * _ROWS, pa.int32()),
            "id": pa.array(range(_ROWS), pa.int64()),
            "price": pa.array([1.25] * _ROWS),
            "name": pa.array(["n" * 50] * _ROWS),
        }
        return columns[name]
