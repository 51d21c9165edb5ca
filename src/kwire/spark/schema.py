"""The columns of the Spark source: their order, their types in Spark and in Arrow, and the codec's names for them.

Spark compares the Arrow schema of the first batch with its own, nullability and inner field names included, so both
kinds of type stand side by side here. They are those of Spark's Kafka source, every column nullable. Nothing here
imports Spark, so that it can be tested without a JVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import pyarrow as pa


class Column(NamedTuple):
    """One column: its type in Spark and in Arrow, and the codec's name and form for it."""

    ddl: str
    arrow: pa.DataType
    field: str
    form: str


_HEADER: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])
COLUMNS: Final = {
    "key": Column("BINARY", pa.binary(), "key", "binary"),
    "value": Column("BINARY", pa.binary(), "value", "binary"),
    "topic": Column("STRING", pa.string(), "topic", "string"),
    "partition": Column("INT", pa.int32(), "partition", "int32"),
    "offset": Column("BIGINT", pa.int64(), "offset", "int64"),
    "timestamp": Column("TIMESTAMP", pa.timestamp("us", tz="UTC"), "timestamp", "timestamp_us"),
    "timestampType": Column("INT", pa.int32(), "timestamp_type", "int32"),
    "headers": Column(
        "ARRAY<STRUCT<key: STRING, value: BINARY>>",
        pa.list_(pa.field("element", _HEADER)),
        "headers",
        "list_or_null",
    ),
}

HEADERS: Final = "headers"
ALL_COLUMNS: Final = tuple(COLUMNS)
DEFAULT_COLUMNS: Final = tuple(name for name in ALL_COLUMNS if name != HEADERS)
RECORD_SET_COLUMNS: Final = ("offset", "timestamp", "timestampType", "key", "value", "headers")


def spark_ddl(columns: Sequence[str]) -> str:
    """The columns as a Spark schema string, `key BINARY, value BINARY, ...`."""
    return ", ".join(f"{name} {COLUMNS[name].ddl}" for name in columns)


def arrow_schema(columns: Sequence[str]) -> pa.Schema:
    """The columns as the Arrow schema that Spark expects of a source with this `spark_ddl`."""
    return pa.schema([pa.field(name, COLUMNS[name].arrow) for name in columns])
