"""The loops of `loops.py` over values: Avro, Protobuf, JSON and CSV into columns of one trade's fields.

The values are written here by hand, so that counting needs no library of those formats.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from kwire._values import (
    BuiltColumns,
    ColumnLayout,
    CsvPlan,
    ProtobufPlan,
    TextPlan,
    decode_avro,
    decode_csv,
    decode_json,
    decode_protobuf,
)
from kwire.columns.avro_plan import AvroReader
from kwire.columns.avro_schema import parse_avro_schema

_AVRO = {
    "type": "record",
    "name": "Trade",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "price", "type": "double"},
        {"name": "symbol", "type": "string"},
        {"name": "open", "type": "boolean"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "sizes", "type": {"type": "array", "items": "int"}},
    ],
}
_FLAT = [("id", "l", ()), ("price", "g", ()), ("symbol", "u", ()), ("open", "b", ()), ("note", "u", ())]
_NODES = [("", "+s", (1, 2, 3, 4, 5, 6)), *_FLAT, ("sizes", "+l", (7,)), ("element", "i", ())]
_FIELDS: list[Any] = [
    (1, "int64", 0, 1, 0, -1, 0, (), "", "id"),
    (2, "fixed64", 0, 2, 0, -1, 0, (), "", "price"),
    (3, "text", 0, 3, 0, -1, b"", (), "", "symbol"),
    (4, "bool", 0, 4, 0, -1, 0, (), "", "open"),
    (5, "text", 0, 5, 0, -1, b"", (), "", "note"),
    (6, "int32", 1, 6, 0, -1, 0, (), "", "sizes"),
]
_Row = tuple[int, float, str, bool, str | None, list[int]]


def every_decoder(count: int) -> dict[str, Callable[[], BuiltColumns]]:
    """The decoders by name, each with a column of that many values."""
    rows = [_row(number) for number in range(count)]
    layout = ColumnLayout(_NODES)
    avro = AvroReader(parse_avro_schema(json.dumps(_AVRO)))
    avro_plan = avro.plan(avro.schema)
    protobuf_plan = ProtobufPlan(layout, [(0, _FIELDS)])
    json_plan = TextPlan(layout)
    csv_plan = CsvPlan(TextPlan(ColumnLayout([("", "+s", (1, 2, 3, 4, 5)), *_FLAT])), range(1, 6))
    avros, protobufs, jsons, csvs = (_column(map(write, rows)) for write in (_avro, _protobuf, _json, _csv))
    return {
        "Avro to columns": lambda: decode_avro(avros, avro.layout, avro_plan),
        "Protobuf to columns": lambda: decode_protobuf(protobufs, layout, protobuf_plan),
        "JSON to columns": lambda: decode_json(jsons, json_plan),
        "CSV to columns": lambda: decode_csv(csvs, csv_plan),
    }


def _row(number: int) -> _Row:
    note = f"note {number}" if number % 3 else None
    return 1_000_003 * number, number / 2, f"symbol-{number % 997}", number % 2 == 0, note, list(range(number % 4))


def _column(values: Iterable[bytes]) -> pa.Array:
    return pa.array(list(values), pa.binary())


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def _zigzag(value: int) -> bytes:
    return _varint(value << 1)


def _avro(row: _Row) -> bytes:
    number, price, symbol, is_open, note, sizes = row
    noted = b"\0" if note is None else _zigzag(1) + _sized(_zigzag, note.encode())
    items = _zigzag(len(sizes)) + b"".join(map(_zigzag, sizes)) + b"\0" if sizes else b"\0"
    begin = _zigzag(number) + struct.pack("<d", price) + _sized(_zigzag, symbol.encode())
    return begin + bytes([is_open]) + noted + items


def _protobuf(row: _Row) -> bytes:
    number, price, symbol, is_open, note, sizes = row
    noted = b"" if note is None else b"\x2a" + _sized(_varint, note.encode())
    packed = b"\x32" + _sized(_varint, b"".join(map(_varint, sizes))) if sizes else b""
    begin = b"\x08" + _varint(number) + b"\x11" + struct.pack("<d", price) + b"\x1a" + _sized(_varint, symbol.encode())
    return begin + b"\x20" + bytes([is_open]) + noted + packed


def _sized(size: Callable[[int], bytes], content: bytes) -> bytes:
    return size(len(content)) + content


def _json(row: _Row) -> bytes:
    names = ("id", "price", "symbol", "open", "note", "sizes")
    return json.dumps(dict(zip(names, row, strict=True))).encode()


def _csv(row: _Row) -> bytes:
    number, price, symbol, is_open, note, _ = row
    return f"{number},{price},{symbol},{str(is_open).lower()},{note or ''}\n".encode()
