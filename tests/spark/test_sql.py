"""`USING kwire` in SQL, as docs/spark.md tells: what a view can do, and what Spark refuses a Python source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire import records
from kwire.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WITHIN_S = 60
_VIEW = "CREATE OR REPLACE TEMPORARY VIEW {} USING kwire OPTIONS (kafka.bootstrap.servers '{}', {})"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(topics={"orders": 3, "bills": 1}) as running:
        for partition in range(3):
            values = [b"%d" % number for number in range(partition, 300, 3)]
            running.append("orders", records.encode(values), partition=partition)
        yield running


@pytest.fixture
def orders(spark: SparkSession, broker: Broker) -> None:
    options = "subscribe 'orders', maxTasks '1'"
    spark.sql(_VIEW.format("orders", broker.bootstrap_servers, options))


@pytest.mark.usefixtures("orders")
def test_a_view_is_read_like_any_other(spark: SparkSession) -> None:
    sums = "SELECT partition, count(*) AS n, sum(CAST(CAST(value AS STRING) AS INT)) AS total FROM orders GROUP BY ALL"
    found = {row.partition: (row.n, row.total) for row in spark.sql(sums).collect()}
    assert found == {partition: (100, sum(range(partition, 300, 3))) for partition in range(3)}
    described = {row.col_name: row.data_type for row in spark.sql("DESCRIBE orders").collect()}
    assert list(described.items())[:4] == [
        ("key", "binary"), ("value", "binary"), ("topic", "string"), ("partition", "int")
    ]  # fmt: skip


@pytest.mark.usefixtures("orders")
def test_rows_are_inserted_into_a_view(spark: SparkSession, broker: Broker) -> None:
    """They go where their columns topic and partition say."""
    spark.sql(_VIEW.format("anything", broker.bootstrap_servers, "subscribe 'bills'"))
    spark.sql(
        "INSERT INTO anything SELECT key, CAST(concat('bill ', CAST(value AS STRING)) AS BINARY), 'bills', 0, offset, "
        "timestamp, timestampType FROM orders WHERE offset < 2"
    )
    expected = [b"bill %d" % number for number in range(6)]
    assert sorted(value or b"" for value in broker.values("bills")) == expected
    assert spark.sql("SELECT * FROM anything").count() == 6


def test_a_stream_is_a_view_too(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    source = spark.readStream.format("kwire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    frame = source.option("subscribe", "orders").option("startingOffsets", "earliest").load()
    frame.createOrReplaceTempView("coming")
    rows = spark.sql("SELECT CAST(value AS STRING) AS value FROM coming WHERE partition = 2")
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "rows"))
    assert query.awaitTermination(_WITHIN_S)
    found = spark.read.parquet(str(tmp_path / "rows")).collect()
    assert sorted(int(row.value) for row in found) == list(range(2, 300, 3))


def test_a_table_is_refused_with_what_works_instead(spark: SparkSession, broker: Broker) -> None:
    options = f"OPTIONS (kafka.bootstrap.servers '{broker.bootstrap_servers}', subscribe 'orders')"
    with pytest.raises(Exception, match="CREATE TEMPORARY VIEW"):
        spark.sql(f"CREATE TABLE kept USING kwire {options}").collect()
    assert not spark.catalog.tableExists("kept")


def test_a_wrong_option_of_a_view_is_named(spark: SparkSession, broker: Broker) -> None:
    with pytest.raises(Exception, match="Unknown option 'subscrib'; did you mean 'subscribe'"):
        spark.sql(_VIEW.format("wrong", broker.bootstrap_servers, "subscrib 'orders'"))
