"""CSV to columns: types, quotes, faults, and random records against the standard library's reader."""

from __future__ import annotations

import csv
import io
import math
import random
from typing import Any

import pyarrow as pa
import pytest

from kwire._values import ColumnLayout, CsvPlan, TextPlan, decode_csv
from kwire.errors import ConfigError
from tests.values.test_json_columns import layout

Faults = list[tuple[int, int, str, str]]


def decoded(schema: dict[str, Any], *values: bytes | None, **how: bytes) -> tuple[list[tuple[Any, ...]], Faults]:
    plan = CsvPlan(TextPlan(layout(schema)), range(1, len(schema) + 1), **how)
    columns = decode_csv(pa.array(values, pa.binary()), plan)
    batch = pa.record_batch(columns)
    batch.validate(full=True)
    return [tuple(row.values()) for row in batch.to_pylist()], columns.faults


def one(kind: Any, text: str) -> Any:
    rows, faults = decoded({"a": kind, "b": "string"}, text.encode() + b",x")
    if faults:
        assert rows == [(None, None)]
        raise ValueError(faults[0][3])
    return rows[0][0]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("boolean", "TRUE", True), ("boolean", "false", False), ("tinyint", "-128", -128), ("int", "+7", 7),
        ("bigint", "00000000000000000000012", 12), ("bigint", "-9223372036854775808", -9223372036854775808),
        ("double", "1.", 1.0), ("double", "-.5e1", -5.0), ("double", "+1E2", 100.0), ("double", "Inf", math.inf),
        ("double", "-Infinity", -math.inf), ("float", "0.1", 0.10000000149011612), ("string", "é x ", "é x "),
        ("string", '"a,""b"""', 'a,"b"'), ("string", '"a\\"b\\\\c\\d"', 'a"b\\c\\d'), ("string", 'a"b', 'a"b'),
        ("string", '"two\nlines"', "two\nlines"), ("binary", "aGk=", b"aGk="),
        (("decimal", 6, 2), '"1,234.565"', "1234.57"),
        ("date", "2024-02-29", "2024-02-29"), ("timestamp", "2024-02-29 12:00:00+01:00", "2024-02-29 11:00:00+00:00"),
        ("timestamp_ntz", "2024-02-29 12:00", "2024-02-29 12:00:00"), ("int", "", None), ("string", "", None),
    ],
)  # fmt: skip
def test_a_field_of_each_type(kind: Any, text: str, expected: Any) -> None:
    found = one(kind, text)
    assert (str(found) if isinstance(expected, str) and not isinstance(found, bytes) else found) == expected


def test_not_a_number() -> None:
    assert math.isnan(one("double", "NaN"))


@pytest.mark.parametrize(
    ("kind", "text"),
    [("boolean", "1"), ("tinyint", "128"), ("int", "1.0"), ("int", " 1"), ("int", "+"), ("double", "1e"),
     ("double", "."), ("double", "0x1"), ("double", "1_0"), ("date", "29.2.2024"), (("decimal", 3, 2), "10"),
     ("timestamp_ntz", "x")],
)  # fmt: skip
def test_a_field_that_is_not_of_its_type(kind: Any, text: str) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        one(kind, text)


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (b"", (0, "", "fewer fields than the 3 that are declared")),
        (b"1,2", (3, "", "fewer fields than the 3 that are declared")),
        (b"1,x,2,", (5, "", "more fields than the 3 that are declared")),
        (b"x,y,2", (0, "a", "x cannot be INT")),
        (b'1,"y,2', (2, "b", "a quoted field that does not end")),
        (b'1,"y"z,2', (5, "b", "text after a closing quote")),
        (b"1,y,2\n1,y,2\n", (5, "c", "more than one line")),
        (b"1,\xff,2", (2, "b", "not UTF-8")),
        (b"1,y," + b"9" * 50, (4, "c", "9" * 40 + "... cannot be BIGINT")),
    ],
)
def test_a_fault_has_its_byte_its_column_and_its_reason(value: bytes, fault: tuple[int, str, str]) -> None:
    rows, faults = decoded({"a": "int", "b": "string", "c": "bigint"}, b"1,x,2\r\n", value, None, b"3,,4\n")
    assert faults == [(1, *fault)]
    assert rows == [(1, "x", 2), (None, None, None), (None, None, None), (3, None, 4)]


def test_other_characters() -> None:
    how = {"separator": b"|", "quote": b"'", "escape": b"", "null": b"NULL"}
    rows, _ = decoded({"a": "string", "b": "string", "c": "int"}, b"'a|''b'''|\"x\\|NULL", b"NULL||1", **how)
    assert rows == [("a|'b'", '"x\\', None), (None, "", 1)]
    rows, _ = decoded({"a": "string", "b": "string"}, b'"x"\t"y"', separator=b"\t", quote=b"")
    assert rows == [('"x"', '"y"')]


def test_columns_that_are_not_wanted_are_passed_over() -> None:
    plan = CsvPlan(TextPlan(layout({"c": "int"})), (-1, -1, 1, -1))
    columns = decode_csv(pa.array([b"x,\xff,3,", b'"a,"",b",,4,']), plan)
    assert pa.record_batch(columns).to_pydict() == {"c": [3, 4]}
    assert columns.faults == []


@pytest.mark.parametrize(
    "how", [{"separator": b"ab"}, {"separator": b""}, {"separator": b'"'}, {"separator": b"\n"}, {"quote": b"''"}]
)
def test_characters_that_cannot_be(how: dict[str, bytes]) -> None:
    with pytest.raises(ConfigError, match="are to be one byte each"):
        CsvPlan(TextPlan(layout({"a": "int"})), (1,), **how)


@pytest.mark.parametrize("places", [(), (1, 1), (2,), (-1,)])
def test_places_that_cannot_be(places: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="each column of its layout once"):
        CsvPlan(TextPlan(ColumnLayout([("", "+s", (1,)), ("a", "i", ())])), places)


def test_random_records_are_read_as_the_standard_library_reads_them() -> None:
    rng = random.Random(11)
    schema = {"a": "string", "b": "string", "c": "string"}
    for _ in range(60):
        fields = [["".join(rng.choices('ab"\\,|é\n \r', k=rng.randint(0, 12))) for _ in schema] for _ in range(50)]
        values = []
        for record in fields:
            text = io.StringIO()
            end, quoting = rng.choice([("", csv.QUOTE_ALL), ("\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_MINIMAL)])
            csv.writer(text, lineterminator=end, quoting=quoting).writerow(record)
            values.append(text.getvalue().encode())
        rows, faults = decoded(schema, *values, escape=b"", null=b"-")
        assert faults == []
        assert rows == [tuple(record) for record in fields]


def test_damaged_records_harm_no_other() -> None:
    rng = random.Random(12)
    schema = {"a": "int", "b": "string", "c": "double", "d": "timestamp"}
    good = b'17,"x, y",0.5,2024-01-01T00:00:00Z'
    expected = decoded(schema, good)[0][0]
    for _ in range(200):
        values = []
        for _ in range(20):
            value = bytearray(good)
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(len(value))
                value[at : at + rng.randint(0, 2)] = bytes(rng.choices(b'",\\\n\rx\xff', k=rng.randint(0, 2)))
            values += [bytes(value), good]
        rows, faults = decoded(schema, *values)
        assert rows[1::2] == [expected] * 20
        assert all(rows[row] == (None,) * 4 and row % 2 == 0 for row, _, _, _ in faults)
