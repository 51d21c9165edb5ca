"""What the framework does around a decoder: columns, modes, errors. The decoders here are a few lines of Python."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType

from kwire import records
from kwire.errors import ConfigError
from kwire.spark.decoding.contract import ColumnDecoder, Decode, DecodeError, Fault, Mode
from kwire.spark.decoding.ddl import ddl, parse_schema
from kwire.spark.decoding.decoding import NO_DECODING, Decoding
from kwire.spark.decoding.options import parse_decoding
from kwire.spark.decoding.schema import DEFAULT_COLUMNS
from kwire.spark.options.given import GivenOptions
from kwire.spark.reading.columns import ColumnBatches

NUMBERS = parse_schema("number BIGINT, square BIGINT")


@dataclass(frozen=True)
class Digits:
    """Decodes decimal digits to a number and its square; anything else is a fault."""

    schema: StructType = NUMBERS
    inputs: tuple[str, ...] = ("value",)
    name: str = "digits"

    def open(self, fields: Sequence[str]) -> Decode:
        def decode(raw: pa.RecordBatch) -> tuple[list[pa.Array], Sequence[Fault]]:
            texts = raw.column(0).to_pylist()
            faults = [
                Fault(row, f"{text!r} has no digits") for row, text in enumerate(texts) if text and not text.isdigit()
            ]
            numbers = [int(text) if text and text.isdigit() else None for text in texts]
            columns = {"number": numbers, "square": [None if n is None else n * n for n in numbers]}
            return [pa.array(columns[name], pa.int64()) for name in fields], faults

        return decode


def decoding(mode: Mode = "fail", *, key: Mode | None = None, prefix: str = "") -> Decoding:
    of_key = key and ColumnDecoder("keyDecoder", "key", Digits(inputs=("key",)), key, "key_")
    return Decoding(of_key or None, ColumnDecoder("decoder", "value", Digits(), mode, prefix))


def rows(
    how: Decoding, columns: Sequence[str], *values: bytes | None, keys: Sequence[bytes] = ()
) -> list[dict[str, object]]:
    items = [(value, keys[n] if keys else None) for n, value in enumerate(values)]
    batches = ColumnBatches(columns, how)
    found = records.decode(records.encode(items, base_offset=100))
    made = [*batches.add(found, "topic", 3), *batches.flush()]
    return [row for batch in made for row in batch.to_pylist()]


def test_fields_stand_in_the_place_of_their_column() -> None:
    both = decoding("column", key="column", prefix="v_")
    columns = both.result_names(DEFAULT_COLUMNS)
    assert both.ddl(columns).startswith(
        "key_number BIGINT, key_square BIGINT, _corruptKey BINARY, "
        "v_number BIGINT, v_square BIGINT, _corrupt BINARY, topic STRING"
    )
    assert decoding().result_names(("value", "offset", "key")) == ("number", "square", "offset", "key")
    assert decoding().ddl(("offset", "square")) == "offset BIGINT, square BIGINT"
    assert NO_DECODING.result_names(DEFAULT_COLUMNS) == DEFAULT_COLUMNS
    assert NO_DECODING.ddl(("key",)) == "key BINARY"


def test_a_name_that_would_stand_twice_is_refused() -> None:
    twice = Decoding(value=ColumnDecoder("decoder", "value", Digits(parse_schema("Topic BIGINT"))))
    with pytest.raises(ConfigError, match=r"the column topic would appear twice.*decoder\.prefix"):
        twice.result_names(DEFAULT_COLUMNS)
    same = Decoding(
        ColumnDecoder("keyDecoder", "key", Digits(inputs=("key",))), ColumnDecoder("decoder", "value", Digits())
    )
    with pytest.raises(ConfigError, match=r"decoder: the column number would appear twice"):
        same.result_names(DEFAULT_COLUMNS)


def test_a_decoded_field_may_have_the_name_of_its_column() -> None:
    how = Decoding(value=ColumnDecoder("decoder", "value", Digits(parse_schema("value BIGINT"))))
    assert how.ddl(["value"]) == "value BIGINT"
    assert how.raw_columns(["value"]) == ("value",)


def test_only_what_is_needed_is_filled_and_decoded() -> None:
    assert decoding("null").raw_columns(["offset", "square"]) == ("offset", "value")
    assert decoding("null").raw_columns(["offset"]) == ("offset",)
    assert decoding("fail").raw_columns(["offset"]) == ("offset", "value")
    assert rows(decoding("null"), ["square", "offset"], b"3") == [{"square": 9, "offset": 100}]
    assert rows(decoding("drop"), ["offset"], b"3", b"x", b"5") == [{"offset": 100}, {"offset": 102}]


def test_modes() -> None:
    values = (b"3", None, b"x", b"4")
    columns = ("number", "offset")
    good = [{"number": 3, "offset": 100}, {"number": None, "offset": 101}, {"number": 4, "offset": 103}]
    bad = {"number": None, "offset": 102}
    assert rows(decoding("null"), columns, *values) == [*good[:2], bad, good[2]]
    assert rows(decoding("drop"), columns, *values) == good
    kept = rows(decoding("column"), ("number", "_corrupt"), *values)
    assert kept == [
        {"number": 3, "_corrupt": None},
        {"number": None, "_corrupt": None},
        {"number": None, "_corrupt": b"x"},
        {"number": 4, "_corrupt": None},
    ]
    with pytest.raises(DecodeError) as caught:
        rows(decoding("fail"), columns, *values, b"y")
    assert str(caught.value) == (
        "value of topic-3 at offset 102 cannot be decoded as digits: b'x' has no digits; 1 more in the same batch "
        "(decoder.mode=null, drop or column reads on)"
    )
    assert caught.value.place == ("topic", 3, 102)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_keys_and_values_are_decoded_at_once() -> None:
    how = decoding("drop", key="column")
    found = rows(how, ("key_square", "_corruptKey", "square"), b"2", b"x", b"4", keys=(b"5", b"6", b"y"))
    assert found == [
        {"key_square": 25, "_corruptKey": None, "square": 4},
        {"key_square": None, "_corruptKey": b"y", "square": 16},
    ]


def test_places_are_right_across_parts_and_batches() -> None:
    batches = ColumnBatches(("number",), decoding())
    for partition in range(3):
        found = records.decode(records.encode([b"1"] * 5, base_offset=10 * partition))
        assert list(batches.add(found, "topic", partition)) == []
    bad = records.decode(records.encode([b"1", b"2", b"bad"], base_offset=77))
    assert list(batches.add(bad, "other", 9)) == []
    with pytest.raises(DecodeError, match="value of other-9 at offset 79 "):
        list(batches.flush())


class Broken(Digits):
    """A decoder that does not keep its promise."""

    def __init__(self, returned: object) -> None:
        super().__init__()
        object.__setattr__(self, "returned", returned)

    def open(self, fields: Sequence[str]) -> Decode:
        def decode(raw: pa.RecordBatch) -> tuple[list[pa.Array], Sequence[Fault]]:
            if isinstance(self.returned, Exception):  # type: ignore[attr-defined]
                raise self.returned  # type: ignore[attr-defined]
            return self.returned, ()  # type: ignore[attr-defined]

        return decode


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        ([], "expected 1 column, got 0"),
        ([pa.array([1, 2], pa.int64())], "column number: expected 3 rows, got 2"),
        ([pa.array([1, 2, 3], pa.int32())], "column number: expected int64, got int32"),
    ],
)
def test_a_decoder_that_fails_is_named_with_its_records(returned: object, said: str) -> None:
    how = Decoding(value=ColumnDecoder("decoder", "value", Broken(returned), "null"))
    with pytest.raises(DecodeError) as caught:
        rows(how, ("number",), b"1", b"2", b"3")
    assert str(caught.value) == f"decoder=digits failed on topic-3, offsets 100 to 102: {said}"


def given(**options: str) -> GivenOptions:
    return GivenOptions({name.replace("_", "."): value for name, value in options.items()})


def test_without_the_options_nothing_is_decoded() -> None:
    assert not parse_decoding(given())
    assert parse_decoding(given()) == NO_DECODING


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"decoder": "xml"}, "decoder: expected json, csv, avro, protobuf or package:function, got 'xml'"),
        ({"decoder_schema": "a INT"}, "decoder.schema is given without decoder"),
        ({"keyDecoder_mode": "null"}, "keyDecoder.mode is given without keyDecoder"),
        ({"decoder": "a.b:c"}, r"the option decoder\.schema must be given: the columns, e\.g\."),
        ({"decoder": "a.b:c", "decoder_schema": "a Text"}, r"decoder\.schema: expected a type .* got 'Text'"),
        (
            {"decoder": "a.b:c", "decoder_schema": "/no/such/file"},
            r"decoder\.schema: cannot read /no/such/file: No such",
        ),
        ({"keyDecoder": "a-b:c", "keyDecoder_schema": "a INT"}, "keyDecoder: expected package.module:function"),
        (
            {"decoder": "a:b", "decoder_schema": "a INT", "decoder_sep": ";"},
            "decoder.sep has no meaning with decoder=a:b",
        ),
        ({"decoder": "a:b", "decoder_schema": "a INT", "decoder_columns": "value,colour"}, "there is no 'colour'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_decoding(given(**options))


def test_a_schema_may_stand_in_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "schema.ddl"
    path.write_text("a INT,\nb STRING\n")
    for name in (str(path), f"file:{path}", f"file://{path}"):
        how = parse_decoding(given(decoder="a:b", decoder_schema=name))
        assert how.value is not None
        assert ddl(how.value.format.schema) == "a INT, b STRING"
