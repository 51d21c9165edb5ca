"""Record sets in SQL: table functions that run where `decode_record_sets` and `encode_record_sets` do.

    register_udtfs(spark)
    SELECT * FROM decode_record_sets(TABLE(SELECT record_set FROM fetched))
    SELECT * FROM encode_record_sets(TABLE(SELECT key, value FROM orders), 'zstd')
    SELECT f.file, r.* FROM fetched f, LATERAL decode_record_set(f.record_set) r

From Spark 4.1 on the first two take and return Arrow batches; before that, and after LATERAL, where Spark allows no
others, rows go over one by one. Imported by the workers: names of classes are how they find them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kwire import records
from kwire.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kwire.errors import ConfigError
from kwire.spark.decoding.schema import RECORD_SET_COLUMNS, spark_ddl
from kwire.spark.records.decode import RecordSetDecoder
from kwire.spark.records.encode import RecordSetEncoder, settings_of_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DECODED: Final = spark_ddl(RECORD_SET_COLUMNS)
_ENCODED: Final = "record_set BINARY"
_ROWS_PER_SET: Final = 10_000


def register_udtfs(spark: SparkSession) -> None:
    """Registers `decode_record_sets`, `encode_record_sets` and `decode_record_set` for SQL in this session."""
    from pyspark.sql import functions as fn

    if hasattr(fn, "arrow_udtf"):
        decode = fn.arrow_udtf(DecodeRecordSets, returnType=_DECODED)
        encode = fn.arrow_udtf(EncodeRecordSets, returnType=_ENCODED)
    else:
        decode = fn.udtf(DecodeRecordSetsByRow, returnType=_DECODED)
        encode = fn.udtf(EncodeRecordSetsByRow, returnType=_ENCODED)
    spark.udtf.register("decode_record_sets", decode)
    spark.udtf.register("encode_record_sets", encode)
    spark.udtf.register("decode_record_set", fn.udtf(DecodeRecordSet, returnType=_DECODED))


class DecodeRecordSets:
    """Rows of the one binary column of a table."""

    def eval(self, table: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        column = _binary_column(table.schema)
        yield from _decoder(column)(iter([table.select([column])]))


class EncodeRecordSets:
    """Record batches of a table with the columns of records."""

    def eval(self, table: pa.RecordBatch, compression: pa.Array = None) -> Iterator[pa.RecordBatch]:
        encoder = RecordSetEncoder(settings_of_sql(None if compression is None else compression[0].as_py()))
        _check_has_value(table.schema.names)
        yield from encoder(iter([table]))


class DecodeRecordSet:
    """Rows of one record set."""

    def eval(self, record_set: bytes | None) -> Iterator[tuple[Any, ...]]:
        table = pa.record_batch({"record_set": pa.array([record_set], pa.binary())})
        yield from _tuples(_decoder("record_set")(iter([table])))


class DecodeRecordSetsByRow:
    """DecodeRecordSets for Spark 4.0."""

    def eval(self, row: Any) -> Iterator[tuple[Any, ...]]:
        sets = [value for value in row if isinstance(value, bytes | bytearray)]
        if len(sets) > 1:
            raise ConfigError("decode_record_sets: the table has more than one binary column; select one")
        yield from DecodeRecordSet().eval(bytes(sets[0]) if sets else None)


class EncodeRecordSetsByRow:
    """EncodeRecordSets for Spark 4.0."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._compression = "none"

    def eval(self, row: Any, compression: str | None = None) -> Iterator[tuple[bytes]]:
        settings = settings_of_sql(compression)
        self._compression = settings.compression
        given = row.asDict()
        _check_has_value(list(given))
        if self._rows and "offset" in given and self._rows[-1][0] + 1 != given["offset"]:
            yield from self.terminate()
        self._rows.append((given.get("offset", 0), *_item(given)))
        if len(self._rows) == _ROWS_PER_SET:
            yield from self.terminate()

    def terminate(self) -> Iterator[tuple[bytes]]:
        rows, self._rows = self._rows, []
        if rows:
            yield (
                records.encode(
                    [row[1:] for row in rows],
                    compression=self._compression,  # type: ignore[arg-type]
                    base_offset=rows[0][0],
                ),
            )


def _item(row: dict[str, Any]) -> tuple[Any, ...]:
    headers = [(header["key"], header["value"]) for header in row.get("headers") or ()]
    return (_bytes(row["value"]), _bytes(row.get("key")), row.get("timestamp"), headers)


def _bytes(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else None if value is None else bytes(value)


def _decoder(column: str) -> RecordSetDecoder:
    return RecordSetDecoder(column, (), RECORD_SET_COLUMNS, True, DEFAULT_MAX_DECOMPRESSED_BYTES, False, False)


def _binary_column(schema: pa.Schema) -> str:
    found = [field.name for field in schema if field.type in (pa.binary(), pa.large_binary())]
    if len(found) != 1:
        raise ConfigError(f"decode_record_sets: select the one binary column; the table has {schema.names}")
    return str(found[0])


def _check_has_value(names: list[str]) -> None:
    if "value" not in names:
        raise ConfigError(f"encode_record_sets: the table has no column value; it has {', '.join(names)}")


def _tuples(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*[column.to_pylist() for column in batch.columns], strict=True)
