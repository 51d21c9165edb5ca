"""`write.format("kwire")` and `writeStream` in Spark, on the embedded broker."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire import records
from kwire.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(topics={"rows": 3, "named": 1, "stream": 2, "counts": 1, "headers": 1, "threads": 1}) as running:
        yield running


def stored(broker: Broker, topic: str, partitions: int) -> list[records.Record]:
    return [
        record
        for partition in range(partitions)
        for record in records.decode(broker.record_set(topic, partition=partition))
    ]


def save(frame: DataFrame, broker: Broker, mode: str | None = "append", **options: str) -> None:
    writer = frame.write.format("kwire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    (writer if mode is None else writer.mode(mode)).options(**options).save()


def refused(text: str, frame: DataFrame, broker: Broker, mode: str | None = "append", **options: str) -> None:
    with pytest.raises(Exception) as raised:
        save(frame, broker, mode, **options)
    assert text in str(raised.value)


def test_a_frame_is_written_with_every_column(spark: SparkSession, broker: Broker) -> None:
    frame = spark.range(0, 1000, numPartitions=4).selectExpr(
        "'rows' AS topic",
        "CAST(id AS STRING) AS key",
        "CAST(IF(id % 10 = 0, NULL, CONCAT('v', id)) AS BINARY) AS value",
        "CAST(IF(id < 500, NULL, id % 3) AS INT) AS partition",
        "IF(id % 2 = 0, NULL, ARRAY(STRUCT('h' AS key, CAST(CAST(id AS STRING) AS BINARY) AS value))) AS headers",
        "id AS ignored",
    )
    save(frame, broker)
    found = {int(record.key or b""): record for record in stored(broker, "rows", 3)}
    assert len(found) == 1000
    for number, record in found.items():
        assert record.value == (None if number % 10 == 0 else b"v%d" % number)
        assert len(record.headers) == number % 2
    by_partition = [{int(record.key or b"") for record in _partition(broker, number)} for number in range(3)]
    assert all(number % 3 == partition for partition in range(3) for number in by_partition[partition] if number >= 500)


def _partition(broker: Broker, partition: int) -> list[records.Record]:
    return list(records.decode(broker.record_set("rows", partition=partition)))


def test_what_cannot_be_written_is_refused_before_a_row_is(spark: SparkSession, broker: Broker) -> None:
    frame = spark.range(10).selectExpr("CAST(id AS STRING) AS value", "id AS key", "'x' AS partition")
    refused("key attribute unsupported type bigint. key must be a(n) string or binary", frame, broker, topic="named")
    refused("partition attribute unsupported type string", frame.drop("key"), broker, topic="named")
    refused("topic option required when no 'topic' attribute is present", frame, broker)
    refused("Required attribute 'value' not found", frame.drop("value"), broker, topic="named")
    refused("Save mode Overwrite not allowed for Kafka", frame, broker, "overwrite", topic="named")
    refused("UNSUPPORTED_DATA_SOURCE_SAVE_MODE", frame, broker, None, topic="named")
    assert stored(broker, "named", 1) == []


def test_a_row_at_fault_fails_the_job_and_is_named(spark: SparkSession, broker: Broker) -> None:
    frame = spark.range(0, 50, numPartitions=1).selectExpr("'v' AS value", "IF(id = 30, NULL, 'named') AS topic")
    refused("row 30 of the task cannot be written: the topic is null", frame, broker)


def test_a_stream_is_written_batch_by_batch(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    rows = spark.range(0, 200, numPartitions=2).selectExpr("CAST(id AS STRING) AS value")
    for number in range(2):
        rows.write.mode("append").parquet(str(tmp_path / "in" / f"part={number}"))
    source = spark.readStream.schema("value STRING").option("maxFilesPerTrigger", 2).parquet(str(tmp_path / "in" / "*"))
    writer = source.writeStream.format("kwire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    writer = (
        writer.queryName("rows").option("topic", "stream").option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    for _ in range(2):
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(120)
    values = sorted(int(record.value or b"") for record in stored(broker, "stream", 2))
    assert values == sorted([*range(200), *range(200)])


def test_a_stream_of_counts_is_written_in_complete_mode(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    spark.range(0, 20, numPartitions=1).selectExpr("id % 2 AS k").write.parquet(str(tmp_path / "in"))
    counts = spark.readStream.schema("k BIGINT").parquet(str(tmp_path / "in")).groupBy("k").count()
    written = counts.selectExpr("CAST(k AS STRING) AS key", "CAST(count AS STRING) AS value", "'counts' AS topic")
    writer = written.writeStream.format("kwire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).outputMode("complete")
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert sorted((record.key, record.value) for record in stored(broker, "counts", 1)) == [
        (b"0", b"10"),
        (b"1", b"10"),
    ]


def test_a_stream_that_cannot_be_written_says_why(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    source = spark.readStream.format("rate").load().selectExpr("value")
    writer = source.writeStream.format("kwire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    writer = writer.option("topic", "named").option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(Exception) as raised:
        writer.trigger(availableNow=True).start().awaitTermination(120)
    assert "value attribute unsupported type bigint. value must be a(n) string or binary" in str(raised.value)


def test_spark_itself_refuses_the_output_mode_update(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    counts = spark.readStream.format("rate").load().groupBy("value").count().selectExpr("'v' AS value")
    writer = counts.writeStream.format("kwire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    writer = writer.option("topic", "named").option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(Exception) as raised:
        writer.outputMode("update").start().awaitTermination(120)
    assert "kwire does not support Update mode" in str(raised.value)


def test_headers_made_empty_instead_of_null_are_no_headers(spark: SparkSession, broker: Broker) -> None:
    headers = "IF(id = 0, ARRAY(STRUCT('h' AS key, CAST('x' AS BINARY) AS value)), NULL)"
    frame = spark.range(0, 2, numPartitions=1).selectExpr("'v' AS value", f"{headers} AS headers")
    save(frame.selectExpr("value", "coalesce(headers, array()) AS headers"), broker, topic="headers")
    assert [len(record.headers) for record in stored(broker, "headers", 1)] == [1, 0]


def test_a_thread_writes_once_the_session_is_active_there(spark: SparkSession, broker: Broker) -> None:
    frame = spark.range(5).selectExpr("CAST(id AS STRING) AS value")

    def write() -> None:
        spark.createDataFrame([], "id int")
        save(frame, broker, topic="threads")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(write).result()
    assert sorted(record.value or b"" for record in stored(broker, "threads", 1)) == [b"0", b"1", b"2", b"3", b"4"]
