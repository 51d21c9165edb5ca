"""Decoding and encoding, each as a `Work`: `python -m tests.allocations.codec_works [NAME...]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from kwire import protocol, records
from kwire._codec import SentRows
from kwire._values import (
    AvroPlan,
    BuiltColumns,
    ColumnLayout,
    CsvPlan,
    TextPlan,
    decode_avro,
    decode_csv,
    decode_json,
    decode_protobuf,
)
from kwire.columns.avro_plan import AvroReader
from kwire.columns.avro_schema import parse_avro_schema
from kwire.columns.protobuf_plan import ProtobufOptions, ProtobufReader
from kwire.columns.protobuf_schema import parse_descriptor_set
from kwire.schema.api_keys import METADATA
from kwire.schema.k03_metadata import MetadataRequest, MetadataResponse
from tests.allocations.refusals import Work, run
from tests.codec.test_accumulator import TOPIC, Path
from tests.columns.test_protobuf_columns import INT64, STRING, made
from tests.values.test_json_columns import layout

ITEMS = [
    (b"first", b"key", 1, [("name", b"value"), ("other", None)]),
    (b"second" * 40, None, 2, ()),
    (None, b"key" * 30, 3, ()),
]
VALUES = [item[0] for item in ITEMS]
KEYS = [item[1] for item in ITEMS]
PLAIN = [(value, key, stamp, ()) for value, key, stamp, _ in ITEMS]


def equals(expected: Any, found: Any) -> None:
    assert found == expected, (found, expected)


def decoding(magic: int, compression: str) -> Work:
    data = records.encode(ITEMS if magic == 2 else PLAIN, magic=magic, compression=compression)

    def attempt() -> Any:
        read = records.decode(data)
        return read.values(), read.keys(), [(r.value, r.key, r.headers) for r in read]

    headers = [tuple(item[3]) if magic == 2 else () for item in ITEMS]
    return Work(attempt, partial(equals, (VALUES, KEYS, list(zip(VALUES, KEYS, headers, strict=True)))), (data,))


def batch_headers() -> Work:
    """More batches than a list has room for at first."""
    data = b"".join(records.encode([b"%d" % number]) for number in range(30))
    return Work(lambda: [each.count for each in records.decode(data).batches], partial(equals, [1] * 30), (data,))


def decoding_0_7() -> Work:
    data = records.encode([b"one", b"two"], generation="0.7")
    return Work(lambda: records.decode(data, generation="0.7").values(), partial(equals, [b"one", b"two"]), (data,))


def columns() -> Work:
    data = records.encode(ITEMS)

    def attempt() -> Any:
        read = records.decode(data)
        return read.__arrow_c_schema__(), read.__arrow_c_array__(), read.__arrow_c_stream__()

    def check(result: Any) -> None:
        class Given:
            def __arrow_c_array__(self, requested_schema: object = None) -> Any:
                return result[1]

        assert pa.record_batch(Given())["value"].to_pylist() == VALUES

    return Work(attempt, check, (data,))


def encoding(magic: int, compression: str) -> Work:
    items = ITEMS if magic == 2 else PLAIN
    expected = records.encode(items, magic=magic, compression=compression)
    attempt = partial(records.encode, items, magic=magic, compression=compression)
    return Work(attempt, partial(equals, expected), tuple(items))


def encoding_many() -> Work:
    items = [b"%d" % number * 20 for number in range(200)]
    return Work(partial(records.encode, items), partial(equals, records.encode(items)))


def builder() -> Work:
    values = [b"before", b"x" * 3000, b"y" * 9000]

    def attempt() -> Any:
        builder = records.BatchBuilder(max_bytes=100_000)
        for count, value in enumerate(values):
            try:
                assert builder.append(value, headers=[("a", b"b")])
            except MemoryError:
                assert len(builder) == count
                raise
        return records.decode(builder.build()).values()

    return Work(attempt, partial(equals, values))


def encoding_arrow() -> Work:
    table = pa.record_batch({"value": VALUES, "key": KEYS})
    expected = records.encode_arrow(table)
    return Work(partial(records.encode_arrow, table), partial(equals, expected))


def json_values() -> Work:
    plan = TextPlan(layout({"a": "bigint", "b": "string", "c": ["array", "string"], "d": "double"}))
    rows = [b'{"a": 1, "b": "two", "c": ["three"], "d": 0.%s}' % (b"1" * 90), b"{", b'{"\\u0061": 2}']
    column = pa.array(rows)
    return of_faults_and_column(lambda: decode_json(column, plan), [1, None, 2])


def avro_values() -> Work:
    fields = [{"name": "a", "type": "long"}, {"name": "b", "type": {"type": "array", "items": "string"}}]
    schema = parse_avro_schema(json.dumps({"type": "record", "name": "R", "fields": fields}))
    reader = AvroReader(schema)
    plan = reader.plan(schema)
    column = pa.array([b"\x02\x04\x02x\x02y\x00", b"\xff", b"\x04\x00"])
    return of_faults_and_column(lambda: decode_avro(column, reader.layout, plan), [1, None, 2])


def avro_plan() -> Work:
    """Steps that have memory of their own are given back where the plan could not be made."""
    columns = ColumnLayout([("", "+s", (1,)), ("a", "u", ())])
    steps: Any = [("record", 0, (1,), 0, None, ""), ("enum", 1, (), 0, ("A", "B"), "")]
    column = pa.array([b"\x02"])

    def check(plan: Any) -> None:
        equals(["B"], pa.record_batch(decode_avro(column, columns, plan))["a"].to_pylist())

    return Work(lambda: AvroPlan(columns, steps), check)


def protobuf_values() -> Work:
    described = made("proto3", ("a", 1, INT64), ("b", 2, STRING))
    reader = ProtobufReader(parse_descriptor_set(described.set_bytes()), "M0", ProtobufOptions())
    column = pa.array([b"\x08\x01\x12\x01x", b"\xff", b"\x08\x02"])
    return of_faults_and_column(lambda: decode_protobuf(column, reader.layout, reader.plan), [1, None, 2])


def csv_values() -> Work:
    plan = CsvPlan(TextPlan(layout({"a": "bigint", "b": "string"})), (1, 2))
    column = pa.array([b'1,"quoted ""text"" here"', b"x,y", b"2,"])
    return of_faults_and_column(lambda: decode_csv(column, plan), [1, None, 2])


def of_faults_and_column(decode: Callable[[], BuiltColumns], expected: list[int | None]) -> Work:
    """The one row with a fault is the one that has it: no other becomes null for want of memory."""

    def check(built: BuiltColumns) -> None:
        equals([1], [row for row, *_ in built.faults])
        equals(expected, pa.record_batch(built)["a"].to_pylist())

    return Work(decode, check)


def message_decoding() -> Work:
    topic_class = MetadataResponse.MetadataResponseTopic
    partition_class = topic_class.MetadataResponsePartition
    partitions = [partition_class(partition_index=i, leader_id=70000 + i) for i in range(3)]
    message = MetadataResponse(topics=[topic_class(name="t", partitions=partitions)], cluster_id="c")
    data = protocol.encode_response(message, 12, correlation_id=1)
    attempt = partial(protocol.decode_response, data, METADATA, 12)
    return Work(attempt, partial(equals, attempt()), (data,))


def message_encoding() -> Work:
    """With a header, which is made by keywords."""
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="t" * 300) for _ in range(3)])
    attempt = partial(protocol.encode_request, request, 12, correlation_id=1, client_id="c")
    return Work(attempt, partial(equals, attempt()), (request,))


def sent_rows() -> Work:
    """Rows that are on their way are counted, whatever fails."""
    columns = pa.record_batch({"value": [b"x" * 40] * 30, "key": [b"%d" % number for number in range(30)]})

    def attempt() -> Any:
        path = Path(batch_size=300)
        path.send(TOPIC, b"first")
        path.know()
        rows = SentRows(path.accumulator)
        accumulator = path.accumulator
        before, held = accumulator.records_sent, sum(map(len, accumulator.pending))
        try:
            rows.send([TOPIC], columns)
        finally:
            equals((accumulator.records_sent - before,) * 2, (len(rows), sum(map(len, accumulator.pending)) - held))
        return len(rows)

    return Work(attempt, partial(equals, 30))


WORKS = {
    **{f"decode-{magic}-none": partial(decoding, magic, "none") for magic in (0, 1, 2)},
    "decode-2-gzip": partial(decoding, 2, "gzip"),
    "decode-0.7": decoding_0_7,
    "batch-headers": batch_headers,
    "columns": columns,
    **{f"encode-{magic}-none": partial(encoding, magic, "none") for magic in (0, 1, 2)},
    "encode-2-gzip": partial(encoding, 2, "gzip"),
    "encode-many": encoding_many,
    "builder": builder,
    "encode-arrow": encoding_arrow,
    "avro-plan": avro_plan,
    "avro-values": avro_values,
    "protobuf-values": protobuf_values,
    "json-values": json_values,
    "csv-values": csv_values,
    "message-decoding": message_decoding,
    "message-encoding": message_encoding,
    "sent-rows": sent_rows,
}

if __name__ == "__main__":
    run(WORKS, iter(sys.argv[1:] or WORKS), 1)
