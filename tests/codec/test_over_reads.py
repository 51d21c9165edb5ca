"""No byte beyond those that were given is read: the given ones end where memory ends."""

from __future__ import annotations

import pytest

from kwire import errors, records
from kwire._codec import record_paths, scan_records
from tests.guarded import guarded, runs_in_a_process
from tests.reference.records import BatchFields, batch_of_content, varint

NULL = b"\x81\x80\0"
"""-1 as a varint of three bytes; one byte would do."""

NULL_VALUE_AT_THE_END = varint(16) + bytes(3) + varint(8) + b"12345678" + NULL
"""Claims 16 bytes and has 15: the header count would be the byte after the last."""

NULL_KEY_BEFORE_TWO_BYTES = varint(20) + bytes(1) + b"\x80\x80\0" * 2 + NULL + b"\x80\x80"
"""Its value size is a varint whose third byte would be the byte after the last."""


def batch(content: bytes, count: int) -> bytes:
    return batch_of_content(content, count, count - 1, BatchFields())


def decode_guarded(content: bytes, count: int) -> None:
    with pytest.raises(errors.CodecError):
        records.decode(guarded(batch(content, count)))
    _, fault = scan_records(guarded(batch(content, count)))
    assert fault is not None


def null_value_at_the_end() -> None:
    decode_guarded(NULL_VALUE_AT_THE_END, 1)


def record_after_a_null_value_at_the_end() -> None:
    decode_guarded(NULL_VALUE_AT_THE_END, 2)


def null_key_before_two_bytes() -> None:
    decode_guarded(NULL_KEY_BEFORE_TWO_BYTES, 1)


def cut_anywhere() -> None:
    header = varint(1) + b"h" + varint(1) + b"x"
    body = b"\0" + varint(1000) + varint(0) + varint(3) + b"key" + varint(5) + b"value" + varint(1) + header
    whole = varint(len(body)) + body
    for size in range(7, len(whole)):
        decode_guarded(whole[:size], 1)


@pytest.mark.parametrize(
    "reading",
    [null_value_at_the_end, record_after_a_null_value_at_the_end, null_key_before_two_bytes, cut_anywhere],
    ids=lambda reading: reading.__name__,
)
def test_reads_nothing_beyond_the_last_byte(reading: object) -> None:
    runs_in_a_process(reading)  # type: ignore[arg-type]


def test_a_null_value_at_the_end_of_its_batch_is_refused_for_its_length() -> None:
    with pytest.raises(errors.InvalidLengthError) as caught:
        records.decode(batch(NULL_VALUE_AT_THE_END, 2))
    assert caught.value.field == "batches[0].records[0].length"


def test_neither_path_takes_a_record_longer_than_the_bytes() -> None:
    assert record_paths(NULL_VALUE_AT_THE_END) == (None, None)
    assert record_paths(NULL_KEY_BEFORE_TWO_BYTES) == (None, None)
