"""What a scan says of a bad batch: where it lies, and from which offset on reading can go on."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import errors, records
from kwire._codec import scan_records

BASE_OFFSET, LAST_OFFSET_DELTA, COUNT = 0, 23, 57
FIRST = records.encode([b"v"] * 10, base_offset=100)
SECOND = records.encode([b"v"] * 10, base_offset=110)


def with_field(wire: bytes, place: int, layout: str, value: int) -> bytes:
    """The batch with another value in its header, whose checksum no longer matches where it covers the field."""
    return wire[:place] + struct.pack(layout, value) + wire[place + struct.calcsize(layout) :]


def next_offset(wire: bytes, min_offset: int = 100) -> int:
    """The offset to seek to behind the fault."""
    _, fault = scan_records(wire, min_offset=min_offset, ascending=True)
    assert fault is not None
    assert isinstance(fault.error, errors.CorruptError)
    return fault.next_offset


@pytest.mark.parametrize("delta", [0, 3, 10, 1000, 2**31 - 1, -1, -(2**31)])
def test_a_damaged_header_leads_to_the_batch_behind_it(delta: int) -> None:
    assert next_offset(with_field(FIRST, LAST_OFFSET_DELTA, ">i", delta) + SECOND) == 110


@pytest.mark.parametrize("delta", [0, 3, 10, 1000, 2**31 - 1, -1])
def test_a_damaged_header_with_nothing_behind_it_is_not_believed(delta: int) -> None:
    assert next_offset(with_field(FIRST, LAST_OFFSET_DELTA, ">i", delta)) == 101


def test_damaged_records_with_nothing_behind_them_are_passed_at_once() -> None:
    assert next_offset(FIRST[:-1] + b"!") == 110


def test_reading_on_makes_progress_within_a_batch_that_is_not_believed() -> None:
    wire = with_field(FIRST, LAST_OFFSET_DELTA, ">i", 3)
    position = 100
    for _ in range(9):
        position, before = next_offset(wire, position), position
        assert position == before + 1


@given(st.binary(min_size=17, max_size=100))
def test_whatever_follows_the_next_offset_lies_ahead(junk: bytes) -> None:
    damaged = with_field(FIRST, LAST_OFFSET_DELTA, ">i", 500)
    assert 101 <= next_offset(damaged + junk) <= 101 + 2**31


def test_batches_that_go_back_are_refused_behind_those_that_do_not() -> None:
    read, fault = scan_records(SECOND + FIRST, ascending=True)
    assert len(read) == 10
    assert fault is not None
    assert isinstance(fault.error, errors.CorruptError)
    assert "offset 100 does not come after offset 119" in str(fault.error)
    assert fault.error.field == "batches[1].base_offset"
    assert (fault.position, fault.base_offset, fault.next_offset) == (len(SECOND), 100, 120)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_a_log_in_order_is_no_fault(magic: int, codec: str) -> None:
    pieces = [records.encode([b"v"] * 3, base_offset=base, magic=magic, compression=codec) for base in (5, 8, 20)]
    read, fault = scan_records(b"".join(pieces), ascending=True)
    assert fault is None
    assert [record.offset for record in read] == [5, 6, 7, 8, 9, 10, 20, 21, 22]


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_that_go_back_are_refused(magic: int) -> None:
    wire = b"".join(records.encode([b"v"], base_offset=base, magic=magic) for base in (5, 6, 6))
    read, fault = scan_records(wire, ascending=True)
    assert [record.offset for record in read] == [5, 6]
    assert fault is not None
    assert fault.next_offset == 7


def test_without_being_told_any_order_will_do() -> None:
    read, fault = scan_records(SECOND + FIRST)
    assert fault is None
    assert len(read) == 20
