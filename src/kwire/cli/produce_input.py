"""What `kwire produce` reads, as blocks of records: lines, lines of JSON, CSV, and whole files.

A block holds what one read of its input brought, so records leave as soon as they are there. Of an input that goes
wrong, the records before the fault come first, then the fault. Knows no client.
"""

from __future__ import annotations

import csv
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from io import BufferedReader
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from kwire.cli.compressed_files import unzipped_text
from kwire.cli.usage import with_nearest
from kwire.cli.value_forms import BYTES, FORMS, Form, given, parse_json
from kwire.engine.common.numbers import signed_number
from kwire.errors import ConfigError, CorruptError
from kwire.errors.listing import counted

if TYPE_CHECKING:
    from kwire.cli.produce_sending import Sendable, Sending
    from kwire.producer import Producer

Headers: TypeAlias = "tuple[tuple[str | bytes, bytes | None], ...]"
Item: TypeAlias = "bytes | tuple[bytes | None, bytes | None, int | None, Headers]"
Place: TypeAlias = "tuple[str | None, int | None]"

STANDARD_INPUT = "-"
HEADER = "header."
HEADERS = "headers"
_READ_SIZE = 1 << 18
_MAX_FIELD = (1 << 31) - 1
_JSON_KEYS = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers")
_NO_PLACE: Place = (None, None)
_TEXT = FORMS["text"]


class InputError(ConfigError):
    """What is wrong in an input, and where."""


@dataclass
class Block:
    """Records of one input, as `send_many` takes them; each is a line, row or file by its number there."""

    source: str
    unit: str
    size: int
    """Bytes of the input."""
    numbers: Sequence[int] = field(default_factory=list)
    items: Sequence[Item] = field(default_factory=list)
    places: Sequence[Place] | None = None
    """Topic and partition of each record, where some have their own."""

    def __len__(self) -> int:
        return len(self.items)

    def name(self, index: int) -> str:
        """Where a record comes from."""
        return self.source if self.unit == "file" else f"{self.source}, {self.unit} {self.numbers[index]}"

    def parts(self, most: int) -> Iterator[Block]:
        """The block in parts of at most so many records."""
        for start in range(0, len(self), most):
            part = slice(start, start + most)
            places = None if self.places is None else self.places[part]
            numbers, items = self.numbers[part], self.items[part]
            yield Block(self.source, self.unit, self.size * len(items) // len(self), numbers, items, places)

    def send(self, producer: Producer, topic: str, partition: int | None, into: Sending) -> None:
        """Hands the records over."""
        from kwire.cli.produce_sending import send_items

        send_items(self, producer, topic, partition, into)


class Reader(Protocol):
    """One format of input. What is text may be compressed in its file."""

    is_text: bool

    def blocks(self, stream: BufferedReader, source: str) -> Iterator[Sendable]:
        """The records of the stream. Raises InputError after those before the fault."""


@dataclass(frozen=True)
class Shape:
    """What the options say of every record. A key and a timestamp go over the input's, headers go behind them."""

    key: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None
    null: bytes | None = None
    key_form: Form = BYTES
    value_form: Form = BYTES
    ignored: frozenset[str] = frozenset()
    """What is not taken from the input: partition, timestamp, headers."""
    own_topics: bool = False
    """Whether records go to the topics that the input names for them."""

    @property
    def takes_bytes(self) -> bool:
        """Whether keys and values are the bytes of the input as they are."""
        return self.null is None and self.key_form is BYTES and self.value_form is BYTES

    def item(self, value: bytes | None, key: bytes | None, timestamp: int | None, headers: Headers) -> Item:
        """A record of the input, with what holds for all of them."""
        if self.timestamp is not None or "timestamp" in self.ignored:
            timestamp = self.timestamp
        own_headers = () if "headers" in self.ignored else headers
        return value, key if self.key is None else self.key, timestamp, own_headers + self.headers

    def place(self, topic: str | None, partition: int | None) -> Place:
        """Where a record of the input goes, as far as that says so."""
        return topic if self.own_topics else None, None if "partition" in self.ignored else partition

    def key_of(self, data: bytes) -> bytes | None:
        """The key that these bytes of the input stand for."""
        return self._read(self.key_form, data)

    def value_of(self, data: bytes) -> bytes | None:
        """The value that these bytes of the input stand for."""
        return self._read(self.value_form, data)

    def _read(self, form: Form, data: bytes) -> bytes | None:
        if data == self.null:
            return None
        return data if form is BYTES else form.read(_TEXT.show(data))


class Lines:
    """Each line is a value, or a key and a value with a separator between them."""

    is_text = True

    def __init__(self, shape: Shape, delimiter: bytes, separator: bytes | None) -> None:
        self._shape = shape
        self._delimiter = delimiter
        self._separator = separator
        self._unit = "line" if delimiter == b"\n" else "record"

    def blocks(self, stream: BufferedReader, source: str) -> Iterator[Block]:
        """The records of the stream."""
        number = 1
        for lines, size in split(stream, self._delimiter):
            numbers = range(number, number + len(lines))
            if self._shape == Shape() and self._separator is None:
                yield Block(source, self._unit, size, numbers, lines)
            elif self._shape.takes_bytes:
                yield from self._quick(source, size, numbers, lines)
            else:
                yield from _made(source, self._unit, size, zip(numbers, lines, strict=True), self._record)
            number += len(lines)

    def _quick(self, source: str, size: int, numbers: range, lines: Sequence[bytes]) -> Iterator[Block]:
        """The lines in one go, where their bytes are taken as they are."""
        separator, shape = self._separator, self._shape
        if separator is None:
            yield Block(source, self._unit, size, numbers, [shape.item(line, None, None, ()) for line in lines])
            return
        parts = [line.partition(separator) for line in lines]
        good = next((at for at, (_, found, _) in enumerate(parts) if not found), len(parts))
        stamp, headers = shape.timestamp, shape.headers
        yield Block(
            source, self._unit, size, numbers[:good], [(value, key, stamp, headers) for key, _, value in parts[:good]]
        )
        if good < len(parts):
            raise _fault(source, self._unit, numbers[good], self._no_separator())

    def _record(self, line: bytes) -> tuple[Item, Place]:
        key = None
        if self._separator is not None:
            key, found, line = line.partition(self._separator)
            if not found:
                raise ValueError(self._no_separator())
        found_key = None if key is None else self._shape.key_of(key)
        return self._shape.item(self._shape.value_of(line), found_key, None, ()), _NO_PLACE

    def _no_separator(self) -> str:
        return f"no {(self._separator or b'').decode(errors='surrogateescape')!r} between key and value"


class JsonLines:
    """Each line is an object as `kwire consume --format json` prints it."""

    is_text = True

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def blocks(self, stream: BufferedReader, source: str) -> Iterator[Block]:
        """The records of the stream; blank lines are none."""
        number = 1
        for lines, size in split(stream, b"\n"):
            if number == 1:
                lines[:1] = [line.removeprefix(BOM_UTF8) for line in lines[:1]]
            rows = [(at, line) for at, line in enumerate(lines, number) if line and not line.isspace()]
            yield from _made(source, "line", size, rows, self._record)
            number += len(lines)

    def _record(self, line: bytes) -> tuple[Item, Place]:
        found = parse_json(_TEXT.show(line))
        if not isinstance(found, dict):
            raise ValueError('a JSON object is needed, as in {"key": "k", "value": "v"}')
        if not found.keys() <= _KNOWN:
            unknown = next(key for key in found if key not in _KNOWN)
            raise ValueError(f"{with_nearest(repr(unknown)[1:-1], _JSON_KEYS)} is not one of {', '.join(_JSON_KEYS)}")
        if "value" not in found:
            raise ValueError("no value: null is one for a record without")
        shape = self._shape
        key, value = found.get("key"), found["value"]
        item = shape.item(
            None if value is None else _named("value", given, shape.value_form, value),
            None if key is None else _named("key", given, shape.key_form, key),
            _from(found, "timestamp", _timestamp),
            _from(found, "headers", _headers) or (),
        )
        return item, shape.place(_from(found, "topic", _topic), _from(found, "partition", _partition))


_KNOWN = frozenset(_JSON_KEYS)


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are what of a record; by their own names unless told."""

    key: str | None = None
    value: str | None = None
    timestamp: str | None = None
    partition: str | None = None
    topic: str | None = None

    def find(self, names: Sequence[str]) -> dict[str, str]:
        """{"key": "id", ...}: the column of each that is there. ValueError for one that was named and is not, for a
        missing value, and for names that stand there twice."""
        found = {}
        for what in ("key", "value", "timestamp", "partition", "topic"):
            column = getattr(self, what)
            if (column or what) in names:
                found[what] = column or what
            elif column is not None or what == "value":
                hint = "" if column is not None else ": --value-column names another"
                raise ValueError(f"no column {with_nearest(column or what, names)}{hint}; there are {', '.join(names)}")
        doubled = next((name for name in found.values() if names.count(name) > 1), None)
        if doubled is not None:
            raise ValueError(f"two columns {doubled}")
        return found

    def unused(self, names: Sequence[str]) -> list[str]:
        """The columns that hold nothing of a record."""
        used = {*self.find(names).values(), HEADERS, "offset", "timestamp_type", "topic"}
        return [name for name in names if name not in used and not name.startswith(HEADER)]


class Csv:
    """Rows under the names of their columns."""

    is_text = True

    def __init__(self, shape: Shape, columns: Columns, on_unused: Callable[[Sequence[str]], None]) -> None:
        self._shape = shape
        self._columns = columns
        self._on_unused = on_unused

    def blocks(self, stream: BufferedReader, source: str) -> Iterator[Block]:
        """The records of the stream."""
        csv.field_size_limit(_MAX_FIELD)
        texts = _Texts(stream)
        reader = csv.reader(texts, strict=True)
        record: Callable[[list[str]], tuple[Item, Place]] | None = None
        rows: list[tuple[int, list[str]]] = []
        fault: Exception | None = None
        before = 0
        while fault is None:
            try:
                row = next(reader)
            except StopIteration:
                break
            except csv.Error as error:
                fault = error
                continue
            number, before = before + 1, reader.line_num
            if record is None:
                record = self._record(source, row)
            elif row:
                rows.append((number, row))
            if rows and not texts.left:
                yield from _made(source, "line", texts.size, rows, record)
                rows = []
        if rows and record is not None:
            yield from _made(source, "line", texts.size, rows, record)
        if fault is not None:
            raise _fault(source, "line", before + 1, str(fault)) from fault
        if record is None:
            raise InputError(f"{source} is empty: its first line is to name the columns")

    def _record(self, source: str, names: Sequence[str]) -> Callable[[list[str]], tuple[Item, Place]]:
        """What makes a record of a row under these names."""
        try:
            found = self._columns.find(names)
        except ValueError as fault:
            raise _fault(source, "line", 1, str(fault)) from None
        unused = self._columns.unused(names)
        if unused:
            self._on_unused(unused)
        at = {what: names.index(name) for what, name in found.items()}
        headers = [(name.removeprefix(HEADER), n) for n, name in enumerate(names) if name.startswith(HEADER)]
        pairs_at = names.index(HEADERS) if HEADERS in names else None
        shape = self._shape

        def cell(row: Sequence[str], what: str) -> str | None:
            return row[at[what]] if what in at else None

        def read_cell(row: Sequence[str], what: str, read: Callable[[str], Any]) -> Any:
            text = cell(row, what)
            return _named(what, read, text) if text else None

        def own_headers(row: Sequence[str]) -> Headers:
            pairs: Headers = ()
            if pairs_at is not None and row[pairs_at]:
                pairs = _named(HEADERS, lambda: _headers(parse_json(row[pairs_at])))
            return pairs + tuple(
                [(name, None if _bytes(row[n]) == shape.null else _bytes(row[n])) for name, n in headers]
            )

        def record(row: Sequence[str]) -> tuple[Item, Place]:
            if len(row) != len(names):
                raise ValueError(f"{counted(len(row), 'field')}, not {len(names)}")
            key = cell(row, "key")
            item = shape.item(
                _named("value", shape.value_of, _bytes(row[at["value"]])),
                None if key is None else _named("key", shape.key_of, _bytes(key)),
                read_cell(row, "timestamp", _timestamp),
                own_headers(row),
            )
            return item, shape.place(cell(row, "topic") or None, read_cell(row, "partition", _number))

        return record


class _Texts:
    """The lines of a stream as text, with their ends; bytes that are not UTF-8 are kept as surrogates."""

    def __init__(self, stream: BufferedReader) -> None:
        self._blocks = split(stream, b"\n")
        self._lines: Iterator[bytes] = iter(())
        self._is_first = True
        self.left = 0
        """How many lines there are without reading on."""
        self.size = 0
        """Bytes of the last read."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self.left:
            lines, self.size = next(self._blocks)
            self._lines, self.left = iter(lines), len(lines)
        self.left -= 1
        text = next(self._lines).decode(errors="surrogateescape")
        if self._is_first:
            text = text.removeprefix("\ufeff")
            self._is_first = False
        return f"{text}\n"


class WholeFiles:
    """Each input is one value."""

    is_text = False

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def blocks(self, stream: BufferedReader, source: str) -> Iterator[Block]:
        """One record."""
        data = stream.read()
        yield from _made(source, "file", len(data), [(1, data)], self._record)

    def _record(self, data: bytes) -> tuple[Item, Place]:
        return self._shape.item(self._shape.value_of(data), None, None, ()), _NO_PLACE


def check_files(files: Iterable[str]) -> None:
    """Raises ConfigError for a file that cannot be read, before anything is sent."""
    for path in files:
        if path != STANDARD_INPUT:
            with opened_input(path):
                pass


@contextmanager
def opened_input(path: str) -> Iterator[tuple[BufferedReader, str]]:
    """The input and what it is called. ConfigError where it cannot be read."""
    if path == STANDARD_INPUT:
        yield cast(BufferedReader, sys.stdin.buffer), "standard input"
        return
    try:
        stream = open(path, "rb")
    except OSError as error:
        raise ConfigError(f"{path}: {os.strerror(error.errno) if error.errno else error}") from error
    with stream:
        yield stream, path


@contextmanager
def opened_text(path: str) -> Iterator[tuple[BufferedReader, str]]:
    """The same of a text, which is unpacked where its file is compressed by gzip; standard input is taken as it is."""
    with opened_input(path) as (stream, source):
        if path == STANDARD_INPUT:
            yield stream, source
            return
        try:
            with unzipped_text(stream, source, "kwire produce") as text:
                yield text, source
        except CorruptError as fault:
            raise InputError(str(fault)) from fault


def split(stream: BufferedReader, delimiter: bytes) -> Iterator[tuple[list[bytes], int]]:
    """What each read brings, without the delimiters between, and how many bytes it read. A last delimiter ends the last
    line, it begins none."""
    rest: list[bytes] = []
    edge = b""
    size = 0
    while data := stream.read1(_READ_SIZE):
        size += len(data)
        if delimiter in edge + data if edge else delimiter in data:
            lines = b"".join((*rest, data)).split(delimiter)
            rest = [lines.pop()]
            yield lines, size
            size = 0
        else:
            rest.append(data)
        edge = (edge + data)[1 - len(delimiter) :] if len(delimiter) > 1 else b""
    last = b"".join(rest)
    if last:
        yield [last], size


def _made(
    source: str, unit: str, size: int, rows: Iterable[tuple[int, Any]], make: Callable[[Any], tuple[Item, Place]]
) -> Iterator[Block]:
    """A block of what `make` makes of numbered rows. Where it raises ValueError: of those before, then the fault."""
    numbers: list[int] = []
    items: list[Item] = []
    places: list[Place] = []
    fault: InputError | None = None
    for number, row in rows:
        try:
            item, place = make(row)
        except ValueError as error:
            fault = _fault(source, unit, number, str(error))
            break
        numbers.append(number)
        items.append(item)
        places.append(place)
    if items:
        own = places if any(place != _NO_PLACE for place in places) else None
        yield Block(source, unit, size, numbers, items, own)
    if fault is not None:
        raise fault


def _fault(source: str, unit: str, number: int, text: str) -> InputError:
    return InputError(f"{source}: {text}" if unit == "file" else f"{source}, {unit} {number}: {text}")


def _from(found: dict[str, Any], what: str, read: Callable[[Any], Any]) -> Any:
    """read(value) of what an object has under that name; None where it has nothing."""
    value = found.get(what)
    return None if value is None else _named(what, read, value)


def _named(what: str, read: Callable[..., Any], *arguments: Any) -> Any:
    """read(...), with what it is about in its ValueError."""
    try:
        return read(*arguments)
    except ValueError as fault:
        raise ValueError(f"{what}: {fault}") from None


def timestamp_of(text: str) -> int:
    """Milliseconds since 1970, or a time as in 2024-05-01T12:00:00+00:00; local time without an offset."""
    number = signed_number(text)
    if number is not None:
        return _timestamp_number(number)
    try:
        since_1970 = round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is neither milliseconds since 1970 nor a time") from None
    if since_1970 < 0:
        raise ValueError(f"{text!r} is before 1970")
    return since_1970


def _timestamp_number(value: int) -> int:
    if not 0 <= value < 1 << 63:
        raise ValueError(f"{value} is no number of milliseconds since 1970")
    return value


def _timestamp(value: Any) -> int:
    if isinstance(value, str):
        return timestamp_of(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("milliseconds since 1970 are expected")
    return _timestamp_number(value)


def _topic(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a name is expected")
    return value


def _partition(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
        raise ValueError("a number from 0 is expected")
    return value


def _number(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text!r} is no number from 0")
    return _partition(int(text))


def _headers(value: Any) -> Headers:
    """Headers of a JSON object: pairs of name and value, or an object of them."""
    pairs = list(value.items()) if isinstance(value, dict) else value or []
    if not isinstance(pairs, list):
        raise ValueError("pairs of name and value are expected")
    found = []
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or pair[0] is None:
            raise ValueError("pairs of name and value are expected")
        name = pair[0] if isinstance(pair[0], str) else given(BYTES, pair[0]) or b""
        found.append((name, given(BYTES, pair[1])))
    return tuple(found)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
