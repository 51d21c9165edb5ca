"""`deliveryGuarantee` exactly-once in Spark, on the embedded broker: what readers of committed records get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"in": 2, "out": 3}) as made:
        yield made


def options(broker: Broker, **more: str) -> dict[str, Any]:
    return {
        "kafka.bootstrap.servers": broker.bootstrap_servers,
        "topic": "out",
        "deliveryGuarantee": "exactly-once",
        "transactionalIdPrefix": "test",
        **more,
    }


def committed(broker: Broker) -> list[bytes]:
    return sorted(value for value in broker.values("out", committed=True) if value is not None)


def rows(spark: SparkSession, count: int, tasks: int = 4) -> Any:
    return spark.range(0, count, 1, tasks).selectExpr("cast(id as string) as value")


def test_a_batch_write_is_committed_whole(spark: SparkSession, broker: Broker) -> None:
    for _ in range(2):
        rows(spark, 1000).write.format("kwire").options(**options(broker)).mode("append").save()
    assert Counter(committed(broker)) == Counter({b"%d" % number: 2 for number in range(1000)})


def test_a_batch_write_that_fails_leaves_nothing(spark: SparkSession, broker: Broker) -> None:
    bad = (
        rows(spark, 1000)
        .selectExpr("value", "if(value = '777', 5000000, 1) as count")
        .selectExpr("repeat(value, count) as value")
    )
    with pytest.raises(Exception, match=r"larger than|MESSAGE_TOO_LARGE|max\.request\.size"):
        bad.write.format("kwire").options(**options(broker)).mode("append").save()
    assert committed(broker) == []
    assert len(broker.values("out")) > 0
    rows(spark, 10, 1).write.format("kwire").options(**options(broker)).mode("append").save()
    assert committed(broker) == sorted(b"%d" % number for number in range(10))


def test_an_error_of_the_driver_is_shown(spark: SparkSession) -> None:
    with Broker(topics={"out": 1}, release="2.8.2") as broker:
        with pytest.raises(Exception, match=r"needs brokers of Kafka 3\.0 or newer"):
            rows(spark, 10).write.format("kwire").options(**options(broker)).mode("append").save()
        assert committed(broker) == []


def test_a_stream_is_written_once_over_restarts(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Its transactional ids name the query, and stay few."""
    for number in range(3):
        broker.append("in", [b"%d-%d" % (number, each) for each in range(100)], partition=number % 2)
        run_stream(spark, broker, tmp_path / "checkpoint")
    assert committed(broker) == sorted(b"%d-%d" % (number, each) for number in range(3) for each in range(100))


def run_stream(spark: SparkSession, broker: Broker, checkpoint: Path, **more: str) -> None:
    source = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "in", "startingOffsets": "earliest"}
    read = spark.readStream.format("kwire").options(**source).load()
    query = (
        read.select("value")
        .writeStream.format("kwire")
        .options(**options(broker, **more))
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    query.processAllAvailable()
    query.stop()
