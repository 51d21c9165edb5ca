"""The primitive types, both directions: against struct and a plain-Python varint, and refused where they must be.

Those of messages through a message that has nothing else, those of records alone (varint, varlong) through a record.
"""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import errors
from kwire.records import decode, encode
from kwire.schema.fields import bytes_, f64, i8, i16, i32, i32s, i64, string, strings, u16, u32, uuid
from kwire.schema.messages import Message
from tests.reference.primitives import uvarint, zigzag
from tests.reference.records import BatchFields, batch_of_content

NO_UUID = UUID(int=0)


class Numbers(Message, versions="0"):
    """Numbers of every width."""

    tiny: int = i8("0+", default=0)
    small: int = i16("0+", default=0)
    middle: int = i32("0+", default=0)
    large: int = i64("0+", default=0)
    port: int = u16("0+", default=0)
    checksum: int = u32("0+", default=0)
    share: float = f64("0+", default=0.0)
    identity: UUID = uuid("0+", default=NO_UUID)


class Text(Message, versions="0-1", flexible="1+"):
    text: str | None = string("0+", default="", nullable="0+")


class Bytes(Message, versions="0-1", flexible="1+"):
    data: bytes | None = bytes_("0+", default=b"", nullable="0+")


class Required(Message, versions="0-1", flexible="1+"):
    """Fields that may not be null."""

    text: str = string("0+", default="")
    data: bytes = bytes_("0+", default=b"")
    numbers: tuple[int, ...] = i32s("0+", default=())  # type: ignore[assignment]
    names: tuple[str, ...] = strings("0+", default=())  # type: ignore[assignment]


class Nothing(Message, versions="0", flexible="0+"):
    """Nothing but tagged fields that nobody knows."""


def ends(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high) | st.sampled_from([low, high])


NUMBERS = {
    "tiny": ends(-(2**7), 2**7 - 1),
    "small": ends(-(2**15), 2**15 - 1),
    "middle": ends(-(2**31), 2**31 - 1),
    "large": ends(-(2**63), 2**63 - 1),
    "port": ends(0, 2**16 - 1),
    "checksum": ends(0, 2**32 - 1),
    "share": st.floats(allow_nan=False),
}


@given(st.fixed_dictionaries(NUMBERS), st.uuids())
def test_numbers_of_fixed_width_and_uuids(values: dict[str, Any], identity: UUID) -> None:
    message = Numbers(**values, identity=identity)
    assert message.encode(0) == struct.pack(">bhiqHId", *[values[name] for name in NUMBERS]) + identity.bytes
    assert Numbers.decode(message.encode(0), 0) == message


@given(st.integers(0, 2**31 - 2), st.binary(max_size=20))
def test_a_uvarint_is_a_tag(tag: int, content: bytes) -> None:
    message = Nothing()
    message.unknown_tagged_fields = {tag: content}
    assert message.encode(0) == b"\1" + uvarint(tag) + uvarint(len(content)) + content
    assert Nothing.decode(message.encode(0), 0) == message


@given(st.dictionaries(st.integers(0, 2**31 - 2), st.binary(max_size=20), max_size=5))
def test_tagged_fields_are_written_in_their_order(fields: dict[int, bytes]) -> None:
    message = Nothing()
    message.unknown_tagged_fields = fields
    raw = [uvarint(tag) + uvarint(len(content)) + content for tag, content in sorted(fields.items())]
    assert message.encode(0) == uvarint(len(raw)) + b"".join(raw)
    assert Nothing.decode(message.encode(0), 0).unknown_tagged_fields == fields


@given(st.none() | st.text(max_size=200))
def test_strings(value: str | None) -> None:
    raw = None if value is None else value.encode()
    plain = struct.pack(">h", -1 if raw is None else len(raw)) + (raw or b"")
    compact = uvarint(0 if raw is None else len(raw) + 1) + (raw or b"") + b"\0"
    assert (Text(text=value).encode(0), Text(text=value).encode(1)) == (plain, compact)
    assert (Text.decode(plain, 0).text, Text.decode(compact, 1).text) == (value, value)


@given(st.none() | st.binary(max_size=200))
def test_bytes(value: bytes | None) -> None:
    plain = struct.pack(">i", -1 if value is None else len(value)) + (value or b"")
    compact = uvarint(0 if value is None else len(value) + 1) + (value or b"") + b"\0"
    assert (Bytes(data=value).encode(0), Bytes(data=value).encode(1)) == (plain, compact)
    assert (Bytes.decode(plain, 0).data, Bytes.decode(compact, 1).data) == (value, value)


TEXT, DATA, NUMBER, NAMES = "text", "data", "numbers", "names"
TRUNCATED, LENGTH, CORRUPT = errors.TruncatedError, errors.InvalidLengthError, errors.CorruptError
BEFORE_DATA, BEFORE_NUMBERS, BEFORE_NAMES = b"\0\0", b"\0\0" + bytes(4), b"\0\0" + bytes(8)

REFUSED = [
    ("null string", 0, b"\xff\xff", LENGTH, TEXT, 0),
    ("string length -2", 0, b"\xff\xfe", LENGTH, TEXT, 0),
    ("string beyond the end", 0, b"\x00\x05abcd", TRUNCATED, TEXT, 0),
    ("string that is no UTF-8", 0, b"\x00\x01\xff", CORRUPT, TEXT, 2),
    ("compact null string", 1, b"\x00", LENGTH, TEXT, 0),
    ("compact string beyond the end", 1, b"\x06abcd", TRUNCATED, TEXT, 0),
    ("length of six bytes", 1, b"\x80\x80\x80\x80\x80\x00", LENGTH, TEXT, 0),
    ("length of 33 bits", 1, b"\xff\xff\xff\xff\x1f", LENGTH, TEXT, 0),
    ("length of 32 bits", 1, b"\xff\xff\xff\xff\x0f", TRUNCATED, TEXT, 0),
    ("length that does not end", 1, b"\xff\xff", TRUNCATED, TEXT, 0),
    ("null bytes", 0, BEFORE_DATA + b"\xff\xff\xff\xff", LENGTH, DATA, 2),
    ("bytes length -2", 0, BEFORE_DATA + b"\xff\xff\xff\xfe", LENGTH, DATA, 2),
    ("bytes of 2 GiB in four bytes", 0, BEFORE_DATA + b"\x7f\xff\xff\xffabcd", TRUNCATED, DATA, 2),
    ("compact null bytes", 1, b"\x01\x00", LENGTH, DATA, 1),
    ("compact bytes beyond the end", 1, b"\x01\x06abcd", TRUNCATED, DATA, 1),
    ("null array", 0, BEFORE_NUMBERS + b"\xff\xff\xff\xff", LENGTH, NUMBER, 6),
    ("more numbers than bytes", 0, BEFORE_NUMBERS + b"\x7f\xff\xff\xff" + bytes(100), LENGTH, NUMBER, 6),
    ("one number more than bytes", 0, BEFORE_NUMBERS + b"\x00\x00\x00\x1a" + bytes(100), LENGTH, NUMBER, 6),
    ("more strings than bytes can hold", 0, BEFORE_NAMES + b"\x00\x00\x00\x03" + bytes(5), LENGTH, NAMES, 10),
    ("compact null array", 1, b"\x01\x01\x00", LENGTH, NUMBER, 2),
    ("more compact strings than bytes", 1, b"\x01\x01\x01\x08" + bytes(6), LENGTH, NAMES, 3),
    ("tags out of order", 1, b"\x01\x01\x01\x01\x02\x01\x00\x00\x00", LENGTH, "tagged fields", 7),
    ("a tag twice", 1, b"\x01\x01\x01\x01\x02\x01\x00\x01\x00", LENGTH, "tagged fields", 7),
    ("a tag's size beyond the end", 1, b"\x01\x01\x01\x01\x01\x01\x09\x00", TRUNCATED, "tagged fields", 7),
    ("more tags than bytes", 1, b"\x01\x01\x01\x01\xff\xff\xff\xff\x0f\x00", LENGTH, "tagged fields", 4),
    ("bytes left over", 0, bytes(14) + b"\x00", LENGTH, "Required", 14),
]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "raw", "error", "field", "offset"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused_with_field_and_offset(version: int, raw: bytes, error: type[Any], field: str, offset: int) -> None:
    with pytest.raises(error) as caught:
        Required.decode(raw, version)
    assert (caught.value.field, caught.value.offset) == (field, offset)
    assert field in str(caught.value)


def test_a_count_is_believed_as_far_as_the_bytes_go() -> None:
    assert Required.decode(BEFORE_NUMBERS + b"\0\0\0\x19" + bytes(104), 0).numbers == (0,) * 25


def test_a_uvarint_that_is_longer_than_it_need_be_is_read() -> None:
    assert Text.decode(b"\x83\x80\x80\x80\x00ab\x00", 1) == Text(text="ab")


@given(ends(0, 2**63 - 1), ends(-1, 2**63 - 1))
def test_a_varlong_is_the_delta_of_a_timestamp(first: int, second: int) -> None:
    wire = encode([(b"", None, first), (b"", None, second)])
    body = b"\0" + uvarint(zigzag(second - first)) + uvarint(zigzag(1)) + uvarint(zigzag(-1)) + b"\0\0"
    assert wire.endswith(uvarint(zigzag(len(body))) + body)
    assert decode(wire)[1].timestamp == second


@given(st.integers(0, 70_000), st.integers(1, 2**31 - 1))
def test_a_varint_is_a_length_and_the_delta_of_an_offset(size: int, delta: int) -> None:
    value = bytes(size)
    body = b"\0\0" + uvarint(zigzag(delta)) + uvarint(zigzag(-1)) + uvarint(zigzag(size)) + value + b"\0"
    content = uvarint(zigzag(len(body))) + body
    wire = batch_of_content(content, 1, 0, BatchFields(base_offset=5, last_offset=5 + delta))
    (record,) = decode(wire)
    assert (record.offset, record.value) == (5 + delta, value)
    first = decode(encode([b""], base_offset=5))[0]
    assert encode([first, record], keep_offsets=True)[-len(content) :] == content.replace(b"\0\0", b"\0\2", 1)


LONG_VARINTS = b"\x80\x00", b"\x80\x80\x80\x80\x00"


@pytest.mark.parametrize("zero", LONG_VARINTS)
def test_varints_that_are_longer_than_they_need_be_are_read(zero: bytes) -> None:
    body = b"\0" + zero + zero + zero + zero + zero
    wire = batch_of_content(uvarint(zigzag(len(body))) + body, 1, 7, BatchFields())
    (record,) = decode(wire)
    assert (record.timestamp, record.key, record.value, record.headers) == (7, b"", b"", ())


@pytest.mark.parametrize(
    ("delta", "timestamp"), [(b"\xff" * 9 + b"\x01", None), (b"\xff" * 9 + b"\x02", 0), (b"\x80" * 10 + b"\x00", 0)]
)
def test_a_varlong_of_ten_bytes_holds_64_bits_and_no_more(delta: bytes, timestamp: int | None) -> None:
    body = b"\0" + delta + b"\0\1\1\0"
    wire = batch_of_content(uvarint(zigzag(len(body))) + body, 1, 2**63 - 1, BatchFields())
    if timestamp is None:
        assert decode(wire)[0].timestamp == -1
        return
    with pytest.raises(errors.InvalidLengthError):
        decode(wire)
