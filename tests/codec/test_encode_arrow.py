"""Columns to batches: every Arrow type that a column may have, slices, nulls, and what is refused."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import errors
from kwire._codec import encode, encode_arrow
from kwire.records import decode

pa = pytest.importorskip("pyarrow")

VALUES = [b"a", None, b"", b"twelve bytes", b"thirteen byte", b"x" * 500]
HEADERS = [[("h", b"1"), ("g", None)], None, [], [("a longer header key", b"y" * 40)], [("k", b"")], [("z", b"v")]]
BINARY = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.string(), pa.large_string(), pa.string_view()]


def header_type(key: Any = None, value: Any = None) -> Any:
    return pa.struct([("key", key or pa.string()), ("value", value or pa.binary())])


def header_column(rows: list[Any], kind: Any = None) -> Any:
    dicts = [None if r is None else [{"key": k, "value": v} for k, v in r] for r in rows]
    return pa.array(dicts, kind or pa.list_(header_type()))


def binary_column(rows: list[bytes | None], kind: Any) -> Any:
    return pa.array(rows, pa.binary()).cast(kind) if "view" not in str(kind) else pa.array(
        [r if r is None or kind == pa.binary_view() else r.decode() for r in rows], kind
    )  # fmt: skip


@pytest.mark.parametrize("kind", BINARY, ids=str)
def test_every_type_of_value_and_key(kind: Any) -> None:
    column = binary_column(VALUES, kind)
    expected = encode([(v, v) for v in VALUES])
    assert encode_arrow(pa.RecordBatch.from_arrays([column, column], ["value", "key"])) == expected
    assert encode_arrow(column) == encode(VALUES)


def test_fixed_size_binary_and_null() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([b"abc", None], pa.binary(3)), pa.nulls(2)], ["value", "key"])
    assert encode_arrow(batch) == encode([b"abc", None])


@pytest.mark.parametrize(
    ("kind", "given", "milliseconds"),
    [
        (pa.int64(), 1715940000123, 1715940000123),
        (pa.timestamp("s"), 1715940000, 1715940000000),
        (pa.timestamp("ms", "UTC"), 1715940000123, 1715940000123),
        (pa.timestamp("us", "Europe/Berlin"), 1715940000123999, 1715940000123),
        (pa.timestamp("ns"), 1715940000123999999, 1715940000123),
        (pa.int64(), -1, -1),
        (pa.timestamp("us"), None, -1),
        (pa.null(), None, -1),
    ],
)
def test_every_type_of_timestamp(kind: Any, given: int | None, milliseconds: int) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([b"v"]), pa.array([given], kind)], ["value", "timestamp"])
    assert encode_arrow(batch) == encode([(b"v", None, milliseconds)])


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(header_type()),
        pa.large_list(header_type(pa.binary(), pa.large_binary())),
        pa.list_(header_type(pa.large_string(), pa.binary_view())),
    ],
    ids=str,
)
def test_every_type_of_headers(kind: Any) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(VALUES), header_column(HEADERS, kind)], ["value", "headers"])
    assert encode_arrow(batch) == encode([(v, None, None, h) for v, h in zip(VALUES, HEADERS, strict=True)])


def test_headers_as_a_map() -> None:
    column = pa.array([[("a", b"1"), ("a", b"2")], None], pa.map_(pa.string(), pa.binary()))
    batch = pa.RecordBatch.from_arrays([pa.array([b"v", b"w"]), column], ["value", "headers"])
    assert encode_arrow(batch) == encode([(b"v", None, None, [("a", b"1"), ("a", b"2")]), b"w"])


rows = st.lists(
    st.tuples(
        st.none() | st.binary(max_size=40),
        st.none() | st.binary(max_size=40),
        st.none() | st.integers(0, 2**50),
        st.none() | st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=20)), max_size=3),
    ),
    max_size=20,
)


@settings(deadline=None)
@given(rows=rows, cut=st.integers(0, 20), as_struct=st.booleans(), view=st.booleans())
def test_slices_write_what_their_rows_say(rows: list[Any], cut: int, as_struct: bool, view: bool) -> None:
    kind = pa.binary_view() if view else pa.binary()
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([r[0] for r in rows], kind),
            pa.array([r[1] for r in rows], pa.binary()),
            pa.array([r[2] for r in rows], pa.int64()),
            header_column([r[3] for r in rows]),
        ],
        ["value", "key", "timestamp", "headers"],
    )
    part = batch.to_struct_array()[cut:] if as_struct else batch.slice(cut)
    assert encode_arrow(part) == encode(rows[cut:])


def test_headers_that_are_longer_than_everything_else() -> None:
    headers = [[("k", b"h" * 3000)]] * 50
    values = pa.array([b"v"] * 50, pa.binary())
    batch = pa.RecordBatch.from_arrays([values, header_column(headers)], ["value", "headers"])
    assert encode_arrow(batch) == encode([(b"v", None, None, pairs) for pairs in headers])


def test_no_rows_give_nothing() -> None:
    assert encode_arrow(pa.array([], pa.binary())) == b""


def test_options_and_other_columns() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([9]), pa.array([b"v"])], ["offset", "value"])
    assert encode_arrow(batch, magic=1, base_offset=4) == encode([b"v"], magic=1, base_offset=4)


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"value": pa.array([1])}, "value.*binary"),
        ({"key": pa.array([b"k"])}, "no column named value.*key"),
        ({"value": pa.array(["a"]).dictionary_encode()}, "dictionary"),
        ({"value": pa.array([b"v"]), "timestamp": pa.array([1.5])}, "timestamp"),
        ({"value": pa.array([b"v"]), "timestamp": pa.array([-5])}, "row 0.*timestamp"),
        ({"value": pa.array([b"v"]), "headers": pa.array([b"h"])}, "headers"),
        ({"value": pa.array([b"v"]), "headers": header_column([[(None, b"")]])}, "row 0.*without a key"),
    ],
)
def test_columns_that_cannot_be_meant_are_refused_by_name(columns: Any, names: str) -> None:
    with pytest.raises(errors.CodecError, match=names):
        encode_arrow(pa.RecordBatch.from_pydict(columns))


def test_headers_and_an_old_magic_do_not_go_together() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([b"v"]), header_column([[("h", b"")]])], ["value", "headers"])
    with pytest.raises(errors.CodecError, match="magic 1"):
        encode_arrow(batch, magic=1)


def test_max_bytes_is_no_option_here() -> None:
    with pytest.raises(TypeError, match="max_bytes"):
        encode_arrow(pa.array([b"v"]), max_bytes=10)  # type: ignore[call-arg]


def test_headers_are_told_apart_by_name() -> None:
    swapped = pa.list_(pa.struct([("value", pa.binary()), ("key", pa.string())]))
    batch = pa.RecordBatch.from_arrays(
        [pa.array(VALUES, pa.binary()), header_column(HEADERS, swapped)], ["value", "headers"]
    )
    assert encode_arrow(batch) == encode([(v, None, None, h or ()) for v, h in zip(VALUES, HEADERS, strict=True)])


@pytest.mark.parametrize("cut", [0, 1])
def test_a_null_header_is_refused(cut: int) -> None:
    pairs = pa.StructArray.from_arrays(
        [pa.array(["j", "k", "l"]), pa.array([b"0", b"1", b"2"])], ["key", "value"], mask=pa.array([False, False, True])
    ).slice(cut)
    headers = pa.ListArray.from_arrays(pa.array([0, len(pairs)], pa.int32()), pairs)
    batch = pa.RecordBatch.from_arrays([pa.array([b"v"]), headers], ["value", "headers"])
    with pytest.raises(errors.CodecError, match="row 0: a null header"):
        encode_arrow(batch)


def test_what_is_no_record_batch_is_named() -> None:
    with pytest.raises(TypeError, match="not Table; give a table batch by batch"):
        encode_arrow(pa.table({"value": [b"v"]}))


@pytest.mark.parametrize("offset", [0, 1])
def test_null_rows_that_arrow_has_not_counted_are_seen(offset: int) -> None:
    values = pa.array([b"a", b"b", b"c"], pa.binary())
    fields = pa.struct([("value", pa.binary())])

    def rows(bits: int) -> Any:
        made = pa.StructArray.from_buffers(fields, 3, [pa.py_buffer(bytes([bits]))], null_count=-1, children=[values])
        return made.slice(offset)

    assert decode(encode_arrow(rows(0b111))).values() == [b"a", b"b", b"c"][offset:]
    with pytest.raises(errors.CodecError, match="null rows"):
        encode_arrow(rows(0b101))


def test_offsets_that_lie_take_no_memory() -> None:
    lying = pa.Array.from_buffers(
        pa.binary(), 2, [None, pa.py_buffer(struct.pack("<iii", 0, 2**31 - 1, 1)), pa.py_buffer(b"ab")]
    )
    with pytest.raises(errors.CodecError):
        encode_arrow(lying)
