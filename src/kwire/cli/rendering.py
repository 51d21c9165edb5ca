"""Records and tables as text: bytes that are not text shown without loss.

In JSON bytes that are not UTF-8 are {"base64": "..."}; on lines for reading by eye they are cut to their width.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

_WIDEST = 60


def as_object(record: Any) -> dict[str, Any]:
    """A record as plain values for JSON."""
    found: dict[str, Any] = {
        "offset": record.offset,
        "timestamp": None if record.timestamp < 0 else record.timestamp,
        "key": as_text(record.key),
        "value": as_text(record.value),
    }
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


def record_table_head() -> str:
    """The line above records in the form "table"."""
    return "    offset  timestamp                 key                   value"


def record_row(record: Any, key: str, value: str) -> str:
    """The line of a record in the form "table", with its headers, if there are any, after the value."""
    stamp = "-" if record.timestamp < 0 else utc(record.timestamp)
    row = f"{record.offset:10}  {stamp:24}  {cut(key, 20):20}  {cut(value, _WIDEST)}"
    headers = ",".join(f"{visible(name.encode())}={visible(data)}" for name, data in record.headers)
    return (f"{row}  [{cut(headers, _WIDEST)}]" if headers else row).rstrip()


def utc(milliseconds: int) -> str:
    """Milliseconds since 1970 as a time, 2024-05-01T12:00:00.000Z."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    except (OverflowError, ValueError):
        return str(milliseconds)


def visible(data: bytes | None) -> str:
    """Bytes on one line: text in ASCII, all else as Python's escapes."""
    return "null" if data is None else repr(data)[2:-1]


def cut(text: str, width: int) -> str:
    """The text, or as much of it as fits, and an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"
