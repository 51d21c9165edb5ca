"""Schemas that stand for far more than they say: each is refused before it takes time or memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kwire.columns.avro_plan import AvroReader
from kwire.columns.avro_schema import parse_avro_schema
from kwire.columns.protobuf_plan import ProtobufReader
from kwire.columns.protobuf_schema import parse_descriptor_set
from kwire.errors import ConfigError
from kwire.spark.decoding.ddl import parse_schema

MIB = 1 << 20
FULL = "x" * 255


@contextmanager
def within(size: int) -> Iterator[None]:
    """The block takes no more memory than that at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def record(name: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, type_: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **more}


def resolved(reader: Any, writer: Any) -> None:
    AvroReader(parse_avro_schema(json.dumps(reader))).plan(parse_avro_schema(json.dumps(writer)))


EMPTY = record("Top")


def defaults_of_defaults(levels: int, items: int) -> dict[str, Any]:
    inner: Any = record("R0", field("a", "int", default=1))
    for level in range(1, levels + 1):
        default: list[Any] = [{}] * items
        inner = record(f"R{level}", field("a", {"type": "array", "items": inner}, default=default))
    return record("Top", field("top", inner, default={}))


def maps_of_defaults(levels: int, items: int) -> dict[str, Any]:
    inner: Any = record("R0", field("a", "int", default=1))
    for level in range(1, levels + 1):
        default: Any = {f"k{i}": {} for i in range(items)}
        inner = record(f"R{level}", field("a", {"type": "map", "values": inner}, default=default))
    return record("Top", field("top", inner, default={}))


def records_twice(levels: int) -> dict[str, Any]:
    """Two fields of the record below in each: columns by the thousand, and values as many."""
    inner: Any = record("R0", field("a", "int", default=1))
    for level in range(1, levels + 1):
        inner = record(f"R{level}", field("a", inner, default={}), field("b", f"R{level - 1}", default={}))
    return record("Top", field("top", {"type": "array", "items": inner}, default=[{}] * 1000))


def arrays_of_arrays() -> dict[str, Any]:
    """Arrays in arrays of a record; its union is tried branch by branch."""
    inner = record("R", field("a", ["null", "int"], default=1))
    return record(
        "Top",
        field("top", {"type": "array", "items": inner}, default=[{}] * 60),
        field("b", {"type": "array", "items": {"type": "array", "items": "R"}}, default=[[{}] * 300] * 400),
    )


@pytest.mark.parametrize(
    ("reader", "words"),
    [
        (defaults_of_defaults(3, 60), "the defaults of the Avro schema have more than 100000 values"),
        (defaults_of_defaults(3, 200), "the defaults of the Avro schema have more than 100000 values"),
        (defaults_of_defaults(23, 2), "the defaults of the Avro schema have more than 100000 values"),
        (maps_of_defaults(3, 200), "the defaults of the Avro schema have more than 100000 values"),
        (records_twice(8), "more than 100000 values"),
        (arrays_of_arrays(), "more than 100000 values"),
        (record("Top", *(field(f"f{i}", "string", default="x" * 9000) for i in range(200))), "more than 1048576 bytes"),
    ],
)
def test_defaults_have_a_budget(reader: dict[str, Any], words: str) -> None:
    with within(64 * MIB), pytest.raises(ConfigError, match=words):
        resolved(reader, EMPTY)


def test_defaults_within_the_budget_are_as_before() -> None:
    resolved(defaults_of_defaults(3, 20), EMPTY)
    resolved(defaults_of_defaults(12, 2), EMPTY)


def test_a_symbol_among_many_is_found_at_once() -> None:
    symbols = [f"S{i}" for i in range(100_000)]
    enum = {"type": "enum", "name": "E", "symbols": symbols}
    reader = record("Top", field("a", {"type": "array", "items": enum}, default=symbols[-90_000:]))
    resolved(reader, EMPTY)
    resolved(record("Top", field("a", enum)), record("Top", field("a", {**enum, "symbols": symbols[::-1]})))


def test_symbols_have_a_budget_of_all_columns() -> None:
    enum = {"type": "enum", "name": "E", "symbols": [f"S{i}" for i in range(50_000)]}
    fields = (field("f0", enum), *(field(f"f{i}", "E") for i in range(1, 2000)))
    with within(128 * MIB), pytest.raises(ConfigError, match="the enums of all columns have more than 1000000 names"):
        resolved(record("Top", *fields), record("Top", *fields))


def test_a_union_has_few_branches() -> None:
    branches = [{"type": "enum", "name": f"E{i}", "symbols": ["A"]} for i in range(5000)]
    with pytest.raises(ConfigError, match="a union of 5000 branches; the maximum is 1000"):
        parse_avro_schema(json.dumps(branches))


def test_a_union_is_not_shown_whole_for_each_branch_that_does_not_fit() -> None:
    written = [{"type": "fixed", "name": f"W{i}" + "x" * 200, "size": 1} for i in range(1000)]
    read = [{"type": "fixed", "name": f"R{i}" + "x" * 200, "size": 1} for i in range(1000)]
    with within(32 * MIB), pytest.raises(ConfigError, match="is not a branch of"):
        resolved(record("Top", field("a", read)), record("Top", field("a", written)))


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (
            record("Top", field("a", "int"), namespace="n." * 2000 + "n"),
            "a name of 4005 characters; the maximum is 512",
        ),
        (record("Top", aliases=["a"] * 10_001), "more than 10000 aliases"),
        (record("Top", *(field(f"f{i}", "int", aliases=["a"] * 100) for i in range(200))), "more than 10000 aliases"),
        (record("Top", *(field(f"f{i}", "int") for i in range(60_000)), field("f59999", "int")), "f59999 twice"),
    ],
)
def test_names_have_limits(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_avro_schema(json.dumps(schema))


def test_a_long_place_is_not_kept_for_each_part_below_it() -> None:
    """Sixty names of 255 characters above 9,000 fields: each has a place, and is shown by its end."""
    inner: Any = record("R0", *(field(f"f{i}", "int") for i in range(9000)))
    for level in range(1, 60):
        inner = record(f"R{level}", field(FULL, inner))
    with within(64 * MIB):
        resolved(record("Top", field("top", inner)), record("Top", field("top", inner)))


def test_depth_counts_for_long_names_too() -> None:
    inner: Any = record("R0", field("a", "int"))
    known = {"R0": parse_avro_schema(json.dumps(inner))}
    for level in range(1, 200):
        text = json.dumps(record(f"R{level}", field(FULL, f"R{level - 1}")))
        known[f"R{level}"] = parse_avro_schema(text, known)
    with pytest.raises(ConfigError, match="nested more than 64 deep"):
        AvroReader(known["R199"])


# --- Protobuf: descriptors by hand ---


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def sized(number: int, content: bytes | str) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def number(of: int, value: int) -> bytes:
    return varint(of << 3) + varint(value)


def proto_field(name: str, at: int, kind: int, type_name: str = "", default: str = "") -> bytes:
    made = sized(1, name) + number(3, at) + number(4, 1) + number(5, kind)
    return made + (sized(6, type_name) if type_name else b"") + (sized(7, default) if default else b"")


def message(name: str, *fields: bytes) -> bytes:
    return sized(4, sized(1, name) + b"".join(sized(2, each) for each in fields))


def descriptors(*declared: bytes) -> bytes:
    return sized(1, b"".join(declared))


def read(data: bytes, name: str = "Top") -> None:
    ProtobufReader(parse_descriptor_set(data), name)


def doubled(levels: int) -> bytes:
    """Each message has the one below it twice."""
    declared = [message("M0", proto_field("a", 1, 5))]
    for level in range(1, levels + 1):
        below = f".M{level - 1}"
        declared.append(message(f"M{level}", proto_field("a", 1, 11, below), proto_field("b", 2, 11, below)))
    return descriptors(*declared, message("Top", proto_field("top", 1, 11, f".M{levels}")))


def many_symbols() -> bytes:
    enum = sized(5, sized(1, "E") + b"".join(sized(2, sized(1, f"S{i}") + number(2, i)) for i in range(20_000)))
    return descriptors(enum, message("Top", *(proto_field(f"f{i}", i + 1, 14, ".E") for i in range(9000))))


def many_defaults() -> bytes:
    inner = message("M", proto_field("a", 1, 9, default="x" * 100_000))
    return descriptors(inner, message("Top", *(proto_field(f"f{i}", i + 1, 11, ".M") for i in range(4000))))


def itself() -> bytes:
    return descriptors(message("Top", proto_field("a", 1, 5), proto_field("again", 2, 11, ".Top")))


def each_other() -> bytes:
    return descriptors(
        message("Top", proto_field("a", 1, 11, ".B")),
        message("B", proto_field("a", 1, 5), proto_field("b", 2, 11, ".Top")),
    )


def deep() -> bytes:
    declared = [message("M0", proto_field("a", 1, 5))]
    declared += [message(f"M{i}", proto_field("a", 1, 11, f".M{i - 1}")) for i in range(1, 300)]
    return descriptors(*declared, message("Top", proto_field("top", 1, 11, ".M299")))


def long_names() -> bytes:
    return descriptors(message("Top", proto_field("x" * 100_000, 1, 5)))


def nested_names() -> bytes:
    inner = sized(1, "n" * 200)
    for _ in range(20):
        inner = sized(1, "n" * 200) + sized(3, inner)
    return descriptors(sized(4, inner))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (doubled, "a schema of more than 10000 columns"),
        (many_symbols, "the enums of all columns have more than 1000000 names"),
        (many_defaults, "the defaults of all columns take more than 1048576 bytes"),
        (itself, "message Top contains itself"),
        (each_other, "message Top contains itself"),
        (deep, "nested more than 64 deep"),
        (long_names, "a name of 100000 characters; the maximum is 512"),
        (nested_names, "a name of .* characters; the maximum is 512"),
    ],
)
def test_what_descriptors_may_stand_for_has_limits(made: Callable[..., bytes], words: str) -> None:
    data = doubled(40) if made is doubled else made()
    with within(96 * MIB), pytest.raises(ConfigError, match=words):
        read(data)


# --- DDL ---


def test_ddl_has_limits() -> None:
    with pytest.raises(ConfigError, match="types are nested more than 32 deep"):
        parse_schema("a " + "ARRAY<" * 10_000 + "INT" + ">" * 10_000)
    with pytest.raises(ConfigError, match="the name f19999 appears twice"):
        parse_schema(", ".join(f"f{i} INT" for i in range(20_000)) + ", f19999 INT")
    with pytest.raises(ConfigError, match="expected a number"):
        parse_schema(f"a DECIMAL({'9' * 5000})")
    with pytest.raises(ConfigError, match="not the JSON of a StructType"):
        parse_schema('{"type":"struct","fields":' + "[" * 100_000)
