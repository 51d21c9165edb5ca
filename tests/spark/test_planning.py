"""Splitting against the cuts that Spark's Kafka source was seen to make, and packing by its own promises."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.engine.addresses import TopicPartition
from kwire.spark.planning import OffsetRange, pack_tasks, split_ranges, task_count

# Five partitions of these sizes were given to Spark's Kafka connector 4.2.0; the cuts below are what it made of them.
SIZES = [1000, 10, 1, 0, 333]


def ranges_of(*sizes: int, leader: int = 0) -> list[OffsetRange]:
    return [OffsetRange(TopicPartition("t", number), 0, size, leader) for number, size in enumerate(sizes)]


def cuts(ranges: list[OffsetRange]) -> dict[int, list[int]]:
    """The inner ends of each partition's pieces."""
    starts: dict[int, list[int]] = {}
    for each in ranges:
        starts.setdefault(each.partition.partition, []).append(each.start)
    return {partition: found[1:] for partition, found in starts.items() if found[1:]}


@pytest.mark.parametrize(
    ("min_partitions", "expected"),
    [
        (None, {}),
        (4, {}),
        (6, {0: [333, 666]}),
        (7, {0: [250, 500, 750]}),
        (10, {0: [166, 332, 499, 666, 833], 4: [166]}),
        (13, {0: [125, 250, 375, 500, 625, 750, 875], 4: [111, 222]}),
    ],
)
def test_min_partitions_cuts_where_the_connector_cuts(
    min_partitions: int | None, expected: dict[int, list[int]]
) -> None:
    assert cuts(split_ranges(ranges_of(*SIZES), min_partitions=min_partitions)) == expected


def test_explicit_ends_are_cut_where_the_connector_cuts() -> None:
    ranges = [
        OffsetRange(TopicPartition("t", 0), 100, 777),
        OffsetRange(TopicPartition("t", 1), 0, 10),
        OffsetRange(TopicPartition("t", 2), 0, 1),
        OffsetRange(TopicPartition("t", 4), 10, 300),
    ]
    assert cuts(split_ranges(ranges, min_partitions=8)) == {0: [269, 438, 607], 4: [155]}


@pytest.mark.parametrize(
    ("min_partitions", "expected"),
    [(None, {0: [250, 500, 750], 4: [166]}), (10, {0: [125, 250, 375, 500, 625, 750, 875], 4: [166]})],
)
def test_max_records_cuts_first_and_where_the_connector_cuts(
    min_partitions: int | None, expected: dict[int, list[int]]
) -> None:
    found = split_ranges(ranges_of(*SIZES), min_partitions=min_partitions, max_records=300)
    assert cuts(found) == expected


def test_empty_partitions_give_no_range() -> None:
    assert [each.partition.partition for each in split_ranges(ranges_of(*SIZES))] == [0, 1, 2, 4]
    assert split_ranges(ranges_of(0, 0)) == []


sizes = st.lists(st.integers(0, 5000), max_size=30)
limits = st.none() | st.integers(1, 40)


@given(sizes, limits, st.none() | st.integers(1, 3000))
def test_pieces_cover_every_offset_once(sizes: list[int], min_partitions: int | None, max_records: int | None) -> None:
    whole = ranges_of(*sizes)
    pieces = split_ranges(whole, min_partitions=min_partitions, max_records=max_records)
    for each in whole:
        own = [piece for piece in pieces if piece.partition == each.partition]
        assert all(piece.size > 0 for piece in own)
        ends = [0, *(piece.end for piece in own)]
        assert [piece.start for piece in own] == ends[:-1]
        assert ends[-1] == each.end
    if max_records is not None:
        assert all(piece.size <= max_records for piece in pieces)


leaders = st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 4)), max_size=60)


@given(leaders, st.integers(1, 20), st.none() | st.integers(5000, 20000))
def test_each_range_is_in_one_task(drawn: list[tuple[int, int]], tasks: int, max_records: int | None) -> None:
    ranges = [OffsetRange(TopicPartition("t", number), 0, size, leader) for number, (size, leader) in enumerate(drawn)]
    packed = pack_tasks(ranges, tasks, max_records=max_records)
    assert Counter(each for task in packed for each in task) == Counter(ranges)
    assert all(packed)
    if max_records is None:
        assert len(packed) == min(tasks, len(ranges))
    else:
        assert all(sum(each.size for each in task) <= max_records for task in packed)
    if tasks >= len({leader for _, leader in drawn}):
        assert all(len({each.leader for each in task}) == 1 for task in packed)


def test_tasks_are_of_about_equal_size() -> None:
    ranges = [each for leader in range(3) for each in ranges_of(*[1000] * 40, leader=leader)]
    loads = [sum(each.size for each in task) for task in pack_tasks(ranges, 9)]
    assert sorted(loads) == [13000] * 6 + [14000] * 3


def test_a_leader_with_more_gets_more_tasks() -> None:
    ranges = [*ranges_of(*[9000] * 20, leader=1), *ranges_of(*[500] * 20, leader=2)]
    by_leader = Counter(task[0].leader for task in pack_tasks(ranges, 10))
    assert by_leader == {1: 9, 2: 1}


@pytest.mark.parametrize(
    ("sizes", "settings", "expected"),
    [
        ([1000] * 1000, {"slots": 2}, 5),
        ([1000] * 1000, {"slots": 8}, 8),
        ([1000] * 1000, {"slots": 2, "max_tasks": 0}, 1000),
        ([1000] * 1000, {"slots": 2, "max_tasks": 7}, 5),
        ([1000] * 1000, {"slots": 2, "max_tasks": 3}, 3),
        ([1_000_000] * 12, {"slots": 2}, 12),
        ([1_000_000] * 12, {"slots": 2, "max_tasks": 6}, 6),
        ([100_000] * 12, {"slots": 2}, 6),
        ([10] * 5, {"slots": 8}, 5),
        ([10] * 20, {"slots": 2, "min_partitions": 15}, 15),
        ([], {"slots": 2}, 0),
    ],
)
def test_as_many_tasks_as_the_work_is_worth(sizes: list[int], settings: dict[str, int], expected: int) -> None:
    assert task_count(ranges_of(*sizes), **settings) == expected
