"""Which columns can be written, without a JVM."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from kwire.errors import ConfigError
from kwire.spark.write_batch import batch_writer
from kwire.spark.write_stream import stream_writer
from kwire.spark.writing.write_schema import check_write_schema

TEXT, BYTES, INT, LONG = StringType(), BinaryType(), IntegerType(), LongType()
PAIR = StructType([StructField("key", TEXT), StructField("value", BYTES)])
HEADERS = ArrayType(PAIR)


def schema(**types: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in types.items()])


@pytest.mark.parametrize(
    "given",
    [
        schema(value=TEXT, topic=TEXT),
        schema(value=BYTES, key=TEXT, topic=TEXT, partition=INT, headers=HEADERS),
        schema(value=TEXT, key=BYTES, topic=TEXT, other=LONG, timestamp=LONG),
        schema(
            value=TEXT,
            topic=TEXT,
            headers=ArrayType(StructType([StructField("Key", TEXT), StructField("VALUE", BYTES)])),
        ),
        schema(
            value=TEXT,
            topic=TEXT,
            headers=ArrayType(StructType([StructField("key", TEXT, False), StructField("value", BYTES, False)]), False),
        ),
    ],
)
def test_columns_that_can_be_written(given: StructType) -> None:
    check_write_schema(given, None)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (schema(topic=TEXT), "Required attribute 'value' not found"),
        (schema(topic=TEXT, Value=TEXT), "not found (there is a column 'Value': rename it to 'value')"),
        (schema(value=TEXT), "topic option required when no 'topic' attribute is present. Use the topic option for"),
        (schema(value=TEXT, Topic=TEXT), "(there is a column 'Topic': rename it to 'topic')"),
        (schema(value=INT, topic=TEXT), "value attribute unsupported type int. value must be a(n) string or binary"),
        (schema(value=TEXT, topic=TEXT, key=INT), "key attribute unsupported type int. key must be a(n) string or b"),
        (schema(value=TEXT, topic=BYTES), "topic attribute unsupported type binary. topic must be a(n) string"),
        (schema(value=TEXT, topic=TEXT, partition=LONG), "partition attribute unsupported type bigint. partition must"),
        (schema(value=TEXT, topic=TEXT, headers=ArrayType(TEXT)), "headers attribute unsupported type array<string>"),
        (schema(value=TEXT, topic=TEXT, headers=MapType(TEXT, BYTES)), "must be a(n) array<struct<key:string,value:bi"),
        (
            StructType([*schema(value=TEXT, topic=TEXT), StructField("value", TEXT)]),
            "more than one column is named 'value'",
        ),
        (
            schema(value=TEXT, topic=TEXT, headers=ArrayType(StructType([*PAIR.fields, *PAIR.fields]))),
            "headers attribute unsupported type",
        ),
    ],
)
def test_columns_that_cannot_be_written(given: StructType, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_write_schema(given, None)
    assert text in str(raised.value)


def test_a_topic_column_is_not_looked_at_with_the_option() -> None:
    check_write_schema(schema(value=TEXT, topic=LONG), "named")


def test_writers_check_options_and_columns_before_a_task_runs() -> None:
    servers = {"kafka.bootstrap.servers": "localhost:9092"}
    with pytest.raises(ConfigError, match="Required attribute"):
        batch_writer(servers, schema(topic=TEXT), overwrite=False)
    with pytest.raises(ConfigError, match="Overwrite"):
        batch_writer(servers, schema(value=TEXT, topic=TEXT), overwrite=True)
    with pytest.raises(ConfigError, match="Required attribute"):
        stream_writer(servers, schema(topic=TEXT), overwrite=True)
    with pytest.raises(ConfigError, match=r"Option 'kafka\.bootstrap\.servers' must be specified"):
        stream_writer({}, schema(value=TEXT, topic=TEXT), overwrite=False)
