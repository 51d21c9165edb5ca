"""The columns of the Spark source: their order, their types in Spark and in Arrow, and the codec's names for them.

Spark compares the Arrow schema of the first batch with its own, nullability and inner field names included, so both
kinds of type stand side by side here. They are those of Spark's Kafka source, every column nullable. Spark is not
imported, so that it can be tested without a JVM, and Arrow not before a type of it is asked for: processes that only
look the source up do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa


class Column(NamedTuple):
    """One column: its type in Spark, and the codec's name and form for it."""

    ddl: str
    field: str
    form: str


_OF_RECORDS: Final = {
    "key": Column("BINARY", "key", "binary"),
    "value": Column("BINARY", "value", "binary"),
    "topic": Column("STRING", "topic", "string"),
    "partition": Column("INT", "partition", "int32"),
    "offset": Column("BIGINT", "offset", "int64"),
    "timestamp": Column("TIMESTAMP", "timestamp", "timestamp_us"),
    "timestampType": Column("INT", "timestamp_type", "int32"),
    "headers": Column("ARRAY<STRUCT<key: STRING, value: BINARY>>", "headers", "list_or_null"),
}

# Only of what is read from files: where the record's batch is, and what its header says.
_OF_FILES: Final = {
    "_file": Column("STRING", "file", "string"),
    "_position": Column("BIGINT", "position", "int64"),
    "leaderEpoch": Column("INT", "leader_epoch", "int32"),
    "producerId": Column("BIGINT", "producer_id", "int64"),
    "baseSequence": Column("INT", "base_sequence", "int32"),
}

COLUMNS: Final = {**_OF_RECORDS, **_OF_FILES}
HEADERS: Final = "headers"
ALL_COLUMNS: Final = tuple(_OF_RECORDS)
FILE_COLUMNS: Final = tuple(_OF_FILES)
DEFAULT_COLUMNS: Final = tuple(name for name in ALL_COLUMNS if name != HEADERS)
RECORD_SET_COLUMNS: Final = ("offset", "timestamp", "timestampType", "key", "value", "headers")


def spark_ddl(columns: Sequence[str]) -> str:
    """The columns as a Spark schema string, `key BINARY, value BINARY, ...`."""
    return ", ".join(f"{name} {COLUMNS[name].ddl}" for name in columns)


def arrow_schema(columns: Sequence[str]) -> pa.Schema:
    """The columns as the Arrow schema that Spark expects of a source with this `spark_ddl`."""
    import pyarrow as pa

    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    types = {
        "key": pa.binary(),
        "value": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestampType": pa.int32(),
        "headers": pa.list_(pa.field("element", header)),
        "_file": pa.string(),
        "_position": pa.int64(),
        "leaderEpoch": pa.int32(),
        "producerId": pa.int64(),
        "baseSequence": pa.int32(),
    }
    return pa.schema([pa.field(name, types[name]) for name in columns])
