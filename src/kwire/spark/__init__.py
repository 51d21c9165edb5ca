"""Kafka records as Spark rows, without a JVM connector.

    spark.read.format("kwire").option("kafka.bootstrap.servers", ...).option("subscribe", ...).load()
    spark.read.format("kwire-log").load("/var/lib/kafka/data/orders-*")
    decode_record_sets(df, "record_set")

Layer 6: stands on the clients and the codec. pyspark and pyarrow are imported in this package only, and here not before
one of its names is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire.spark.data_source import KwireDataSource as KwireDataSource
    from kwire.spark.decoding.contract import DecodeError as DecodeError
    from kwire.spark.log_source import KwireLogDataSource as KwireLogDataSource
    from kwire.spark.ranges.offsets import DataLossError as DataLossError
    from kwire.spark.records.decode import decode_record_sets as decode_record_sets
    from kwire.spark.records.encode import encode_record_sets as encode_record_sets
    from kwire.spark.records.udtfs import register_udtfs as register_udtfs
    from kwire.spark.registration import register as register
    from kwire.spark.streams.lag import LagListener as LagListener
    from kwire.spark.streams.lag import lag as lag
    from kwire.spark.writing.write_task import WriteError as WriteError

__all__ = [
    "DataLossError",
    "DecodeError",
    "KwireDataSource",
    "KwireLogDataSource",
    "LagListener",
    "WriteError",
    "decode_record_sets",
    "encode_record_sets",
    "lag",
    "register",
    "register_udtfs",
]

if not TYPE_CHECKING:
    _HOMES = {
        "DataLossError": "kwire.spark.ranges.offsets",
        "DecodeError": "kwire.spark.decoding.contract",
        "KwireDataSource": "kwire.spark.data_source",
        "KwireLogDataSource": "kwire.spark.log_source",
        "LagListener": "kwire.spark.streams.lag",
        "WriteError": "kwire.spark.writing.write_task",
        "decode_record_sets": "kwire.spark.records.decode",
        "encode_record_sets": "kwire.spark.records.encode",
        "lag": "kwire.spark.streams.lag",
        "register": "kwire.spark.registration",
        "register_udtfs": "kwire.spark.records.udtfs",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
