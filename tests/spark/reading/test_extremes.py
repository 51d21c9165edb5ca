"""Reads and writes of a size that few jobs have: thousands of partitions, values of ten megabytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kwire
from kwire import records
from kwire.testing import Broker
from tests.brokers.spark_jars import LIMITS_BATCHES, spark_is

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PARTITIONS = 5000
_LARGE = 10 << 20


def test_five_thousand_partitions_with_a_record_each(spark: SparkSession) -> None:
    with Broker(topics={"wide": _PARTITIONS}) as broker:
        for partition in range(_PARTITIONS):
            broker.append("wide", [b"%d" % partition], partition=partition)
        source = spark.read.format("kwire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        frame = source.option("subscribe", "wide").option("columns", "partition,value").option("slots", "2").load()
        assert frame.rdd.getNumPartitions() == 2
        rows = frame.collect()
    assert sorted(row.partition for row in rows) == list(range(_PARTITIONS))
    assert all(bytes(row.value) == b"%d" % row.partition for row in rows)


def test_values_of_ten_megabytes_there_and_back(spark: SparkSession) -> None:
    """A fetch is larger than kafka.max.partition.fetch.bytes then, and a batch than kafka.batch.size."""
    with Broker(topics={"large": 1, "copy": 1}, max_message_bytes=3 * _LARGE) as broker:
        values = [bytes([65 + number]) * (_LARGE + number) for number in range(3)]
        with kwire.Producer(broker.bootstrap_servers, max_request_size=3 * _LARGE) as producer:
            for value in values:
                producer.send("large", value)
        where = {"kafka.bootstrap.servers": broker.bootstrap_servers}
        # Of one task: what several write comes in any order.
        frame = spark.read.format("kwire").options(**where, subscribe="large", slots="1").load()
        writer = frame.select("value").write.format("kwire").mode("append").options(**where, topic="copy")
        writer.option("kafka.max.request.size", str(3 * _LARGE)).save()
        copied = list(records.decode(broker.record_set("copy")))
    assert [record.value for record in copied] == values


def test_micro_batches_of_such_values_are_bounded_by_bytes(spark: SparkSession, tmp_path: Path) -> None:
    if not spark_is(LIMITS_BATCHES):
        pytest.skip("before Spark 4.2 no Python source can limit its micro-batches")
    batches: list[list[int]] = []

    def keep(frame: DataFrame, _: int) -> None:
        batches.append(sorted(row.size for row in frame.selectExpr("length(value) AS size").collect()))

    with Broker(topics={"large": 2}, max_message_bytes=3 * _LARGE) as broker:
        with kwire.Producer(broker.bootstrap_servers, max_request_size=3 * _LARGE) as producer:
            for number in range(8):
                producer.send("large", bytes(_LARGE + number), partition=number % 2)
        source = spark.readStream.format("kwire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        source.option("subscribe", "large").option("startingOffsets", "earliest").option("maxBytesPerTrigger", "45m")
        writer = source.load().writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path))
        assert writer.trigger(availableNow=True).start().awaitTermination(120)
    assert [len(batch) for batch in batches] == [4, 4]
    assert sorted(size for batch in batches for size in batch) == [_LARGE + number for number in range(8)]
