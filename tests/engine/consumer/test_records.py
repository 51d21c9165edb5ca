"""What one poll gives, as a sequence over its partitions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire._codec import ConsumerRecord
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.records import ConsumerRecords
from kwire.records import Record, decode, encode


def poll_of(*counts: int) -> ConsumerRecords:
    """Partition i has `counts[i]` records with values b"i.0", b"i.1" and so on."""
    values = [[b"%d.%d" % (i, n) for n in range(count)] for i, count in enumerate(counts)]
    return ConsumerRecords([(TopicPartition("t", i), decode(encode(rows))) for i, rows in enumerate(values)])


def plain(records: ConsumerRecords) -> list[tuple[int, bytes | None]]:
    return [(record.partition, record.value) for record in records]


@given(st.lists(st.integers(0, 4), max_size=4), st.slices(12))
def test_slices_are_those_of_a_list(counts: Sequence[int], cut: slice) -> None:
    records = poll_of(*counts)
    if cut.indices(len(records))[2] != 1:
        with pytest.raises(ValueError, match="step"):
            records[cut]
        return
    assert plain(records[cut]) == plain(records)[cut]
    assert records[cut].values() == records.values()[cut]


def test_a_slice_has_the_partitions_of_its_records_only() -> None:
    assert list(poll_of(2, 2, 2)[2:4].by_partition()) == [TopicPartition("t", 1)]
    assert repr(poll_of(3, 3)[1:]) == "<5 ConsumerRecords: t-0: 2, t-1: 3>"


@pytest.mark.parametrize("index", [6, -7, 2**70])
def test_an_index_beyond_the_end(index: int) -> None:
    records = poll_of(3, 3)
    assert records[-1].value == b"1.2"
    with pytest.raises(IndexError):
        records[index]


def test_a_consumed_record_is_a_record_with_a_place() -> None:
    first, second = poll_of(1, 1)
    assert isinstance(first, Record)
    assert (first.topic, first.partition, first.value, first.offset) == ("t", 0, b"0.0", 0)
    for same in (first.copy(), pickle.loads(pickle.dumps(first)), poll_of(1)[0], copy.copy(first)):
        assert (same, hash(same)) == (first, hash(first))
        assert type(same) is ConsumerRecord
    elsewhere = ConsumerRecord(first, "u", 0)
    assert elsewhere != first
    assert first not in (second, Record(b"0.0"))
    assert Record(b"0.0") != first
