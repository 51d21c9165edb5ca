"""Raw record sets in a DataFrame column to rows, by Spark's `mapInArrow`.

A record set is what stands in the records field of Produce and Fetch, or in a log segment: record batches or message
sets of any magic and codec, one after the other. The blobs are read where Arrow holds them, without a copy; rows leave
as Arrow batches. Costs beside the codec's own: one pass of the bytes through Spark's socket each way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire import records
from kwire.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kwire.errors import CodecError, ConfigError, TruncatedError
from kwire.spark.decoding.schema import RECORD_SET_COLUMNS, spark_ddl
from kwire.spark.reading.columns import ColumnBatches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def decode_record_sets(
    df: DataFrame,
    column: str,
    *,
    columns: Sequence[str] = RECORD_SET_COLUMNS,
    keep: Sequence[str] = (),
    check_crc: bool = True,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    complete: bool = False,
    include_control: bool = False,
) -> DataFrame:
    """One row for each record of the record sets in `df[column]`, a binary column.

    `columns` chooses from offset (bigint), timestamp (timestamp), timestampType (int), key, value (binary) and headers
    (array of key and value; null where there are none). `keep` names columns of `df` that are repeated on each row,
    before those. A null or empty record set has no rows; the markers that end transactions are left out unless
    `include_control`.

    A record set may end within a batch, as the answer to a fetch does; that rest is left out, or raises TruncatedError
    if `complete`. A checksum that does not match, broken or unknown data fails the task with the CodecError of
    `kwire.records.decode`, which names the row of the input by its number within the task.

    Raises ConfigError at once for columns that are not there, are not binary, or would appear in the result twice.
    """
    _check_columns(df.schema, column, columns, keep)
    from pyspark.sql import functions as fn
    from pyspark.sql.types import StructType

    # Under plain names, since mapInArrow does not find columns that have dots in theirs.
    chosen = df.select(*[fn.col(_quoted(name)).alias(f"c{index}") for index, name in enumerate((column, *keep))])
    decoder = RecordSetDecoder(
        column, tuple(keep), tuple(columns), check_crc, max_decompressed_bytes, complete, include_control
    )
    result = StructType([*(df.schema[name] for name in keep), *StructType.fromDDL(spark_ddl(columns)).fields])
    return chosen.mapInArrow(decoder, result)


class RecordSetDecoder:
    """The function that runs in the workers: batches of (record set, kept columns ...) to batches of rows."""

    def __init__(
        self,
        column: str,
        keep: tuple[str, ...],
        columns: tuple[str, ...],
        check_crc: bool,
        max_decompressed_bytes: int,
        complete: bool,
        include_control: bool,
    ) -> None:
        self._column = column
        self._keep = keep
        self._columns = columns
        self._check_crc = check_crc
        self._max_decompressed_bytes = max_decompressed_bytes
        self._complete = complete
        self._include_control = include_control

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = ColumnBatches(self._columns)
        rows_before = 0
        for batch in batches:
            kept = _KeptColumns(batch, self._keep)
            for row, blob in _blobs(batch.column(0)):
                for found in self._data_of(blob, rows_before + row):
                    kept.repeat(row, len(found))
                    yield from map(kept.put_before, out.add(found))
            if self._keep:
                yield from map(kept.put_before, out.flush())
            rows_before += batch.num_rows
        yield from out.flush()

    def _data_of(self, blob: pa.Buffer, row: int) -> Iterator[records.Records]:
        """The records of one blob that are wanted: all, or those between control batches."""
        try:
            found = self._decode(blob)
        except CodecError as fault:
            place = f"column '{self._column}', row {row} of this task"
            raise type(fault)(f"{place}: {fault.message}", fault.field, fault.offset) from fault
        start = end = 0
        for batch in found.batches:
            if batch.is_control and not self._include_control:
                yield found[start:end]
                start = end + batch.count
            end += batch.count
        yield found[start:end]

    def _decode(self, blob: pa.Buffer) -> records.Records:
        found = records.decode(blob, check_crc=self._check_crc, max_decompressed_bytes=self._max_decompressed_bytes)
        left = blob.size - found.consumed
        if left and self._complete:
            raise TruncatedError(
                f"the record set ends within a batch, {left} bytes are left over", None, found.consumed
            )
        return found


def _blobs(column: pa.Array) -> Iterator[tuple[int, pa.Buffer]]:
    """The row and the bytes of each value that is not null, where they stand in the column (Arrow's scalars copy)."""
    if len(column) == 0:
        return
    if column.type not in (pa.binary(), pa.large_binary()):
        column = column.cast(pa.large_binary())
    _, offsets, data = column.buffers()
    width = pa.int64() if column.type == pa.large_binary() else pa.int32()
    ends = pa.Array.from_buffers(width, len(column) + 1, [None, offsets], offset=column.offset).to_pylist()
    for row, present in enumerate(column.is_valid().to_pylist()):
        if present and ends[row + 1] > ends[row]:
            yield row, data.slice(ends[row], ends[row + 1] - ends[row])


class _KeptColumns:
    """The columns of an input batch beside the record set, each value repeated for the rows that came of its row."""

    def __init__(self, batch: pa.RecordBatch, names: tuple[str, ...]) -> None:
        self._columns = batch.columns[1:]
        self._names = names
        self._counts: deque[tuple[int, int]] = deque()

    def repeat(self, row: int, count: int) -> None:
        """`count` output rows will come of input row `row`."""
        if self._names and count:
            self._counts.append((row, count))

    def put_before(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The next output rows, with the kept columns before their own."""
        if not self._names:
            return rows
        places = self._take(rows.num_rows)
        kept = [column.take(places) for column in self._columns]
        return pa.RecordBatch.from_arrays([*kept, *rows.columns], names=[*self._names, *rows.schema.names])

    def _take(self, wanted: int) -> pa.Array:
        """For each of the next `wanted` output rows, the number of its input row."""
        pieces = []
        while wanted:
            row, count = self._counts.popleft()
            used = min(count, wanted)
            pieces.append(pa.repeat(row, used))
            wanted -= used
            if used < count:
                self._counts.appendleft((row, count - used))
        return pa.concat_arrays(pieces)


def _check_columns(schema: StructType, column: str, columns: Sequence[str], keep: Sequence[str]) -> None:
    for name in (column, *keep):
        if name not in schema.names:
            raise ConfigError(f"the DataFrame has no column '{name}'; it has {', '.join(schema.names)}")
    if schema[column].dataType.typeName() != "binary":
        raise ConfigError(f"column '{column}' must be binary, it is {schema[column].dataType.simpleString()}")
    for name in columns:
        if name not in RECORD_SET_COLUMNS:
            raise ConfigError(f"columns: a record has no '{name}'; choose from {', '.join(RECORD_SET_COLUMNS)}")
    if not columns:
        raise ConfigError(f"columns: name at least one of {', '.join(RECORD_SET_COLUMNS)}")
    result = [name.lower() for name in (*keep, *columns)]
    twice = sorted({name for name in result if result.count(name) > 1})
    if twice:
        raise ConfigError(
            f"these columns would appear in the result twice: {', '.join(twice)}; rename or leave out one"
        )


def _quoted(name: str) -> str:
    """A column's name as Spark takes it even where it has dots in it."""
    return "`" + name.replace("`", "``") + "`"
