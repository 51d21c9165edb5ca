"""Spark's schema texts, read without a JVM, and the Arrow types of what they declare."""

from __future__ import annotations

import inspect

import pyarrow as pa
import pytest

from kwire.columns.layout import DDL, ROOT, Layout
from kwire.errors import ConfigError
from kwire.spark.decoding.arrow_types import arrow_schema
from kwire.spark.decoding.ddl import ddl, parse_schema

ALL_TYPES = (
    "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h STRING, i BINARY, j DATE, k TIMESTAMP, "
    "l TIMESTAMP_NTZ, m DECIMAL(12,3), n ARRAY<MAP<STRING, STRUCT<x: INT, `y z`: ARRAY<BIGINT>>>>"
)


def test_all_types_come_back_as_they_went() -> None:
    assert ddl(parse_schema(ALL_TYPES)) == ALL_TYPES


def test_a_schema_is_also_read_from_its_json() -> None:
    schema = parse_schema(ALL_TYPES)
    assert parse_schema(schema.json()) == schema


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a: byte, b short", "a TINYINT, b SMALLINT"),
        ("a integer, b long, c real, d timestamp_ltz", "a INT, b BIGINT, c FLOAT, d TIMESTAMP"),
        ("a decimal, b dec(3), c numeric ( 4 , 2 )", "a DECIMAL(10,0), b DECIMAL(3,0), c DECIMAL(4,2)"),
        ("struct<a: int, b array<string>>", "a INT, b ARRAY<STRING>"),
        ("a int NOT NULL COMMENT 'with, commas', `b``c` int COMMENT \"x\"", "a INT, `b``c` INT"),
        ("a struct<b: struct<c: int>>", "a STRUCT<b: STRUCT<c: INT>>"),
        ("\n  a\n int ", "a INT"),
        ("timestamp timestamp, `1` int", "timestamp TIMESTAMP, `1` INT"),
        ("struct string", "struct STRING"),
    ],
)
def test_other_spellings(text: str, same: str) -> None:
    assert ddl(parse_schema(text)) == same


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a column name, got the end"),
        ("a", "expected a type .* got the end"),
        ("a int,", "expected a column name after 'a int ,', got the end"),
        ("a text", "expected a type .* got 'text'"),
        ("a array<int", "expected '>' after 'array < int', got the end"),
        ("a map<string>", "expected ','"),
        ("a int b int", "expected the end after 'a int', got 'b'"),
        ("a decimal(39)", "the precision is 1 to 38"),
        ("a decimal(2,3)", "the scale 0 to the precision"),
        ("a decimal(x)", "expected a number"),
        ("a int, a string", "the name a appears twice"),
        ("a struct<>", "without fields"),
        ("a int; b int", "unexpected ';' at position 5"),
        ("a " + "array<" * 40 + "int" + ">" * 40, "nested more than 32"),
        ('{"type": "nonsense"}', "not the JSON of a StructType"),
        ("a varchar(10)", "got 'varchar'"),
        ("StructType([StructField('a', IntegerType(), True)])", r"give its JSON, schema\.json\(\)"),
    ],
)
def test_an_error_says_where(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_schema(text)


@pytest.mark.parametrize(("form", "text"), DDL.items())
def test_a_column_has_the_arrow_type_of_what_its_format_is_called(form: str, text: str) -> None:
    made = Layout()
    made.add(ROOT, "a", form)
    schema = parse_schema(f"a {text}")
    assert ddl(schema).lower() == f"a {text}"
    assert pa.schema(made.compiled()) == arrow_schema(schema)


def test_arrow_types_are_those_that_pyspark_expects() -> None:
    types = pytest.importorskip("pyspark.sql.pandas.types")
    takes_zone = "timezone" in inspect.signature(types.to_arrow_schema).parameters
    schema = parse_schema(ALL_TYPES)
    expected = types.to_arrow_schema(schema, timezone="UTC") if takes_zone else types.to_arrow_schema(schema)
    assert arrow_schema(schema).equals(expected, check_metadata=False)
