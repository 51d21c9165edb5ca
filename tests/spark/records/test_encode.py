"""`encode_record_sets` and the table functions in a real Spark job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.errors import ConfigError
from kwire.spark import decode_record_sets, encode_record_sets, register_udtfs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, 1000, 1, 2).selectExpr(
        "id AS offset",
        "CAST('k' || id AS BINARY) AS key",
        "IF(id % 7 = 0, NULL, CAST('value ' || id AS BINARY)) AS value",
        "timestamp_millis(1700000000000 + id) AS timestamp",
        "IF(id % 3 = 0, array(named_struct('key', 'h', 'value', CAST('x' AS BINARY))), NULL) AS headers",
        "'orders' AS topic",
        "CAST(id DIV 250 AS INT) AS partition",
    )


def test_there_and_back(rows: DataFrame) -> None:
    sets = encode_record_sets(rows, keep=["topic", "partition"], compression="zstd")
    assert [field.simpleString() for field in sets.schema] == ["topic:string", "partition:int", "record_set:binary"]
    assert sets.count() == 4
    back = decode_record_sets(sets, "record_set", keep=["topic", "partition"])
    wanted = rows.select("topic", "partition", "offset", "timestamp", "key", "value", "headers")
    assert sorted(back.drop("timestampType").collect()) == sorted(wanted.collect())


def test_columns_at_fault(spark: SparkSession, rows: DataFrame) -> None:
    for frame, settings, message in [
        (rows.drop("value"), {}, "no column 'value'"),
        (rows, {"keep": ["headers"]}, "cannot be compared"),
        (rows.withColumn("key", rows["offset"]), {}, "column 'key' must be binary or string"),
        (rows, {"compression": "zip"}, "compression 'zip'"),
        (rows, {"magic": 3}, "magic 3"),
    ]:
        with pytest.raises(ConfigError, match=message):
            encode_record_sets(frame, **settings)


def test_table_functions(spark: SparkSession, rows: DataFrame) -> None:
    register_udtfs(spark)
    rows.createOrReplaceTempView("sent")
    encode = "SELECT * FROM encode_record_sets(TABLE(SELECT offset, key, value, timestamp, headers FROM sent), 'zstd')"
    spark.sql(encode).createOrReplaceTempView("fetched")
    wanted = sorted(rows.select("offset", "timestamp", "key", "value", "headers").collect())
    decoded = spark.sql("SELECT * FROM decode_record_sets(TABLE(fetched))")
    assert decoded.columns == ["offset", "timestamp", "timestampType", "key", "value", "headers"]
    assert sorted(decoded.drop("timestampType").collect()) == wanted
    spark.sql("SELECT 7 AS file, * FROM fetched").createOrReplaceTempView("files")
    lateral = spark.sql("SELECT f.file, r.* FROM files f, LATERAL decode_record_set(f.record_set) r")
    assert sorted(lateral.drop("file", "timestampType").collect()) == wanted
