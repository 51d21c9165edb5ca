"""The explained byte strings of tests/vectors, read by kwire and by the plain codec, and cut at every byte."""

from __future__ import annotations

import pytest

from kwire import records
from tests.codec.record_strategies import all_plain
from tests.reference import records as reference
from tests.reference.records import PlainRecord
from tests.vectors.records import ALL, BATCH, CONTROL_BATCH


@pytest.mark.parametrize(("wire", "expected"), ALL.values(), ids=ALL)
def test_a_vector_reads_as_explained(wire: bytes, expected: list[PlainRecord]) -> None:
    assert all_plain(records.decode(wire)) == expected
    assert reference.decode(wire) == expected


@pytest.mark.parametrize(("wire", "expected"), ALL.values(), ids=ALL)
def test_a_vector_cut_anywhere_is_left_over(wire: bytes, expected: list[PlainRecord]) -> None:
    for cut in range(len(wire)):
        read = records.decode(wire[:cut])
        assert (len(read), read.consumed) == (0, 0)
        assert read.needed == (0 if cut == 0 else 12 if cut < 12 else len(wire))


def test_the_headers_of_the_vectors() -> None:
    batch = records.decode(BATCH).batches[0]
    assert (batch.base_offset, batch.last_offset, batch.partition_leader_epoch, batch.max_timestamp) == (7, 9, 3, 1004)
    control = records.decode(CONTROL_BATCH).batches[0]
    assert (control.is_control, control.is_transactional, control.producer_id, control.producer_epoch) == (
        True,
        True,
        5,
        1,
    )


def test_vectors_one_after_the_other() -> None:
    wires, expected = zip(*ALL.values(), strict=True)
    read = records.decode(b"".join(wires))
    assert all_plain(read) == [record for one in expected for record in one]
    assert [batch.magic for batch in read.batches] == [2, 2, 0, 1, 1, 0]
