"""The columns of the Spark source, their order and their types, in Spark's words and in Arrow's.

Spark compares the Arrow schema of the first batch with its own, nullability and inner field names included, so both
kinds of type stand side by side here. They are those of Spark's Kafka source, every column nullable. Nothing here
imports Spark, so that it can be tested without a JVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

_TYPES: Final = {
    "key": ("BINARY", pa.binary()),
    "value": ("BINARY", pa.binary()),
    "topic": ("STRING", pa.string()),
    "partition": ("INT", pa.int32()),
    "offset": ("BIGINT", pa.int64()),
    "timestamp": ("TIMESTAMP", pa.timestamp("us", tz="UTC")),
    "timestampType": ("INT", pa.int32()),
    "headers": (
        "ARRAY<STRUCT<key: STRING, value: BINARY>>",
        pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ),
}

HEADERS: Final = "headers"
ALL_COLUMNS: Final = tuple(_TYPES)
DEFAULT_COLUMNS: Final = tuple(name for name in ALL_COLUMNS if name != HEADERS)
RECORD_SET_COLUMNS: Final = ("offset", "timestamp", "timestampType", "key", "value", "headers")


def spark_ddl(columns: Sequence[str]) -> str:
    """The columns as a Spark schema string, `key BINARY, value BINARY, ...`."""
    return ", ".join(f"{name} {_TYPES[name][0]}" for name in columns)


def arrow_schema(columns: Sequence[str]) -> pa.Schema:
    """The columns as the Arrow schema that Spark expects of a source with this `spark_ddl`."""
    return pa.schema([pa.field(name, _TYPES[name][1]) for name in columns])
