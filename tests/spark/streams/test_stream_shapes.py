"""Streams of the shapes that jobs have: two that are joined by watermarks, hundreds of topics, schemas that change."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire import Producer
from kwire.testing import Broker
from tests.reference.primitives import uvarint, zigzag
from tests.registry.server import serving

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

_WITHIN_S = 120
_MINUTE_MS = 60_000
_START_MS = 1_700_000_000_000 // _MINUTE_MS * _MINUTE_MS


def load(spark: SparkSession, broker: Broker, **options: str) -> DataFrame:
    source = spark.readStream.format("kwire").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    return source.options(**{"startingOffsets": "earliest", **options}).load()


def start(frame: DataFrame, folder: Path, rows: list[Any]) -> StreamingQuery:
    """All rows that the query makes are added to `rows`, batch after batch."""
    writer = frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def test_two_topics_are_joined_within_their_watermarks(spark: SparkSession, tmp_path: Path) -> None:
    """An order and its payment, no more than five minutes later; what never finds the other leaves the state."""
    with Broker(topics={"orders": 2, "payments": 2}) as broker, Producer(broker.bootstrap_servers) as producer:

        def send(topic: str, number: int, minute: float) -> None:
            value = json.dumps({"id": number}).encode()
            timestamp = _START_MS + int(minute * _MINUTE_MS)
            producer.send(topic, value, partition=number % 2, timestamp=timestamp)

        for number in range(20):
            send("orders", number, number)
            if number % 4:
                send("payments", number, number + (2 if number % 4 < 3 else 9))
        producer.flush()
        decoded = {"decoder": "json", "decoder.schema": "id INT", "columns": "id,timestamp"}
        orders = load(spark, broker, subscribe="orders", **decoded).withWatermark("timestamp", "10 minutes")
        paid = load(spark, broker, subscribe="payments", **decoded).withWatermark("timestamp", "10 minutes")
        joined = orders.alias("o").join(
            paid.selectExpr("id AS paid_id", "timestamp AS paid_at").alias("p"),
            _within_five_minutes(),
        )
        found: list[Any] = []
        query = start(joined.select("o.id"), tmp_path, found)
        try:
            query.processAllAvailable()
            for minute in (100, 200):
                send("orders", 1000, minute)
                send("payments", 1001, minute)
                producer.flush()
                query.processAllAvailable()
            progress = query.recentProgress
        finally:
            query.stop()
    assert sorted(row.id for row in found) == [number for number in range(20) if number % 4 in (1, 2)]
    (state,) = progress[-1]["stateOperators"]
    assert state["numRowsTotal"] <= 4, "what waits for nobody has left the state"


def _within_five_minutes() -> Any:
    from pyspark.sql import functions as fn

    return fn.expr("o.id = p.paid_id AND paid_at BETWEEN o.timestamp AND o.timestamp + INTERVAL 5 MINUTES")


def test_a_hundred_topics_by_pattern_and_more_that_come(spark: SparkSession, tmp_path: Path) -> None:
    with Broker(topics={f"shop-{number}-orders": 2 for number in range(100)}) as broker:
        for topic in broker.topics():
            broker.append(topic, [topic.encode()], partition=1)
        broker.create_topic("other", 1)
        found: list[Any] = []
        query = start(load(spark, broker, subscribePattern="^shop-[0-9]+-orders$"), tmp_path, found)
        try:
            query.processAllAvailable()
            seen = {row.topic for row in found}
            broker.create_topic("shop-100-orders", 1)
            broker.append("shop-100-orders", [b"late"])
            broker.append("other", [b"never"])
            _until(lambda: any(row.topic == "shop-100-orders" for row in found), query)
        finally:
            query.stop()
    assert seen == {f"shop-{number}-orders" for number in range(100)}
    assert len(found) == 101
    assert all(bytes(row.value) in (row.topic.encode(), b"late") for row in found)


def test_writers_change_their_schema_while_a_stream_runs(spark: SparkSession, tmp_path: Path) -> None:
    """Values of each schema that the registry has come out under the columns that the query began with."""
    first = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
    wider = {**first, "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": "string", "default": "-"}]}
    latest = {**wider, "fields": [*wider["fields"], {"name": "tip", "type": "long", "default": 0}]}
    with Broker(topics={"orders": 1}) as broker, serving() as registry:
        registry.add(1, first)
        decoded = {"decoder": "avro", "decoder.schema": json.dumps(wider), "decoder.registry": registry.url}
        found: list[Any] = []
        query = start(load(spark, broker, subscribe="orders", **decoded).select("id", "note"), tmp_path, found)
        try:
            broker.append("orders", [_framed(1, _long(7))])
            query.processAllAvailable()
            registry.add(2, wider)
            registry.add(3, latest)
            broker.append("orders", [_framed(2, _long(1 << 40) + _text("b")), _framed(1, _long(8))])
            broker.append("orders", [_framed(3, _long(9) + _text("c") + _long(5))])
            query.processAllAvailable()
        finally:
            query.stop()
        asked = registry.asked
    assert [(row.id, row.note) for row in found] == [(7, "-"), (1 << 40, "b"), (8, "-"), (9, "c")]
    assert {path.rsplit("/", 1)[-1] for path in asked} == {"1", "2", "3"}


def _framed(schema: int, value: bytes) -> bytes:
    return b"\0" + struct.pack(">I", schema) + value


def _long(value: int) -> bytes:
    return uvarint(zigzag(value))


def _text(value: str) -> bytes:
    return _long(len(value)) + value.encode()


def _until(is_done: Callable[[], bool], query: StreamingQuery) -> None:
    for _ in range(100):
        query.processAllAvailable()
        if is_done():
            return
    pytest.fail("it did not come")
