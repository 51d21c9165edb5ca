"""What `kwire produce` reads: lines, lines of JSON and CSV, those that `kwire consume` has printed too.

produced-inputs   any bytes, as each format with each form of keys and values
printed-records   drawn records printed as JSON or CSV, and read back: the same records
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from kwire import errors, records
from kwire.cli.produce_input import Columns, Csv, InputError, JsonLines, Lines, Reader, Shape, WholeFiles
from kwire.cli.record_columns import Look, UnfitError
from kwire.cli.record_output import head_of, renderer
from kwire.cli.value_forms import FORMS
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import target

MEMORY = (8 << 20, 64 << 10)
_FORMS = tuple(FORMS.values())


class _Pieces(io.RawIOBase):
    """A file whose reads bring so many bytes at most."""

    def __init__(self, content: bytes, most: int) -> None:
        self._content, self._most = io.BytesIO(content), most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._content.read(min(self._most, len(buffer)))
        buffer[: len(data)] = data
        return len(data)


def _form(drawing: Drawing) -> Any:
    return FORMS["bytes"] if drawing.flag() else drawing.choice(_FORMS)


def _shape(drawing: Drawing) -> Shape:
    return Shape(
        key=drawing.choice((None, None, b"k")),
        headers=drawing.choice(((), (("h", b"x"),))),
        timestamp=drawing.choice((None, None, 7)),
        null=drawing.choice((None, b"", b"\\N")),
        key_form=_form(drawing),
        value_form=_form(drawing),
        ignored=frozenset(drawing.choice(((), ("partition",), ("timestamp", "headers")))),
        own_topics=drawing.flag(),
    )


def _reader(drawing: Drawing) -> Reader:
    shape, kind = _shape(drawing), drawing.below(8)
    if kind < 3:
        return JsonLines(shape)
    if kind < 6:
        columns = Columns(*drawing.choice(((), (), ("a", "b"), (None, "offset", "headers"))))
        return Csv(shape, columns, lambda names: None)
    if kind == 6:
        return Lines(shape, drawing.choice((b"\n", b"\0", b"ab")), drawing.choice((None, b":", b"::")))
    return WholeFiles(shape)


def _read(reader: Reader, content: bytes, most: int) -> Iterator[Any]:
    stream = io.BufferedReader(_Pieces(content, most), buffer_size=max(most, 1))
    for block in reader.blocks(stream, "source"):
        assert len(block.items) == len(block.numbers)
        assert block.places is None or len(block.places) == len(block.items)
        for index in range(len(block)):
            block.name(index)
        list(block.parts(2))
        yield from block.items


def _input_seeds() -> Iterator[bytes]:
    rows = (
        b'{"key": "k", "value": {"base64": "AAE="}, "headers": [["h", null]], "timestamp": 5}\n\n{"value": null}',
        b'{"value": "v", "topic": "t", "partition": 1, "headers": {"h": "x"}, "timestamp": "2024-01-01"}',
    )
    for number in range(0, 60, 2):
        yield bytes([0, 0, 0, 0, 0, number, 0, number, 0, 0, 0, 40]) + rows[number // 2 % 2]
        yield bytes([0, 0, 0, 2, 0, number, 1, 0, 0, 0, 3, 0, 9]) + b'key,value,header.a\n"k\n",1,\xff\n\nx,"y""",z\n'
    yield bytes([0, 0, 0, 1, 1, 1, 0, 0, 6, 0, 1, 9]) + b"k:v\nq:w\n"


@target(seeds=_input_seeds, traced="cli", max_len=600, budget=MEMORY,
        words=(b'"value":', b'"headers":', b'{"base64":', b"\\ud800", b"1e999", b'"timestamp":', b"header.", b'""',
               b"0001-01-01", b"\xef\xbb\xbf", b"NaN"))  # fmt: skip
def produced_inputs(data: bytes) -> None:
    """lines, JSON, CSV and whole files, as kwire produce reads them into records"""
    drawing = Drawing(data)
    reader, most = _reader(drawing), drawing.choice((1 << 16, 1, 7))
    with contextlib.suppress(InputError):
        for item in _read(reader, drawing.rest(), most):
            with contextlib.suppress(errors.KafkaError):
                records.encode([item])


def _record(drawing: Drawing) -> Any:
    headers = [(drawing.text(), drawing.blob_or_none()) for _ in range(drawing.below(3))]
    return drawing.blob_or_none(), drawing.blob_or_none(), drawing.choice((0, 5, -1, 2**62)), headers


def _printed_seeds() -> Iterator[bytes]:
    for number in range(50):
        yield bytes([number, 0, number >> 1, 0, number, 2, 3, 65, 10, 255, 1, 34, 0, number & 1, 1, 92, 2, 13, 44])


@target(seeds=_printed_seeds, traced="cli", max_len=300, budget=MEMORY)  # fmt: skip
def printed_records(data: bytes) -> None:
    """records printed by kwire consume as JSON or CSV, and read back by kwire produce"""
    drawing = Drawing(data)
    kind = drawing.choice(("json", "csv"))
    null = "\\N" if kind == "csv" else ""
    look = Look(_form(drawing), _form(drawing), null)
    made = [_record(drawing) for _ in range(1 + drawing.below(4))]
    batch = records.decode(records.encode(made))
    try:
        printed = head_of(kind) + renderer(kind, look)("topic", 3, batch)
    except UnfitError:
        return
    shape = Shape(null=null.encode() or None, key_form=look.key, value_form=look.value)
    reader: Reader = JsonLines(shape) if kind == "json" else Csv(shape, Columns(), lambda names: None)
    found = list(_read(reader, printed, drawing.choice((1 << 16, 5))))
    assert len(found) == len(made)
    for row, (value, key, timestamp, headers) in zip(batch, found, strict=True):
        assert _same(value, row.value, look.value, kind), (value, row.value)
        assert _same(key, row.key, look.key, kind), (key, row.key)
        assert (timestamp if timestamp is not None else -1) == row.timestamp
        named = [(name.encode() if isinstance(name, str) else name, each) for name, each in headers]
        assert named == list(row.raw_headers)


def _same(read: bytes | None, was: bytes | None, form: Any, kind: str) -> bool:
    if form is FORMS["json"]:
        return True  # the value, and not its bytes
    if kind == "csv" and was == b"\\N":
        return read is None
    if kind == "csv" and form is FORMS["bytes"] and was is not None:
        return read == form.show_text(was).encode()  # what is no text is shown as an object of JSON
    return read == was
