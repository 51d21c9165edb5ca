"""Protobuf messages to columns: against a plain reading of the wire format and google.protobuf; damage; limits."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import errors
from kwire._values import ColumnLayout, ProtobufPlan, decode_protobuf
from kwire.columns.protobuf_plan import ProtobufOptions, ProtobufReader
from kwire.columns.protobuf_schema import parse_descriptor_set
from tests.reference import protobuf as reference
from tests.reference.primitives import uvarint, zigzag
from tests.thorough import THOROUGH

pa = pytest.importorskip("pyarrow")
pytest.importorskip("google.protobuf")

from google.protobuf import descriptor_pb2  # noqa: E402
from google.protobuf.message import DecodeError  # noqa: E402

from tests.columns.protobuf_strategies import Types, filled, message_class, types  # noqa: E402

EXAMPLES = 300 if THOROUGH else 60
OPTIONAL, REQUIRED, REPEATED = 1, 2, 3
INT32, INT64, STRING, BYTES, MESSAGE, ENUM, GROUP, DOUBLE = 5, 3, 9, 12, 11, 14, 10, 1


def decoded(types_: Types, data: list[bytes | None], name: str = "M0", **options: bool) -> tuple[list[Any], list[Any]]:
    """The rows, as dicts, and the faults."""
    reader = ProtobufReader(parse_descriptor_set(types_.set_bytes()), name, ProtobufOptions(**options))
    built = decode_protobuf(pa.array(data, pa.binary()), reader.layout, reader.plan)
    batch = pa.record_batch(built)
    batch.validate(full=True)
    return batch.to_pylist(), built.faults


def made(syntax: str, *fields: tuple[Any, ...], **options: Any) -> Types:
    """A file with the message M0 of these fields: (name, number, type, label or type name or oneof ...)."""
    types_ = Types(syntax)
    message = types_.file.message_type.add(name="M0")
    for name, number, kind, *more in fields:
        field = message.field.add(name=name, number=number, type=kind, label=OPTIONAL)
        for each in more:
            for key, value in each.items():
                setattr(field, key, value)
                if key == "oneof_index" and len(message.oneof_decl) <= value:
                    message.oneof_decl.add(name=f"choice{value}")
    return types_


def tagged(number: int, wire: int, value: bytes = b"") -> bytes:
    return uvarint(number << 3 | wire) + value


def sized(number: int, value: bytes) -> bytes:
    return tagged(number, 2, uvarint(len(value)) + value)


def shown(message: Any, in_map: bool = False) -> dict[str, Any]:
    """A google.protobuf message as Spark's from_protobuf shows it."""
    found = {}
    set_fields = {field.name for field, _ in message.ListFields()}
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None and not field.message_type.fields:
            continue
        value = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            inner = field.message_type.fields_by_name["value"]
            keys = field.message_type.fields_by_name["key"]
            found[field.name] = [(_scalar(keys, key), _scalar(inner, value[key])) for key in value]
        elif field.is_repeated:
            found[field.name] = [_scalar(field, item) for item in value]
        elif field.name in set_fields or field.has_default_value:
            found[field.name] = _scalar(field, value)
        else:
            found[field.name] = None
    return found


def _scalar(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        return shown(value)
    if field.enum_type is not None:
        symbol = field.enum_type.values_by_number.get(value)
        return symbol.name if symbol is not None else f"UNKNOWN_ENUM_VALUE_{field.enum_type.name}_{value}"
    if field.type in (4, 6) and value >= 1 << 63:
        return value - (1 << 64)
    if field.type in (7, 13) and value >= 1 << 31:
        return value - (1 << 32)
    return value


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_random_messages_of_random_types(data: st.DataObject) -> None:
    types_ = data.draw(types())
    descriptor = types_.descriptor()
    messages = [data.draw(filled(descriptor)) for _ in range(data.draw(st.integers(1, 3)))]
    encoded = [message.SerializeToString() for message in messages]
    rows, faults = decoded(types_, [*encoded, None])
    assert faults == []
    assert rows[:-1] == [shown(message) for message in messages]
    assert rows[:-1] == [reference.read(descriptor, raw) for raw in encoded]
    assert set(rows[-1].values()) <= {None}


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_messages_one_after_the_other_are_merged(data: st.DataObject) -> None:
    types_ = data.draw(types())
    descriptor = types_.descriptor()
    parts = [data.draw(filled(descriptor)).SerializeToString() for _ in range(3)]
    whole = b"".join(parts)
    rows, faults = decoded(types_, [whole])
    assert faults == []
    assert rows == [reference.read(descriptor, whole)]
    if "Entry" not in str(types_.file):  # a map keeps both of two equal keys here, as in Spark
        assert rows == [shown(message_class(descriptor).FromString(whole))]


@given(st.data())
@settings(max_examples=3 * EXAMPLES, deadline=None)
def test_damaged_bytes_are_read_as_the_reference_reads_them_or_refused(data: st.DataObject) -> None:
    types_ = data.draw(types())
    descriptor = types_.descriptor()
    good = data.draw(filled(descriptor)).SerializeToString()
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(bad)))
        bad[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    rows, faults = decoded(types_, [good, bytes(bad), good])
    assert repr(rows[0]) == repr(rows[2]) == repr(reference.read(descriptor, good))
    try:
        expected = reference.read(descriptor, bytes(bad))
    except reference.UnreadableError:
        assert len(faults) == 1
        return
    assert faults == []
    assert repr(rows[1]) == repr(expected)
    message_class(descriptor).FromString(bytes(bad))


# --- what is there, and what is not ---


def test_zeros_without_presence_are_as_if_they_were_not_there() -> None:
    fields = (("n", 1, INT32), ("s", 2, STRING), ("d", 3, DOUBLE))
    data = [b"", tagged(1, 0, b"\0") + sized(2, b"") + tagged(3, 1, bytes(8)), tagged(3, 1, struct.pack("<d", -0.0))]
    nothing = {"n": None, "s": None, "d": None}
    assert decoded(made("proto3", *fields), data)[0] == [nothing, nothing, {**nothing, "d": -0.0}]
    zeros = {"n": 0, "s": "", "d": 0.0}
    assert decoded(made("proto3", *fields), data, emit_defaults=True)[0] == [zeros] * 3
    assert decoded(made("proto2", *fields), data)[0] == [nothing, zeros, {**nothing, "d": -0.0}]


def test_defaults_that_a_file_gives() -> None:
    types_ = made(
        "proto2",
        ("i", 1, INT32, {"default_value": "-5"}),
        ("d", 2, DOUBLE, {"default_value": "inf"}),
        ("s", 3, STRING, {"default_value": "ü"}),
        ("b", 4, BYTES, {"default_value": r"\001a\n\\\"\377\x41"}),
        ("e", 5, ENUM, {"type_name": ".p.E", "default_value": "TWO"}),
        ("t", 6, 8, {"default_value": "true"}),
        ("u", 7, 4, {"default_value": "18446744073709551615"}),
        ("f", 8, 2, {"default_value": "1.5"}),
    )
    row = {"i": -5, "d": float("inf"), "s": "ü", "b": b'\1a\n\\"\xffA', "e": "TWO", "t": True, "u": -1, "f": 1.5}
    assert decoded(types_, [b""]) == ([row], [])


def test_the_last_member_of_a_oneof_counts() -> None:
    inner = {"type_name": ".p.In", "oneof_index": 0}
    types_ = made(
        "proto3", ("a", 1, INT32, {"oneof_index": 0}), ("b", 2, STRING, {"oneof_index": 0}), ("m", 3, MESSAGE, inner)
    )
    types_.file.message_type.add(name="In").field.add(name="x", number=1, type=INT32, label=OPTIONAL)
    a, b, m = tagged(1, 0, b"\0"), sized(2, b"text"), sized(3, tagged(1, 0, b"\5"))
    rows, _ = decoded(types_, [a + b, b + a, b + m, m + a, m + b + sized(3, b"")])
    assert rows == [
        {"a": None, "b": "text", "m": None},
        {"a": 0, "b": None, "m": None},
        {"a": None, "b": None, "m": {"x": 5}},
        {"a": 0, "b": None, "m": None},
        {"a": None, "b": None, "m": {"x": None}},
    ]


def test_symbols_without_a_name() -> None:
    fields = (("e", 1, ENUM, {"type_name": ".p.E"}), ("r", 2, ENUM, {"type_name": ".p.E", "label": REPEATED}))
    data = tagged(1, 0, b"\1") + tagged(1, 0, b"\7") + tagged(2, 0, b"\2") + sized(2, b"\7\1")
    below = tagged(1, 0, uvarint((1 << 64) - (1 << 31)))
    rows, _ = decoded(made("proto3", *fields), [data, below])
    assert rows == [
        {"e": "UNKNOWN_ENUM_VALUE_E_7", "r": ["TWO", "UNKNOWN_ENUM_VALUE_E_7", "ONE"]},
        {"e": "UNKNOWN_ENUM_VALUE_E_-2147483648", "r": []},
    ]
    rows, _ = decoded(made("proto2", *fields), [data, below])
    assert rows == [{"e": "ONE", "r": ["TWO", "ONE"]}, {"e": None, "r": []}]
    assert decoded(made("proto3", *fields), [data], enums_as_ints=True)[0] == [{"e": 7, "r": [2, 7, 1]}]


def test_unsigned_numbers_can_be_wider() -> None:
    types_ = made("proto3", ("u", 1, 13), ("v", 2, 4))
    data = tagged(1, 0, uvarint((1 << 32) - 1)) + tagged(2, 0, uvarint((1 << 64) - 1))
    assert decoded(types_, [data])[0] == [{"u": -1, "v": -1}]
    assert decoded(types_, [data], upcast_unsigned=True)[0] == [{"u": (1 << 32) - 1, "v": (1 << 64) - 1}]


def test_text_of_proto2_is_repaired() -> None:
    fields = ("s", 1, STRING)
    rows, _ = decoded(made("proto2", fields), [sized(1, b"a\xffb")])
    assert rows == [{"s": "a\ufffdb"}]
    _, faults = decoded(made("proto3", fields), [sized(1, b"a\xffb")])
    assert faults == [(0, 2, "s", "text that is not UTF-8")]


def test_groups() -> None:
    types_ = made(
        "proto2",
        ("g", 1, GROUP, {"type_name": ".p.G"}),
        ("n", 2, INT32),
        ("r", 3, GROUP, {"type_name": ".p.G", "label": REPEATED}),
    )
    types_.file.message_type.add(name="G").field.add(name="x", number=1, type=INT32, label=OPTIONAL)
    group = tagged(1, 3) + tagged(1, 0, b"\5") + tagged(1, 4)
    unknown = tagged(9, 3) + tagged(8, 3) + tagged(8, 4) + sized(7, b"x") + tagged(9, 4)
    several = tagged(3, 3) + tagged(3, 4) + tagged(3, 3) + tagged(1, 0, b"\6") + tagged(3, 4)
    rows, faults = decoded(types_, [group + unknown + tagged(2, 0, b"\7") + several])
    assert (rows, faults) == ([{"g": {"x": 5}, "n": 7, "r": [{"x": None}, {"x": 6}]}], [])


def times(types_: Types) -> None:
    for name in ("Timestamp", "Duration"):
        message = types_.file.message_type.add(name=name)
        message.field.add(name="seconds", number=1, type=INT64, label=OPTIONAL)
        message.field.add(name="nanos", number=2, type=INT32, label=OPTIONAL)


def test_timestamps_and_durations() -> None:
    types_ = made(
        "proto3",
        ("t", 1, MESSAGE, {"type_name": ".p.Timestamp"}),
        ("d", 2, MESSAGE, {"type_name": ".p.Duration", "label": REPEATED}),
    )
    times(types_)
    reader = ProtobufReader(parse_descriptor_set(types_.set_bytes()), "M0")
    assert reader.fields == (("t", "timestamp"), ("d", "array<interval day to second>"))
    at = tagged(1, 0, uvarint(1_700_000_000)) + tagged(2, 0, uvarint(999_999_999)) + sized(5, b"other")
    short = tagged(2, 0, uvarint((1 << 64) - 1500))
    far = tagged(1, 0, uvarint(1 << 62))
    column = pa.array([sized(1, at) + sized(2, short) + sized(2, b""), sized(1, b""), b"", sized(1, far)], pa.binary())
    built = decode_protobuf(column, reader.layout, reader.plan)
    assert [fault[2:] for fault in built.faults] == [("t", "a time beyond what int64 microseconds hold")]
    batch = pa.record_batch(built)
    assert batch.column("t").cast(pa.int64()).to_pylist() == [1_700_000_000_999_999, 0, None, None]
    assert batch.column("d").flatten().cast(pa.int64()).to_pylist() == [-1, 0]


def test_wrappers_can_be_unwrapped() -> None:
    of = {"type_name": ".google.protobuf.Int32Value"}
    types_ = made("proto3", ("w", 1, MESSAGE, of), ("r", 2, MESSAGE, {**of, "label": REPEATED}))
    other = descriptor_pb2.FileDescriptorProto(name="wrappers", package="google.protobuf", syntax="proto3")
    other.message_type.add(name="Int32Value").field.add(name="value", number=1, type=INT32, label=OPTIONAL)
    data = descriptor_pb2.FileDescriptorSet(file=[types_.file, other]).SerializeToString()
    values = [sized(1, tagged(1, 0, b"\5")) + sized(2, b"") + sized(2, tagged(1, 0, b"\6")), sized(1, b""), b""]

    def rows(**options: bool) -> Any:
        reader = ProtobufReader(parse_descriptor_set(data), "p.M0", ProtobufOptions(**options))
        return pa.record_batch(decode_protobuf(pa.array(values, pa.binary()), reader.layout, reader.plan)).to_pylist()

    assert rows(unwrap_wrappers=True) == [{"w": 5, "r": [0, 6]}, {"w": 0, "r": []}, {"w": None, "r": []}]
    assert rows()[0] == {"w": {"value": 5}, "r": [{"value": None}, {"value": 6}]}


# --- damage ---


@pytest.mark.parametrize(
    ("data", "at", "reason"),
    [
        (b"\x08", 1, "the bytes end before the field does"),
        (b"\x08" + b"\x80" * 10 + b"\x01", 1, "a varint with too many bytes or bits"),
        (b"\x00\x01", 0, "a field number or wire type that cannot be"),
        (b"\x0e", 1, "a field number or wire type that cannot be"),
        (b"\x80\x80\x80\x80\x80\x01", 0, "a varint with too many bytes or bits"),
        (sized(2, b"abc")[:-1], 1, "the bytes end before the field does"),
        (tagged(2, 2, uvarint((1 << 64) - 1)), 1, "the bytes end before the field does"),
        (sized(3, sized(2, b"abc")[:-1]), 3, "the bytes end before the field does"),
        (tagged(9, 3), 1, "the bytes end before the field does"),
        (tagged(9, 4), 1, "a group that does not end, or ends another one"),
        (tagged(9, 3) + tagged(8, 4), 2, "a group that does not end, or ends another one"),
        (tagged(9, 3) * 200, 101, "values nested too deeply"),
        (sized(4, b"\x80"), 2, "the bytes end before the field does"),
        (b"", 0, "a required field is missing"),
    ],
)
def test_a_fault_says_where_and_why(data: bytes, at: int, reason: str) -> None:
    types_ = made(
        "proto2",
        ("n", 1, INT32, {"label": REQUIRED if not data else OPTIONAL}),
        ("s", 2, STRING),
        ("m", 3, MESSAGE, {"type_name": ".p.In"}),
        ("r", 4, INT32, {"label": REPEATED}),
    )
    types_.file.message_type.add(name="In").field.add(name="t", number=2, type=STRING, label=OPTIONAL)
    rows, faults = decoded(types_, [tagged(1, 0, b"\1"), data, tagged(1, 0, b"\2")])
    assert [(fault[0], fault[1], fault[3]) for fault in faults] == [(1, at, reason)]
    assert [row["n"] for row in rows] == [1, None, 2]


def test_a_required_field_with_a_number_that_its_enum_lacks_is_missing() -> None:
    types_ = made("proto2", ("e", 1, ENUM, {"type_name": ".p.E", "label": REQUIRED}))
    unknown = tagged(1, 0, uvarint(77))
    _, faults = decoded(types_, [unknown])
    assert [fault[3] for fault in faults] == ["a required field is missing"]
    with pytest.raises(reference.UnreadableError):
        reference.read(types_.descriptor(), unknown)


def test_many_small_messages_of_a_large_type() -> None:
    types_ = made("proto3", ("r", 1, MESSAGE, {"type_name": ".p.Wide", "label": REPEATED}))
    wide = types_.file.message_type.add(name="Wide")
    for number in range(1, 3000):
        wide.field.add(name=f"f{number}", number=number, type=8, label=OPTIONAL)
    _, faults = decoded(types_, [sized(1, b"") * 1000] * 15)
    assert 0 < len(faults) < 15
    assert {fault[3] for fault in faults} == {"few bytes that stand for very many values"}


# --- framed values ---


def test_framed_messages_are_of_the_type_that_they_say() -> None:
    types_ = made("proto3", ("n", 1, INT32))
    inner = types_.file.message_type.add(name="M1").nested_type.add(name="In")
    inner.field.add(name="x", number=1, type=INT32, label=OPTIONAL)
    types_in = parse_descriptor_set(types_.set_bytes())
    value = tagged(1, 0, b"\5")
    id_ = b"\0\0\0\0\7"

    def rows(name: str, data: list[bytes]) -> tuple[list[Any], list[Any]]:
        reader = ProtobufReader(types_in, name, framed=True)
        built = decode_protobuf(pa.array(data, pa.binary()), reader.layout, reader.plan)
        return pa.record_batch(built).to_pylist(), [(fault[0], fault[1], fault[3]) for fault in built.faults]

    first, nested = id_ + b"\0" + value, id_ + uvarint(zigzag(2)) + uvarint(zigzag(1)) + b"\0" + value
    found, faults = rows("p.M0", [first, id_ + b"\2\0" + value, nested, b"\1" + first, id_, id_ + b"\2"])
    assert found == [{"n": 5}, {"n": 5}, *[{"n": None}] * 4]
    assert faults == [
        (2, 5, "a message of another type"),
        (3, 0, "no schema id before it: it begins with other bytes than 0 and an id"),
        (4, 5, "the bytes end before the field does"),
        (5, 6, "the bytes end before the field does"),
    ]
    found, faults = rows("M1.In", [nested, first])
    assert found == [{"x": 5}, {"x": None}]
    assert [fault[2] for fault in faults] == ["a message of another type"]


# --- types ---


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (b"", "M0", "no message is in them"),
        (b"\xff", "M0", "these bytes are not a descriptor set"),
        (b'{"type": "record"}', "M0", "these bytes are not a descriptor set"),
        (made("proto3", ("a", 1, INT32)).set_bytes(), "M1", "there is no message M1; there are p.M0"),
        (made("proto3").set_bytes(), "M0", "message M0 has no fields that could be columns"),
        (
            made("proto3", ("a", 1, MESSAGE, {"type_name": ".p.M0"})).set_bytes(),
            "M0",
            "a: message p.M0 contains itself",
        ),
        (made("proto3", ("a", 1, MESSAGE, {"type_name": ".x.Y"})).set_bytes(), "M0", "a: .* has no message x.Y"),
        (made("proto3", ("a", 1, ENUM, {"type_name": ".x.Y"})).set_bytes(), "M0", "a: .* has no enum x.Y"),
        (made("proto3", ("a", 0, INT32)).set_bytes(), "M0", "a field without a name, a number or a type"),
        (made("proto3", ("a", 1, INT32), ("b", 1, INT32)).set_bytes(), "M0", "a field number appears twice"),
        (
            made("proto2", ("a", 1, INT32, {"default_value": "x"})).set_bytes(),
            "M0",
            "a: int32 cannot have the default 'x'",
        ),
        (
            made("proto2", ("a", 1, BYTES, {"default_value": "\\"})).set_bytes(),
            "M0",
            "a: bytes cannot have the default",
        ),
    ],
    ids=lambda given: "" if isinstance(given, bytes) else None,
)
def test_types_without_columns_are_refused(data: bytes, name: str, message: str) -> None:
    with pytest.raises(errors.ConfigError, match=message):
        ProtobufReader(parse_descriptor_set(data), name)


def test_types_that_double_are_refused() -> None:
    types_ = made("proto3", ("a", 1, MESSAGE, {"type_name": ".p.D1"}))
    for level in range(1, 40):
        message = types_.file.message_type.add(name=f"D{level}")
        for number, name in enumerate("ab", 1):
            kind = {"type": MESSAGE, "type_name": f".p.D{level + 1}"} if level < 39 else {"type": INT32}
            message.field.add(name=name, number=number, label=OPTIONAL, **kind)
    with pytest.raises(errors.ConfigError, match="more than 10000 columns"):
        ProtobufReader(parse_descriptor_set(types_.set_bytes()), "M0")


# Made once: a file's name has a number in it, and the examples are to draw places in the same bytes.
WHOLE_SET = made("proto2", ("a", 1, INT32), ("e", 2, ENUM, {"type_name": ".p.E", "label": REPEATED})).set_bytes()


@given(st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_damaged_descriptor_sets_are_refused_or_read(data: st.DataObject) -> None:
    raw = bytearray(WHOLE_SET)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(raw)))
        raw[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    try:
        ProtobufReader(parse_descriptor_set(bytes(raw)), "M0")
    except errors.ConfigError:
        pass


def test_only_wanted_columns_are_built() -> None:
    types_ = parse_descriptor_set(made("proto3", ("a", 1, INT32), ("b", 2, STRING)).set_bytes())
    reader = ProtobufReader(types_, "M0", wanted={"b"})
    assert reader.fields == (("b", "string"),)
    data = pa.array([tagged(1, 0, b"\1") + sized(2, b"x")], pa.binary())
    assert pa.record_batch(decode_protobuf(data, reader.layout, reader.plan)).to_pylist() == [{"b": "x"}]


# --- plans that do not fit their columns ---

LAYOUT = ColumnLayout([("", "+s", (1, 2, 3)), ("n", "l", ()), ("t", "u", ()), ("r", "+l", (4,)), ("element", "i", ())])


@pytest.mark.parametrize(
    ("messages", "path"),
    [
        ([], None),
        ([(1, [])], None),
        ([(-1, [])], None),
        ([(0, [(1, "text", 0, 1, 0, -1, None, [], "", "")])], None),
        ([(0, [(1, "int64", 0, 2, 0, -1, None, [], "", "")])], None),
        ([(0, [(1, "int64", 0, 5, 0, -1, None, [], "", "")])], None),
        ([(0, [(1, "int64", 1, 1, 0, -1, None, [], "", "")])], None),
        ([(0, [(1, "time", 1, 3, 0, -1, None, [], "", "")])], None),
        ([(0, [(1, "message", 0, 1, 0, -1, None, [], "", "")])], None),
        ([(0, [(1, "message", 0, 1, 7, -1, None, [], "", "")])], None),
        ([(0, [(2, "int64", 0, 1, 0, -1, None, [], "", ""), (1, "text", 0, 2, 0, -1, None, [], "", "")])], None),
        ([(0, [(1, "enum", 0, 2, 0, -1, 0, [(2, "b"), (1, "a")], "", "")])], None),
        ([(0, [])], []),
        ([(0, [])], [0] * 20),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(messages: Any, path: Any) -> None:
    with pytest.raises(errors.ConfigError):
        ProtobufPlan(LAYOUT, messages, path)


def test_a_plan_that_lacks_a_column_gives_none() -> None:
    plan = ProtobufPlan(LAYOUT, [(0, [(1, "int64", 0, 1, 0, -1, None, [], "", "")])])
    with pytest.raises(errors.LimitError):
        pa.record_batch(decode_protobuf(pa.array([b"\x08\x01"]), LAYOUT, plan))


def test_google_refuses_what_is_refused_here() -> None:
    types_ = made("proto3", ("n", 1, INT32))
    for data in (b"\x08", b"\x00\x01", tagged(9, 3), sized(2, b"abc")[:-1]):
        with pytest.raises(DecodeError):
            message_class(types_.descriptor()).FromString(data)
        assert len(decoded(types_, [data])[1]) == 1
