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
    from kwire.spark.decode import decode_record_sets as decode_record_sets
    from kwire.spark.decoding import DecodeError as DecodeError
    from kwire.spark.encode import encode_record_sets as encode_record_sets
    from kwire.spark.log_source import KwireLogDataSource as KwireLogDataSource
    from kwire.spark.offsets import DataLossError as DataLossError
    from kwire.spark.registration import register as register
    from kwire.spark.stream_lag import LagListener as LagListener
    from kwire.spark.stream_lag import lag as lag
    from kwire.spark.udtfs import register_udtfs as register_udtfs
    from kwire.spark.write_task import WriteError as WriteError

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
        "DataLossError": "kwire.spark.offsets",
        "DecodeError": "kwire.spark.decoding",
        "KwireDataSource": "kwire.spark.data_source",
        "KwireLogDataSource": "kwire.spark.log_source",
        "LagListener": "kwire.spark.stream_lag",
        "WriteError": "kwire.spark.write_task",
        "decode_record_sets": "kwire.spark.decode",
        "encode_record_sets": "kwire.spark.encode",
        "lag": "kwire.spark.stream_lag",
        "register": "kwire.spark.registration",
        "register_udtfs": "kwire.spark.udtfs",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
