"""Spark types as the Arrow types that Spark expects of a data source; only in what runs in workers.

Spark compares schemas exactly, inner names and nullability included. PySpark's own helper for this is private, and its
signature differs between releases.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_PRIMITIVES: Final[dict[type[DataType], pa.DataType]] = {
    BooleanType: pa.bool_(),
    ByteType: pa.int8(),
    ShortType: pa.int16(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    StringType: pa.string(),
    BinaryType: pa.binary(),
    DateType: pa.date32(),
    TimestampType: pa.timestamp("us", tz="UTC"),
    TimestampNTZType: pa.timestamp("us"),
    DayTimeIntervalType: pa.duration("us"),
    NullType: pa.null(),
}


def arrow_type(of: DataType) -> pa.DataType:
    """The Arrow type of one of the types that `kwire.spark.decoding.ddl` reads."""
    if isinstance(of, DecimalType):
        return pa.decimal128(of.precision, of.scale)
    if isinstance(of, ArrayType):
        return pa.list_(pa.field("element", arrow_type(of.elementType), of.containsNull))
    if isinstance(of, MapType):
        key = pa.field("key", arrow_type(of.keyType), nullable=False)
        return pa.map_(key, pa.field("value", arrow_type(of.valueType), of.valueContainsNull))
    if isinstance(of, StructType):
        return pa.struct(list(arrow_schema(of)))
    return _PRIMITIVES[type(of)]


def arrow_schema(of: StructType) -> pa.Schema:
    """The columns of a schema, as Arrow has them."""
    return pa.schema([pa.field(each.name, arrow_type(each.dataType), each.nullable) for each in of.fields])
