"""The primitive types, both directions: against struct and a plain-Python varint, and refused where they must be."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import errors
from kwire._codec import Reader, Writer
from tests.reference.primitives import uvarint, zigzag

FIXED = [
    ("int8", ">b", -(2**7), 2**7 - 1),
    ("int16", ">h", -(2**15), 2**15 - 1),
    ("int32", ">i", -(2**31), 2**31 - 1),
    ("int64", ">q", -(2**63), 2**63 - 1),
    ("uint16", ">H", 0, 2**16 - 1),
    ("uint32", ">I", 0, 2**32 - 1),
]


@pytest.mark.parametrize(("kind", "layout", "least", "most"), FIXED)
@given(data=st.data())
def test_fixed_width_integers(kind: str, layout: str, least: int, most: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(least, most) | st.sampled_from([least, most]))
    writer = Writer()
    getattr(writer, f"write_{kind}")(value)
    assert bytes(writer) == struct.pack(layout, value)
    assert getattr(Reader(bytes(writer)), f"read_{kind}")() == value


@pytest.mark.parametrize(("kind", "layout", "least", "most"), FIXED)
def test_integers_out_of_range_are_not_written(kind: str, layout: str, least: int, most: int) -> None:
    writer = Writer()
    for value in (least - 1, most + 1, 2**70, 1.5, "1"):
        with pytest.raises(errors.InvalidLengthError, match=kind):
            getattr(writer, f"write_{kind}")(value)
    assert bytes(writer) == b""


@given(st.floats(allow_nan=False))
def test_float64(value: float) -> None:
    writer = Writer()
    writer.write_float64(value)
    assert bytes(writer) == struct.pack(">d", value)
    assert Reader(bytes(writer)).read_float64() == value


@given(st.integers(0, 2**32 - 1))
def test_uvarint(value: int) -> None:
    writer = Writer()
    writer.write_uvarint(value)
    assert bytes(writer) == uvarint(value)
    assert Reader(bytes(writer)).read_uvarint() == value


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1))
def test_zigzag_varints(short: int, long: int) -> None:
    writer = Writer()
    writer.write_varint(short)
    writer.write_varlong(long)
    assert bytes(writer) == uvarint(zigzag(short)) + uvarint(zigzag(long))
    reader = Reader(bytes(writer))
    assert (reader.read_varint(), reader.read_varlong(), reader.remaining) == (short, long, 0)


@pytest.mark.parametrize("kind", ["uvarint", "varint"])
def test_a_varint_of_five_bytes_holds_32_bits_and_no_more(kind: str) -> None:
    read = f"read_{kind}"
    getattr(Reader(b"\xff\xff\xff\xff\x0f"), read)()
    for bad in (b"\xff\xff\xff\xff\x1f", b"\x80\x80\x80\x80\x80\x00"):
        with pytest.raises(errors.InvalidLengthError) as caught:
            _second(Reader(b"\x00" + bad), read)
        assert caught.value.offset == 1
    with pytest.raises(errors.TruncatedError):
        getattr(Reader(b"\xff\xff"), read)()


def _second(reader: Reader, read: str) -> None:
    reader.read_int8()
    getattr(reader, read)("second")


def test_a_varlong_of_ten_bytes_holds_64_bits_and_no_more() -> None:
    assert Reader(b"\xff" * 9 + b"\x01").read_varlong() == -(2**63)
    for bad in (b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x00"):
        with pytest.raises(errors.InvalidLengthError):
            Reader(bad).read_varlong()


def test_a_varint_that_is_longer_than_it_need_be_is_read() -> None:
    assert Reader(b"\x81\x00").read_uvarint() == 1


@given(st.none() | st.text(max_size=200), st.booleans())
def test_strings(value: str | None, compact: bool) -> None:
    raw = None if value is None else value.encode()
    if compact:
        expected = uvarint(0 if raw is None else len(raw) + 1) + (raw or b"")
    else:
        expected = struct.pack(">h", -1 if raw is None else len(raw)) + (raw or b"")
    writer = Writer()
    writer.write_string(value, compact=compact)
    assert bytes(writer) == expected
    assert Reader(expected).read_string(compact=compact, nullable=True) == value


@given(st.none() | st.binary(max_size=200), st.booleans())
def test_bytes(value: bytes | None, compact: bool) -> None:
    if compact:
        expected = uvarint(0 if value is None else len(value) + 1) + (value or b"")
    else:
        expected = struct.pack(">i", -1 if value is None else len(value)) + (value or b"")
    writer = Writer()
    writer.write_bytes(value, compact=compact)
    assert bytes(writer) == expected
    assert Reader(expected).read_bytes(compact=compact, nullable=True) == value


@given(st.uuids())
def test_uuid(value: UUID) -> None:
    writer = Writer()
    writer.write_uuid(value)
    assert bytes(writer) == value.bytes
    assert Reader(value.bytes).read_uuid() == value


@given(st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=20), max_size=5))
def test_tagged_fields(fields: dict[int, bytes]) -> None:
    writer = Writer()
    writer.write_tagged_fields(fields.items())
    assert Reader(bytes(writer)).read_tagged_fields() == tuple(sorted(fields.items()))


REFUSED = [
    ("null string", "read_string", {}, b"\xff\xff", errors.InvalidLengthError),
    ("string length -2", "read_string", {"nullable": True}, b"\xff\xfe", errors.InvalidLengthError),
    ("string beyond the end", "read_string", {}, b"\x00\x05abcd", errors.TruncatedError),
    ("string that is no UTF-8", "read_string", {}, b"\x00\x01\xff", errors.CorruptError),
    ("compact null string", "read_string", {"compact": True}, b"\x00", errors.InvalidLengthError),
    ("compact string beyond the end", "read_string", {"compact": True}, b"\x06abcd", errors.TruncatedError),
    ("bytes length -2", "read_bytes", {"nullable": True}, b"\xff\xff\xff\xfe", errors.InvalidLengthError),
    ("bytes of 2 GiB in four bytes", "read_bytes", {}, b"\x7f\xff\xff\xffabcd", errors.TruncatedError),
    ("tags out of order", "read_tagged_fields", {}, b"\x02\x01\x00\x00\x00", errors.InvalidLengthError),
    ("a tag twice", "read_tagged_fields", {}, b"\x02\x01\x00\x01\x00", errors.InvalidLengthError),
    ("a tag's size beyond the end", "read_tagged_fields", {}, b"\x01\x01\x09\x00", errors.TruncatedError),
    ("more tags than bytes", "read_tagged_fields", {}, b"\xff\xff\xff\xff\x0f\x00", errors.InvalidLengthError),
]


@pytest.mark.parametrize(
    ("read", "options", "raw", "error"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused_with_field_and_offset(read: str, options: dict[str, bool], raw: bytes, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        getattr(Reader(raw), read)("topics[0].name", **options)
    assert isinstance(caught.value, errors.CodecError)
    assert caught.value.field == "topics[0].name"
    assert caught.value.offset is not None
    assert "topics[0].name" in str(caught.value)


@pytest.mark.parametrize("raw", [b"\x7f\xff\xff\xff" + bytes(100), b"\x00\x00\x00\x1a" + bytes(100)])
def test_an_array_count_is_believed_only_as_far_as_the_bytes_go(raw: bytes) -> None:
    with pytest.raises(errors.InvalidLengthError, match="more elements"):
        Reader(raw).read_array_count(4)
    assert Reader(b"\x00\x00\x00\x19" + bytes(100)).read_array_count(4) == 25
    assert Reader(b"\xff\xff\xff\xff").read_array_count(4, nullable=True) is None


def test_left_over_bytes_are_told() -> None:
    reader = Reader(b"\x01\x02")
    reader.read_int8()
    with pytest.raises(errors.InvalidLengthError, match="left over") as caught:
        reader.expect_end()
    assert caught.value.offset == 1
