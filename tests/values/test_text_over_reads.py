"""JSON and CSV that end where memory ends, cut at every byte: nothing beyond the last one is read."""

from __future__ import annotations

import array

import pyarrow as pa
import pytest

from kwire._values import CsvPlan, TextPlan, decode_csv, decode_json
from tests.guarded import guarded, runs_in_a_process
from tests.values.test_json_columns import layout

SCHEMA = {
    "a": "bigint", "b": "double", "c": "string", "d": "timestamp", "e": ("decimal", 9, 2), "f": "binary",
    "g": "boolean", "h": ["array", {"map": "int"}], "i": "date",
}  # fmt: skip
JSON = (
    '{"a":-12,"b":1.5e-3,"c":"text \\u00e9\\ud83d\\ude00 long enough for sixteen","zz":{"y":[null,NaN,-0.1]},'
    '"d":"2024-02-29T12:34:56.789+01:00","e":"1,2.5e1","f":"aGk=","g":true,"h":[{"k":1}],"i":"2024-2-9","\\u0061":7}'
)
CSV = '-12,1.5e-3,"text ""é"" \\" x",2024-02-29T12:34:56.789+01:00,"1,2.5e1",aGk=,true,2024-2-9\r\n'


def ending_with_memory(value: bytes) -> pa.Array:
    """A column of an empty value and this one, after which no page follows."""
    offsets = pa.py_buffer(array.array("i", [0, 0, len(value)]))
    return pa.Array.from_buffers(pa.binary(), 2, [None, offsets, pa.py_buffer(guarded(value))])


def json_cut_anywhere() -> None:
    plan, nothing = TextPlan(layout(SCHEMA)), TextPlan(layout({"x": "int"}))
    whole = JSON.encode()
    for size in range(1, len(whole) + 1):
        values = ending_with_memory(whole[:size])
        for each in (plan, nothing):
            assert len(decode_json(values, each).faults) == (1 if size == len(whole) else 2)


def json_near_the_end() -> None:
    """A text goes on in what lies behind it, of which little can be read."""
    plan = TextPlan(layout({"a": "bigint", "b": "double", "c": "string"}))
    following = b"123456781234567.12345678e" + b"1" * 16
    for text in (b'{"a":', b'{"a":-', b'{"b":-', b'{"b":-1234567', b'{"b":1.', b'{"c":"', b'{"c":"x', b"{"):
        for more in range(len(following) + 1):
            held = guarded(text + following[:more])
            offsets = pa.py_buffer(array.array("i", [0, len(text), len(held)]))
            values = pa.Array.from_buffers(pa.binary(), 2, [None, offsets, pa.py_buffer(held)])
            assert [row for row, *_ in decode_json(values, plan).faults] == [0, 1]


def csv_cut_anywhere() -> None:
    schema = {name: kind for name, kind in SCHEMA.items() if not isinstance(kind, list)}
    plan = CsvPlan(TextPlan(layout(schema)), range(1, len(schema) + 1))
    whole = CSV.encode()
    assert len(decode_csv(ending_with_memory(whole), plan).faults) == 1
    for size in range(1, len(whole)):
        decode_csv(ending_with_memory(whole[:size]), plan)


@pytest.mark.parametrize(
    "reading", [json_cut_anywhere, json_near_the_end, csv_cut_anywhere], ids=lambda reading: reading.__name__
)
def test_reads_nothing_beyond_the_last_byte(reading: object) -> None:
    runs_in_a_process(reading)  # type: ignore[arg-type]
