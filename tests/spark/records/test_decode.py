"""`decode_record_sets` over bytes that kwire and aiokafka wrote, in a real Spark job."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from kwire import records
from kwire.errors import ConfigError
from kwire.spark import decode_record_sets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIME = 1_700_000_000_000


def blobs(spark: SparkSession, *rows: tuple[Any, ...], schema: str = "record_set BINARY") -> DataFrame:
    return spark.createDataFrame(list(rows), schema)


def decoded(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows by offset, timestamps as milliseconds, headers as pairs."""
    from pyspark.sql import functions as fn

    if "timestamp" in frame.columns:
        frame = frame.withColumn("timestamp", fn.unix_millis("timestamp"))
    found = [row.asDict(recursive=True) for row in frame.collect()]
    for row in found:
        for name in ("key", "value"):
            if row.get(name) is not None:
                row[name] = bytes(row[name])
        if row.get("headers") is not None:
            pairs = [(pair["key"], pair["value"]) for pair in row["headers"]]
            row["headers"] = [(key, None if value is None else bytes(value)) for key, value in pairs]
    return sorted(found, key=lambda row: row.get("offset", 0))


def expected_row(
    offset: int,
    value: bytes | None,
    key: bytes | None,
    timestamp: int,
    headers: Sequence[tuple[str, bytes | None]] = (),
    timestamp_type: int = 0,
) -> dict[str, Any]:
    return {
        "offset": offset,
        "timestamp": timestamp,
        "timestampType": timestamp_type,
        "key": key,
        "value": value,
        "headers": list(headers) or None,
    }


ITEMS: list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]] = [
    (b"first", b"k0", TIME, []),
    (b"", b"", TIME + 1, [("trace", b"1"), ("trace", b"2"), ("", None)]),
    (None, b"tombstone", TIME + 2, []),
    (b"keyless", None, TIME - 5, [("empty", b"")]),
]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_record_batches_of_every_codec(spark: SparkSession, compression: str) -> None:
    blob = records.encode(ITEMS, compression=compression, base_offset=40)
    found = decoded(decode_record_sets(blobs(spark, (blob,)), "record_set"))
    assert found == [
        expected_row(40 + index, value, key, timestamp, headers)
        for index, (value, key, timestamp, headers) in enumerate(ITEMS)
    ]


@pytest.mark.parametrize("magic", [0, 1])
def test_message_sets(spark: SparkSession, magic: int) -> None:
    items = [(value, key, timestamp, ()) for value, key, timestamp, _ in ITEMS]
    blob = records.encode(items, magic=magic, compression="snappy")
    found = decoded(decode_record_sets(blobs(spark, (blob,)), "record_set"))
    assert found == [
        expected_row(index, value, key, timestamp if magic else -1, (), 0 if magic else -1)
        for index, (value, key, timestamp, _) in enumerate(items)
    ]


def test_the_types_are_those_of_sparks_kafka_source(spark: SparkSession) -> None:
    frame = decode_record_sets(blobs(spark, (b"",)), "record_set")
    assert [(field.name, field.dataType.simpleString(), field.nullable) for field in frame.schema] == [
        ("offset", "bigint", True),
        ("timestamp", "timestamp", True),
        ("timestampType", "int", True),
        ("key", "binary", True),
        ("value", "binary", True),
        ("headers", "array<struct<key:string,value:binary>>", True),
    ]


def test_a_timestamp_is_the_same_moment_in_spark(spark: SparkSession) -> None:
    blob = records.encode([(b"v", None, TIME + 123, [])])
    frame = decode_record_sets(blobs(spark, (blob,)), "record_set", columns=["timestamp"])
    (row,) = frame.selectExpr("CAST(timestamp AS STRING) AS text").collect()
    moment = datetime.fromtimestamp((TIME + 123) / 1000, UTC)
    assert row.text == moment.strftime("%Y-%m-%d %H:%M:%S.") + "123"


def test_what_aiokafka_wrote(spark: SparkSession) -> None:
    from aiokafka.record.default_records import DefaultRecordBatchBuilder
    from aiokafka.record.legacy_records import LegacyRecordBatchBuilder

    new = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    for number in range(500):
        new.append(number, TIME + number, b"key-%d" % number, b"value-%d" % number, [("h", b"%d" % number)])
    old = LegacyRecordBatchBuilder(magic=1, compression_type=1, batch_size=1 << 20)
    for number in range(500):
        old.append(number, TIME + number, b"key-%d" % number, b"value-%d" % number)
    frame = blobs(spark, (0, bytes(new.build())), (1, bytes(old.build())), schema="kind INT, record_set BINARY")
    found = decoded(decode_record_sets(frame, "record_set", keep=["kind"]))
    rows = {(row.pop("kind"), row["offset"]): row for row in found}
    assert len(rows) == len(found) == 1000
    for number in range(500):
        value, key = b"value-%d" % number, b"key-%d" % number
        assert rows[0, number] == expected_row(number, value, key, TIME + number, [("h", b"%d" % number)])
        assert rows[1, number] == expected_row(number, value, key, TIME + number)


def test_kept_columns_stand_before_each_row(spark: SparkSession) -> None:
    frame = blobs(
        spark,
        ("a", [1, 2], records.encode([b"x", b"y"])),
        ("b", None, records.encode([b"z"], base_offset=9)),
        ("nothing", [], None),
        schema="`file.name` STRING, tags ARRAY<INT>, record_set BINARY",
    )
    result = decode_record_sets(frame, "record_set", columns=["value", "offset"], keep=["tags", "file.name"])
    assert result.columns == ["tags", "file.name", "value", "offset"]
    assert sorted((tuple(row) for row in result.collect()), key=lambda row: row[2]) == [
        ([1, 2], "a", b"x", 0),
        ([1, 2], "a", b"y", 1),
        (None, "b", b"z", 9),
    ]


def test_large_and_small_record_sets_lose_no_row(spark: SparkSession) -> None:
    large = records.encode([b"%d" % number for number in range(35_000)], compression="lz4")
    small = [records.encode([b"s"], base_offset=number) for number in range(2_000)]
    frame = blobs(spark, (large,), *((each,) for each in small))
    result = decode_record_sets(frame, "record_set", columns=["offset", "value"])
    (totals,) = result.selectExpr("count(*)", "sum(offset)", "count_if(value = 's')").collect()
    assert tuple(totals) == (37_000, sum(range(35_000)) + sum(range(2_000)), 2_000)


def test_control_batches_are_left_out_unless_asked_for(spark: SparkSession) -> None:
    marker = records.encode(
        [(b"\0\0\0\0\0\0", b"\0\0\0\1")], base_offset=2, producer_id=7, producer_epoch=0,
        is_transactional=True, is_control=True,
    )  # fmt: skip
    blob = records.encode([b"a", b"b"]) + marker + records.encode([b"c"], base_offset=3)
    frame = blobs(spark, (blob,))
    assert [row["offset"] for row in decoded(decode_record_sets(frame, "record_set"))] == [0, 1, 3]
    everything = decode_record_sets(frame, "record_set", include_control=True)
    assert [row["offset"] for row in decoded(everything)] == [0, 1, 2, 3]


def test_a_record_set_that_ends_within_a_batch(spark: SparkSession) -> None:
    blob = records.encode([b"whole"]) + records.encode([b"cut"], base_offset=1)[:-3]
    frame = blobs(spark, (blob,))
    assert [row["value"] for row in decoded(decode_record_sets(frame, "record_set"))] == [b"whole"]
    with pytest.raises(Exception, match=r"TruncatedError: column 'record_set', row 0 .* ends within a batch"):
        decode_record_sets(frame, "record_set", complete=True).collect()


def test_a_broken_record_set_fails_the_task_and_names_its_row(spark: SparkSession) -> None:
    good = records.encode([b"good"])
    broken = bytearray(records.encode([b"broken"]))
    broken[-2] ^= 0xFF  # within the value
    frame = blobs(spark, (good,), (bytes(broken),), (good,)).coalesce(1)
    with pytest.raises(Exception, match=r"CorruptError: column 'record_set', row 1 of this task: .*"):
        decode_record_sets(frame, "record_set").collect()
    trusting = decode_record_sets(frame, "record_set", check_crc=False, columns=["offset"])
    assert trusting.count() == 3


def test_more_than_the_budget_is_refused(spark: SparkSession) -> None:
    blob = records.encode([b"\0" * 1_000_000], compression="zstd")
    with pytest.raises(Exception, match="LimitError: column 'record_set', row 0"):
        decode_record_sets(blobs(spark, (blob,)), "record_set", max_decompressed_bytes=10_000).collect()


def test_columns_that_cannot_be_meant_are_refused_at_once(spark: SparkSession) -> None:
    frame = blobs(spark, ("t", b""), schema="offset STRING, record_set BINARY")
    wrongs: list[tuple[dict[str, Any], str]] = [
        ({"column": "records"}, "the DataFrame has no column 'records'; it has offset, record_set"),
        ({"column": "offset"}, "column 'offset' must be binary, it is string"),
        ({"column": "record_set", "columns": ["topic"]}, "a record has no 'topic'; choose from offset"),
        ({"column": "record_set", "columns": []}, "name at least one"),
        ({"column": "record_set", "keep": ["offset"]}, "would appear in the result twice: offset"),
    ]
    for wrong, text in wrongs:
        with pytest.raises(ConfigError, match=text):
            decode_record_sets(frame, **wrong)
