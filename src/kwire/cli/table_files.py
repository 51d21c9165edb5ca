"""The Parquet and Arrow files that `kwire consume --output` writes: a row for each record, without a Python object.

topic, partition, offset    where it was
timestamp                   milliseconds, UTC; null for none
key, value                  binary; text, numbers or text that shows bytes, by --key-as and --value-as
headers                     list<struct<key, value>>

The file has its name once it is whole: until then its rows are in another beside it, which is removed where the command
fails. `kwire produce` reads it back. Needs pyarrow.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from kwire.cli.record_columns import Look, cells_of, fitting, raw
from kwire.cli.table_formats import table_format
from kwire.cli.value_forms import BYTES, FORMS, Form
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from kwire.cli.record_columns import Rows

    Writer: TypeAlias = pq.ParquetWriter | pa.ipc.RecordBatchFileWriter

GROUP_BYTES = 64 << 20
"""A row group of Parquet, or a record batch of Arrow, holds so much before it is compressed."""

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_TIMESTAMP = pa.timestamp("ms", "UTC")
_COLUMNS = ("offset", "timestamp", "key", "value", "headers")
_NUMBERS = {
    **{FORMS[name]: getattr(pa, name.removesuffix("-le"))() for name in FORMS if "int" in name},
    **{FORMS[name]: getattr(pa, name.removesuffix("-le"))() for name in FORMS if name.startswith("float")},
}


class TableFile:
    """A file that is being written. As a context manager it gets its name at the end, and goes away by an exception but
    KeyboardInterrupt, which keeps what was written."""

    def __init__(self, path: str, look: Look) -> None:
        self._path = Path(path)
        self._look = look
        self._schema = pa.schema(
            [
                ("topic", pa.string()),
                ("partition", pa.int32()),
                ("offset", pa.int64()),
                ("timestamp", _TIMESTAMP),
                ("key", _type_of(look.key)),
                ("value", _type_of(look.value)),
                ("headers", _HEADERS),
            ]
        )
        self._waiting: list[pa.RecordBatch] = []
        self._size = 0
        self.rows = 0
        """How many records it has."""
        self._part = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}.part")
        try:
            self._sink = pa.OSFile(str(self._part), "wb")
        except OSError as error:
            raise ConfigError(f"{path}: {os.strerror(error.errno) if error.errno else error}") from error
        self._writer = _writer(path, self._sink, self._schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None or isinstance(error, KeyboardInterrupt):
                self._finish()
        finally:
            with suppress(pa.ArrowException):
                self._writer.close()
            self._sink.close()
            with suppress(OSError):
                self._part.unlink()

    def append(self, topic: str, partition: int, rows: Rows) -> bytes:
        """Adds records of a partition; returns nothing, as what was to be printed of them. UnfitError for the first key
        or value that does not fit its form."""
        batch = self._batch(topic, partition, rows)
        self._waiting.append(batch)
        self._size += batch.nbytes
        self.rows += batch.num_rows
        if self._size >= GROUP_BYTES:
            self._write()
        return b""

    def _batch(self, topic: str, partition: int, rows: Rows) -> pa.RecordBatch:
        found = _arrays(rows)
        count = len(found["offset"])
        stamps = found["timestamp"]
        columns = [
            pa.repeat(pa.scalar(topic), count),
            pa.repeat(pa.scalar(partition, pa.int32()), count),
            found["offset"],
            pc.if_else(pc.less(stamps, 0), pa.scalar(None, pa.int64()), stamps).cast(_TIMESTAMP),
            self._cells(rows, "key", found["key"]),
            self._cells(rows, "value", found["value"]),
            found["headers"],
        ]
        return pa.record_batch(columns, schema=self._schema)

    def _cells(self, rows: Rows, field: str, column: pa.Array) -> pa.Array:
        form = self._look.form(field)
        if form is BYTES:
            return column
        if form is FORMS["text"]:
            with suppress(pa.ArrowInvalid):
                return column.cast(pa.string())
        convert = _converter(form)
        return pa.array(fitting(rows, field, cells_of(rows, field, form), convert), _type_of(form))

    def _write(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema).combine_chunks())
        self._waiting, self._size = [], 0

    def _finish(self) -> None:
        self._write()
        self._writer.close()
        self._sink.close()
        with open(self._part, "rb") as part:
            os.fsync(part.fileno())
        os.replace(self._part, self._path)


def _writer(path: str, sink: pa.OSFile, schema: pa.Schema) -> Writer:
    if table_format(path) == "parquet":
        return pq.ParquetWriter(sink, schema, compression="zstd")
    return pa.ipc.new_file(sink, schema)


def _type_of(form: Form) -> pa.DataType:
    return pa.binary() if form is BYTES else _NUMBERS.get(form, pa.string())


def _converter(form: Form) -> Callable[[bytes | None], Any]:
    """What makes an entry of a column of bytes."""
    if form not in _NUMBERS:
        return lambda cell: None if cell is None else form.show_text(cell)
    make = float if pa.types.is_floating(_NUMBERS[form]) else int
    return lambda cell: None if cell is None else make(form.show(cell))


def _arrays(rows: Rows) -> dict[str, pa.Array]:
    """The columns of the records as they are."""
    if not isinstance(rows, list):
        batch = rows.to_arrow(_COLUMNS)  # type: ignore[union-attr]
        return {name: batch.column(name) for name in _COLUMNS}
    return {
        "offset": pa.array([row.offset for row in rows], pa.int64()),
        "timestamp": pa.array([row.timestamp for row in rows], pa.int64()),
        "key": pa.array(raw(rows, "key"), pa.binary()),
        "value": pa.array(raw(rows, "value"), pa.binary()),
        "headers": pa.array([list(row.headers) for row in rows], _HEADERS),
    }
