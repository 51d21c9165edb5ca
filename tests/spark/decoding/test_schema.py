"""Spark's and Arrow's word for each column mean the same to Spark. Needs pyspark, but no JVM."""

import pytest

from kwire.spark.decoding.schema import ALL_COLUMNS, DEFAULT_COLUMNS, arrow_schema, spark_ddl


def test_the_default_leaves_headers_out() -> None:
    assert spark_ddl(DEFAULT_COLUMNS) == (
        "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
    )


def test_arrow_types_are_those_spark_derives_from_its_own() -> None:
    types = pytest.importorskip("pyspark.sql.types")
    from_arrow = pytest.importorskip("pyspark.sql.pandas.types").from_arrow_schema
    derived = from_arrow(arrow_schema(ALL_COLUMNS))
    header = types.StructType().add("key", types.StringType()).add("value", types.BinaryType())
    expected = [
        types.BinaryType(),
        types.BinaryType(),
        types.StringType(),
        types.IntegerType(),
        types.LongType(),
        types.TimestampType(),
        types.IntegerType(),
        types.ArrayType(header),
    ]
    assert [field.dataType for field in derived] == expected
    assert all(field.nullable for field in derived)
