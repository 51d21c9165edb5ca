"""Avro schemas: their types as columns, and what is refused, also where somebody means harm."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kwire import errors
from kwire.columns.avro_plan import AvroReader
from kwire.columns.avro_schema import named_types, parse_avro_schema


def parsed(schema: Any) -> Any:
    return parse_avro_schema(schema if isinstance(schema, str) else json.dumps(schema))


def record(*fields: Any, name: str = "Top") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}


def ddl(type_: Any) -> str:
    ((_, found),) = AvroReader(parsed(record(("x", type_)))).fields
    return found


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("null", "void"),
        ("boolean", "boolean"),
        ("int", "int"),
        ("long", "bigint"),
        ("float", "float"),
        ("double", "double"),
        ("bytes", "binary"),
        ("string", "string"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "int", "logicalType": "time-millis"}, "int"),
        ({"type": "long", "logicalType": "time-micros"}, "bigint"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, "bigint"),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, "timestamp_ntz"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, "timestamp_ntz"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "decimal(9,2)"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 9}, "decimal(9,0)"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 9}, "binary"),
        ({"type": "bytes", "logicalType": "decimal"}, "binary"),
        ({"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 9}, "decimal(9,0)"),
        ({"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 10}, "binary"),
        ({"type": "fixed", "name": "F", "size": 12, "logicalType": "duration"}, "binary"),
        ({"type": "string", "logicalType": "uuid"}, "string"),
        ({"type": "string", "logicalType": "unheard"}, "string"),
        ({"type": "string", "logicalType": "date"}, "string"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "string"),
        ({"type": "array", "items": ["null", "int"]}, "array<int>"),
        ({"type": "map", "values": "bytes"}, "map<string,binary>"),
        (record(("a", "int"), ("b", "string"), name="In"), "struct<`a`:int,`b`:string>"),
        (["null", "string"], "string"),
        (["string", "null"], "string"),
        (["null"], "void"),
        (["int"], "int"),
        (["int", "long"], "bigint"),
        (["float", "null", "double"], "double"),
        (["int", "double"], "struct<`member0`:int,`member1`:double>"),
        ({"type": {"type": "string"}}, "string"),
    ],
)
def test_types_are_those_of_from_avro(type_: Any, expected: str) -> None:
    assert ddl(type_) == expected


def test_a_schema_that_is_not_a_record_is_one_column() -> None:
    assert AvroReader(parsed("long")).fields == (("value", "bigint"),)
    assert AvroReader(parsed('"long"'), "key").fields == (("key", "bigint"),)
    assert AvroReader(parsed(["null", record(("a", "int"))])).fields == (("value", "struct<`a`:int>"),)


def test_names_are_found_in_their_namespace() -> None:
    inner = {"type": "fixed", "name": "Id", "size": 2}
    schema = parsed({**record(("a", inner), ("b", "Id"), ("c", "space.Id")), "namespace": "space"})
    assert sorted(named_types(schema)) == ["space.Id", "space.Top"]
    assert {field.type.name for field in schema.fields} == {"space.Id"}
    outer = {"type": "fixed", "name": "other.Id", "size": 2}
    assert parsed({**record(("a", outer)), "namespace": "space"}).fields[0].type.name == "other.Id"


def test_types_of_another_schema_are_known() -> None:
    known = named_types(parsed(record(("a", "int"), name="shared.In")))
    schema = parse_avro_schema(json.dumps(record(("x", "shared.In"))), known)
    assert AvroReader(schema).fields == (("x", "struct<`a`:int>"),)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON: it is nested too deeply"),
        ('"unheard"', "there is no type 'unheard'"),
        ("5", "a type's name, an object"),
        ({"type": "record", "name": "R"}, "without a list of fields"),
        ({"type": "record", "fields": []}, "a record without a name"),
        ({"type": "record", "name": "a b", "fields": []}, "cannot be a name"),
        ({"type": "record", "name": "R\0", "fields": []}, "cannot be a name"),
        ({"type": "record", "name": "int", "fields": []}, "declared twice"),
        (record(("a", "int"), ("a", "int")), "a field a twice"),
        (record(("a\udc80", "int")), "cannot be a field's name"),
        (record(("x" * 256, "int")), "cannot be a field's name"),
        (record(("a", "unheard")), "at a: there is no type"),
        (record(("a", {"type": "array"})), "at a: an array without items"),
        (record(("a", {"type": "fixed", "name": "F", "size": -1})), "at a: fixed F needs a size"),
        (record(("a", {"type": "fixed", "name": "F", "size": 2**31})), "at a: fixed F needs a size"),
        (record(("a", {"type": "enum", "name": "E", "symbols": ["A", "A"]})), "a symbol twice"),
        (record(("a", {"type": "enum", "name": "E", "symbols": ["A"], "default": "B"})), "the default of enum E"),
        (record(("a", ["int", "int"])), "a union with int twice"),
        (record(("a", ["int", ["long"]])), "a union directly inside"),
        (record(("a", "Top")), "record Top contains itself"),
        (record(("a", ["null", {"type": "array", "items": "Top"}])), "at a\\[\\]: record Top contains itself"),
        (record(("a", {"type": "bytes", "logicalType": "decimal", "precision": 39})), "a decimal of 39 digits"),
    ],
)
def test_a_schema_without_columns_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(errors.ConfigError, match=message):
        AvroReader(parsed(schema))


def test_deep_schemas_are_refused() -> None:
    deep: Any = "int"
    for _ in range(70):
        deep = {"type": "array", "items": deep}
    with pytest.raises(errors.ConfigError, match="nested more than 64 deep"):
        AvroReader(parsed(record(("a", deep))))
    chain: Any = record(("x", "int"), name="R0")
    known = named_types(parsed(chain))
    for level in range(1, 2000):
        chain = record(("x", f"R{level - 1}"), name=f"R{level}")
        known |= named_types(parse_avro_schema(json.dumps(chain), known))
    deepest = parse_avro_schema(json.dumps(record(("x", "R1999"), ("y", "int"))), known)
    with pytest.raises(errors.ConfigError, match="nested more than 64 deep"):
        AvroReader(deepest)
    with pytest.raises(errors.ConfigError, match="nested too deeply"):
        AvroReader(parsed(record(("y", "int")))).plan(deepest)


def test_schemas_that_double_are_refused() -> None:
    inner: Any = record(("x", "int"), name="R0")
    for level in range(1, 30):
        inner = record(("a", inner), ("b", f"R{level - 1}"), name=f"R{level}")
    with pytest.raises(errors.ConfigError, match="more than 10000 columns"):
        AvroReader(parsed(inner))
    branches = ["int", *[record(("a", "int"), name=f"B{i}") for i in range(10)]]
    for level in range(6):
        branches = [
            record(("a", branches), name=f"L{level}"),
            *[record(("a", "int"), name=f"N{level}{i}") for i in range(9)],
        ]
    reader: Any = ["null", "int"]
    for level in range(6):
        reader = ["null", record(("a", reader), name=f"L{level}")]
    AvroReader(parsed(record(("x", reader)))).plan(parsed(record(("x", branches))))


@pytest.mark.parametrize(
    ("writer", "reader", "message"),
    [
        ("string", "int", "x: string cannot be read as int"),
        ("long", "int", "x: long cannot be read as int"),
        ("null", "int", "x: null cannot be read as int"),
        (["null", "string"], "int", "x: null cannot be read as int"),
        ("int", ["null", "string"], "x: int is not a branch of"),
        ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "F", "size": 3}, "of 2 bytes"),
        ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "G", "size": 2}, "another name"),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            {"type": "long", "logicalType": "timestamp-micros"},
            "timestamp-millis cannot be read as timestamp-micros",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1},
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            "scale 1 cannot be read as decimal with scale 2",
        ),
        (record(("a", "int"), name="In"), record(("b", "int"), name="In"), "x.b: the writer has no such field"),
        ({"type": "array", "items": "string"}, {"type": "array", "items": "int"}, r"x\[\]: string cannot"),
    ],
)
def test_schemas_that_do_not_resolve(writer: Any, reader: Any, message: str) -> None:
    with pytest.raises(errors.ConfigError, match=message):
        AvroReader(parsed(record(("x", reader)))).plan(parsed(record(("x", writer))))


@pytest.mark.parametrize(
    ("type_", "default"),
    [
        ("int", "5"), ("int", 1 << 31), ("int", True), ("boolean", 0), ("string", 5), ("bytes", "\u0100"),
        ("null", 0), ("float", 1e300), ("double", "x"), ({"type": "array", "items": "int"}, {}),
        ({"type": "map", "values": "int"}, []), ({"type": "fixed", "name": "F", "size": 1}, "xx"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B"), (["null", "int"], "x"),
        (record(("a", "int"), name="In"), {}), (record(("a", "int"), name="In"), None),
    ],
)  # fmt: skip
def test_a_default_that_cannot_be(type_: Any, default: Any) -> None:
    reader = {**record(), "fields": [{"name": "x", "type": type_, "default": default}]}
    with pytest.raises(errors.ConfigError, match="x: its default cannot be that of"):
        AvroReader(parsed(reader)).plan(parsed(record()))
