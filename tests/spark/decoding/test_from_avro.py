"""`decoder=avro` against Spark's own from_avro: the same schema, the same rows; and the example of the page."""

from __future__ import annotations

import base64
import io
import json
import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire import records, testing
from tests.snippets import run, snippet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

fastavro = pytest.importorskip("fastavro")

SCHEMA: Any = {
    "type": "record",
    "name": "All",
    "namespace": "test",
    "fields": [
        {"name": "flag", "type": "boolean"},
        {"name": "nothing", "type": "null"},
        {"name": "small", "type": "int"},
        {"name": "large", "type": ["null", "long"]},
        {"name": "single", "type": "float"},
        {"name": "wide", "type": ["double", "null"]},
        {"name": "raw", "type": "bytes"},
        {"name": "text", "type": ["null", "string"]},
        {"name": "four", "type": {"type": "fixed", "name": "Four", "size": 4}},
        {"name": "suit", "type": {"type": "enum", "name": "Suit", "symbols": ["CLUBS", "HEARTS"]}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "millis", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "micros", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        {"name": "tick", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}},
        {
            "name": "exact",
            "type": {"type": "fixed", "name": "Exact", "size": 16, "logicalType": "decimal", "precision": 38},
        },
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "grid", "type": {"type": "array", "items": {"type": "array", "items": "int"}}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {
            "name": "inner",
            "type": {
                "type": "record",
                "name": "Inner",
                "fields": [{"name": "x", "type": "int"}, {"name": "again", "type": ["null", "Four"]}],
            },
        },
        {"name": "maybe", "type": ["null", "Inner"]},
        {"name": "number", "type": ["int", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "choice", "type": ["null", "int", "string", {"type": "array", "items": "Inner"}]},
    ],
}
READER: Any = {
    **SCHEMA,
    "fields": [
        {"name": "added", "type": ["null", "string"], "default": None},
        {"name": "large", "type": ["null", "double"]},
        {"name": "renamed", "type": "long", "aliases": ["small"]},
        {"name": "listed", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
        {"name": "suit", "type": {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "NONE"], "default": "NONE"}},
    ],
}


def value(number: int) -> dict[str, Any]:
    inner = {"x": number, "again": None if number % 2 else b"abcd"}
    choices = [None, ("int", number), ("string", f"s{number}"), ("array", [inner, inner])]
    return {
        "flag": number % 2 == 0,
        "nothing": None,
        "small": -number,
        "large": None if number % 3 == 0 else 1 << (number % 63),
        "single": number / 3,
        "wide": None if number % 4 == 0 else -number / 7,
        "raw": bytes([number % 256]) * (number % 5),
        "text": None if number % 5 == 0 else f"ü{number}" * (number % 4),
        "four": struct.pack(">I", number),
        "suit": "HEARTS" if number % 2 else "CLUBS",
        "day": number * 100,
        "millis": 1_700_000_000_000 + number,
        "micros": None if number % 2 else 1_600_000_000_000_000 + number,
        "local": 1_500_000_000_000 - number,
        "tick": number,
        "price": (number * 12345 - 100_000).to_bytes(8, "big", signed=True),
        "exact": (-(10 ** (number % 38))).to_bytes(16, "big", signed=True),
        "tags": [None if i % 2 else f"t{i}" for i in range(number % 4)],
        "grid": [list(range(i)) for i in range(number % 3)],
        "counts": {f"k{number}": number} if number % 2 else {},
        "inner": inner,
        "maybe": None if number % 3 else inner,
        "number": number if number % 2 else ("long", 1 << 40),
        "choice": choices[number % 4],
    }


def written(schema: Any, made: Any) -> bytes:
    """By a schema without logical types, so that numbers are written as they are."""
    plain = json.loads(
        json.dumps(schema), object_hook=lambda each: {k: v for k, v in each.items() if k != "logicalType"}
    )
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(plain), made)
    return out.getvalue()


def read(spark: SparkSession, servers: str, topic: str = "values", **options: str) -> DataFrame:
    reader = spark.read.format("kwire").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    for name, text in options.items():
        reader = reader.option(name.replace("_", "."), text)
    return reader.load()


def rows_of(frame: DataFrame, order: str) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in frame.orderBy(order).collect()]


def test_the_same_rows_as_from_avro(spark: SparkSession) -> None:
    from pyspark.sql.avro.functions import from_avro

    encoded = [written(SCHEMA, value(number)) for number in range(200)]
    with testing.Broker(topics={"values": 2}) as broker:
        for partition in range(2):
            broker.append("values", records.encode([*encoded[partition::2], None]), partition=partition)
        servers = broker.bootstrap_servers
        ours = read(spark, servers, decoder="avro", decoder_schema=json.dumps(SCHEMA))
        theirs = read(spark, servers).select(from_avro("value", json.dumps(SCHEMA)).alias("v")).select("v.*")
        names = [field["name"] for field in SCHEMA["fields"]]
        assert [field.simpleString() for field in ours.select(names).schema] == [
            field.simpleString() for field in theirs.schema
        ]
        found = rows_of(ours.select(names), "four")
        assert len(found) == 202
        assert found == rows_of(theirs, "four")
        evolved = read(
            spark, servers, decoder="avro", decoder_schema=json.dumps(READER), decoder_writerSchema=json.dumps(SCHEMA)
        )
        options = {"avroSchema": json.dumps(READER)}
        theirs = read(spark, servers).select(from_avro("value", json.dumps(SCHEMA), options).alias("v")).select("v.*")
        names = [field["name"] for field in READER["fields"]]
        assert rows_of(evolved.select(names), "renamed") == rows_of(theirs, "renamed")


def test_intervals_of_protobuf(spark: SparkSession) -> None:
    from tests.spark.decoding.test_protobuf_decoder import ORDER, descriptors

    took = b"\x22\x05\x08\x02\x10\xe8\x07"  # 2 s and 1,000 ns
    options = {"decoder_schema": base64.b64encode(descriptors()).decode(), "decoder_messageName": "Order"}
    with testing.Broker(topics={"values": 1}) as broker:
        broker.append("values", records.encode([ORDER + took, None]), partition=0)
        frame = read(spark, broker.bootstrap_servers, decoder="protobuf", **options)
        row, nothing = frame.select("id", "note", "state", "took").orderBy("offset").collect()
    assert tuple(row) == (5, "x", "PAID", timedelta(seconds=2, microseconds=1))
    assert tuple(nothing) == (None, None, None, None)


def test_the_example_of_the_page(spark: SparkSession, tmp_path: Path) -> None:
    first = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    second = {**first, "fields": [*first["fields"], {"name": "total", "type": ["null", "double"], "default": None}]}
    for number, schema in enumerate((first, second), 1):
        (tmp_path / f"{number}.avsc").write_text(json.dumps(schema))
    code = snippet("docs/spark.md", '"avro"').replace("https://registry:8081", str(tmp_path))
    code = code.replace("/schemas/order.avsc", str(tmp_path / "2.avsc"))
    with testing.Broker(topics={"orders": 1}) as broker:
        values = [b"\0\0\0\0\1" + written(first, {"id": 1}), b"\0\0\0\0\2" + written(second, {"id": 2, "total": 2.5})]
        at = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp() * 1000)
        broker.append("orders", records.encode([(each, None, at, []) for each in values]), partition=0)
        made = run(code.replace("broker1:9092", broker.bootstrap_servers), spark=spark)["orders"]
        assert made.columns == ["key", "id", "total", "topic", "partition", "offset", "timestamp", "timestampType"]
        assert [tuple(row) for row in made.select("id", "total").orderBy("id").collect()] == [(1, None), (2, 2.5)]
