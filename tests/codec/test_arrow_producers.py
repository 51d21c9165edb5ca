"""Arrow structures as any producer may fill them: names that are NULL, pieces that are missing, lengths that lie."""

from __future__ import annotations

import re
import struct
from typing import Any

import pytest

from kwire import errors
from kwire._codec import Accumulator, SentRows
from kwire.records import encode, encode_arrow
from tests.codec.arrow_producer import Column, Producer
from tests.subprocesses import run_python

MANY = 1 << 62


def offsets(*places: int) -> bytes:
    return struct.pack(f"<{len(places)}i", *places)


def long_offsets(*places: int) -> bytes:
    return struct.pack(f"<{len(places)}q", *places)


def view(size: int, buffer: int, at: int) -> bytes:
    return struct.pack("<i4sii", size, b"abcd", buffer, at)


def binary(name: bytes | None = b"value", **changes: Any) -> Column:
    given = {"format": b"z", "length": 2, "buffers": [None, offsets(0, 1, 3), b"abc"], **changes}
    return Column(name=name, **given)


def views(row: bytes, buffers: list[bytes | None]) -> Column:
    return Column(b"vz", b"value", 1, [None, row, *buffers])


def table(*columns: Column | None, **changes: Any) -> Column:
    return Column(b"+s", b"", **{"length": 2, "buffers": [None], "children": columns, **changes})


def pairs(**changes: Any) -> Column:
    """Two header pairs, one for each of two rows."""
    children = [binary(b"key", format=b"u"), binary(b"value")]
    return Column(b"+s", b"item", **{"length": 2, "buffers": [None], "children": children, **changes})


def headers(item: Column | None = None, **changes: Any) -> Column:
    given = {"length": 2, "buffers": [None, offsets(0, 1, 2)], "children": [item or pairs()], **changes}
    return Column(b"+l", b"headers", **given)


def timestamps(**changes: Any) -> Column:
    return Column(b"l", b"timestamp", **{"length": 2, "buffers": [None, long_offsets(7, 8)], **changes})


RIGHT = {
    "an array": (binary(), [b"a", b"bc"]),
    "an array without a name": (binary(None), [b"a", b"bc"]),
    "a column without a name": (table(binary(), binary(None)), [b"a", b"bc"]),
    "a table without a name": (table(binary(), schema={"name": None}), [b"a", b"bc"]),
    "timestamps": (table(binary(), timestamps()), [(b"a", None, 7), (b"bc", None, 8)]),
    "headers": (table(binary(), headers()), [(b"a", None, None, [("a", b"a")]), (b"bc", None, None, [("bc", b"bc")])]),
    "pairs without names": (
        table(binary(), headers(pairs(children=[binary(None, format=b"u"), binary(None)]))),
        [(b"a", None, None, [("a", b"a")]), (b"bc", None, None, [("bc", b"bc")])],
    ),
    "no rows and no buffers": (binary(length=0, buffers=[None, None, None]), []),
    "empty values and no data": (binary(buffers=[None, offsets(0, 0, 0), None]), [b"", b""]),
    "a row of a table": (table(binary(), length=1, offset=1), [b"bc"]),
    "fixed width": (Column(b"w:2", b"value", 2, [None, b"abcd"]), [b"ab", b"cd"]),
    "a width of zero": (Column(b"w:0", b"value", 2, [None, None]), [b"", b""]),
    "a view": (views(view(13, 0, 1), [b"xthirteen byte", long_offsets(14)]), [b"thirteen byte"]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_arrays_that_follow_the_specification(name: str) -> None:
    column, records = RIGHT[name]
    producer = Producer(column)
    assert encode_arrow(producer) == encode(records)
    assert producer.releases == 1


WRONG = {
    "a table without the child arrays": (table(binary(), array={"n_children": 0}), "batch"),
    "more children than it is said to have": (table(binary(), schema={"n_children": -1}), "batch"),
    "a child that is NULL": (table(binary(), None), "batch"),
    "a table without its buffer": (table(binary(), buffers=[]), "batch"),
    "a table that is null in all its rows": (table(binary(), buffers=[b"\0"]), "batch"),
    "a table of negative length": (table(binary(), length=-1), "batch"),
    "a table with a negative offset": (table(binary(), offset=-5), "batch"),
    "a table whose length and offset wrap": (table(binary(), length=MANY * 2 - 1, offset=MANY), "batch"),
    "a child shorter than the table": (table(binary(), length=3), "value"),
    "a child shorter than a slice": (table(binary(), length=2, offset=1), "value"),
    "a negative offset": (binary(offset=-5), "value"),
    "a negative length": (binary(length=-1), "value"),
    "an offset beyond memory": (binary(offset=MANY), "value"),
    "one buffer": (binary(buffers=[None]), "value"),
    "no pointer to buffers": (binary(array={"buffers": None}), "value"),
    "a negative number of buffers": (binary(array={"n_buffers": -1}), "value"),
    "no offsets": (binary(buffers=[None, None, b"abc"]), "value"),
    "no data": (binary(buffers=[None, offsets(0, 1, 3), None]), "value"),
    "no data for long offsets": (binary(format=b"Z", buffers=[None, long_offsets(0, 1, 3), None]), "value"),
    "offsets that go back": (binary(buffers=[None, offsets(0, 1 << 30, 3), b"abc"]), "value"),
    "negative offsets": (binary(buffers=[None, offsets(-9, -6, -3), b"abc"]), "value"),
    "long offsets that go back": (binary(format=b"Z", buffers=[None, long_offsets(0, MANY, 3), b"abc"]), "value"),
    "nulls without their bits": (binary(array={"null_count": 1}), "value"),
    "no format": (binary(format=None), "batch"),
    "a table without a format": (table(binary(), schema={"format": None}), "batch"),
    "a column without a format": (table(binary(format=None)), "value"),
    "a width that is no number": (binary(format=b"w:abc"), "value"),
    "no width": (binary(format=b"w:"), "value"),
    "a negative width": (binary(format=b"w:-1"), "value"),
    "a width beyond an int64": (binary(format=b"w:99999999999999999999"), "value"),
    "a width beyond memory": (Column(b"w:2000000000", b"value", 1 << 40, [None, b"ab"]), "value"),
    "no fixed bytes": (Column(b"w:2", b"value", 2, [None, None]), "value"),
    "views without their sizes": (views(view(13, 0, 0), []), "value"),
    "sizes of views that are NULL": (views(view(13, 0, 0), [b"thirteen byte", None]), "value"),
    "a view beyond its buffer": (views(view(14, 0, 0), [b"thirteen byte", long_offsets(13)]), "value"),
    "a view that begins beyond its buffer": (views(view(13, 0, 9), [b"thirteen byte", long_offsets(13)]), "value"),
    "a view into no buffer": (views(view(13, 1, 0), [b"thirteen byte", long_offsets(13)]), "value"),
    "a view's buffer that is NULL": (views(view(13, 0, 0), [None, long_offsets(13)]), "value"),
    "a view's buffer of negative size": (views(view(13, 0, 0), [b"thirteen byte", long_offsets(-1)]), "value"),
    "no views": (Column(b"vz", b"value", 1, [None, None, None]), "value"),
    "timestamps of a shorter column": (table(binary(), timestamps(length=1)), "timestamp"),
    "no timestamps": (table(binary(), timestamps(buffers=[None, None])), "timestamp"),
    "one buffer of timestamps": (table(binary(), timestamps(buffers=[None])), "timestamp"),
    "timestamps without a format": (table(binary(), Column(None, b"timestamp", 2)), "timestamp"),
    "headers without a format": (table(binary(), Column(None, b"headers", 2)), "headers"),
    "headers without children": (table(binary(), headers(children=[])), "headers"),
    "headers without a child array": (table(binary(), headers(array={"n_children": 0})), "headers"),
    "headers of two children": (table(binary(), headers(children=[pairs(), pairs()])), "headers"),
    "headers without offsets": (table(binary(), headers(buffers=[None, None])), "headers"),
    "headers beyond their pairs": (table(binary(), headers(buffers=[None, offsets(0, 1, 9)])), "headers"),
    "headers of a shorter column": (table(binary(), headers(length=1)), "headers"),
    "pairs of one column": (table(binary(), headers(pairs(children=[binary(b"key")]))), "headers"),
    "pairs without child arrays": (table(binary(), headers(pairs(array={"n_children": 0}))), "headers"),
    "pairs without a buffer": (table(binary(), headers(pairs(buffers=[]))), "headers"),
    "pairs of a negative length": (table(binary(), headers(pairs(length=-2))), "headers"),
    "more pairs than keys": (table(binary(), headers(pairs(length=3))), "header key"),
    "pairs at an offset beyond their keys": (table(binary(), headers(pairs(offset=1))), "header key"),
    "a released array": (binary(array={"release": type(Producer(binary()).array.release)()}), "batch"),
    "a released schema": (binary(schema={"release": type(Producer(binary()).schema.release)()}), "batch"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_array_that_cannot_be_is_refused_before_it_is_read(name: str) -> None:
    column, field = WRONG[name]
    with pytest.raises(errors.CodecError) as caught:
        encode_arrow(Producer(column))
    assert caught.value.field == field


def test_an_array_is_read_once_and_released_once() -> None:
    """A consumer moves the array out of its capsule: the same capsules hold nothing for the next one."""
    producer = Producer(binary())
    assert encode_arrow(producer) == encode([b"a", b"bc"])
    with pytest.raises(errors.CodecError, match="released") as caught:
        encode_arrow(producer)
    assert caught.value.field == "batch"
    assert producer.releases == 1


class Returns:
    def __init__(self, value: object) -> None:
        self.value = value

    def __arrow_c_array__(self, requested_schema: object | None = None) -> Any:
        return self.value


@pytest.mark.parametrize(
    "value", [None, 1, (), (1, 2), Producer(binary()).capsules[::-1], Producer(binary()).capsules[:1], [1, 2]]
)
def test_what_is_not_a_pair_of_capsules_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match=re.escape("Returns.__arrow_c_array__()")):
        encode_arrow(Returns(value))


def test_arrays_that_cannot_be_do_not_end_the_process() -> None:
    code = """
        from kwire import errors
        from kwire.records import encode_arrow
        from tests.codec.arrow_producer import Producer
        from tests.codec.test_arrow_producers import WRONG
        for name, (column, field) in WRONG.items():
            try:
                encode_arrow(Producer(column))
            except errors.CodecError:
                pass
            print(name)
    """
    assert len(run_python(code).splitlines()) == len(WRONG)


@pytest.mark.parametrize("field", ["value", "key"])
def test_rows_that_are_sent_name_the_column_at_fault(field: str) -> None:
    """Of the row at fault and no other: before the first one lie bytes that are not the column's."""
    columns = {name: binary(name.encode()) for name in ("value", "key")}
    columns[field] = binary(field.encode(), buffers=[None, offsets(0, 2, 1), b"a"])
    accumulator = Accumulator()
    accumulator.set_clock(1.0, 1000)
    accumulator.on_attention = lambda: None
    rows = SentRows(accumulator)
    with pytest.raises(errors.CodecError) as caught:
        rows.send(["t"], Producer(table(*columns.values())))
    assert caught.value.field == field
    assert len(rows) == 0
