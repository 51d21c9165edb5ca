"""Fields and columns of records, as a user makes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

FOUR = ["offset", "timestamp", "key", "value"]


def read_fields(records: Iterable[Any]) -> None:
    """Four fields of each record, as a caller reads them who keeps none."""
    for record in records:
        _offset, _timestamp, _key, _value = record.offset, record.timestamp, record.key, record.value


def four_columns(found: list[Any]) -> Any:
    """Offset, timestamp, key and value as a pyarrow.RecordBatch: the way there is from records without one for columns.

    The first call imports pyarrow: modules that make columns in most of their works do it when they are imported.
    """
    import pyarrow as pa

    return pa.record_batch(
        {
            "offset": pa.array([record.offset for record in found], pa.int64()),
            "timestamp": pa.array([record.timestamp for record in found], pa.int64()),
            "key": pa.array([record.key for record in found], pa.binary()),
            "value": pa.array([record.value for record in found], pa.binary()),
        }
    )
