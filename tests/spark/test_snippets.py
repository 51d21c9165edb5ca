"""The blocks of README.md, docs/spark.md and the tutorial on streams, which need Spark, as they stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire import records, testing
from tests.brokers.spark_jars import spark_is
from tests.log_files.written import write_segment
from tests.site.test_programs import DOCS, Page, cluster
from tests.snippets import blocks, run, snippet

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
    [
        ("README.md", "spark.read", "localhost:9092"),
        ("docs/spark.md", "broker2:9092", "broker1:9092,broker2:9092"),
        ("docs/spark.md", "slots", "broker1:9092"),
    ],
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


def test_a_stream_and_its_lag(spark: SparkSession, orders: testing.Broker, tmp_path: Path) -> None:
    code = snippet("docs/spark.md", "readStream").replace("broker1:9092", orders.bootstrap_servers)
    query = run(code.replace("/data/", f"{tmp_path}/"), spark=spark)["query"]
    assert query.awaitTermination(60)
    rows = spark.read.parquet(str(tmp_path / "orders")).collect()
    assert sorted(bytes(row.value) for row in rows) == [b"17.50", b"3.20"]
    found = run(snippet("docs/spark.md", "LagListener("), spark=spark, query=query)
    spark.streams.removeListener(found["listener"])
    assert found["behind"] == {("orders", 0): 0, ("orders", 1): 0}


def test_a_dataframe_keeps_its_offsets_and_a_new_one_sees_more(spark: SparkSession, orders: testing.Broker) -> None:
    code = snippet("docs/spark.md", "now = orders()").replace("broker1:9092", orders.bootstrap_servers)
    made = run(code, spark=spark)
    assert (made["before"], made["now"]) == (2, 2)
    kept = made["orders"]()
    assert kept.count() == 2
    orders.append("orders", [b"9.99"])
    assert (kept.count(), made["orders"]().count()) == (2 if spark_is((4, 1)) else 3, 3)


def test_decoded_values(spark: SparkSession, orders: testing.Broker) -> None:
    orders.append("orders", [b'{"id":7,"items":[{"name":"cup","price":3.5}],"at":"2024-02-29T12:00:00Z"}'])
    code = snippet("docs/spark.md", '"json"').replace("broker1:9092", orders.bootstrap_servers)
    frame = run(code, spark=spark)["orders"]
    assert frame.columns == ["key", "id", "items", "at", "_corrupt", *COLUMNS[2:]]
    (good,) = frame.where("id IS NOT NULL").collect()
    assert (good.id, str(good["items"][0].price), good["_corrupt"]) == (7, "3.50", None)
    assert frame.where("_corrupt IS NOT NULL").count() == 2


def test_a_batch_write(spark: SparkSession) -> None:
    totals = spark.createDataFrame([(7, 17.5)], "customer int, total double")
    with testing.Broker(topics={"totals": 1}) as broker:
        code = snippet("docs/spark.md", "broker3:9092")
        run(code.replace("broker1:9092,broker3:9092", broker.bootstrap_servers), totals=totals)
        [record] = records.decode(broker.record_set("totals"))
    assert (record.key, record.value) == (b"7", b'{"customer":7,"total":17.5}')


def test_a_stream_that_is_written_exactly_once(spark: SparkSession, orders: testing.Broker, tmp_path: Path) -> None:
    orders.create_topic("bills", 1)
    read = {"kafka.bootstrap.servers": orders.bootstrap_servers, "subscribe": "orders", "startingOffsets": "earliest"}
    code = snippet("docs/spark.md", "broker4:9092").replace("broker1:9092,broker4:9092", orders.bootstrap_servers)
    frame = spark.readStream.format("kwire").options(**read).load()
    query = run(code.replace("/data/", f"{tmp_path}/"), orders=frame)["query"]
    query.processAllAvailable()
    query.stop()
    assert sorted(orders.values("bills", committed=True)) == [b"17.50", b"3.20"]  # type: ignore[type-var]


def test_raw_record_sets(spark: SparkSession) -> None:
    wire = bytearray(records.encode([(b"17.50", b"a"), (b"3.20", b"b")]))
    frame = spark.createDataFrame([("one.log", wire)], "file string, record_set binary")
    rows = run(snippet("docs/spark.md", "rows = decode_record_sets"), frame=frame)["rows"]
    assert rows.columns == ["file", "offset", "key", "value"]
    assert [(row.file, row.offset, bytes(row.value)) for row in rows.collect()] == [
        ("one.log", 0, b"17.50"),
        ("one.log", 1, b"3.20"),
    ]


def test_log_segments(spark: SparkSession, tmp_path: Path) -> None:
    write_segment(tmp_path / "orders-1", [records.encode([(b"17.50", b"a")])])
    code = snippet("docs/spark.md", "kwire-log").replace("/var/lib/kafka/data", str(tmp_path))
    (row,) = run(code, spark=spark)["orders"].collect()
    assert (row.topic, row.partition, bytes(row.value)) == ("orders", 1, b"17.50")


def test_encoded_record_sets(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [("t", 1, 7, "v"), ("t", 0, 3, "w")], "topic string, partition int, offset long, value string"
    )
    sets = run(snippet("docs/spark.md", "import encode_record_sets"), rows=rows)["sets"]
    found = {row.partition: [(r.offset, r.value) for r in records.decode(row.record_set)] for row in sets.collect()}
    assert found == {0: [(3, b"w")], 1: [(7, b"v")]}


def test_table_functions(spark: SparkSession) -> None:
    spark.createDataFrame([("a", "17.50")], "key string, value string").createOrReplaceTempView("orders")
    wire = bytearray(records.encode([(b"3.20", b"b")]))
    spark.createDataFrame([("one.log", wire)], "file string, record_set binary").createOrReplaceTempView("fetched")
    made = run(snippet("docs/spark.md", "register_udtfs"), spark=spark)
    (row,) = made["rows"].collect()
    assert (row.offset, bytes(row.key), bytes(row.value)) == (0, b"a", b"17.50")
    (row,) = made["with_file"].collect()
    assert (row.file, bytes(row.value)) == ("one.log", b"3.20")


def test_the_tutorial_prints_what_it_shows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with cluster(DOCS / "tutorials" / "spark-stream.md") as broker:
        page = Page(broker)
        for language, code in blocks("docs/tutorials/spark-stream.md"):
            page.go_on(language, code.replace('"bills.checkpoint"', f'"{tmp_path}/bills.checkpoint"'))
