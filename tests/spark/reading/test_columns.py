"""Records become batches of the size and the schema that Spark takes, without losing or moving one. No JVM."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kwire import records
from kwire.errors import LimitError
from kwire.records import Records
from kwire.spark.decoding.schema import ALL_COLUMNS, arrow_schema
from kwire.spark.reading.columns import BYTES_PER_COLUMN, ROWS_PER_BATCH, ColumnBatches


def some_records(count: int, base_offset: int = 0, size: int = 1) -> Records:
    return records.decode(
        records.encode([b"%0*d" % (size, number) for number in range(count)], base_offset=base_offset)
    )


def gathered(parts: list[tuple[Records, str, int]], columns: tuple[str, ...] = ALL_COLUMNS) -> list[pa.RecordBatch]:
    batches = ColumnBatches(columns)
    return [out for part in parts for out in batches.add(*part)] + list(batches.flush())


def test_the_schema_is_the_one_that_spark_is_told() -> None:
    (batch,) = gathered([(some_records(3), "t", 5)])
    assert batch.schema.equals(arrow_schema(ALL_COLUMNS))
    (narrow,) = gathered([(some_records(3), "t", 5)], ("value", "partition"))
    assert narrow.schema.equals(arrow_schema(["value", "partition"]))


def test_small_parts_of_several_partitions_come_together_in_order() -> None:
    parts = [(some_records(10, number * 10), f"t{number % 3}", number % 7) for number in range(3000)]
    found = gathered(parts)
    assert [batch.num_rows for batch in found] == [ROWS_PER_BATCH] * 3
    table = pa.Table.from_batches(found)
    assert table.column("offset").to_pylist() == list(range(30_000))
    assert table.column("topic").to_pylist() == [f"t{number // 10 % 3}" for number in range(30_000)]
    assert table.column("partition").to_pylist() == [number // 10 % 7 for number in range(30_000)]


def test_a_large_part_is_cut() -> None:
    found = gathered([(some_records(5), "t", 0), (some_records(25_000, 5), "t", 0)])
    assert [batch.num_rows for batch in found] == [10_000, 10_000, 5_005]
    assert pa.Table.from_batches(found).column("offset").to_pylist() == list(range(25_005))


def test_large_values_make_short_batches_and_a_huge_one_stands_alone() -> None:
    found = gathered([(some_records(10, size=BYTES_PER_COLUMN // 3), "t", 0)], ("value",))
    assert [batch.num_rows for batch in found] == [3, 3, 3, 1]
    huge = gathered([(some_records(3, size=BYTES_PER_COLUMN + 1), "t", 0)], ("offset", "value"))
    assert [batch.num_rows for batch in huge] == [1, 1, 1]
    assert [batch.column("offset")[0].as_py() for batch in huge] == [0, 1, 2]


def test_a_time_that_spark_does_not_have_is_told_with_its_place() -> None:
    """The record can be read without it."""
    last = (1 << 63) // 1000
    far = records.decode(records.encode([(b"a", None, last), (b"b", None, last + 1)], base_offset=40))
    with pytest.raises(LimitError, match=rf"^orders-3, offset 41: the record's time, {last + 1} ms, is beyond"):
        gathered([(some_records(3), "orders", 1), (far, "orders", 3)])
    (batch,) = gathered([(far, "orders", 3)], ("value", "offset"))
    assert batch.column("offset").to_pylist() == [40, 41]


def test_nothing_gives_nothing() -> None:
    assert gathered([]) == []
    assert gathered([(some_records(0), "t", 0)]) == []
