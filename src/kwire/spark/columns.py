"""Records to Arrow batches as Spark takes them: its columns and types, and a size that suits it.

Stands between the codec, which fills the columns, and the two users of this package: the source and the decoder. No
Spark import, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from kwire._codec import ColumnPlan, RecordColumns
from kwire.records import Records
from kwire.spark.schema import COLUMNS

# Spark cuts its own batches at 10,000 rows; between 1,000 and 100,000 its cost per row differs by a tenth.
ROWS_PER_BATCH: Final = 10_000
BYTES_PER_COLUMN: Final = 4 << 20


class ColumnBatches:
    """Takes records, many or few at a time; yields Arrow batches of about ROWS_PER_BATCH rows, in the same order.

    Records are pointed to until a batch is full and then written into its columns once. A batch has more than one row
    only if none of its columns is larger than BYTES_PER_COLUMN.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._plan = ColumnPlan([(name, COLUMNS[name].field, COLUMNS[name].form) for name in columns])
        self._parts: list[tuple[Records, str | None, int]] = []
        self._rows = 0

    def add(self, records: Records, topic: str | None = None, partition: int = -1) -> Iterator[pa.RecordBatch]:
        """Adds the records of one partition; yields the batches that are full then."""
        start = 0
        while start < len(records):
            piece = records[start : start + ROWS_PER_BATCH - self._rows]
            self._parts.append((piece, topic, partition))
            self._rows += len(piece)
            start += len(piece)
            if self._rows == ROWS_PER_BATCH:
                yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yields what is left."""
        parts, self._parts, self._rows = self._parts, [], 0
        if parts:
            columns = RecordColumns(self._plan, parts, BYTES_PER_COLUMN)
            yield from pa.RecordBatchReader.from_stream(columns)
