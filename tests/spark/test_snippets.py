"""The blocks of README.md and docs/spark.md that need Spark, as they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kwire import records, testing
from tests.snippets import run, snippet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


@pytest.fixture
def orders() -> Iterator[testing.Broker]:
    with testing.Broker(topics={"orders": 2}) as broker:
        broker.append("orders", records.encode([(b"17.50", b"a"), (b"3.20", b"b")]), partition=1)
        yield broker


@pytest.mark.parametrize(
    ("document", "phrase", "address"),
    [("README.md", "spark.read", "localhost:9092"), ("docs/spark.md", "broker2:9092", "broker1:9092,broker2:9092")],
)
def test_a_batch_read(spark: SparkSession, orders: testing.Broker, document: str, phrase: str, address: str) -> None:
    code = snippet(document, phrase)
    frame = run(code.replace(address, orders.bootstrap_servers), spark=spark)["orders"]
    assert frame.columns == COLUMNS
    rows = sorted(frame.collect(), key=lambda row: row.offset)
    assert [(bytes(row.key), bytes(row.value), row.partition) for row in rows] == [
        (b"a", b"17.50", 1),
        (b"b", b"3.20", 1),
    ]


def test_raw_record_sets(spark: SparkSession) -> None:
    wire = bytearray(records.encode([(b"17.50", b"a"), (b"3.20", b"b")]))
    frame = spark.createDataFrame([("one.log", wire)], "file string, record_set binary")
    rows = run(snippet("docs/spark.md", "decode_record_sets"), frame=frame)["rows"]
    assert rows.columns == ["file", "offset", "key", "value"]
    assert [(row.file, row.offset, bytes(row.value)) for row in rows.collect()] == [
        ("one.log", 0, b"17.50"),
        ("one.log", 1, b"3.20"),
    ]
