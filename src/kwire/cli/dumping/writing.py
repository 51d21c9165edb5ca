"""Rows of files on standard output: for reading by eye, as JSON, or only the values of records.

table   a line for the file, then columns; with records a line for each batch, its records below it
json    one object per line: "file", "kind" and the row's own keys
value   the bytes of the records' values, one line each
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from kwire.cli.dumping.beside import Entry
from kwire.cli.dumping.kinds import DumpFile
from kwire.cli.dumping.segments import BatchRow, Damage, RecordRow
from kwire.cli.rendering import table, utc
from kwire.cli.terminal import print_error
from kwire.errors.listing import counted

FORMS = ("table", "json", "value")
_AT_ONCE = 200
_TIMES = ("max_timestamp", "timestamp", "delete_horizon")

AnyRow = BatchRow | RecordRow | Damage | Entry


def write(file: DumpFile, rows: Iterable[AnyRow], form: str, *, with_records: bool) -> tuple[int, int]:
    """Writes the rows of a file; returns how many there were, and how many more were damage."""
    found = _Counted(file, rows)
    if form == "json":
        for row in found:
            print(json.dumps({"file": file.path, **_object(row)}, ensure_ascii=False))
    elif form == "value":
        for row in found:
            if isinstance(row, RecordRow):
                sys.stdout.buffer.write(row.value_bytes() + b"\n")
    else:
        where = f" of {file.topic}-{file.partition}" if file.topic else ""
        print(f"{file.path}: {file.kind}{where}, {counted(file.size, 'byte')}")
        _write_lines(found) if with_records else _write_table(found)
    sys.stdout.flush()
    return found.rows, found.damage


class _Counted:
    """The rows; damage is also a line on standard error, when it comes."""

    def __init__(self, file: DumpFile, rows: Iterable[AnyRow]) -> None:
        self._file = file
        self._rows = rows
        self.rows = self.damage = 0

    def __iter__(self) -> Iterator[AnyRow]:
        for row in self._rows:
            if isinstance(row, Damage):
                self.damage += 1
                sys.stdout.flush()
                print_error(f"kwire dump: {self._file.path} at byte {row.position}: {row.error}")
            else:
                self.rows += 1
            yield row


def _object(row: AnyRow) -> dict[str, Any]:
    if isinstance(row, BatchRow):
        return {"kind": "batch", **vars(row)}
    if isinstance(row, RecordRow):
        return {"kind": "record", **row.as_object()}
    if isinstance(row, Damage):
        return {"kind": "damage", **row._asdict()}
    return {"kind": row.kind, **row.values}


def _write_table(rows: Iterable[AnyRow]) -> None:
    """Columns, of some hundred rows at a time; only the first have a head. A file has rows of one kind."""
    left = (_columns(row) for row in rows if not isinstance(row, Damage))
    has_head = False
    while part := list(islice(left, _AT_ONCE)):
        lines = table(
            [key.replace("_", " ") for key in part[0]],
            [[_cell(key, value) for key, value in row.items()] for row in part],
        )
        print(lines.partition("\n")[2] if has_head else lines)
        has_head = True


def _columns(row: AnyRow) -> dict[str, Any]:
    found = _object(row)
    del found["kind"]
    return found


def _write_lines(rows: Iterable[AnyRow]) -> None:
    for row in rows:
        if isinstance(row, RecordRow):
            print(row.as_line())
        elif isinstance(row, Damage):
            print(f"damage at byte {row.position}: {row.error}")
        else:
            pairs = [f"{key.replace('_', ' ')} {_cell(key, value)}" for key, value in _columns(row).items()]
            print(f"{'batch: ' if isinstance(row, BatchRow) else ''}{', '.join(pairs)}")


def _cell(key: str, value: Any) -> object:
    if value is None or value == "" or (value == -1 and not isinstance(value, bool)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key in _TIMES:
        return utc(value)
    return json.dumps(value) if isinstance(value, (list, dict)) else value
