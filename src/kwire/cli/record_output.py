"""What `kwire consume` prints of records: a format for each use, and the bytes that go out.

value   the bytes of the values, a line each; a null value is an empty line, or the text of --null
json    an object a line: topic, partition, offset, timestamp (null for none), key, value, headers ([[name, value]])
csv     the same fields under their names; nothing is empty or the text of --null, headers are JSON
table   columns for reading by eye, cut to their width, headers at the end

and what a format string says (`format_strings.py`). All but the table show keys and values by their forms
(`value_forms.py`), without loss.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import repeat
from json.encoder import encode_basestring
from select import select
from typing import TYPE_CHECKING, Any, Final

from kwire.cli.record_columns import (
    Look,
    bytes_column,
    json_column,
    json_headers,
    offsets,
    raw,
    text_column,
    timestamps,
)  # fmt: skip
from kwire.cli.rendering import cut, record_row, record_table_head, visible
from kwire.cli.value_forms import BYTES

if TYPE_CHECKING:
    from kwire.cli.record_columns import Rows

    Renderer = Callable[[str, int, Rows], bytes]

FORMATS: Final = ("value", "json", "csv", "table")
_FIELDS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
_WHERE = "topic                 partition  "


def head_of(form: str) -> bytes:
    """What stands above the records of a format."""
    heads = {"csv": ",".join(_FIELDS), "table": _WHERE + record_table_head()}
    return f"{heads[form]}\n".encode() if form in heads else b""


def renderer(form: str, look: Look) -> Renderer:
    """A function of topic, partition and records, that gives their bytes in one of FORMATS.

    It raises UnfitError for the first key, or else the first value, that does not fit its form.
    """
    return {"value": _values, "json": _json, "csv": _csv, "table": _table}[form](look)


def _values(look: Look) -> Renderer:
    values = bytes_column("value", look)
    return lambda topic, partition, rows: b"\n".join([*values(rows), b""])


def _json(look: Look) -> Renderer:
    keys, values = json_column("key", look), json_column("value", look)

    def render(topic: str, partition: int, rows: Rows) -> bytes:
        place = f'{{"topic": {encode_basestring(topic)}, "partition": {partition}'.replace("%", "%%")
        template = place + ', "offset": %d, "timestamp": %s, "key": %s, "value": %s, "headers": %s}\n'
        stamps = [stamp if stamp >= 0 else "null" for stamp in timestamps(rows)]
        columns = zip(offsets(rows), stamps, keys(rows), values(rows), json_headers(rows), strict=True)
        return "".join(map(template.__mod__, columns)).encode()

    return render


def _csv(look: Look) -> Renderer:
    from kwire.cli.csv_rows import csv_text

    keys, values = text_column("key", look), text_column("value", look)

    def render(topic: str, partition: int, rows: Rows) -> bytes:
        stamps = [stamp if stamp >= 0 else "" for stamp in timestamps(rows)]
        headers = ["" if text == "[]" else text for text in json_headers(rows)]
        columns = zip(repeat(topic), repeat(partition), offsets(rows), stamps, keys(rows), values(rows), headers)
        return csv_text(columns).encode(errors="surrogateescape")

    return render


def _table(look: Look) -> Renderer:
    keys, values = _visible_column("key", look), _visible_column("value", look)

    def render(topic: str, partition: int, rows: Rows) -> bytes:
        where = f"{cut(topic, 20):20}  {partition:9}  "
        lines = zip(rows, keys(rows), values(rows), strict=True)
        return "".join(f"{where}{record_row(row, key, value)}\n" for row, key, value in lines).encode(
            errors="surrogateescape"
        )

    return render


def _visible_column(field: str, look: Look) -> Callable[[Rows], list[Any]]:
    if look.form(field) is not BYTES:
        texts = text_column(field, look)
        return lambda rows: [text if text.isprintable() else repr(text)[1:-1] for text in texts(rows)]
    return lambda rows: [visible(cell) for cell in raw(rows, field)]


def write_block(block: bytes) -> None:
    """Writes all of it to standard output at once. No buffer has a rest of it, for which the exit of an interrupted
    program would wait."""
    out = sys.stdout.buffer
    raw_out = getattr(out, "raw", out)
    left = memoryview(block)
    while left:
        written = raw_out.write(left)
        if written is None:  # a pipe that somebody has set to non-blocking, and that is full
            select([], [out], [])
        else:
            left = left[written:]
