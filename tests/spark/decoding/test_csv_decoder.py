"""`decoder=csv` without Spark: its options, and the columns that it makes."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from kwire.errors import ConfigError
from kwire.spark.decoding.arrow_types import arrow_schema
from kwire.spark.decoding.contract import Fault
from kwire.spark.decoding.options import parse_decoding
from kwire.spark.options.given import GivenOptions

SCHEMA = "id BIGINT, name STRING, price DECIMAL(8,2), at TIMESTAMP"


def parse(**more: str):  # type: ignore[no-untyped-def]
    options = {"decoder": "csv", "decoder.schema": SCHEMA, **{f"decoder.{name}": text for name, text in more.items()}}
    found = parse_decoding(GivenOptions(options)).value
    assert found is not None
    return pickle.loads(pickle.dumps(found.format))


def decode(*values: bytes | None, **more: str) -> tuple[list[tuple[object, ...]], list[Fault]]:
    made = parse(**more)
    arrays, faults = made.open(made.schema.fieldNames())(pa.record_batch({"value": pa.array(values, pa.binary())}))
    assert [array.type for array in arrays] == [each.type for each in arrow_schema(made.schema)]
    return list(zip(*(array.cast(pa.string()).to_pylist() for array in arrays), strict=True)), list(faults)


def test_records_become_columns() -> None:
    rows, faults = decode(b'1,"a, b",9.5,2024-01-01 00:00:00', None, b"2,,,\n", b"x,,,")
    assert rows == [
        ("1", "a, b", "9.50", "2024-01-01 00:00:00.000000Z"),
        (None,) * 4,
        ("2", None, None, None),
        (None,) * 4,
    ]
    assert faults == [Fault(3, "id: x cannot be BIGINT (byte 0)")]


def test_options() -> None:
    value = b"1\t'it''s'\t-\t2024-07-01 12:00:00"
    rows, faults = decode(value, sep="\t", quote="'", nullValue="-", escape="", timeZone="Europe/Paris")
    assert (rows, faults) == ([("1", "it's", None, "2024-07-01 10:00:00.000000Z")], [])
    assert decode(value, sep="\\t", quote="'", nullValue="-", timeZone="+02:00")[0] == rows


def test_a_field_that_is_not_wanted_is_not_built() -> None:
    values = pa.record_batch({"value": pa.array([b"not a number,n,1,"])})
    (array,), faults = parse().open(["price"])(values)
    assert (str(array[0].as_py()), list(faults)) == ("1.00", [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sep": ""}, r"decoder\.sep must be one character"),
        ({"sep": ";;"}, r"decoder\.sep: expected one ASCII character .*, got ';;'"),
        ({"sep": '"'}, r"decoder\.sep must be one character, and neither the quote"),
        ({"quote": "«"}, r"decoder\.quote: expected one ASCII character"),
        ({"messageName": "x"}, r"decoder\.messageName has no meaning with decoder=csv"),
        ({"schema": "a INT, b VOID"}, r"decoder\.schema: b: texts cannot be decoded to columns of Arrow format 'n'"),
        ({"schema": "a ARRAY<INT>"}, r"decoder\.schema: a: a field of CSV cannot be nested"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse(**options)
