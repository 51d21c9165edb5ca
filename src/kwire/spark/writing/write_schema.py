"""The columns that a DataFrame needs to be written, by the rules of Spark's Kafka sink.

A DataFrame is judged when its query is made, before a row is computed: which columns are there, and their types. What
only a row can show, such as a null topic, is for `write_task`. Columns with other names are not written.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType, StructType

from kwire.errors import ConfigError

VALUE: Final = "value"
KEY: Final = "key"
HEADERS: Final = "headers"
TOPIC: Final = "topic"
PARTITION: Final = "partition"

_HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"


def check_write_schema(schema: StructType, topic: str | None) -> None:
    """Raises ConfigError for a column that is missing or of another type; `topic` is the option, which goes first."""
    names = Counter(schema.fieldNames())
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise ConfigError(
            f"more than one column is named '{twice[0]}': Spark hands such rows to no sink in Python; select or rename"
        )
    types = {field.name: field.dataType for field in schema.fields}
    if VALUE not in types:
        raise ConfigError(f"Required attribute 'value' not found{_similar(VALUE, types)}")
    if topic is None and TOPIC not in types:
        raise ConfigError(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
            + _similar(TOPIC, types)
        )
    for name in (VALUE, KEY):
        if name in types and not isinstance(types[name], StringType | BinaryType):
            raise _unsupported(name, types[name], "string or binary")
    if topic is None and not isinstance(types[TOPIC], StringType):
        raise _unsupported(TOPIC, types[TOPIC], "string")
    if PARTITION in types and not isinstance(types[PARTITION], IntegerType):
        raise _unsupported(PARTITION, types[PARTITION], "int")
    if HEADERS in types and not _is_headers(types[HEADERS]):
        raise _unsupported(HEADERS, types[HEADERS], _HEADERS_TYPE)


def _is_headers(given: DataType) -> bool:
    if not isinstance(given, ArrayType) or not isinstance(given.elementType, StructType):
        return False
    fields = given.elementType.fields
    return (
        [field.name.lower() for field in fields] == ["key", "value"]
        and isinstance(fields[0].dataType, StringType)
        and isinstance(fields[1].dataType, BinaryType)
    )


def _unsupported(name: str, given: DataType, wanted: str) -> ConfigError:
    return ConfigError(f"{name} attribute unsupported type {given.simpleString()}. {name} must be a(n) {wanted}")


def _similar(name: str, types: dict[str, DataType]) -> str:
    """Column names count with their case."""
    close = [given for given in types if given.lower() == name]
    return f" (there is a column '{close[0]}': rename it to '{name}')" if close else ""
