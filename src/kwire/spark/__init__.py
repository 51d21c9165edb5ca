"""Kafka records as Spark rows, without a JVM connector.

    spark.read.format("kwire").option("kafka.bootstrap.servers", ...).option("subscribe", ...).load()
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
    from kwire.spark.offsets import DataLossError as DataLossError

__all__ = ["DataLossError", "KwireDataSource", "decode_record_sets"]

if not TYPE_CHECKING:
    _HOMES = {
        "DataLossError": "kwire.spark.offsets",
        "KwireDataSource": "kwire.spark.data_source",
        "decode_record_sets": "kwire.spark.decode",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
