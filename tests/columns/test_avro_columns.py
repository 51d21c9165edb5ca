"""Avro values to columns: against a plain reading of the specification and against fastavro; damaged bytes; limits."""

from __future__ import annotations

import io
import json
import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import errors
from kwire._values import AvroPlan, BuiltColumns, ColumnLayout, decode_avro, framed_ids
from kwire.columns.avro_plan import AvroReader
from kwire.columns.avro_schema import parse_avro_schema
from tests.columns.avro_strategies import Names, evolved, plain, records, schemas, values
from tests.reference import avro as reference
from tests.reference.primitives import uvarint, zigzag
from tests.thorough import THOROUGH

pa = pytest.importorskip("pyarrow")
fastavro = pytest.importorskip("fastavro")

EXAMPLES = 300 if THOROUGH else 60


def reader_of(schema: Any, **options: Any) -> AvroReader:
    return AvroReader(parse_avro_schema(json.dumps(schema)), **options)


def decoded(data: list[bytes | None], writer: Any, reader: Any = None) -> tuple[list[Any], list[Any]]:
    """The rows, as dicts, and the faults."""
    columns = reader_of(reader if reader is not None else writer)
    built = decode_avro(
        pa.array(data, pa.binary()), columns.layout, columns.plan(parse_avro_schema(json.dumps(writer)))
    )
    faults = built.faults
    batch = pa.record_batch(built)
    batch.validate(full=True)
    return batch.to_pylist(), faults


def written(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(plain(schema)), value)
    return out.getvalue()


def long(value: int) -> bytes:
    return uvarint(zigzag(value))


def record(*fields: Any) -> Any:
    return {"type": "record", "name": "Top", "fields": [{"name": name, "type": type_} for name, type_ in fields]}


def one(type_: Any, data: bytes, reader: Any = None) -> Any:
    """The one value of a record of one field."""
    rows, faults = decoded([data], record(("x", type_)), None if reader is None else record(("x", reader)))
    assert faults == []
    return rows[0]["x"]


def fault_of(type_: Any, data: bytes, reader: Any = None) -> tuple[int, str, str]:
    rows, faults = decoded([data], record(("x", type_)), None if reader is None else record(("x", reader)))
    assert rows == [{"x": None}]
    ((row, at, place, reason),) = faults
    assert row == 0
    return at, place, reason


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_random_values_of_random_schemas(data: st.DataObject) -> None:
    schema = data.draw(records())
    given_values = [data.draw(values(schema)) for _ in range(data.draw(st.integers(1, 4)))]
    encoded = [written(schema, value) for value in given_values]
    rows, faults = decoded([*encoded, None], schema)
    assert faults == []
    assert rows[:-1] == [reference.read(schema, schema, raw) for raw in encoded]
    assert set(rows[-1].values()) <= {None}


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_values_that_are_not_records(data: st.DataObject) -> None:
    schema = data.draw(schemas(Names(), 2))
    encoded = written(schema, data.draw(values(schema)))
    expected = reference.read(schema, schema, encoded)
    rows, faults = decoded([encoded], schema)
    assert faults == []
    assert rows == [expected if isinstance(schema, dict) and schema["type"] == "record" else {"value": expected}]


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_readers_that_evolved(data: st.DataObject) -> None:
    writer = data.draw(records())
    reader = data.draw(evolved(writer))
    encoded = [written(writer, data.draw(values(writer))) for _ in range(3)]
    try:
        expected = [reference.read(writer, reader, raw) for raw in encoded]
    except (reference.UnreadableError, OverflowError):
        return
    rows, faults = decoded(encoded, writer, reader)
    assert faults == []
    assert rows == expected


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_fastavro_reads_the_same(data: st.DataObject) -> None:
    schema = plain(data.draw(records()))
    encoded = written(schema, data.draw(values(schema)))
    theirs = fastavro.schemaless_reader(io.BytesIO(encoded), fastavro.parse_schema(schema), None)
    assert_same(decoded([encoded], schema)[0][0], theirs, schema)


def assert_same(ours: Any, theirs: Any, schema: Any) -> None:
    """fastavro does not say which branch of a union it has read."""
    if isinstance(schema, list):
        found = list(ours.values()) if isinstance(ours, dict) and "member0" in ours else [ours]
        present = [value for value in found if value is not None]
        if theirs is None or not present:
            assert (theirs, present) == (None, [])
            return
        branches = [branch for branch in schema if branch != "null"]
        branch = branches[found.index(present[0])] if len(found) > 1 else branches[0]
        assert_same(present[0], theirs, branch if len(branches) in (1, len(found)) else None)
    elif isinstance(schema, dict) and schema["type"] == "record":
        assert ours.keys() == theirs.keys()
        for field in schema["fields"]:
            assert_same(ours[field["name"]], theirs[field["name"]], field["type"])
    elif isinstance(schema, dict) and schema["type"] == "array":
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other, schema["items"])
    elif isinstance(schema, dict) and schema["type"] == "map":
        for (key, mine), (other_key, other) in zip(ours, theirs.items(), strict=True):
            assert key == other_key
            assert_same(mine, other, schema["values"])
    else:
        assert ours == theirs


@given(st.data())
@settings(max_examples=3 * EXAMPLES, deadline=None)
def test_damaged_bytes_are_read_as_the_reference_reads_them_or_refused(data: st.DataObject) -> None:
    schema = plain(data.draw(records()))
    good = written(schema, data.draw(values(schema)))
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(bad)))
        bad[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    rows, faults = decoded([good, bytes(bad), good], schema)
    if faults and faults[0][3] == "very many items that take no bytes":
        return  # the reference reads more of them
    assert repr(rows[0]) == repr(rows[2]) == repr(reference.read(schema, schema, good))
    try:
        expected = reference.read(schema, schema, bytes(bad))
    except reference.UnreadableError:
        assert len(faults) == 1
        return
    assert faults == []
    assert repr(rows[1]) == repr(expected)


@pytest.mark.parametrize(
    ("type_", "data", "at", "reason"),
    [
        ("int", b"\x80\x80\x80\x80\x10", 0, "a varint with too many bytes or bits"),
        ("int", b"\x80\x80\x80\x80\x80\x01", 0, "a varint with too many bytes or bits"),
        ("long", b"\x80" * 9 + b"\x02", 0, "a varint with too many bytes or bits"),
        ("long", b"", 0, "the bytes end before the field does"),
        ("long", b"\x80", 0, "the bytes end before the field does"),
        ("double", bytes(7), 0, "the bytes end before the field does"),
        ("boolean", b"\x02", 0, "a boolean that is neither 0 nor 1"),
        ("string", long(-1), 1, "a length or count below zero"),
        ("string", long(2) + b"a", 1, "the bytes end before the field does"),
        ("string", long(1 << 62), 10, "the bytes end before the field does"),
        ("string", long(2) + b"\xc3\x28", 1, "text that is not UTF-8"),
        ("bytes", long(0) + b"x", 1, "bytes left over after the value"),
        (["null", "int"], long(2), 0, "a union has no branch of this number"),
        (["null", "int"], long(-1), 0, "a union has no branch of this number"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, long(1), 0, "the enum has no symbol"),
        ({"type": "fixed", "name": "F", "size": 2**31 - 1}, b"x" * 99, 0, "the bytes end before the field does"),
        ({"type": "array", "items": "int"}, long(1 << 40), 0, "more items claimed than the bytes left can hold"),
        ({"type": "array", "items": "int"}, long(-(1 << 63)) + long(0), 0, "a length or count below zero"),
        ({"type": "array", "items": "int"}, long(-1) + long(-5) + b"\x02\0", 0, "a length or count below zero"),
        ({"type": "array", "items": "int"}, long(-1) + long(9) + b"\x02\0", 0, "the bytes end before the field does"),
        ({"type": "array", "items": "int"}, long(-1) + long(2) + b"\x02\0", 3, "a block whose size is not that"),
        ({"type": "array", "items": "null"}, long(1 << 60) + b"\0", 9, "very many items that take no bytes"),
        ({"type": "map", "values": "null"}, long(1) + long(-1), 2, "a length or count below zero"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2}, long(1) + b"\x64", 1, "a decimal without bytes"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2}, long(0), 1, "a decimal without bytes"),
        ({"type": "long", "logicalType": "timestamp-millis"}, long(1 << 62), 10, "a time beyond"),
    ],
)  # fmt: skip
def test_a_fault_says_where_and_why(type_: Any, data: bytes, at: int, reason: str) -> None:
    found_at, place, text = fault_of(type_, data)
    assert (found_at, text.startswith(reason)) == (at, True), (found_at, text)
    assert place.startswith("x") or reason.startswith("bytes left")


def test_text_is_checked_at_every_place_of_every_length() -> None:
    schema = record(("text", "string"))
    for size in range(1, 34):
        texts = [b"x" * at + b"\xff" + b"x" * (size - at - 1) for at in range(size)]
        texts += [b"x" * at + b"\xc3\xa9" + b"x" * (size - at) for at in range(size)]
        rows, faults = decoded([long(len(text)) + text for text in [*texts, b"x" * size]], schema)
        assert [fault[0] for fault in faults] == list(range(size)), size
        assert [row["text"] for row in rows[size:]] == [text.decode() for text in [*texts[size:], b"x" * size]]


def test_a_bad_record_harms_only_itself() -> None:
    nested = record(
        ("tags", {"type": "array", "items": {"type": "map", "values": ["null", "string"]}}), ("n", ["null", "long"])
    )
    good = written(nested, {"tags": [{"a": "b", "c": None}, {}], "n": 5})
    cut = [good[:size] for size in range(len(good))]
    rows, faults = decoded([row for bad in cut for row in (good, bad, None)], nested)
    expected = reference.read(nested, nested, good)
    assert rows == [expected, {"tags": None, "n": None}, {"tags": None, "n": None}] * len(cut)
    assert [fault[0] for fault in faults] == [3 * i + 1 for i in range(len(cut))]


def test_numbers_are_promoted() -> None:
    assert one("int", long(-5), "long") == -5
    assert one("int", long(-5), "double") == -5.0
    assert one("long", long(1 << 53), "float") == float(1 << 53)
    assert one("float", struct.pack("<f", 0.5), "double") == 0.5
    assert math.isnan(one("double", struct.pack("<d", math.nan)))


def test_a_string_is_read_as_the_bytes_of_a_decimal() -> None:
    reader = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1}
    assert one("string", long(2) + b"01", reader) == Decimal(0x3031) / 10
    assert one(["null", "string"], long(1) + long(1) + b"5", ["null", reader]) == Decimal(0x35) / 10
    assert (
        fault_of("string", long(9) + b"123456789", reader)[2]
        == "a decimal without bytes, or with more digits than its precision"
    )


def test_a_time_in_a_union_of_numbers_is_the_number_that_it_is() -> None:
    assert one(["int", {"type": "long", "logicalType": "timestamp-millis"}], long(1) + long(7)) == 7
    assert one([{"type": "int", "logicalType": "date"}, "null", "long"], long(0) + long(7)) == 7


def test_the_writers_numbers_stay_what_they_were() -> None:
    assert fault_of("int", b"\x80\x80\x80\x80\x10", "long")[2] == "a varint with too many bytes or bits"


def test_blocks_with_their_size() -> None:
    items = long(3) + long(4)
    data = long(-2) + long(len(items)) + items + long(1) + long(5) + b"\0"
    assert one({"type": "array", "items": "int"}, data) == [3, 4, 5]


def test_a_symbol_that_the_reader_lacks() -> None:
    writer = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    assert one(writer, long(1), {**writer, "symbols": ["A", "X"], "default": "X"}) == "X"
    assert "symbol" in fault_of(writer, long(1), {**writer, "symbols": ["A"]})[2]


def test_a_branch_that_the_reader_lacks_is_a_fault_of_its_values_only() -> None:
    assert one(["int", "string"], long(0) + long(7), "int") == 7
    assert fault_of(["int", "string"], long(1) + long(0), "int") == (1, "x", "x: string cannot be read as int")


def test_a_union_of_more_is_a_struct() -> None:
    union = ["null", "string", {"type": "array", "items": "int"}, "long"]
    assert one(union, long(0)) is None
    assert one(union, long(2) + b"\0") == {"member0": None, "member1": [], "member2": None}
    assert reader_of(record(("x", union))).fields == (
        ("x", "struct<`member0`:string,`member1`:array<int>,`member2`:bigint>"),
    )


def test_items_without_bytes_are_read_up_to_a_limit() -> None:
    assert one({"type": "array", "items": "null"}, long(1000) + b"\0") == [None] * 1000


def test_a_few_bytes_cannot_become_very_many_values() -> None:
    item = {"type": "record", "name": "Item", "fields": []}
    wide = {**item, "fields": [{"name": f"f{i}", "type": ["null", "int"], "default": None} for i in range(500)]}
    writer = record(("x", {"type": "array", "items": item}))
    reader = record(("x", {"type": "array", "items": ["null", wide]}))
    rows, faults = decoded([long(1 << 20) + b"\0", long(1) + b"\0"], writer, reader)
    assert [fault[3] for fault in faults] == ["very many items that take no bytes"]
    assert len(rows[1]["x"]) == 1
    _, faults = decoded([long(1000) + b"\0"] * 5000, writer, reader)
    assert {fault[3] for fault in faults} == {"very many items that take no bytes"}


def test_many_nulls_of_a_wide_record() -> None:
    wide = record(*[(f"f{i}", "boolean") for i in range(2000)])
    schema = {**record(("x", {"type": "array", "items": ["null", {**wide, "name": "Wide"}]})), "name": "Outer"}
    columns = reader_of(schema)
    column = pa.array([long(1000) + bytes(1001)] * 20, pa.binary())
    faults = decode_avro(column, columns.layout, columns.plan(columns.schema)).faults
    assert 0 < len(faults) < 20
    assert {fault[3] for fault in faults} == {"few bytes that stand for very many values"}


def test_a_record_that_contains_itself_is_read_over() -> None:
    tree = {"type": "record", "name": "Tree", "fields": [{"name": "next", "type": ["null", "Tree"]}]}
    writer = record(("a", "int"), ("tree", tree), ("b", "int"))
    reader = record(("b", "int"))
    assert decoded([long(1) + long(1) * 5 + long(0) + long(9)], writer, reader) == ([{"b": 9}], [])
    _, faults = decoded([long(1) + long(1) * 500 + long(0) + long(9)], writer, reader)
    assert faults[0][3] == "values nested too deeply"


def test_a_record_that_doubles_without_bytes_is_refused_soon() -> None:
    inner: Any = {"type": "record", "name": "R0", "fields": []}
    for level in range(1, 40):
        inner = {
            "type": "record",
            "name": f"R{level}",
            "fields": [{"name": "a", "type": inner}, {"name": "b", "type": f"R{level - 1}"}],
        }
    _, faults = decoded([long(3)], record(("x", inner), ("y", "int")), record(("y", "int")))
    assert faults[0][3] == "very many items that take no bytes"


def test_only_wanted_columns_are_built() -> None:
    schema = record(("a", "int"), ("b", {"type": "map", "values": "string"}), ("c", "string"))
    columns = reader_of(schema, wanted={"c"})
    assert columns.fields == (("c", "string"),)
    data = written(schema, {"a": 1, "b": {"x": "y"}, "c": "z"})
    built = decode_avro(pa.array([data], pa.binary()), columns.layout, columns.plan(columns.schema))
    assert pa.record_batch(built).to_pylist() == [{"c": "z"}]


# --- framed values ---


def test_framed_values_are_read_by_their_schemas() -> None:
    first, second = record(("a", "int")), record(("a", "long"), ("b", "string"))
    reader = record(("a", "long"), ("b", ["null", "string"]))
    reader["fields"][1]["default"] = None
    columns = reader_of(reader)
    plans = {i: columns.plan(parse_avro_schema(json.dumps(s))) for i, s in ((7, first), (70_000, second))}
    data = [
        b"\0" + struct.pack(">I", 7) + long(1),
        b"\0" + struct.pack(">I", 70_000) + long(2) + long(1) + b"x",
        None,
        b"\0" + struct.pack(">I", 8) + long(1),
        b"\1" + struct.pack(">I", 7) + long(1),
        b"\0\0\0\0",
        b"\0" + struct.pack(">I", 7) + b"",
    ]
    column = pa.array(data, pa.binary())
    assert framed_ids(column) == {7, 8, 70_000}
    built = decode_avro(column, columns.layout, plans)
    assert [(row, at, reason) for row, at, _, reason in built.faults] == [
        (3, 5, "the schema of its id 8 is not known"),
        (4, 0, "no schema id before it: it begins with other bytes than 0 and an id"),
        (5, 0, "no schema id before it: it begins with other bytes than 0 and an id"),
        (6, 5, "the bytes end before the field does"),
    ]
    nothing = {"a": None, "b": None}
    assert pa.record_batch(built).to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}, *[nothing] * 5]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)], ids=str)
def test_any_binary_column_is_read(kind: Any) -> None:
    columns = reader_of(record(("x", "int"), ("y", "int")))
    column = pa.array([b"\x02\x04", None, b"\x06\x08", b"\x0a\x0c"], pa.binary()).cast(kind)[1:]
    built = decode_avro(column, columns.layout, columns.plan(columns.schema))
    assert pa.record_batch(built).to_pylist() == [{"x": None, "y": None}, {"x": 3, "y": 4}, {"x": 5, "y": 6}]


def test_columns_are_taken_once() -> None:
    columns = reader_of(record(("x", "int")))
    built = decode_avro(pa.array([b"\x02"]), columns.layout, columns.plan(columns.schema))
    assert len(built) == 1
    pa.record_batch(built)
    with pytest.raises(errors.CodecError, match="taken already"):
        pa.record_batch(built)


def test_no_rows() -> None:
    schema = record(("x", {"type": "array", "items": "string"}), ("y", ["null", "int"]))
    assert decoded([], schema) == ([], [])


# --- plans that do not fit their columns ---

LAYOUT = ColumnLayout([("", "+s", (1, 2)), ("n", "l", ()), ("t", "u", ())])


@pytest.mark.parametrize(
    "steps",
    [
        [("text", 1, (), 0, None, "")],
        [("long", 2, (), 1, None, "")],
        [("long", 3, (), 1, None, "")],
        [("long", -2, (), 1, None, "")],
        [("array", 1, (0,), 1, None, "")],
        [("map", 0, (0,), 1, None, "")],
        [("record", 0, (1,), 1, None, "")],
        [("member", 0, (0,), 2, None, "")],
        [("member", -1, (0,), 0, None, "")],
        [("constant", 1, (), 0, b"", "")],
        [("decimal_bytes", 1, (), 9, 0, "")],
        [("fixed", 2, (), -1, None, "")],
        [],
    ],
)  # fmt: skip
def test_a_plan_that_does_not_fit_is_refused(steps: Any) -> None:
    with pytest.raises(errors.ConfigError):
        AvroPlan(LAYOUT, steps)


def test_a_plan_that_fills_a_column_twice_gives_no_columns() -> None:
    plan = AvroPlan(
        LAYOUT, [("record", 0, (1, 1), 2, None, ""), ("long", 1, (), 1, None, "")]
    )  # nothing goes into the text
    with pytest.raises(errors.LimitError):
        pa.record_batch(decode_avro(pa.array([b"\x02\x04"]), LAYOUT, plan))


def test_a_plan_of_another_layout_is_refused() -> None:
    other = ColumnLayout([("", "+s", (1,)), ("n", "l", ())])
    with pytest.raises(errors.ConfigError, match="another layout"):
        decode_avro(pa.array([b"\0"]), other, AvroPlan(LAYOUT, [("long", 1, (), 1, None, "")]))


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        [("", "l", ())],
        [("", "+s", (0,))],
        [("", "+s", (1, 1)), ("a", "l", ())],
        [("", "+s", ()), ("a", "l", ())],
        [("", "+s", (1,)), ("a", "l", (2,)), ("b", "l", ())],
        [("", "+s", (1,)), ("a", "+l", ())],
        [("", "+s", (1,)), ("a", "unheard", ())],
        [("", "+s", (1,)), *[("a", "+l", (i + 2,)) for i in range(70)], ("b", "l", ())],
    ],
)
def test_a_layout_that_is_no_tree_is_refused(nodes: Any) -> None:
    with pytest.raises(errors.ConfigError):
        ColumnLayout(nodes)


def test_columns_that_nobody_filled_are_empty() -> None:
    assert pa.record_batch(BuiltColumns(LAYOUT)).num_rows == 0
