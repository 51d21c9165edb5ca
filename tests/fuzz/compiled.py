"""Targets in C: what is unsafe in kwire, tens of times as often as by way of Python.

Most take the inputs of a target in Python and are called as that one, with `c-` before its name. A function in
tests/fuzz/_pxi/ calls kwire's own functions below all that needs an object, and holds what they make of the input
against the bytes, a second way to read them, or a plain one in C. Where there is no engine the same inputs are fed to
the target in Python, whose references are asked then.

    c-record-sets, c-record-batches, c-message-sets     scans of all magics and of 0.7: places, counts, order, the quick
                                                        path and the careful one, what filters leave, and all columns
    c-written       the records that a builder takes, with sizes as counted, are what a scan of its batch finds
    c-varints       every reader of varints reads the same, and what is written
    c-streams       containers of compressed blocks, walked to their end
    c-checksums     by each way that the processor has, and bit by bit
    c-avro-values, c-protobuf-values, c-json-values, c-csv-values      values into the columns of fixed plans
    c-texts         numbers, decimals, dates, instants, base64 and UTF-8, against the C library and plain code
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from types import ModuleType
from typing import Any

from kwire import errors
from kwire._values import CsvPlan, TextPlan, decode_avro, decode_csv
from kwire.columns.avro_plan import AvroReader
from kwire.columns.avro_schema import parse_avro_schema
from kwire.records import decode, encode
from tests.fuzz import records, values
from tests.fuzz.corpus import read_corpus
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import Target, add, target, targets_of
from tests.values.test_json_columns import layout

_OF: tuple[tuple[ModuleType, tuple[str, ...]], ...] = (
    (records, ("record-sets", "record-batches", "message-sets", "streams", "checksums")),
    (values, ("avro-values", "protobuf-values", "json-values", "csv-values")),
)
_TEXTS: tuple[Any, ...] = ("bigint", "double", ("decimal", 9, 2), "date", "timestamp", "binary", "string")


def compiled_function(target: Target) -> object:
    """Its function, as a capsule for the engine."""
    import fuzz_compiled  # on the engine's path alone

    if target.name.endswith("-values"):
        fuzz_compiled.add_plans(*values.plans())
    return fuzz_compiled.FUNCTIONS[target.name.removeprefix("c-")]


def _known(target: Target) -> Iterator[bytes]:
    yield from target.seeds()
    yield from read_corpus(target.name)


for _family, _names in _OF:
    for _each in targets_of(_family):
        if _each.name in _names:
            add(replace(_each, name=f"c-{_each.name}", family="compiled", what=f"{_each.what}, in C",
                        seeds=partial(_known, _each), mutate=None, traced=None, share=1.0))  # fmt: skip


@target(
    seeds=lambda: [
        bytes([magic, 1, 3]) + bytes([1, 107, 2, 118, 118, 0, 5, number, magic and 1, 1, 104, 255]) * number
        for magic in range(3)
        for number in range(1, 4)
    ],
    budget=records.MEMORY,
)
def c_written(data: bytes) -> None:
    """records that a builder takes, read back, in C"""
    drawing = Drawing(data)
    magic = drawing.below(3)
    base = drawing.number(1) << drawing.byte() % 56
    given: list[Any] = []
    while drawing.left and len(given) < 64:
        key, value = drawing.blob_or_none(), drawing.blob_or_none()
        timestamp = max(drawing.number(2, signed=True) << drawing.byte() % 48, -1)
        headers = [(drawing.text(), drawing.blob_or_none()) for _ in range(drawing.byte() % 4 if magic == 2 else 0)]
        given.append((value, key, timestamp, headers))
    if given:
        read = decode(encode(given, magic=magic, base_offset=base))
        for record, (value, key, timestamp, headers) in zip(read, given, strict=True):
            assert (record.value, record.key, record.headers) == (value, key, tuple(headers))
            assert record.timestamp == (timestamp if magic else -1)


@cache
def _longs() -> tuple[AvroReader, Any]:
    schema = parse_avro_schema('{"type": "array", "items": "long"}')
    reader = AvroReader(schema)
    return reader, reader.plan(schema)


@target(
    seeds=lambda: [b"\1", b"\x80\1", b"\xff\xff\3", b"\xff" * 4 + b"\x0f", b"\xff" * 9 + b"\1", b"\x80" * 10],
    words=(b"\xff" * 4 + b"\x0f", b"\xff" * 9 + b"\x01"),
    max_len=64,
)
def c_varints(data: bytes) -> None:
    """varints, by each reader and written, in C"""
    reader, plan = _longs()
    decode_avro(values.column([data], 0), reader.layout, plan)


@cache
def _text_plan(kind: int) -> CsvPlan:
    return CsvPlan(TextPlan(layout({"c": _TEXTS[kind]})), [1], b"\1", b"", b"", b"\2")


@target(
    seeds=lambda: [
        bytes([number]) + text
        for number, texts in enumerate((
            (b"-12", b"+9223372036854775807", b"-9223372036854775808", b"0" * 30 + b"1"),
            (b"1.5e-3", b"-.5", b"9007199254740993", b"1e22", b"123456789012345678e-27", b"1E400"),
            (b"1,234.565", b"-99e5", b"1e-40", b"9" * 36 + b".5", b"0e99999999999"),
            (b"2024-2-29", b" -0001-12-31 ", b"9999999-01-01", b"2023-02-29T12", b"2000-02-29", b"1900-02-29"),
            (b"2024-02-29T12:34:56.789012+01:00", b"1970-01-01 1:2 ", b"1582-10-15 00:00:00 UTC+1", b"-290308"),
            (b"aGk=", b"aGkh", b"YQ==", b"+/+/", b"aGl="),
            (b"text", "\u00e9\u20ac\U0001f600".encode(), b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"12345678\xff"),
        ))
        for text in texts
    ],
    words=(b"e-", b"0000", b"9999", b"UTC", b"GMT+", b"2024-02-29", b"\xf0\x90\x80\x80"),
    max_len=96,
    budget=values.MEMORY,
)  # fmt: skip
def c_texts(data: bytes) -> None:
    """numbers, dates, base64 and UTF-8 as texts, in C"""
    kind = data[0] % 7 if data else 0
    with contextlib.suppress(errors.CodecError):
        values.rows_of(decode_csv(values.column([data[1:]], 0), _text_plan(kind)), 1)
