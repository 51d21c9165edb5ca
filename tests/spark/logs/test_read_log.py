"""`format("kwire-log")` in Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.log_files.written import batch, write_segment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for partition in range(2):
        write_segment(tmp_path / f"orders-{partition}", [batch(10 * number) for number in range(10)])
    return tmp_path


def test_folders_are_read_by_name_alone(spark: SparkSession, data: Path) -> None:
    one = spark.read.format("kwire-log").load(f"{data}/orders-0")
    assert one.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    row = one.where("offset = 42").first()
    assert row is not None
    assert (row.key, row.value, row.topic, row.partition, row.timestampType) == (b"k", b"42", "orders", 0, 0)
    several = spark.read.format("kwire-log").option("maxBytesPerTask", "300")
    for frame in (several.load([f"{data}/orders-0", f"file://{data}/orders-1"]), several.load(f"{data}/orders-*")):
        assert sorted((row.partition, row.offset) for row in frame.select("partition", "offset").collect()) == [
            (partition, offset) for partition in range(2) for offset in range(100)
        ]
        assert frame.rdd.getNumPartitions() > 5


def test_a_stream_is_refused_where_users_see_it(spark: SparkSession, data: Path, tmp_path: Path) -> None:
    query = (
        spark.readStream.format("kwire-log")
        .load(str(data))
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    with pytest.raises(Exception, match="segments are read in batches"):
        query.awaitTermination(60)
