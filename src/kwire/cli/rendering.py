"""Records and tables as text: one line per record, bytes that are not text shown without loss.

value   the bytes of the value as they are, one line each; a null value is an empty line, or the text chosen for it
json    one object per line; bytes that are not UTF-8 are {"base64": "..."}
table   columns for reading by eye, cut to their width
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, BinaryIO

FORMATS = ("value", "json", "table")
_WIDEST = 60


def write_records(records: Iterable[Any], form: str, out: BinaryIO, *, place: bool, null: bytes = b"") -> int:
    """Writes records in one of FORMATS and returns how many; `place` adds the topic and partition of consumed ones."""
    count = 0
    for record in records:
        count += 1
        if form == "value":
            out.write((null if record.value is None else record.value) + b"\n")
        elif form == "json":
            out.write(json.dumps(as_object(record, place=place), ensure_ascii=False).encode() + b"\n")
        else:
            out.write(_row(record, place).encode() + b"\n")
    return count


def as_object(record: Any, *, place: bool = False) -> dict[str, Any]:
    """A record as plain values for JSON."""
    found: dict[str, Any] = {"topic": record.topic, "partition": record.partition} if place else {}
    found["offset"] = record.offset
    found["timestamp"] = None if record.timestamp < 0 else record.timestamp
    found["key"] = as_text(record.key)
    found["value"] = as_text(record.value)
    if record.headers:
        found["headers"] = [[name, as_text(value)] for name, value in record.headers]
    return found


def as_text(data: bytes | None) -> str | dict[str, str] | None:
    """Text where the bytes are UTF-8, else {"base64": ...}."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns under their heads, as wide as their longest entry."""
    lines = [tuple(head), *(tuple(str(entry) for entry in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join("  ".join(entry.ljust(width) for entry, width in zip(line, widths, strict=True)).rstrip()
                     for line in lines)  # fmt: skip


def record_table_head(*, place: bool) -> str:
    """The line above records in the form "table"."""
    where = "topic                 partition  " if place else ""
    return f"{where}    offset  timestamp                 key                   value"


def _row(record: Any, place: bool) -> str:
    where = f"{_cut(record.topic, 20):20}  {record.partition:9}  " if place else ""
    stamp = "-" if record.timestamp < 0 else utc(record.timestamp)
    key, value = _cut(_shown(record.key), 20), _cut(_shown(record.value), _WIDEST)
    return f"{where}{record.offset:10}  {stamp:24}  {key:20}  {value}".rstrip()


def utc(milliseconds: int) -> str:
    """Milliseconds since 1970 as a time, 2024-05-01T12:00:00.000Z."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    except (OverflowError, ValueError):
        return str(milliseconds)


def _shown(data: bytes | None) -> str:
    return "null" if data is None else repr(data)[2:-1]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
