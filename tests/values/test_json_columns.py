"""JSON to columns: every type, every fault, and random objects against the reference in tests/reference."""

from __future__ import annotations

import json
import math
import random
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from kwire._values import ColumnLayout, TextPlan, decode_json
from kwire.errors import CodecError, ConfigError
from tests.reference import json_columns as reference
from tests.thorough import SOAK

FORMATS = {
    "boolean": "b", "tinyint": "c", "smallint": "s", "int": "i", "bigint": "l", "float": "f", "double": "g",
    "string": "u", "binary": "z", "date": "tdD", "timestamp": "tsu:UTC", "timestamp_ntz": "tsu:",
}  # fmt: skip
Node = tuple[str, str, tuple[int, ...]]
Faults = list[tuple[int, int, str, str]]


def layout(schema: dict[str, Any]) -> ColumnLayout:
    nodes: list[Node] = []
    add(nodes, "", schema)
    return ColumnLayout(nodes)


def add(nodes: list[Node], name: str, kind: Any) -> int:
    number = len(nodes)
    nodes.append((name, "", ()))
    children: list[tuple[str, Any]] = []
    if isinstance(kind, list):
        arrow, children = "+l", [("element", kind[1])]
    elif isinstance(kind, dict) and set(kind) == {"map"}:
        arrow, children = "+m", [("entries", {"key": "string", "value": kind["map"]})]
    elif isinstance(kind, dict):
        arrow, children = "+s", list(kind.items())
    elif isinstance(kind, tuple):
        arrow = f"d:{kind[1]},{kind[2]}"
    else:
        arrow = FORMATS[kind]
    nodes[number] = (name, arrow, tuple(add(nodes, *child) for child in children))
    return number


def decoded(
    schema: dict[str, Any], *values: bytes | None
) -> tuple[list[dict[str, Any]], list[tuple[int, int, str, str]]]:
    columns = decode_json(pa.array(values, pa.binary()), TextPlan(layout(schema)))
    batch = pa.record_batch(columns)
    batch.validate(full=True)
    assert len(columns) == len(values)
    return batch.to_pylist(), columns.faults


def one(kind: Any, text: str | bytes) -> Any:
    """The value of a column of that type in an object that has this text in its field; the fault as an exception."""
    raw = text if isinstance(text, bytes) else text.encode()
    rows, faults = decoded({"a": kind}, b'{"a": ' + raw + b"}")
    if faults:
        assert rows == [{"a": None}]
        raise ValueError(faults[0][3])
    return rows[0]["a"]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("tinyint", "-128", -128),
        ("smallint", "32767", 32767),
        ("int", "-2147483648", -2147483648),
        ("bigint", "9223372036854775807", 9223372036854775807),
        ("bigint", "-9223372036854775808", -9223372036854775808),
        ("bigint", "-0", 0),
        ("float", "1.5", 1.5),
        ("float", "16777217", 16777216.0),
        ("double", "0.1", 0.1),
        ("double", "1e400", math.inf),
        ("double", "-1e-400", -0.0),
        ("double", "179769313486231580793728971405301e276", 1.797693134862315807937289714053e308),
        ("double", "0.30000000000000004", 0.30000000000000004),
        ("double", "9007199254740993", 9007199254740992.0),
        ("double", "-Infinity", -math.inf),
        ("double", '"+INF"', math.inf),
        ("double", "0." + "0" * 100 + "1", 1e-101),
        ("string", '"a\\u00e9\\n\\/\\"\\\\"', 'aé\n/"\\'),
        ("string", '"\\ud83d\\ude00"', "😀"),
        ("string", '"\\ud83d \\ude00 \\ud800\\u0041"', "\ufffd \ufffd \ufffdA"),
        ("string", '""', ""),
        ("string", '"\x7f ünïcödé 漢字 ' + "x" * 40 + '"', "\x7f ünïcödé 漢字 " + "x" * 40),
        ("string", "'it\\'s \"x\"'", "it's \"x\""),
        ("string", "1.50", "1.50"),
        ("string", "true", "true"),
        ("string", '{"b":  [1, "x"]}', '{"b":  [1, "x"]}'),
        ("binary", '"aGVsbG8="', b"hello"),
        ("binary", '"\\/\\/8="', b"\xff\xff"),
        ("binary", '""', b""),
        (("decimal", 5, 2), "-123.455", "-123.46"),
        (("decimal", 5, 2), "999.994", "999.99"),
        (("decimal", 5, 2), '"1,23.5"', "123.50"),
        (("decimal", 5, 2), "1e2", "100.00"),
        (("decimal", 5, 2), "5e-3", "0.01"),
        (("decimal", 5, 2), "4.9e-3", "0.00"),
        (("decimal", 5, 2), "1e-99999999999", "0.00"),
        (("decimal", 38, 0), "9" * 38, "9" * 38),
        (("decimal", 38, 38), "0." + "9" * 38, "0." + "9" * 38),
        (["array", "int"], "[1, null,3 ]", [1, None, 3]),
        (["array", ["array", "string"]], '[[],["a"],null]', [[], ["a"], None]),
        ({"map": "int"}, '{"x":1, "y" : null, "x":2}', [("x", 1), ("y", None), ("x", 2)]),
        ({"x": "int", "y": {"z": "string"}}, '{"y":{"z":"q"}}', {"x": None, "y": {"z": "q"}}),
        ("int", "null", None),
    ],
)  # fmt: skip
def test_a_value_of_each_type(kind: Any, text: str, expected: Any) -> None:
    found = one(kind, text)
    assert (str(found) if isinstance(kind, tuple) else found) == expected


def test_not_a_number() -> None:
    assert math.isnan(one("double", "NaN"))
    assert math.isnan(one("float", '"NaN"'))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024", "2024-01-01T00:00:00"),
        ("2024-2", "2024-02-01T00:00:00"),
        ("2024-02-29", "2024-02-29T00:00:00"),
        (" 2024-02-29 1 ", "2024-02-29T01:00:00"),
        ("2024-02-29T12:3", "2024-02-29T12:03:00"),
        ("2024-02-29 12:34:56.", "2024-02-29T12:34:56"),
        ("2024-02-29 12:34:56.1234567890", "2024-02-29T12:34:56.123456"),
        ("2024-02-29T12:34:56Z", "2024-02-29T12:34:56"),
        ("2024-02-29T12:34:56.5+02:30", "2024-02-29T10:04:56.500000"),
        ("2024-02-29T12:34:56 -3", "2024-02-29T15:34:56"),
        ("2024-02-29T12:34:56-0330", "2024-02-29T16:04:56"),
        ("2024-02-29T12:34:56UTC+1", "2024-02-29T11:34:56"),
        ("0001-01-01", "0001-01-01T00:00:00"),
    ],
)
def test_timestamps_as_casts_of_strings_read_them(text: str, expected: str) -> None:
    assert one("timestamp", f'"{text}"').replace(tzinfo=None).isoformat() == expected


@pytest.mark.parametrize(
    "text",
    ["", "24", "2024-13", "2024-02-30", "2024-2-", "12:00:00", "2024-01-01T24:00:00", "2024-01-01T00:60:00",
     "2024-01-01Z",
     "2024-01-01T00:00Z", "2024-01-01T00:00:00+19:00", "2024-01-01T00:00:00Paris", "2024-01-01 00:00:00+02:0:0:0",
     "1234567-01-01", "300000-01-01", "now", "2024-01-01T", "2024-01-01x"],
)  # fmt: skip
def test_no_timestamps(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be TIMESTAMP"):
        one("timestamp", json.dumps(text))


def test_dates_and_timestamps_without_a_zone() -> None:
    assert one("date", '"2024-02-29T25:99 what follows does not matter"').isoformat() == "2024-02-29"
    assert one("date", '"2024"').isoformat() == "2024-01-01"
    assert one("timestamp_ntz", '"2024-02-29 12:34"') == datetime(2024, 2, 29, 12, 34)
    for kind, text in [("timestamp_ntz", '"2024-02-29T12:34:56Z"'), ("date", '"2024-2 x"'), ("date", '"24-01-01"')]:
        with pytest.raises(ValueError, match="cannot be"):
            one(kind, text)
    assert one("timestamp", "-1").isoformat() == "1969-12-31T23:59:59+00:00"


def test_a_zone_decides_about_timestamps_without_one() -> None:
    spring, autumn = 1711852200, 1730001600  # clocks that show 2024-03-31 02:30 and 2024-10-27 04:00
    plan = TextPlan(layout({"a": "timestamp"}), [(spring, 3600), (autumn, 7200), (None, 3600)])
    texts = [
        "2024-03-31 02:29:59",
        "2024-03-31 02:30:00",
        "2024-10-27 03:59:59",
        "2024-10-27 04:00:00",
        "2024-06-01T00:00:00Z",
    ]
    found = decode_json(pa.array([json.dumps({"a": text}).encode() for text in texts]), plan)
    assert [f"{row['a']:%H:%M:%S}" for row in pa.record_batch(found).to_pylist()] == [
        "01:29:59", "00:30:00", "01:59:59", "03:00:00", "00:00:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (b"", (0, "", "the JSON ends early")),
        (b"  ", (2, "", "the JSON ends early")),
        (b"null", (0, "", "expected an object, got null")),
        (b'[{"a": 1}]', (0, "", 'expected an object, got [{"a": 1}]')),
        (b'"text"', (0, "", 'expected an object, got "text"')),
        (b'{"a": 1} {"a": 2}', (9, "", "text after the JSON object")),
        (b'{"a": 1}\0', (8, "", "text after the JSON object")),
        (b'{"a": 1', (7, "", "the JSON ends early")),
        (b'{"a": 1,}', (8, "", "not JSON: }")),
        (b'{"a" 1}', (5, "", "not JSON: 1")),
        (b'{"zz": 01}', (8, "", "not JSON: 1")),
        (b'{"zz": [1 2]}', (10, "", "not JSON: 2")),
        (b'{"zz": [1}', (9, "", "not JSON: }")),
        (b'{"zz": {"x": "\x01"}}', (14, "", "a control character in a string")),
        (b'{"z": ' + b"[" * 1001 + b"]" * 1001, (1006, "", "more than 1000 arrays and objects inside each other")),
        (b'{"a": 2147483648}', (6, "a", "2147483648 cannot be INT")),
        (b'{"a": 1.0}', (6, "a", "expected INT, got 1.0")),
        (b'{"a": "1"}', (6, "a", 'expected INT, got "1"')),
        (b'{"a": +1}', (6, "a", "expected INT, got +1}")),
        (b'{"a": tru}', (6, "a", "expected INT, got tru}")),
        (b'{"b": "\xff"}', (7, "b", "not UTF-8")),
        (b'{"b": "\\u12g4"}', (7, "b", "an escape sequence that JSON does not have")),
        (b'{"b": "' + b"x" * 100, (107, "b", "the JSON ends early")),
        (b'{"c": [{"d": {"k": [true, 1]}}]}', (26, "c[].d{}[]", "expected BOOLEAN, got 1")),
        (b'{"c": {}}', (6, "c", "expected ARRAY, got {}")),
        (b'{"c": [[]]}', (7, "c[]", "expected STRUCT, got []")),
        (b'{"c": [{"d": "' + b"y" * 50 + b'"}]}', (13, "c[].d", 'expected MAP, got "' + "y" * 39 + "...")),
    ],
)  # fmt: skip
def test_a_fault_has_its_byte_its_place_and_its_reason(value: bytes, fault: tuple[int, str, str]) -> None:
    schema = {"a": "int", "b": "string", "c": ["array", {"d": {"map": ["array", "boolean"]}}]}
    rows, faults = decoded(schema, b'{"a":1}', value, None, b'{"b":"good","c":[{"d":{"k":[true]}}]}')
    assert faults == [(1, *fault)]
    empty = {"a": None, "b": None, "c": None}
    assert rows == [empty | {"a": 1}, empty, empty, empty | {"b": "good", "c": [{"d": [("k", [True])]}]}]


def test_names() -> None:
    schema = {"a": "int", 'q"b\\': "int", "é": "int", "": "int"}
    rows, faults = decoded(
        schema,
        b'{"a":1,"q\\"b\\\\":2,"\xc3\xa9":3,"":4}',
        b'{"":4,"\\u00e9":3,"x":{"a":9},"\\u0061":1,"aa":5,"A":6}',
        b"{'a':1, 'a':null, 'q\"b\\\\': 2}",
        b'{"a":1,"a":2,"":1,"a":3}',
        b"{}",
    )
    assert faults == []
    assert [tuple(row.values()) for row in rows] == [
        (1, 2, 3, 4), (1, None, 3, 4), (None, 2, None, None), (3, None, None, 1), (None, None, None, None),
    ]  # fmt: skip


def test_a_name_that_stands_twice_counts_once_at_any_depth() -> None:
    schema = {"s": {"l": ["array", "string"], "m": {"map": "int"}}, "t": "string"}
    rows, faults = decoded(
        schema, b'{"s":{"l":["a","b"],"m":{"x":1},"l":["c"]},"t":"no","s":{"m":{"y":2}},"t":"yes"}', b'{"t":"next"}'
    )
    assert faults == []
    assert rows == [{"s": {"l": None, "m": [("y", 2)]}, "t": "yes"}, {"s": None, "t": "next"}]


def test_blanks_anywhere() -> None:
    value = b' \n\t\r{ \n "a" \t : \r 1 , "c" : [ true , false ] , "d" : [ ] , "e" : { } } \n'
    rows, faults = decoded({"a": "int", "c": ["array", "boolean"], "d": ["array", "int"], "e": {"x": "int"}}, value)
    assert (rows, faults) == ([{"a": 1, "c": [True, False], "d": [], "e": {"x": None}}], [])


def test_few_bytes_do_not_become_many_values() -> None:
    fields = {f"f{number}": "double" for number in range(1_000)}
    rows, faults = decoded({"a": ["array", fields]}, b'{"a": [' + b",".join([b"{}"] * 20_000) + b"]}", b'{"a": [{}]}')
    assert [(row, reason) for row, _, _, reason in faults] == [(0, "few bytes that stand for very many values")]
    assert rows[0] == {"a": None}
    assert len(rows[1]["a"]) == 1


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.string(), pa.binary(8)])
def test_any_column_of_bytes(kind: pa.DataType) -> None:
    values = pa.array([b'{"a":12}', b'{"a": 3}', None], kind)
    plan = TextPlan(layout({"a": "int"}))
    assert pa.record_batch(decode_json(values, plan)).column(0).to_pylist() == [12, 3, None]
    assert pa.record_batch(decode_json(values.slice(1), plan)).column(0).to_pylist() == [3, None]
    assert pa.record_batch(decode_json(values.slice(3), plan)).column(0).to_pylist() == []


def test_what_is_not_a_plan() -> None:
    nodes = [("", "+s", (1,)), ("x", "+m", (2,)), ("entries", "+s", (3, 4)), ("key", "i", ()), ("value", "i", ())]
    with pytest.raises(ConfigError, match="x: the keys of a MAP in JSON are STRING"):
        TextPlan(ColumnLayout(nodes))
    with pytest.raises(ConfigError, match="Arrow format 'tDu'"):
        TextPlan(ColumnLayout([("", "+s", (1,)), ("x", "tDu", ())]))
    with pytest.raises(TypeError):
        decode_json(pa.array([b"{}"]), None)  # type: ignore[arg-type]
    with pytest.raises(CodecError):
        decode_json(pa.array([1]), TextPlan(layout({"a": "int"})))


# --- random objects, some of them broken, against the reference ---

LEAVES = ["boolean", "tinyint", "int", "bigint", "double", "string", "binary", "date", "timestamp", "timestamp_ntz",
          ("decimal", 9, 3), ("decimal", 38, 10)]  # fmt: skip
SCRAPS = [
    "0", "-1", "127", "128", "1.5", "1e3", "-0.0", "9223372036854775807", "9223372036854775808", "0.1", "1E-7",
    "123456789.12345", "3.14159265358979323846", "1e22", "1e23", "5e-324", "true", "false", "null", '""', '"x"', "NaN",
    '"2024-02-29"', '"2024-02-29 12:34:56.789"', '"2024-02-29T12:34:56+01:00"', '"aGk="', '"aGk"', '"\\u00e9\\n"',
    '"12.5"', '"-INF"', '"漢字 and a longer text than sixteen bytes"', "[]", "{}", '[1,"x"]', '{"k":1}', '"1,2.5e1"',
    '"\\ud83d\\ude00"', "-Infinity", '"2024-1-1T1:2:3.4Z"', '"  2024 "', "1234567.8915", "99999999999999999999999999.5",
]  # fmt: skip


def random_type(rng: random.Random, depth: int) -> Any:
    choice = rng.random()
    if depth == 0 or choice < 0.6:
        return rng.choice(LEAVES)
    if choice < 0.75:
        return ["array", random_type(rng, depth - 1)]
    if choice < 0.85:
        return {"map": random_type(rng, depth - 1)}
    return random_schema(rng, depth - 1)


def random_schema(rng: random.Random, depth: int) -> dict[str, Any]:
    return {
        name: random_type(rng, depth)
        for name in rng.sample(["a", "b", "key", "value", "a longer name", "é"], rng.randint(1, 4))
    }


def random_text(rng: random.Random, kind: Any, depth: int = 4) -> str:
    blank = rng.choice(["", "", "", " ", "\n\t "])
    if rng.random() < 0.15 or depth == 0:
        return blank + rng.choice(SCRAPS)
    if isinstance(kind, list):
        return (
            blank + "[" + ",".join(random_text(rng, kind[1], depth - 1) for _ in range(rng.randint(0, 3))) + blank + "]"
        )
    if isinstance(kind, dict):
        names = ["x", "y"][: rng.randint(0, 2)] if set(kind) == {"map"} else [*kind, "other"]
        rng.shuffle(names)
        inner = kind["map"] if set(kind) == {"map"} else None
        pairs = [
            json.dumps(name, ensure_ascii=rng.random() < 0.5)
            + blank
            + ":"
            + random_text(rng, inner or kind.get(name, "string"), depth - 1)
            for name in names[: rng.randint(0, len(names))]
        ]
        return blank + "{" + ",".join(pairs) + blank + "}"
    return blank + rng.choice(FITTING.get(kind if isinstance(kind, str) else "decimal", SCRAPS))


FITTING = {
    "boolean": ["true", "false"],
    "tinyint": ["1", "-128", "127"],
    "int": ["0", "2147483647"],
    "bigint": ["12345678901", "-9223372036854775808"],
    "double": ["0.1", "123.456", "1e-300", "17.000000000000001", "NaN"],
    "string": ['"text"', '"\\u0041"', '"' + "long " * 10 + '"'],
    "binary": ['"aGVsbG8="', '""'],
    "date": ['"2024-12-31"'],
    "timestamp": ['"2024-12-31T01:02:03Z"', "1700000000"],
    "timestamp_ntz": ['"2024-12-31 01:02:03.5"'],
    "decimal": ["12.345", "0.0005", '"-7"'],
}


def damaged(rng: random.Random, value: bytes) -> bytes:
    kind = rng.random()
    at = rng.randrange(len(value) + 1)
    if kind < 0.3:
        return value[:at]
    if kind < 0.6:
        return (
            value[:at]
            + rng.choice([b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\x00", b"\xc3", b"1", b"e"])
            + value[at:]
        )
    if kind < 0.8:
        return value[:at] + value[at + 1 :]
    return value[:at] + bytes([rng.randrange(256)]) + value[at + 1 :]


def comparable(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, list):
        return [comparable(item, kind[1]) for item in value]
    if isinstance(kind, dict) and set(kind) == {"map"}:
        return {name: comparable(item, kind["map"]) for name, item in value}
    if isinstance(kind, dict):
        return {name: comparable(value[name], inner) for name, inner in kind.items()}
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value


def same_text(found: Any, expected: Any, kind: Any) -> bool:
    """Texts in string columns count as what they stand for: the reference does not keep how they were written."""
    if isinstance(kind, list) and found is not None:
        return len(found) == len(expected) and all(
            same_text(f, e, kind[1]) for f, e in zip(found, expected, strict=True)
        )
    if isinstance(kind, dict) and found is not None:
        inner = kind.get("map") if set(kind) == {"map"} else None
        return found.keys() == expected.keys() and all(
            same_text(found[n], expected[n], inner or kind[n]) for n in found
        )
    if kind == "string" and found is not None and not isinstance(expected, str):
        parsed = json.loads(found)
        return repr(parsed) == repr(expected)
    return bool(found == expected)


def check_against_reference(seed: int, objects: int) -> None:
    rng = random.Random(seed)
    schema = random_schema(rng, 3)
    values = [random_text(rng, schema).encode() for _ in range(objects)]
    values = [value if rng.random() < 0.6 else damaged(rng, value) for value in values]
    values = [value for value in values if b"'" not in value and b"0000000" not in value]
    rows, faults = decoded(schema, *values)
    bad = {row for row, _, _, _ in faults}
    for row, value in enumerate(values):
        try:
            expected = comparable(reference.decode(value, schema), schema)
        except reference.Bad:
            assert row in bad, (seed, value, schema, rows[row])
            continue
        assert row not in bad, (seed, value, schema, [fault for fault in faults if fault[0] == row])
        assert same_text(comparable(rows[row], schema), expected, schema), (seed, value, schema, rows[row], expected)
    for row, byte, _, reason in faults:
        assert 0 <= byte <= len(values[row])
        assert reason


@pytest.mark.parametrize("part", range(4))
def test_random_objects_are_read_as_the_reference_reads_them(part: int) -> None:
    for seed in range(part, 4_000 if SOAK else 240, 4):
        check_against_reference(seed, 40)


def test_random_doubles_are_rounded_correctly() -> None:
    rng = random.Random(3)
    numbers = [repr(rng.uniform(-1, 1) * 10 ** rng.randint(-320, 308)) for _ in range(3_000)]
    numbers += [f"{rng.randrange(10 ** rng.randint(1, 25))}e{rng.randint(-30, 30)}" for _ in range(3_000)]
    numbers += [f"{rng.randrange(10**9)}.{rng.randrange(10**9):09}" for _ in range(3_000)]
    numbers += [f"{(rng.getrandbits(53) | 1 << 52) * 2 + 1}e{rng.randint(-27, 27)}" for _ in range(3_000)]
    numbers += [str(rng.getrandbits(64) & ~2047 | 1024 | 1 << 63) for _ in range(3_000)]
    rows, faults = decoded({"a": "double"}, *[b'{"a":' + number.encode() + b"}" for number in numbers])
    assert faults == []
    assert [row["a"] for row in rows] == [float(number) for number in numbers]


def test_a_text_is_read_alike_wherever_it_lies_in_memory() -> None:
    """Far from the end of the memory several bytes are read at once; the last text of a column is read byte by byte."""
    for kind in ("bigint", "int", "double", "float", ("decimal", 30, 6), "string"):
        for text in _texts_of_every_length():
            value = b'{"a":%b,"a name of sixteen":%b}' % (text, text)
            schema = {"a": kind, "a name of sixteen": kind}
            alone, faults = decoded(schema, value)
            before, faults_before = decoded(schema, value, b"{%b}" % (b" " * 40))
            assert (before[0], faults_before) == (alone[0], faults), (kind, text)


def test_a_text_ends_where_it_ends_whatever_follows_it() -> None:
    """Texts lie one after the other: what is cut off does not go on in the next one."""
    schema = {"a": "bigint", "b": "double", "c": "string", "d": "boolean"}
    for whole in (
        b'{"a":-1234567890,"b":123.25,"c":"as long as two steps of sixteen bytes","d":true}',
        b'{"d":false,"a": 1,"x":[{}],"b":null,"c":"\\n","c":"again"}',
        b'{ "a" : 1 , "b" : 0.5 }',
    ):
        for cut in range(len(whole)):
            alone, fault = decoded(schema, whole[:cut])
            rows, faults = decoded(schema, whole[:cut], whole[cut:], whole)
            assert (rows[:1], faults[:1]) == (alone, fault), whole[:cut]
            assert rows[2] == decoded(schema, whole)[0][0]


def _texts_of_every_length() -> list[bytes]:
    """Numbers around the lengths that are read at once, and strings whose end comes anywhere."""
    whole = [b"1234567890123456789012"[:size] for size in range(20)] + [b"0", b"00", b"01", b"-", b"9" * 18, b"9" * 19]
    rest = [b"", b".", b".0", b".5", b".1234567", b".12345678", b".00000000001", b"e2", b"E-3", b".5e1", b".5.5", b"x"]
    numbers = [sign + number + after for sign in (b"", b"-") for number in whole for after in rest]
    middles = [b"", b"\\n", "\u00e9".encode(), b"\xff", b"\n", b"'"]
    return numbers + [b'"%b%b"' % (b"x" * size, middle) for size in range(40) for middle in middles]
