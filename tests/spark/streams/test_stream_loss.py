"""What a micro-batch reads and what of it is lost, judged by offsets alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.engine.common.addresses import TopicPartition
from kwire.spark.streams.loss import EndsChangedError, check_frozen_ends, judge, loss_text

A, B, C = (TopicPartition("t", number) for number in range(3))
OFFSETS = st.dictionaries(st.sampled_from([A, B, C]), st.integers(0, 5))


def test_known_partitions_are_read_from_where_the_last_batch_ended() -> None:
    judged = judge({A: 3, B: 5}, {A: 7, B: 5}, {})
    assert judged.ranges == {A: (3, 7)}
    assert not judged.losses


def test_new_partition_is_read_from_its_first_offset() -> None:
    assert judge({A: 3}, {A: 3, B: 4}, {B: 0}).ranges == {B: (0, 4)}


@pytest.mark.parametrize(
    ("start", "end", "first", "loss", "ranges"),
    [
        pytest.param({}, {B: 9}, {B: 3}, "Added partition t-1 starts from 3 instead of 0", {B: (3, 9)}, id="aged-out"),
        pytest.param({}, {B: 9}, {}, "Cannot find earliest offsets of t-1", {}, id="new-and-gone"),
        pytest.param({A: 1, B: 2}, {A: 4}, {}, "Partitions t-1 have been deleted", {A: (1, 4)}, id="deleted"),
        pytest.param({A: 10}, {A: 4}, {}, "Partition t-0 offset was changed from 10 to 4", {}, id="backwards"),
    ],
)
def test_losses_are_those_of_sparks_source(
    start: dict[TopicPartition, int],
    end: dict[TopicPartition, int],
    first: dict[TopicPartition, int],
    loss: str,
    ranges: dict[TopicPartition, tuple[int, int]],
) -> None:
    judged = judge(start, end, first)
    assert len(judged.losses) == 1
    assert judged.losses[0].startswith(loss)
    assert judged.ranges == ranges


def test_topic_created_anew_with_a_longer_log_is_a_loss() -> None:
    judged = judge({A: 10}, {A: 30}, {}, recreated={"t"})
    (loss,) = judged.losses
    assert loss == (
        "Topic t was deleted and created anew; records of the new t-0 before offset 10 are not read, and a query "
        "started again from this checkpoint does not notice that. A new checkpoint reads all of it"
    )
    assert judged.ranges == {A: (10, 30)}


def test_text_says_what_the_option_does() -> None:
    assert "set the option failOnDataLoss to false" in loss_text(["x"], fails=True)
    assert "failOnDataLoss is false" in loss_text(["x", "y"], fails=False)
    assert loss_text(["x", "y"], fails=False).startswith("x. y. Some data may have been missed")


@given(OFFSETS, OFFSETS, OFFSETS)
def test_what_is_read_ends_at_the_end_and_was_never_read_before(
    start: dict[TopicPartition, int], end: dict[TopicPartition, int], first: dict[TopicPartition, int]
) -> None:
    judged = judge(start, end, {tp: first[tp] for tp in first if tp in end and tp not in start})
    for tp, (begin, stop) in judged.ranges.items():
        assert begin < stop == end[tp]
        assert begin == start.get(tp, first.get(tp))
    complete = all(end.get(tp, -1) >= offset for tp, offset in start.items())
    complete &= all(first.get(tp) == 0 for tp in end.keys() - start.keys())
    assert complete == (not judged.losses)


@pytest.mark.parametrize(
    ("end", "latest", "fault"),
    [
        ({A: 5}, {A: 5, B: 5}, "t-1 differ"),
        ({A: 6, B: 5}, {A: 6, B: 5}, "beyond 5"),
        ({A: 5, B: 5}, {A: 5}, "t-1 have been deleted"),
        ({A: 5, B: 5}, {A: 4, B: 5}, "ends at 4, before 5"),
    ],
)
def test_frozen_ends_must_stay(end: dict[TopicPartition, int], latest: dict[TopicPartition, int], fault: str) -> None:
    check_frozen_ends({A: 5, B: 5}, {A: 5, B: 3}, {A: 9, B: 9})
    with pytest.raises(EndsChangedError, match=re.escape(fault)):
        check_frozen_ends({A: 5, B: 5}, end, latest)
