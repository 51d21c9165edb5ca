"""Fields and columns of records, as a user of any client makes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

FOUR = ["offset", "timestamp", "key", "value"]


def read_fields(records: Iterable[Any]) -> None:
    """Reads four fields of each record and keeps none."""
    for record in records:
        _offset, _timestamp, _key, _value = record.offset, record.timestamp, record.key, record.value


def four_columns(records: list[Any]) -> Any:
    """A pyarrow.RecordBatch of offset, timestamp, key and value, made from record objects.

    The first call imports pyarrow, so modules that measure columns call it once beforehand.
    """
    import pyarrow as pa

    return pa.record_batch(
        {
            "offset": pa.array([record.offset for record in records], pa.int64()),
            "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
            "key": pa.array([record.key for record in records], pa.binary()),
            "value": pa.array([record.value for record in records], pa.binary()),
        }
    )
