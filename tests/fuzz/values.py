"""Values in a binary column: Avro, Protobuf, JSON, CSV; their schemas; the frames of a schema registry before them.

    avro-values, protobuf-values, json-values, csv-values    a byte chooses the schema, a second one the layout of the
                                                             column, the rest are the values
    avro-schemas     two schemas drawn from the input, then values: writer's and reader's resolve or are refused
    schema-texts     a schema as text: Avro, JSON Schema; a descriptor set of Protobuf
    registry-frames  schema ids, GUIDs and message indexes before a value

Each column lies in memory that ends with its last byte. The plain-Python references of tests/reference are asked about
each value: they must read the same, or refuse it too.
"""

from __future__ import annotations

import array
import contextlib
import json
import struct
from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow as pa

from kwire import errors
from kwire._values import (
    BuiltColumns,
    CsvPlan,
    TextPlan,
    decode_avro,
    decode_csv,
    decode_json,
    decode_protobuf,
    framed_ids,
)
from kwire.columns.avro_plan import AvroReader
from kwire.columns.avro_schema import parse_avro_schema
from kwire.columns.protobuf_plan import ProtobufOptions, ProtobufReader
from kwire.columns.protobuf_schema import parse_descriptor_set
from kwire.registry.framing import header_id, read_indexes, unframed
from kwire.registry.json_columns import JsonColumns
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import target
from tests.reference import avro as avro_reference
from tests.reference import json_columns as json_reference
from tests.values.test_json_columns import layout

MEMORY = (16 << 20, 64 << 10)
pa.scalar(0, pa.timestamp("us", tz="UTC")).as_py()  # the modules that it imports count for no input
_KINDS = (pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.binary_view())


def column(values: list[bytes | None], how: int) -> pa.Array:
    """The values as an Arrow array of one layout or another, whose buffers end with their last byte."""
    kind = _KINDS[how % len(_KINDS)]
    if how % len(_KINDS) == 4:
        return _view(values)
    skipped = how >> 4 & 3
    parts = [b"skipped"] * skipped + [value or b"" for value in values]
    offsets = array.array("q" if kind in (pa.large_binary(), pa.large_string()) else "i", [0])
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    bits = array.array("B", bytes((len(parts) + 7) // 8))
    for number, value in enumerate([b""] * skipped + values):  # type: ignore[operator]
        if value is not None:
            bits[number >> 3] |= 1 << (number & 7)
    buffers = [pa.py_buffer(bits), pa.py_buffer(offsets), pa.py_buffer(array.array("B", b"".join(parts)))]
    return pa.Array.from_buffers(kind, len(values), buffers, offset=skipped)


def _view(values: list[bytes | None]) -> pa.Array:
    views, data = b"", b""
    for value in values:
        raw = value or b""
        if len(raw) <= 12:
            views += struct.pack("<i12s", len(raw), raw)
        else:
            views += struct.pack("<i4sii", len(raw), raw[:4], 0, len(data))
            data += raw
    bits = array.array("B", bytes((len(values) + 7) // 8))
    for number, value in enumerate(values):
        if value is not None:
            bits[number >> 3] |= 1 << (number & 7)
    return pa.Array.from_buffers(
        pa.binary_view(), len(values),
        [pa.py_buffer(bits), pa.py_buffer(array.array("B", views)), pa.py_buffer(array.array("B", data))],
    )  # fmt: skip


def rows_of(built: BuiltColumns, count: int) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The rows, and why those that are at fault are; the column is whole in Arrow's eyes."""
    assert len(built) == count
    faults = {row: reason for row, _, _, reason in built.faults}
    batch = pa.record_batch(built)
    batch.validate(full=True)
    try:
        return batch.to_pylist(), faults
    except (ValueError, OverflowError, UnicodeDecodeError):  # a time beyond Python's years
        return [], faults


def _values(drawing: Drawing) -> list[bytes | None]:
    """One value, or the same one between others, or several."""
    how = drawing.byte()
    if how < 128:
        return [drawing.rest()]
    if how < 192:
        value = drawing.rest()
        return [value, None, value[: len(value) // 2], value]
    made: list[bytes | None] = []
    while drawing.left and len(made) < 50:
        made.append(drawing.blob_or_none())
    return made


# --- Avro

_RECORD: dict[str, Any] = {
    "type": "record", "name": "R", "fields": [
        {"name": "n", "type": "long"}, {"name": "text", "type": ["null", "string"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}},
        {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "float"}}},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 3}},
        {"name": "u", "type": ["int", "string", {"type": "record", "name": "I", "fields": [
            {"name": "x", "type": "double"}, {"name": "b", "type": "boolean"}]}]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}  # fmt: skip
_EVOLVED: dict[str, Any] = {
    "type": "record", "name": "R", "fields": [
        {"name": "n", "type": "double"}, {"name": "new", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["B", "O"], "default": "O"}},
        {"name": "u", "type": ["long", "string"]}, {"name": "words", "type": ["null", "string"], "aliases": ["text"]},
    ],
}  # fmt: skip
_CHAIN: dict[str, Any] = {
    "type": "record", "name": "L", "fields": [
        {"name": "v", "type": "int"}, {"name": "next", "type": ["null", "L"]}, {"name": "w", "type": "string"}],
}  # fmt: skip
_AVRO: list[tuple[Any, Any]] = [
    (_RECORD, _RECORD), (_RECORD, _EVOLVED), (_RECORD, {**_RECORD, "fields": []}),
    (_CHAIN, {"type": "record", "name": "L", "fields": [{"name": "v", "type": "long"}]}),
    ({"type": "array", "items": {"type": "array", "items": "null"}},) * 2,
    ({"type": "map", "values": ["null", "boolean"]},) * 2,
    ({"type": "fixed", "name": "F", "size": 0},) * 2, ({"type": "record", "name": "Z", "fields": []},) * 2,
    ({"type": "array", "items": {"type": "record", "name": "Z", "fields": []}},) * 2,
    (["int", "null", "bytes"], ["bytes", "null", "double"]), ("string", "bytes"), ("bytes", "string"), ("int", "float"),
    ({"type": "fixed", "name": "D", "size": 5, "logicalType": "decimal", "precision": 9, "scale": 3},) * 2,
    ({"type": "int", "logicalType": "date"},) * 2, ({"type": "long", "logicalType": "timestamp-nanos"},) * 2,
    ({"type": "long", "logicalType": "local-timestamp-micros"},) * 2, ({"type": "string", "logicalType": "uuid"},) * 2,
    ({"type": "array", "items": {"type": "map", "values": {"type": "array", "items": "long"}}},) * 2,
]  # fmt: skip
_WITH_SKIPPED = (1, 2, 3)


@cache
def _avro(number: int) -> tuple[AvroReader, Any]:
    writer, reader_schema = _AVRO[number]
    reader = AvroReader(parse_avro_schema(json.dumps(reader_schema)))
    return reader, reader.plan(parse_avro_schema(json.dumps(writer)))


def _avro_seeds() -> Iterator[bytes]:
    record = (
        b"\x04\x02\x0aeight\x04\x01\x02\x02\x02k\x02" + struct.pack("<f", 1.5) + b"\0\0\x02abc\x02\x04hi\x02\x02"
    )  # fmt: skip
    for number in range(len(_AVRO)):
        for how in (0, 33, 4):
            yield bytes([number, how, 0]) + record
            yield bytes([number, how | 128, 130]) + b"\x01\x06\x02\x04\x00\x00"


@target(seeds=_avro_seeds, words=(b"\xff" * 9 + b"\x01", b"\x80" * 4, b"\0\0\0\0\7"), max_len=300, budget=MEMORY,
        share=1.5)  # fmt: skip
def avro_values(data: bytes) -> None:
    """Avro values of fixed pairs of schemas"""
    drawing = Drawing(data)
    number, how = drawing.byte() % len(_AVRO), drawing.byte()
    reader, plan = _avro(number)
    values = _values(drawing)
    if how & 128:
        framed: list[bytes | None] = [None if value is None else b"\0\0\0\0\7" + value for value in values]
        assert framed_ids(column(framed, how)) <= {7}
        built = decode_avro(column(framed, how), reader.layout, {7: plan})
        framed_ids(column(values, how))
        decode_avro(column(values, how), reader.layout, {7: plan})
    else:
        built = decode_avro(column(values, how), reader.layout, plan)
    rows, faults = rows_of(built, len(values))
    _compare_avro(number, values, rows, faults)


def _compare_avro(number: int, values: list[bytes | None], rows: list[Any], faults: dict[int, str]) -> None:
    writer, reader_schema = _AVRO[number]
    for row, value in zip(rows, values, strict=False):
        if value is None or len(value) > 100:
            continue
        place = values.index(value)
        try:
            expected = avro_reference.read(writer, reader_schema, value)
        except avro_reference.UnreadableError:
            # What is read over is not looked at as closely as the reference does.
            assert place in faults or number in _WITH_SKIPPED, f"kwire reads {value.hex()} as {row}"
            continue
        except OverflowError:
            continue  # a date beyond Python's years
        assert "very many" in faults.get(place, "very many"), f"{faults.get(place)}, but the reference reads {expected}"


# --- Protobuf


@cache
def _protobuf(number: int) -> tuple[ProtobufReader, ProtobufReader]:
    from google.protobuf import descriptor_pb2

    proto3 = number & 1 == 1
    file = descriptor_pb2.FileDescriptorProto(name="f.proto", package="p", syntax="proto3" if proto3 else "proto2")
    enum = file.enum_type.add(name="E")
    for value, name in enumerate(["ZERO", "ONE", "TWO"]):
        enum.value.add(name=name, number=value)
    inner = file.message_type.add(name="I")
    inner.field.add(name="a", number=1, label=1, type=5)
    inner.field.add(name="b", number=2, label=3, type=9)
    message = file.message_type.add(name="M")
    entry = message.nested_type.add(name="MapEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=1, type=9)
    entry.field.add(name="value", number=2, label=1, type=11, type_name=".p.I")
    message.oneof_decl.add(name="choice")
    for kind in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 18):
        message.field.add(name=f"s{kind}", number=kind, label=1, type=kind)
        repeated = message.field.add(name=f"r{kind}", number=20 + kind, label=3, type=kind)
        if kind not in (9, 12):
            repeated.options.packed = bool(number & 2)
    message.field.add(name="e", number=50, label=1, type=14, type_name=".p.E")
    message.field.add(name="es", number=51, label=3, type=14, type_name=".p.E")
    message.field.add(name="m", number=52, label=1, type=11, type_name=".p.I")
    message.field.add(name="ms", number=53, label=3, type=11, type_name=".p.I")
    message.field.add(name="map", number=54, label=3, type=11, type_name=".p.M.MapEntry")
    message.field.add(name="o1", number=55, label=1, type=5, oneof_index=0)
    message.field.add(name="o2", number=56, label=1, type=11, type_name=".p.I", oneof_index=0)
    if not proto3:
        message.field.add(name="needed", number=57, label=2, type=5)
        message.field.add(name="seven", number=58, label=1, type=5, default_value="7")
        message.field.add(name="words", number=59, label=1, type=9, default_value="words")
        message.field.add(name="group", number=60, label=1, type=10, type_name=".p.I")
    time = file.message_type.add(name="T")
    file.dependency.extend(["google/protobuf/timestamp.proto"])
    time.field.add(name="at", number=1, label=1, type=11, type_name=".google.protobuf.Timestamp")
    stamp = descriptor_pb2.FileDescriptorProto(
        name="google/protobuf/timestamp.proto", package="google.protobuf", syntax="proto3"
    )
    of = stamp.message_type.add(name="Timestamp")
    of.field.add(name="seconds", number=1, label=1, type=3)
    of.field.add(name="nanos", number=2, label=1, type=5)
    types = parse_descriptor_set(descriptor_pb2.FileDescriptorSet(file=[stamp, file]).SerializeToString())
    options = ProtobufOptions(bool(number & 4), bool(number & 8), bool(number & 16), bool(number & 32))
    name = "p.T" if number & 64 else "p.M"
    return ProtobufReader(types, name, options), ProtobufReader(types, name, options, framed=True)


def _protobuf_seeds() -> Iterator[bytes]:
    body = b"\x18\x96\x01\x4a\x02hi\x28\x07\x60\x01" + b"\xa2\x03\x04\x08\x05\x12\x00" + b"\x91\x01" + bytes(8)
    body += b"\xaa\x03\x04\x08\x05\x12\x00\xb2\x03\x06\x0a\x01k\x12\x01\x08" + b"\xba\x01\x02\x01\x02\xc8\x03\x01"
    for number in (0, 1, 2, 7, 9, 31, 63, 64, 65):
        for how in (0, 33, 4):
            yield bytes([number, how, 0]) + body
    below_0 = b"\xff" * 9 + b"\x01"
    unknown = b"\x90\x03\x09\x98\x03\x01\x98\x03\x4d\x98\x03" + below_0 + b"\x90\x03" + below_0
    choices = b"\xb8\x03\x05\xc2\x03\x02\x08\x01\xb8\x03\x06\x52\x02hi\xc2\x03\x00"
    times = b"\x0a\x06\x08\x05\x10\x80\x94\x01\x0a\x00\x0a\x0d\x08" + below_0 + b"\x10\x01"
    for number in range(128):
        yield bytes([number, 0, 0]) + (times if number & 64 else unknown)
        yield bytes([number, 0, 0]) + (times[:10] if number & 64 else choices)
    yield bytes([1, 128, 0]) + b"\0\0\0\0\7\0" + body
    yield bytes([0, 0, 0, 0xE3, 3, 8, 1, 0xE4, 3, 0xC8, 3, 1])
    yield bytes([64, 0, 0, 10, 4, 8, 5, 16, 9])


@target(seeds=_protobuf_seeds, words=(b"\xff" * 9 + b"\x01", b"\0\0\0\0\7\0"), max_len=300, budget=MEMORY, share=1.5)
def protobuf_values(data: bytes) -> None:
    """Protobuf messages of a type that has every kind of field"""
    drawing = Drawing(data)
    number, how = drawing.byte() & 127, drawing.byte()
    plain, framed = _protobuf(number)
    values = _values(drawing)
    reader = framed if how & 128 else plain
    rows_of(decode_protobuf(column(values, how), reader.layout, reader.plan), len(values))


# --- JSON and CSV

_JSON: list[dict[str, Any]] = [
    {"a": "bigint", "b": "double", "c": "string", "d": "timestamp", "e": ("decimal", 9, 2), "f": "binary",
     "g": "boolean", "h": ["array", {"map": "int"}], "i": "date"},
    {"a": "tinyint", "b": "smallint", "c": "int", "d": "float", "e": ("decimal", 38, 10), "t": "timestamp_ntz"},
    {"a": {"a": {"a": "string"}}, "b": {"map": {"map": "string"}}, 'q"b\\': "int", "é": "int", "": "int"},
    {"x": "int"},
]  # fmt: skip


@cache
def _texts(number: int) -> TextPlan:
    zone = [(1711852200, 3600), (1730001600, 7200), (None, 3600)] if number & 4 else ((None, 0),)
    return TextPlan(layout(_JSON[number & 3]), zone)


def _json_seeds() -> Iterator[bytes]:
    for number, text in enumerate((
        ('{"a":-12,"b":1.5e-3,"c":"text \\u00e9\\ud83d\\ude00 long enough for sixteen","zz":{"y":[null,NaN,-0.1]},'
        '"d":"2024-02-29T12:34:56.789+01:00","e":"1,2.5e1","f":"aGk=","g":true,"h":[{"k":1}],"i":"2024-2-9"}'),
        '{"a":1,"b":-2,"c":3,"d":"-Infinity","e":1e-5,"t":"2024-02-29 12:34"}',
        '{"a":{"a":{"a":[1,"x"]}},"b":{"k":{"l":"m"}},"q\\"b\\\\":2,"\xe9":3,"":4}',
        "{'x':1,'x':null,\"y\":\"\\/\\b\\f\\n\\r\\t\"}",
    )):  # fmt: skip
        for how in (0, 33, 4):
            yield bytes([number, how, 0]) + text.encode()
            yield bytes([number | 4, how, 150]) + text.encode()


_JSON_WORDS = (
    b"null",
    b"true",
    b"NaN",
    b"Infinity",
    b'"a":',
    b"\\ud83d\\ude00",
    b"1e400",
    b"2024-02-29T",
    b"UTC+1",
    b"[[",
    b"{}",
)


@target(seeds=_json_seeds, words=_JSON_WORDS, max_len=400, budget=MEMORY, share=1.5)
def json_values(data: bytes) -> None:
    """JSON objects"""
    drawing = Drawing(data)
    number, how = drawing.byte() & 7, drawing.byte()
    values = _values(drawing)
    _, faults = rows_of(decode_json(column(values, how), _texts(number)), len(values))
    for value in values:
        if value is not None and len(value) < 200 and b"'" not in value and number in (0, 2, 3):
            _compare_json(value, _JSON[number & 3], faults.get(values.index(value)))


def _compare_json(value: bytes, schema: dict[str, Any], fault: str | None) -> None:
    try:
        expected = json_reference.decode(value, schema)
    except json_reference.Bad:
        return  # the reference knows fewer ways to write a number or a time
    assert fault is None, f"{fault}, but the reference reads {expected}"


_CSV_KINDS = ("bigint", "double", "string", "timestamp", ("decimal", 9, 2), "binary", "boolean", "date", "tinyint",
              "timestamp_ntz", "float")  # fmt: skip
_CSV_HOW = ((b",", b'"', b"\\"), (b";", b"", b""), (b"\t", b"'", b"'"), (b"a", b'"', b""))


@cache
def _csv(number: int) -> CsvPlan:
    separator, quote, escape = _CSV_HOW[number & 3]
    plan = TextPlan(layout({f"c{i}": kind for i, kind in enumerate(_CSV_KINDS)}))
    places = [*range(1, len(_CSV_KINDS) + 1), *([-1] if number & 4 else [])]
    return CsvPlan(plan, places, separator, quote, escape, b"NULL" if number & 8 else b"")


def _csv_seeds() -> Iterator[bytes]:
    line = '-12,1.5e-3,"text ""é"" \\" x",2024-02-29T12:34:56.789+01:00,"1,2.5e1",aGk=,true,2024-2-9,1,2024,NaN\r\n'
    for number in range(16):
        separator = _CSV_HOW[number & 3][0].decode()
        yield bytes([number, number * 3, 0]) + line.replace(",", separator).encode() + (b"," if number & 4 else b"")


@target(seeds=_csv_seeds, words=(b'""', b'\\"', b"\r\n", b"2024-02-29", b"1e400"), max_len=300, budget=MEMORY)
def csv_values(data: bytes) -> None:
    """CSV records"""
    drawing = Drawing(data)
    number, how = drawing.byte() & 15, drawing.byte()
    values = _values(drawing)
    rows_of(decode_csv(column(values, how), _csv(number)), len(values))


def plans() -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Of Avro, Protobuf, JSON and CSV: by its number each layout and plan; Protobuf's without a frame and with one."""
    return (
        [(reader.layout, plan) for reader, plan in map(_avro, range(len(_AVRO)))],
        [[(reader.layout, reader.plan) for reader in _protobuf(number)] for number in range(128)],
        [_texts(number) for number in range(8)],
        [_csv(number) for number in range(16)],
    )


# --- schemas

_LEAVES: tuple[Any, ...] = (
    "null", "boolean", "int", "long", "float", "double", "bytes", "string", {"type": "int", "logicalType": "date"},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 3}, {"type": "fixed", "name": "F", "size": 2},
    {"type": "long", "logicalType": "timestamp-micros"}, {"type": "enum", "name": "E", "symbols": ["A", "B"]},
)  # fmt: skip
_DEFAULTS: tuple[Any, ...] = (
    None,
    0,
    -7,
    1.5,
    "",
    "ü",
    [],
    [1, 2],
    {},
    {"a": None},
    True,
    "A",
    2**70,
    {"f0": 1},
    [{}, {}],
)


def _drawn_schema(drawing: Drawing, depth: int) -> Any:
    kind = drawing.below(20)
    if kind >= 6 or depth == 0 or not drawing.left:
        return _LEAVES[kind % len(_LEAVES)]
    if kind == 0:
        return {"type": "array", "items": _drawn_schema(drawing, depth - 1)}
    if kind == 1:
        return {"type": "map", "values": _drawn_schema(drawing, depth - 1)}
    if kind == 2:
        return [_drawn_schema(drawing, depth - 1) for _ in range(drawing.below(4))]
    if kind == 3:
        return f"R{drawing.below(4)}"
    fields = []
    for number in range(drawing.below(5)):
        field: dict[str, Any] = {
            "name": f"f{drawing.choice((number, number, 0))}",
            "type": _drawn_schema(drawing, depth - 1),
        }
        if drawing.flag():
            field["default"] = drawing.choice(_DEFAULTS)
        if drawing.byte() % 8 == 1:
            field["aliases"] = ["f1", "old"]
        fields.append(field)
    return {"type": "record", "name": f"R{drawing.below(4)}", "fields": fields}


@target(seeds=lambda: [bytes(range(n, n + 60)) for n in range(0, 60, 4)], traced="columns", max_len=256, budget=MEMORY)
def avro_schemas(data: bytes) -> None:
    """drawn Avro schemas of a writer and a reader, and values"""
    drawing = Drawing(data)
    declared = _drawn_schema(drawing, 5)
    other = declared if drawing.flag() else _drawn_schema(drawing, 5)
    try:
        writer, reader = parse_avro_schema(json.dumps(declared)), AvroReader(parse_avro_schema(json.dumps(other)))
        plan = reader.plan(writer)
    except errors.ConfigError:
        return
    values = _values(drawing)
    rows_of(decode_avro(column(values, 0), reader.layout, plan), len(values))


def _schema_seeds() -> Iterator[bytes]:
    for writer, reader in _AVRO:
        yield b"\0" + json.dumps(writer).encode()
        yield b"\0" + json.dumps(reader).encode()
    for properties in ({"a": {"type": "integer"}}, {"b": {"type": ["string", "null"]}, "c": {"$ref": "#/$defs/x"}},
                       {"d": {"type": "array", "items": {"type": "number"}}, "e": {"anyOf": [{"type": "null"}, {}]}},
                       {"f": {"type": "object", "additionalProperties": {"type": "boolean"}}}):  # fmt: skip
        yield (
            b"\1"
            + json.dumps({"type": "object", "properties": properties, "$defs": {"x": {"type": "string"}}}).encode()
        )
    from tests.columns.protobuf_strategies import Types

    for syntax in ("proto2", "proto3"):
        made = Types(syntax)
        message = made.file.message_type.add(name="M0")
        message.field.add(name="a", number=1, label=1, type=5)
        message.field.add(name="b", number=2, label=3, type=14, type_name=".p.E")
        message.field.add(name="c", number=3, label=1, type=11, type_name=".p.M0")
        yield b"\2" + made.set_bytes()


@target(
    seeds=_schema_seeds,
    traced="columns",
    max_len=700,
    budget=MEMORY,
    words=(b'"type":', b'"record"', b'"fields":', b'"default":', b'"items":', b'"name":', b"[[[[", b"1e999", b"p.M0"),
)
def schema_texts(data: bytes) -> None:
    """schemas as text (Avro, JSON Schema) and as descriptors (Protobuf)"""
    drawing = Drawing(data)
    kind, text = drawing.byte() % 3, drawing.rest()
    try:
        if kind == 0:
            schema = parse_avro_schema(text.decode("utf-8", "replace"))
            reader = AvroReader(schema)
            decode_avro(column([b"", b"\0" * 8, text], 0), reader.layout, reader.plan(schema))
        elif kind == 1:
            try:
                parsed = json.loads(text)
            except (ValueError, RecursionError):
                return
            decode = JsonColumns(parsed, None)
            decode(column([b"{}", b'{"a":1}'], 0), None)
        else:
            types = parse_descriptor_set(text)
            for name in ("p.M0", "M0", "p.E"):
                made = ProtobufReader(types, name)
                decode_protobuf(column([b"", text], 0), made.layout, made.plan)
    except errors.ConfigError:
        pass


def _frame_seeds() -> Iterator[bytes]:
    yield b"\0\0\0\0\7\0value"
    yield b"\0\0\0\0\7\4\2\4value"
    yield b"\1" + bytes(16) + b"value"


@target(seeds=_frame_seeds, traced="registry", max_len=64, share=0.3)
def registry_frames(data: bytes) -> None:
    """what a schema registry's clients put before a value"""
    with contextlib.suppress(errors.SerializationError):
        unframed(data, None)
    with contextlib.suppress(errors.SerializationError):
        header_id(data)
    with contextlib.suppress(errors.SerializationError):
        indexes, at = read_indexes(data)
        assert 0 < at <= len(data)
        assert indexes
    for how in range(5):
        framed_ids(column([data, None, data[:4]], how))
