"""No byte beyond those of the last value is read: they end where memory ends."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from kwire._values import ColumnLayout, ProtobufPlan, decode_avro, decode_protobuf
from kwire.columns.avro_plan import AvroReader
from kwire.columns.avro_schema import parse_avro_schema
from tests.guarded import guarded, runs_in_a_process

pa = pytest.importorskip("pyarrow")

SCHEMA: Any = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "n", "type": "long"},
        {"name": "text", "type": ["null", "string"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 38}},
        {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "float"}}},
        {"name": "flag", "type": "boolean"},
        {"name": "wide", "type": "double"},
    ],
}
TAGS = b"\x02\x02k\x02" + struct.pack("<f", 1.5) + b"\0\0"
AVRO = b"\xd0\x0f\x02\x10eightlet\x04\x01\x02" + TAGS + b"\x01" + struct.pack("<d", 2.5)

LAYOUT = ColumnLayout(
    [("", "+s", (1, 2, 3, 5)), ("n", "l", ()), ("t", "u", ()), ("r", "+l", (4,)), ("element", "i", ()), ("f", "f", ())]
)
FIELDS = [
    (1, "int64", 4, 1, 0, -1, None, [], "", "n"),
    (2, "text", 36, 2, 0, -1, None, [], "", "t"),
    (3, "int32", 5, 3, 0, -1, None, [], "", "r"),
    (4, "fixed32", 4, 5, 0, -1, None, [], "", "f"),
]
PROTOBUF = b"\x08\xd0\x0f\x12\x08eightlet\x1a\x03\x01\xd0\x0f\x25" + struct.pack("<f", 1.5) + b"\x4b\x3a\x01x\x4c"


def last_value(data: bytes) -> Any:
    """A column of two values, the second of which ends where memory ends."""
    column = pa.py_buffer(guarded(data + data))
    offsets = pa.py_buffer(struct.pack("<3i", 0, len(data), 2 * len(data)))
    return pa.Array.from_buffers(pa.binary(), 2, [None, offsets, column])


def avro_cut_anywhere() -> None:
    reader = AvroReader(parse_avro_schema(json.dumps(SCHEMA)))
    plan = reader.plan(reader.schema)
    skipping = AvroReader(parse_avro_schema(json.dumps({**SCHEMA, "fields": []})))
    skip = skipping.plan(reader.schema)
    for size in range(len(AVRO) + 1):
        faults = decode_avro(last_value(AVRO[:size]), reader.layout, plan).faults
        assert [fault[0] for fault in faults] == ([] if size == len(AVRO) else [0, 1])
        faults = decode_avro(last_value(AVRO[:size]), skipping.layout, skip).faults
        assert [fault[0] for fault in faults] == ([] if size == len(AVRO) else [0, 1])
        framed = last_value((b"\0\0\0\0\7" + AVRO)[:size])
        assert len(decode_avro(framed, reader.layout, {7: plan}).faults) == 2


def protobuf_cut_anywhere() -> None:
    plan = ProtobufPlan(LAYOUT, [(0, FIELDS)])
    framed = ProtobufPlan(LAYOUT, [(0, FIELDS)], (1, 2))
    assert decode_protobuf(last_value(PROTOBUF), LAYOUT, plan).faults == []
    for size in range(len(PROTOBUF)):
        decode_protobuf(last_value(PROTOBUF[:size]), LAYOUT, plan)
        decode_protobuf(last_value((b"\0\0\0\0\7\4\2\4" + PROTOBUF)[:size]), LAYOUT, framed)


@pytest.mark.parametrize("reading", [avro_cut_anywhere, protobuf_cut_anywhere], ids=lambda reading: reading.__name__)
def test_reads_nothing_beyond_the_last_byte(reading: Any) -> None:
    runs_in_a_process(reading)
