"""`decoder=...` in a Spark session: batches, a stream, and JSON and CSV beside Spark's own from_json and from_csv."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from kwire import Producer
from kwire.spark.decoding.options import parse_decoding
from kwire.spark.options.given import GivenOptions
from kwire.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id BIGINT, items ARRAY<STRUCT<name: STRING, price: DECIMAL(8,2)>>, at TIMESTAMP, tags MAP<STRING, INT>"


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    """The topic `orders` has 40 orders in two partitions, and one value that is none."""
    with Broker(topics={"orders": 2}) as broker:
        with Producer(broker.bootstrap_servers) as producer:
            for number in range(40):
                value = (
                    b'{"id":%d,"at":"2024-02-29T12:00:00Z","items":[{"name":"n","price":1.5}],"tags":{"a":1}}' % number
                )
                producer.send("orders", value, key=b"%d" % number, partition=number % 2)
            producer.send("orders", b"damaged", key=b"x", partition=1)
            producer.flush(timeout=10)
        yield broker.bootstrap_servers


def options(servers: str, **more: str) -> dict[str, str]:
    given = {"kafka.bootstrap.servers": servers, "subscribe": "orders", "decoder": "json", "decoder.schema": SCHEMA}
    return given | {name.replace("_", "."): value for name, value in more.items()}


def test_a_batch_of_decoded_columns(spark: SparkSession, servers: str) -> None:
    frame = spark.read.format("kwire").options(**options(servers, decoder_mode="column")).load()
    assert frame.columns[:6] == ["key", "id", "items", "at", "tags", "_corrupt"]
    found = frame.selectExpr("sum(id) AS ids", "sum(items[0].price) AS price", "max(tags['a']) AS a", "count(at) AS n")
    assert tuple(found.collect()[0]) == (780, 60, 1, 40)
    (bad,) = frame.where("_corrupt IS NOT NULL").collect()
    assert (bytes(bad["_corrupt"]), bytes(bad["key"]), bad["id"]) == (b"damaged", b"x", None)


def test_a_bad_record_fails_the_job_by_name(spark: SparkSession, servers: str) -> None:
    frame = spark.read.format("kwire").options(**options(servers, columns="id")).load()
    with pytest.raises(
        Exception, match=r"value of orders-1 at offset 20 cannot be decoded as json: expected an object"
    ):
        frame.collect()


def test_a_stream_of_decoded_columns(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    chosen = options(servers, decoder_mode="drop", startingOffsets="earliest", columns="id,at", keyDecoder="csv")
    chosen |= {"keyDecoder.schema": "k STRING"}
    frame = spark.readStream.format("kwire").options(**chosen).load()
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(120)
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(row.id for row in rows) == list(range(40))


JSON_CASES = {
    "TINYINT": ["127", "128", "-128", "1.0", '"1"', "null", "true", "[1]", '""', "1e1", "-0"],
    "BIGINT": ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "12"],
    "DOUBLE": ["1", "0.1", "1e400", "-1e-400", '"NaN"', "NaN", "-Infinity", '"+INF"', '"1"', "2.2250738585072014e-308"],
    "FLOAT": ["16777217", "0.1", "1e39", "3.4028236e38", "1.17549435e-38", "8.589973e9"],
    "BOOLEAN": ["true", "false", '"true"', "1", "null"],
    "STRING": ['"x"', '"\\u00e9\\ud83d\\ude00"', "1.50", "true", '{"b":  [1, 2 ]}', "[ ]", '""', "'single'", "null"],
    "BINARY": ['"aGVsbG8="', '""', '"aGk"', '"a"', "1"],
    "DATE": ['"2024-02-29"', '"2023-02-29"', '"2024-2-9"', '"2024-02-29T12:00:00Z"', '"2024"', '"24-01-01"', '""', "1"],
    "TIMESTAMP": [
        '"2024-02-29T12:34:56.789Z"', '"2024-02-29 12:34:56"', '"2024-02-29"', '"2024-2-9 1:2:3.4+02:00"', "1700000000",
        '"2024-02-29T12:34:56.1234567"', '"2024-02-30"', '"12:00:00"', "1.5", '"2024-02-29T25:00:00"', '" 2024-02-29 "',
        '"2024-02-29T12:34:56 UTC"', '"2024-02-29T12:34:56+0230"', '"2024-02-29T12"', '"-0001-01-01"', "-1",
    ],
    "TIMESTAMP_NTZ": ['"2024-02-29T12:34:56.789"', '"2024-02-29"', '"2024-02-29T12:34:56Z"', "1"],
    "DECIMAL(5,2)": ["1", "123.455", "999.994", "999.995", '"12.5"', '"1,234"', '"1,23.4"', "1e2", "5e-3", '"x"', '""'],
    "ARRAY<INT>": ["[1,null,2]", "[]", "{}", "[1,]", '["1"]', "1"],
    "MAP<STRING, INT>": ['{"a":1,"b":null}', "{}", "[]", '{"a":"x"}'],
    "STRUCT<x: INT, y: STRING>": ['{"x":1,"z":2}', "{}", "[]", '{"y":{"q":1}}'],
}  # fmt: skip
WHOLE_CASES = [
    '{"a":1}',
    '{"a":1,"a":2}',
    '{"A":1}',
    "{}",
    "",
    "  ",
    '[{"a":1}]',
    '{"a":1} x',
    '{"b":{"c":[}}',
    '{"a":1',
    "x",
    ' \n{ "a" : 1 }\t',
    '{"a":1,}',
]
DIFFERENT_JSON = {
    ("TINYINT", "128"),
    ("STRING", "1.50"),
    ("STRING", '{"b":  [1, 2 ]}'),
    ("STRING", "[ ]"),
    ("TIMESTAMP", '"12:00:00"'),
    ("INT", '{"a":1} x'),
}
"""What docs/spark.md says of the differences to from_json."""


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """The rows, times as numbers: those of Python end in the year 9999."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.int64()))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def ours(kind: str, schema: str, values: list[str], **more: str) -> list[dict[str, Any]]:
    given = {"decoder": kind, "decoder.schema": schema, "decoder.mode": "null"}
    given |= {f"decoder.{name}": text for name, text in more.items()}
    format = parse_decoding(GivenOptions(given)).value.format  # type: ignore[union-attr]  # noqa: A001
    raw = pa.record_batch({"value": pa.array([value.encode() for value in values])})
    arrays, _ = format.open(format.schema.fieldNames())(raw)
    return plain(pa.table(arrays, names=format.schema.fieldNames()))


def theirs(spark: SparkSession, function: str, schema: str, values: list[str]) -> list[dict[str, Any]]:
    frame = spark.createDataFrame(list(enumerate(values)), "n INT, value STRING")
    rows = frame.selectExpr("n", f"{function}(value, '{schema}') AS o").select("n", "o.*").orderBy("n")
    return plain(rows.toArrow().drop_columns("n"))


def test_json_is_read_as_spark_reads_it(spark: SparkSession) -> None:
    differ = set()
    for kind, texts in [*JSON_CASES.items(), ("INT", WHOLE_CASES)]:
        values = texts if texts is WHOLE_CASES else [f'{{"a": {text}}}' for text in texts]
        pairs = zip(ours("json", f"a {kind}", values), theirs(spark, "from_json", f"a {kind}", values), strict=True)
        differ |= {(kind, text) for text, (a, b) in zip(texts, pairs, strict=True) if repr(a) != repr(b)}
    assert differ == DIFFERENT_JSON


CSV_CASES = ["1,x,2.5,true",
             '2,"a,b",,', "3", "4,x,1,true,more", "x,y,1,true", '5,"a""b",1e3,FALSE', '6,"a\\"b",NaN,False',
             "7,a\"b,Inf,true", '8,"",-Inf,true', "9, x ,+1,true", "", '10,"x"y,1,true', "+11,é,.5,true"]  # fmt: skip


DIFFERENT_CSV = {"3", "4,x,1,true,more", "x,y,1,true", '5,"a""b",1e3,FALSE', '10,"x"y,1,true'}


def test_csv_is_read_as_spark_reads_it(spark: SparkSession) -> None:
    schema = "a INT, b STRING, c DOUBLE, d BOOLEAN"
    pairs = zip(ours("csv", schema, CSV_CASES), theirs(spark, "from_csv", schema, CSV_CASES), strict=True)
    differ = {text for text, (a, b) in zip(CSV_CASES, pairs, strict=True) if repr(a) != repr(b)}
    assert differ == DIFFERENT_CSV


@pytest.fixture
def in_zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    """Sets the session's time zone."""
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield request.param
    spark.conf.set("spark.sql.session.timeZone", before)


LOCAL_TIMES = [
    f"{day} {hour:02}:{minute:02}:00"
    for day in ("2024-03-10", "2024-11-03", "1974-01-06", "2024-07-01", "2100-03-14", "2150-11-01", "9999-07-01")
    for hour in range(4)
    for minute in (0, 29, 30, 59)
] + ["1883-11-18 12:03:57", "1883-11-18 12:03:58", "1883-11-18 11:59:59", "1500-07-01 00:00:00", "0001-01-01 00:00:00"]


@pytest.mark.parametrize("in_zone", ["America/New_York", "UTC"], indirect=True)
def test_times_without_a_zone_are_read_as_in_a_session_of_that_zone(spark: SparkSession, in_zone: str) -> None:
    """Also those that clocks show twice or not at all, and far from today."""
    for kind, function, values in (
        ("json", "from_json", [f'{{"a": "{text}", "b": "{text}"}}' for text in LOCAL_TIMES]),
        ("csv", "from_csv", [f"{text},{text}" for text in LOCAL_TIMES]),
    ):
        schema = "a TIMESTAMP, b TIMESTAMP_NTZ"
        expected = theirs(spark, function, schema, values)
        assert ours(kind, schema, values, timeZone=in_zone) == expected
        assert None not in expected[0].values()
