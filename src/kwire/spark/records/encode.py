"""Rows to raw record sets, the way back from `decode_record_sets`, by Spark's `mapInArrow`.

Arrow's columns go into record batches as they are, without an object per row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kwire.compression import CODECS
from kwire.errors import CodecError, ConfigError
from kwire.records import encode_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_VALUE: Final = "value"
_OFFSET: Final = "offset"
_RECORD_COLUMNS: Final = (_VALUE, "key", "timestamp", "headers", _OFFSET)
_DEFAULT_MAX_BYTES: Final = 1 << 20


def encode_record_sets(
    df: DataFrame,
    column: str = "record_set",
    *,
    keep: Sequence[str] = (),
    magic: int = 2,
    compression: str = "none",
    level: int | None = None,
    max_bytes: int = _DEFAULT_MAX_BYTES,
) -> DataFrame:
    """Record batches of the rows of `df`, each a row with one binary column, `column`.

    `df` has the column `value`, and may have `key` (binary or string), `timestamp`, `headers` (array of key and value)
    and `offset` (bigint); others are not encoded. `keep` names columns that stand before the batch: a new one begins
    where their values change, so sort by them first. Where there are offsets a new batch begins at each gap, and takes
    its first offset with it; else each counts from 0.

    A batch has at most the rows of one Arrow batch (spark.sql.execution.arrow.maxRecordsPerBatch) and about `max_bytes`
    bytes; a larger row is a batch of its own. `magic`, `compression` and `level` are those of `kwire.records.encode`.
    Raises ConfigError at once for columns and settings that cannot be; CodecError in the task, with the row.
    """
    settings = _Settings(column, tuple(keep), magic, compression, level, max_bytes)
    _check(df.schema, settings)
    from pyspark.sql.types import BinaryType, StructField, StructType

    chosen = [name for name in _RECORD_COLUMNS if name in df.schema.names]
    frame = df.select(*chosen, *[df[f"`{name}`"].alias(f"c{number}") for number, name in enumerate(keep)])
    result = StructType([*(df.schema[name] for name in keep), StructField(column, BinaryType())])
    return frame.mapInArrow(RecordSetEncoder(settings), result)


@dataclass(frozen=True)
class _Settings:
    column: str = "record_set"
    keep: tuple[str, ...] = ()
    magic: int = 2
    compression: str = "none"
    level: int | None = None
    max_bytes: int = _DEFAULT_MAX_BYTES


class RecordSetEncoder:
    """The function that runs in the workers: batches of (record columns, kept columns c0 ...) to batches of sets."""

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows_before = 0
        for batch in batches:
            if batch.num_rows:
                yield self.encode(batch, rows_before)
            rows_before += batch.num_rows

    def encode(self, batch: pa.RecordBatch, rows_before: int = 0) -> pa.RecordBatch:
        """One row for each record batch that these rows become."""
        kept = [batch.column(f"c{number}") for number in range(len(self._settings.keep))]
        records = batch.select([name for name in _RECORD_COLUMNS if name in batch.schema.names])
        starts: list[int] = []
        blobs: list[bytes] = []
        for start, count in _runs(batch, kept):
            for first, blob in self._encoded(records, start, count, rows_before):
                starts.append(first)
                blobs.append(blob)
        columns = [column.take(pa.array(starts, pa.int64())) for column in kept]
        return pa.RecordBatch.from_arrays(
            [*columns, pa.array(blobs, pa.binary())], names=[*self._settings.keep, self._settings.column]
        )

    def _encoded(
        self, records: pa.RecordBatch, start: int, count: int, rows_before: int
    ) -> Iterator[tuple[int, bytes]]:
        """The first row and the bytes of each batch that `count` rows from `start` on become."""
        rows = records.slice(start, count)
        if count > 1 and rows.nbytes > self._settings.max_bytes:
            half = count // 2
            yield from self._encoded(records, start, half, rows_before)
            yield from self._encoded(records, start + half, count - half, rows_before)
            return
        settings = self._settings
        base = records.column(_OFFSET)[start].as_py() if _OFFSET in records.schema.names else 0
        try:
            blob = encode_arrow(
                rows,
                magic=settings.magic,
                compression=settings.compression,  # type: ignore[arg-type]
                level=settings.level,
                base_offset=base,
            )
        except CodecError as fault:
            place = f"rows {rows_before + start} to {rows_before + start + count - 1} of this task"
            raise type(fault)(f"{place}: {fault.message}", fault.field, fault.offset) from fault
        yield start, blob


def _runs(batch: pa.RecordBatch, kept: Sequence[pa.Array]) -> Iterator[tuple[int, int]]:
    """(first row, number of rows) of the stretches that may be one batch."""
    rows = batch.num_rows
    cuts = pa.array([False] * (rows - 1), pa.bool_())
    for column in kept:
        cuts = pc.or_(cuts, _differs(column.slice(1), column.slice(0, rows - 1)))
    if _OFFSET in batch.schema.names:
        offsets = batch.column(_OFFSET)
        if offsets.null_count:
            raise CodecError(f"the offset of row {pc.index(offsets.is_null(), True).as_py()} is null", _OFFSET)
        cuts = pc.or_(cuts, pc.not_equal(pc.subtract(offsets.slice(1), offsets.slice(0, rows - 1)), 1))
    starts = [0, *(place + 1 for place in pc.indices_nonzero(cuts).to_pylist()), rows]
    for start, end in pairwise(starts):
        yield start, end - start


def _differs(one: pa.Array, other: pa.Array) -> pa.Array:
    """Row by row; null equals null."""
    unlike = pc.fill_null(pc.not_equal(one, other), False)
    return pc.or_(unlike, pc.xor(pc.is_null(one), pc.is_null(other)))


def _check(schema: StructType, settings: _Settings) -> None:
    wanted = {_VALUE: ("binary", "string", "void"), "key": ("binary", "string", "void"), _OFFSET: ("bigint",)}
    wanted |= {"timestamp": ("timestamp", "bigint", "timestamp_ntz")}
    for name in (_VALUE, *settings.keep):
        if name not in schema.names:
            raise ConfigError(f"the DataFrame has no column '{name}'; it has {', '.join(schema.names)}")
    for name, types in wanted.items():
        if name in schema.names and schema[name].dataType.simpleString() not in types:
            raise ConfigError(
                f"column '{name}' must be {' or '.join(types)}, it is {schema[name].dataType.simpleString()}"
            )
    for name in settings.keep:
        if schema[name].dataType.typeName() in ("array", "map", "struct", "variant"):
            raise ConfigError(f"keep: column '{name}' is of a type that cannot be compared")
    if settings.column in settings.keep:
        raise ConfigError(
            f"the column '{settings.column}' would appear in the result twice; choose another name for the result"
        )
    check_settings(settings)


def check_settings(settings: _Settings) -> None:
    """Raises ConfigError for a format or compression that there is not."""
    if settings.magic not in (0, 1, 2):
        raise ConfigError(f"magic {settings.magic} is not known; known are 0, 1 and 2")
    if settings.compression not in CODECS or (settings.magic < 2 and settings.compression == "zstd"):
        raise ConfigError(f"compression '{settings.compression}' is not one of message format {settings.magic}")
    if settings.max_bytes < 1:
        raise ConfigError(f"max_bytes must be positive, got {settings.max_bytes}")


def settings_of_sql(compression: Any) -> _Settings:
    """What the SQL function is told."""
    settings = _Settings(compression="none" if compression is None else str(compression))
    check_settings(settings)
    return settings
