"""Records to Arrow batches as Spark takes them: its columns and types, and a size that suits it.

Stands between the codec, which fills the columns, and its users: the sources and `decode_record_sets`. Where keys or
values are decoded, it hands each batch to their decoders. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from kwire._codec import ColumnPlan, RecordColumns
from kwire.errors import LimitError
from kwire.records import Records
from kwire.spark.decoding.contract import PlaceOf, RecordPlace
from kwire.spark.decoding.decoding import NO_DECODING, Decoding
from kwire.spark.decoding.schema import COLUMNS

# Spark cuts its own batches at 10,000 rows; between 1,000 and 100,000 its cost per row differs by a tenth.
ROWS_PER_BATCH: Final = 10_000
BYTES_PER_COLUMN: Final = 4 << 20
# Spark's times are microseconds in 64 bits.
_MAX_MS: Final = ((1 << 63) - 1) // 1000

_Part = tuple[Records, str | None, int, str | None, int]


class ColumnBatches:
    """Takes records, many or few at a time; yields Arrow batches of about ROWS_PER_BATCH rows, in the same order.

    Records are pointed to until a batch is full and then written into its columns once. A batch has more than one row
    only if none of its columns is larger than BYTES_PER_COLUMN.
    """

    def __init__(self, columns: Sequence[str], decoding: Decoding = NO_DECODING) -> None:
        raw = decoding.raw_columns(columns)
        self._plan = ColumnPlan([(name, COLUMNS[name].field, COLUMNS[name].form) for name in raw])
        self._decode = decoding.open(columns) if decoding else None
        self._parts: list[_Part] = []
        self._rows = 0

    def add(
        self,
        records: Records,
        topic: str | None = None,
        partition: int = -1,
        file: str | None = None,
        position: int = 0,
    ) -> Iterator[pa.RecordBatch]:
        """Adds the records of one partition, and of what begins at `position` in `file`, if they are of one; yields
        the batches that are full then.
        """
        start = 0
        while start < len(records):
            piece = records[start : start + ROWS_PER_BATCH - self._rows]
            self._parts.append((piece, topic, partition, file, position))
            self._rows += len(piece)
            start += len(piece)
            if self._rows == ROWS_PER_BATCH:
                yield from self.flush()

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yields what is left."""
        parts, self._parts, self._rows = self._parts, [], 0
        if parts:
            try:
                yield from self._filled(parts)
            except LimitError as error:
                raise _beyond_sparks_times(parts) or error from None

    def _filled(self, parts: Sequence[_Part]) -> Iterator[pa.RecordBatch]:
        columns = pa.RecordBatchReader.from_stream(RecordColumns(self._plan, parts, BYTES_PER_COLUMN))
        if self._decode is None:
            yield from columns
            return
        first_row = 0
        for raw in columns:
            decoded = self._decode(raw, _places(parts, first_row))
            first_row += raw.num_rows
            if decoded.num_rows:
                yield decoded


def _beyond_sparks_times(parts: Sequence[_Part]) -> LimitError | None:
    """What is wrong with the first record whose time is none for Spark, if there is one."""
    for records, topic, partition, _, _ in parts:
        for record in records:
            if abs(record.timestamp) > _MAX_MS:
                place = f"{topic}-{partition}, " if topic else ""
                return LimitError(
                    f"{place}offset {record.offset}: the record's time, {record.timestamp} ms, is beyond "
                    "those that Spark has. Without 'timestamp' in the option columns it can be read"
                )
    return None


def _places(parts: Sequence[_Part], first_row: int) -> PlaceOf:
    """Where the records of a batch are, by their rows; `first_row` is the number of its first row within `parts`."""

    def where(row: int) -> RecordPlace:
        place = first_row + row
        for records, topic, partition, _, _ in parts:
            if place < len(records):
                return RecordPlace(topic or "", partition, records[place].offset)
            place -= len(records)
        raise IndexError(f"no row {row}")

    return where
