"""`decoder=package:function` on batches, without Spark."""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pytest

from kwire import records
from kwire.spark.decoding.contract import DecodeError
from kwire.spark.decoding.options import parse_decoding
from kwire.spark.options.given import GivenOptions
from kwire.spark.reading.columns import ColumnBatches
from tests.snippets import run, snippet

SCHEMA = "id BIGINT, name STRING"


def orders(batch: pa.RecordBatch) -> pa.RecordBatch:
    parsed = [json.loads(value) for value in batch.column("value").to_pylist()]
    return pa.RecordBatch.from_pylist(parsed, pa.schema([("id", pa.int64()), ("name", pa.string())]))


def swapped_table(batch: pa.RecordBatch) -> pa.Table:
    made = pa.Table.from_batches([orders(batch), orders(batch)]).slice(batch.num_rows)
    return made.select(["name", "id"]).set_column(1, "id", made["id"].cast(pa.int32()))


def places(batch: pa.RecordBatch) -> pa.RecordBatch:
    names = [f"{t}/{p}/{o}" for t, p, o in zip(*(batch.column(n).to_pylist() for n in batch.schema.names), strict=True)]
    return pa.record_batch({"id": batch.column("offset"), "name": names})


def raises(batch: pa.RecordBatch) -> pa.RecordBatch:
    raise KeyError("no such thing")


def a_list(batch: pa.RecordBatch) -> list[int]:
    return [1]


def one_row(batch: pa.RecordBatch) -> pa.RecordBatch:
    return orders(batch).slice(0, 1)


def other_names(batch: pa.RecordBatch) -> pa.RecordBatch:
    return orders(batch).rename_columns(["id", "nom"])


def other_types(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.record_batch({"id": ["x"] * batch.num_rows, "name": [["y"]] * batch.num_rows})


NOT_A_FUNCTION = 5


def decoded(function: str, columns: tuple[str, ...] = ("id", "name"), inputs: str = "value") -> list[dict[str, object]]:
    options = {"decoder": f"{__name__}:{function}", "decoder.schema": SCHEMA, "decoder.columns": inputs}
    how = pickle.loads(pickle.dumps(parse_decoding(GivenOptions(options))))
    batches = ColumnBatches(columns, how)
    values = [b'{"id": %d, "name": "n%d"}' % (n, n) for n in range(3)]
    found = records.decode(records.encode(values, base_offset=7))
    made = [*batches.add(found, "topic", 2), *batches.flush()]
    return [row for batch in made for row in batch.to_pylist()]


@pytest.mark.parametrize("function", ["orders", "swapped_table"])
def test_a_function_decodes_to_the_declared_columns(function: str) -> None:
    assert decoded(function) == [{"id": n, "name": f"n{n}"} for n in range(3)]
    assert decoded(function, ("name", "offset")) == [{"name": f"n{n}", "offset": 7 + n} for n in range(3)]


def test_a_function_gets_the_columns_that_it_names() -> None:
    found = decoded("places", ("name",), inputs="topic, partition,OFFSET")
    assert [row["name"] for row in found] == ["topic/2/7", "topic/2/8", "topic/2/9"]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("raises", "KeyError: 'no such thing'"),
        ("a_list", "TypeError: expected a pyarrow.RecordBatch or Table, got list"),
        ("one_row", "ValueError: expected 3 rows, one for each record, got 1"),
        ("other_names", "ValueError: expected the columns id, name, got id, nom"),
        ("other_types", "ValueError: column id: Failed to parse string"),
    ],
)
def test_an_error_names_function_and_records(function: str, said: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decoded(function)
    assert str(caught.value).startswith(f"decoder={__name__}:{function} failed on topic-2, offsets 7 to 9: {said}")


@pytest.mark.parametrize("function", ["missing", "NOT_A_FUNCTION"])
def test_a_function_that_is_not_there(function: str) -> None:
    with pytest.raises(ValueError, match=f"decoder {__name__}:{function} (cannot be imported|is a int)"):
        decoded(function)


def test_a_function_of_the_program_itself_is_refused_at_once() -> None:
    options = {"decoder": "__main__:decode", "decoder.schema": SCHEMA}
    with pytest.raises(
        ValueError, match=r"decoder: expected package\.module:function, a module that workers can import"
    ):
        parse_decoding(GivenOptions(options))


def test_the_function_of_the_documentation() -> None:
    measurements = run(snippet("docs/spark.md", "def measurements("))["measurements"]
    made = measurements(pa.record_batch({"value": pa.array([b"12.5 kWh", None, b"-3 m"])}))
    assert made.to_pydict() == {"amount": [12.5, None, -3.0], "unit": ["kWh", None, "m"]}
