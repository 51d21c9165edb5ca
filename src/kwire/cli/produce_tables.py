"""The rows of Parquet and Arrow files as records: columns go to the producer, without a Python object for each row.

Only what has another form in the file than in the record is gone through value by value: numbers, text that stands for
other bytes, and headers that are put together from columns or from the options. Needs pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from shutil import copyfileobj
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from kwire._codec import SentRows
from kwire.cli.produce_input import HEADER, Columns, InputError, Shape
from kwire.cli.value_forms import BYTES, Form, given
from kwire.columns.sent_rows import int32s
from kwire.errors import CodecError, LimitError

if TYPE_CHECKING:
    from kwire.cli.produce_sending import Sending
    from kwire.producer import Producer

_ROWS = 16_384
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_ARROW_FILE = b"ARROW1"
_MAX_PARTITION = (1 << 31) - 1


@dataclass
class Rows:
    """Rows of a table, as records."""

    source: str
    first: int
    """The number of the first row, from 1 on."""
    size: int
    columns: pa.RecordBatch
    partitions: pa.Array | None
    """int32, -1 where the producer is to choose; None where it always is."""
    topics: Sequence[str | None]
    """The topics that rows name; None stands for that of the command."""
    topic_of: pa.Array | None
    """Which of `topics` each row goes to."""

    def __len__(self) -> int:
        rows: int = self.columns.num_rows
        return rows

    def name(self, index: int) -> str:
        """Where a record comes from."""
        return f"{self.source}, row {self.first + index}"

    def parts(self, most: int) -> Iterator[Rows]:
        """The rows in parts of at most so many."""
        for start in range(0, len(self), most):
            yield self._part(start, most)

    def _part(self, start: int, most: int) -> Rows:
        columns = self.columns.slice(start, most)
        size = self.size * columns.num_rows // len(self)
        partitions = None if self.partitions is None else self.partitions.slice(start, most)
        topic_of = None if self.topic_of is None else self.topic_of.slice(start, most)
        return Rows(self.source, self.first + start, size, columns, partitions, self.topics, topic_of)

    def send(self, producer: Producer, topic: str, partition: int | None, into: Sending) -> None:
        """Hands the rows over; one that is too large is left out, and among the failures."""
        sent = _SentTable()
        into.note(self, sent)
        topics = [name or topic for name in self.topics]
        partitions = self.partitions if partition is None else pa.repeat(pa.scalar(partition, pa.int32()), len(self))
        start = 0
        while start < len(self):
            rows = SentRows(producer._accumulator)
            sent.parts.append((start, rows))
            columns = self.columns.slice(start)
            numbers = (None if each is None else int32s(each, start) for each in (self.topic_of, partitions))
            try:
                rows.send(topics, columns, *numbers)
                return
            except LimitError as error:
                start += len(rows) + 1
                sent.refused.append((start - 1, error))
            except CodecError as error:
                raise InputError(f"{self.name(start + len(rows))}: {error}") from error


class _SentTable:
    """Rows that were handed over, in parts between those that were refused."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, SentRows]] = []
        self.refused: list[tuple[int, Exception]] = []

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self.parts) + len(self.refused)

    def is_done(self) -> bool:
        return all(rows.all_complete for _, rows in self.parts)

    def failures(self) -> Sequence[tuple[int, Exception]]:
        found = list(self.refused)
        for start, rows in self.parts:
            failed, first = rows.failed()
            if first is not None:
                found += [(start + row, first[2]) for row in failed]
        return sorted(found, key=lambda failure: failure[0])


class Table:
    """The base of the readers of files that hold columns."""

    is_text = False

    def __init__(self, shape: Shape, columns: Columns, on_unused: Callable[[Sequence[str]], None]) -> None:
        self._shape = shape
        self._columns = columns
        self._on_unused = on_unused

    def blocks(self, stream: BufferedReader, source: str) -> Iterator[Rows]:
        """The records of the stream."""
        with _faults_of(source):
            yield from self._blocks(stream, source)

    def _blocks(self, stream: BufferedReader, source: str) -> Iterator[Rows]:
        raise NotImplementedError

    def _found(self, schema: pa.Schema) -> dict[str, str]:
        """Which column is what; says which hold nothing of a record."""
        found = self._columns.find(schema.names)
        unused = self._columns.unused(schema.names)
        if unused:
            self._on_unused(unused)
        return found

    def _rows(self, batch: pa.RecordBatch, found: dict[str, str], source: str, first: int, size: int) -> Rows:
        shape = self._shape
        columns = {name: batch.column(found[name]) for name in found}
        made = {"value": _bytes(columns["value"], found["value"], shape.value_form, "--value-as", first)}
        if shape.key is not None:
            made["key"] = pa.repeat(pa.scalar(shape.key, pa.binary()), batch.num_rows)
        elif "key" in columns:
            made["key"] = _bytes(columns["key"], found["key"], shape.key_form, "--key-as", first)
        if shape.timestamp is not None:
            made["timestamp"] = pa.repeat(pa.scalar(shape.timestamp, pa.int64()), batch.num_rows)
        elif "timestamp" in columns and "timestamp" not in shape.ignored:
            made["timestamp"] = _timestamps(columns["timestamp"])
        headers = _headers(batch, shape, first)
        if headers is not None:
            made["headers"] = headers
        partitions = None
        if "partition" in columns and "partition" not in shape.ignored:
            partitions = _partitions(columns["partition"])
        topics, topic_of = _topics(columns.get("topic") if shape.own_topics else None)
        return Rows(source, first, size, pa.record_batch(made), partitions, topics, topic_of)


class Parquet(Table):
    """A Parquet file."""

    def _blocks(self, stream: BufferedReader, source: str) -> Iterator[Rows]:
        file = pq.ParquetFile(_native(stream))
        found = self._found(file.schema_arrow)
        names = file.schema_arrow.names
        wanted = [name for name in names if name in found.values() or name == "headers" or name.startswith(HEADER)]
        is_nested = any("." in name for name in wanted)  # a dot there leads into a column
        first, total = 1, max(file.metadata.num_rows, 1)
        size = _size(stream)
        for batch in file.iter_batches(_ROWS, columns=None if is_nested else wanted):
            yield self._rows(batch, found, source, first, size * batch.num_rows // total)
            first += batch.num_rows


class Arrow(Table):
    """An Arrow file, which Feather is, too, or a stream of Arrow's."""

    def _blocks(self, stream: BufferedReader, source: str) -> Iterator[Rows]:
        batches: Iterable[pa.RecordBatch]
        count = 1
        if _begins_with(stream, _ARROW_FILE):
            file = pa.ipc.open_file(_native(stream))
            schema, count = file.schema, max(file.num_record_batches, 1)
            batches = (file.get_batch(number) for number in range(file.num_record_batches))
        else:
            reader = pa.ipc.open_stream(_native(stream) if stream.seekable() else stream)
            schema, batches = reader.schema, reader
        found = self._found(schema)
        first, size = 1, _size(stream) // count
        for batch in batches:
            for start in range(0, batch.num_rows, _ROWS):
                part = batch.slice(start, _ROWS)
                yield self._rows(part, found, source, first, size * part.num_rows // batch.num_rows)
                first += part.num_rows


@contextmanager
def _faults_of(source: str) -> Iterator[None]:
    """What is wrong with the file, with its name."""
    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, ValueError, OSError) as fault:
        reason = str(fault).splitlines()[0]
        raise InputError(f"{source}{', ' if reason.startswith('row ') else ': '}{reason}") from fault


def _native(stream: BufferedReader) -> pa.NativeFile:
    """The whole input as Arrow reads it by itself: a thread of Arrow that still holds an object of Python when the
    program ends, as after an error, aborts it."""
    if stream.seekable():
        with suppress(OSError):  # it has no descriptor, or the system no names for those
            return pa.OSFile(f"/dev/fd/{stream.fileno()}")
    copy = pa.BufferOutputStream()
    copyfileobj(stream, copy)
    return pa.BufferReader(copy.getvalue())


def _begins_with(stream: BufferedReader, magic: bytes) -> bool:
    if not stream.seekable():
        return stream.peek(len(magic)).startswith(magic)
    found = stream.read(len(magic)) == magic
    stream.seek(0)
    return found


def _size(stream: BufferedReader) -> int:
    if not stream.seekable():
        return 0
    place = stream.tell()
    size = stream.seek(0, 2)
    stream.seek(place)
    return size


def _bytes(column: pa.Array, name: str, form: Form, option: str, first: int) -> pa.Array:
    """A column as keys or values: binary as it is, text as its bytes unless it stands for others."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if _is_binary(kind) or pa.types.is_null(kind) or (_is_text(kind) and form is BYTES):
        return column
    if form is BYTES:
        raise ValueError(f"the column {name} is {kind}: {option} says how to write it")
    read: Callable[[Any], bytes | None] = form.read if _is_text(kind) else lambda value: given(form, value)
    made = []
    for place, value in enumerate(column.to_pylist(), first):
        try:
            made.append(None if value is None else read(value))
        except (ValueError, TypeError) as fault:
            raise ValueError(f"row {place}: {name}: {fault}") from fault
    return pa.array(made, pa.binary())


def _is_binary(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
        or types.is_binary_view(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _timestamps(column: pa.Array) -> pa.Array:
    """Timestamps, or whole numbers of milliseconds; the producer's clock where they are null."""
    if pa.types.is_timestamp(column.type) or pa.types.is_int64(column.type):
        return column
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    raise ValueError(f"the column of timestamps is {column.type}: timestamps or milliseconds since 1970 are needed")


def _partitions(column: pa.Array) -> pa.Array | None:
    if column.null_count == len(column):
        return None
    if not pa.types.is_integer(column.type):
        raise ValueError(f"the column of partitions is {column.type}: whole numbers are needed")
    least, most = pc.min(column).as_py(), pc.max(column).as_py()
    if least < 0 or most > _MAX_PARTITION:
        raise ValueError(f"{least if least < 0 else most} is no partition")
    return pc.fill_null(column.cast(pa.int32()), -1)


def _topics(column: pa.Array | None) -> tuple[Sequence[str | None], pa.Array | None]:
    if column is None:
        return [None], None
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    encoded = column.cast(pa.string()).dictionary_encode(null_encoding="encode")
    return encoded.dictionary.to_pylist(), encoded.indices.cast(pa.int32())


def _headers(batch: pa.RecordBatch, shape: Shape, first: int) -> pa.Array | None:
    """The column of headers, with those of columns of their own, and those that all records get, behind them."""
    names = [] if "headers" in shape.ignored else batch.schema.names
    own = batch.column("headers") if "headers" in names else None
    columns = [name for name in names if name.startswith(HEADER)]
    if not shape.headers and not columns:
        return own
    rows = [[] for _ in range(batch.num_rows)] if own is None else [_pairs(row) for row in own.to_pylist()]
    for name in columns:
        values = _bytes(batch.column(name), name, BYTES, "no option", first).to_pylist()
        for row, value in zip(rows, values, strict=True):
            row.append((name.removeprefix(HEADER), value))
    return pa.array([[*row, *shape.headers] for row in rows], _HEADERS)


def _pairs(row: Sequence[dict[str, Any]] | None) -> list[tuple[str, Any]]:
    return [(each["key"], each["value"]) for each in row or ()]
