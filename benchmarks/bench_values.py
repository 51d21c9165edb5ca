"""Values to Arrow columns, by pytest-benchmark: `make bench-codec`. Each call decodes 10,000 values of three fields.

fastavro and google.protobuf make an object per value; from those, pyarrow makes the columns that kwire makes at once.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from kwire._values import decode_avro, decode_protobuf
from kwire.columns.avro_plan import AvroReader
from kwire.columns.avro_schema import parse_avro_schema
from kwire.columns.protobuf_plan import ProtobufReader
from kwire.columns.protobuf_schema import parse_descriptor_set

COUNT = 10_000
ROWS = [{"id": 1_000_003 * n, "price": n / 2, "symbol": f"symbol-{n % 997}"} for n in range(COUNT)]
ARROW = pa.schema([("id", pa.int64()), ("price", pa.float64()), ("symbol", pa.string())])
AVRO: Any = {
    "type": "record",
    "name": "Trade",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "price", "type": "double"},
        {"name": "symbol", "type": "string"},
    ],
}


def avro_values() -> list[bytes]:
    made = []
    for row in ROWS:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, AVRO, row)
        made.append(out.getvalue())
    return made


def protobuf_types() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="trade.proto", package="bench", syntax="proto3")
    trade = file.message_type.add(name="Trade")
    for number, (name, kind) in enumerate([("id", 3), ("price", 1), ("symbol", 9)], 1):
        trade.field.add(name=name, number=number, type=kind, label=1)
    return file


def trade_class() -> Any:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(protobuf_types())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("bench.Trade"))


def kwire_avro() -> Callable[[], Any]:
    column = pa.array(avro_values(), pa.binary())
    reader = AvroReader(parse_avro_schema(json.dumps(AVRO)))
    plan = reader.plan(reader.schema)
    return lambda: pa.record_batch(decode_avro(column, reader.layout, plan))


def fastavro_rows() -> Callable[[], Any]:
    values, schema = avro_values(), fastavro.parse_schema(AVRO)
    read = fastavro.schemaless_reader
    return lambda: pa.RecordBatch.from_pylist([read(io.BytesIO(value), schema, None) for value in values], ARROW)


def protobuf_values() -> list[bytes]:
    make = trade_class()
    return [make(**row).SerializeToString() for row in ROWS]


def kwire_protobuf() -> Callable[[], Any]:
    column = pa.array(protobuf_values(), pa.binary())
    types = descriptor_pb2.FileDescriptorSet(file=[protobuf_types()]).SerializeToString()
    reader = ProtobufReader(parse_descriptor_set(types), "Trade")
    return lambda: pa.record_batch(decode_protobuf(column, reader.layout, reader.plan))


def protobuf_rows() -> Callable[[], Any]:
    values, read = protobuf_values(), trade_class().FromString

    def decode() -> Any:
        rows = [read(value) for value in values]
        columns = [[row.id for row in rows], [row.price for row in rows], [row.symbol for row in rows]]
        return pa.RecordBatch.from_arrays(
            [pa.array(c, f.type) for c, f in zip(columns, ARROW, strict=True)], ARROW.names
        )

    return decode


@pytest.mark.parametrize(
    ("group", "make"),
    [("avro", kwire_avro), ("avro", fastavro_rows), ("protobuf", kwire_protobuf), ("protobuf", protobuf_rows)],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_values_to_columns(benchmark: Any, group: str, make: Callable[[], Callable[[], Any]]) -> None:
    benchmark.group = f"{group}: three fields"
    benchmark.extra_info["records"] = COUNT
    decode = make()
    assert decode().num_rows == COUNT
    benchmark.pedantic(decode, rounds=9, iterations=1 if "rows" in make.__name__ else 10, warmup_rounds=1)
