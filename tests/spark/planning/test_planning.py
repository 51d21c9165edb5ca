"""Splitting against the cuts that Spark's Kafka source was seen to make, and packing by its own promises."""

import logging
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError
from kwire.spark.ranges.tasks import (
    NO_LIMITS,
    ROWS_OF_A_BATCH_TASK,
    ROWS_OF_A_STREAM_TASK,
    OffsetRange,
    TaskLimits,
    pack_tasks,
    split_ranges,
    task_count,
)
from kwire.spark.ranges.tasks import plan as plan_of

plan = partial(plan_of, rows_of_a_task=ROWS_OF_A_BATCH_TASK)

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


def test_more_partitions_than_offsets_are_one_for_each_offset_at_once() -> None:
    """However many: the driver does not count to two thousand million."""
    pieces = split_ranges(ranges_of(3, 1, 0, 2), min_partitions=2**31)
    assert [(each.partition.partition, each.start, each.end) for each in pieces] == [
        (0, 0, 1), (0, 1, 2), (0, 2, 3), (1, 0, 1), (3, 0, 1), (3, 1, 2)
    ]  # fmt: skip


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
    ("sizes", "slots", "limits", "expected"),
    [
        ([], 2, {}, 0),
        ([10] * 5, 8, {}, 1),
        ([10] * 20, 2, {"min_partitions": 15}, 15),
        ([10] * 5, 2, {"min_partitions": 15}, 5),
        ([100_000] * 12, 2, {}, 2),
        ([1000] * 1000, 2, {}, 2),
        ([1000] * 1000, 8, {}, 8),
        ([1000] * 1000, 2, {"max_tasks": 1}, 1),
        ([1000] * 1000, 100, {"max_tasks": 7}, 7),
        ([400_000] * 12, 2, {}, 2),
        ([1_000_000] * 12, 2, {}, 4),
        ([1_000_000] * 12, 8, {}, 8),
        ([1_000_000] * 120, 8, {}, 32),
        ([5_000], 100, {}, 1),
        ([500_000], 100, {}, 9),
    ],
)
def test_as_many_tasks_as_the_read_is_worth(
    sizes: list[int], slots: int, limits: dict[str, int], expected: int
) -> None:
    found = task_count(ranges_of(*sizes), slots=slots, rows_of_a_task=10**9, limits=TaskLimits(**limits))
    assert found == expected


@pytest.mark.parametrize(
    ("sizes", "slots", "limits", "batch", "stream"),
    [
        ([10] * 50, 64, {}, 1, 1),
        ([10] * 100, 64, {}, 2, 1),
        ([1], 64, {}, 1, 1),
        ([200] * 6, 6, {}, 3, 1),
        ([1_000] * 6, 2, {}, 2, 2),
        ([1_000] * 6, 6, {}, 6, 3),
        ([10_000] * 12, 1, {}, 1, 1),
        ([10_000] * 12, 12, {}, 12, 12),
        ([10_000] * 12, 64, {}, 12, 12),
        ([50_000] * 12, 2, {}, 2, 2),
        ([50_000] * 12, 64, {}, 36, 12),
        ([120_000, 0, 0], 64, {}, 8, 1),
        ([120_000], 8, {}, 8, 1),
        ([20_000], 8, {}, 1, 1),
        ([10_000] * 12, 12, {"max_tasks": 1}, 1, 1),
        ([120_000], 8, {"min_partitions": 1}, 1, 1),
        ([1] * 2_000, 1_200, {}, 5, 5),
    ],
)
def test_as_many_tasks_as_what_follows_may_be_worth(
    sizes: list[int], slots: int, limits: dict[str, int], batch: int, stream: int
) -> None:
    for rows, cut, expected in ((ROWS_OF_A_BATCH_TASK, True, batch), (ROWS_OF_A_STREAM_TASK, False, stream)):
        ranges = ranges_of(*sizes)
        tasks = plan_of(ranges, limits=TaskLimits(**limits), slots=slots, rows_of_a_task=rows, cut=cut)
        assert len(tasks) == expected


def test_a_partition_that_has_most_of_the_rows_is_cut_in_a_batch() -> None:
    tasks = plan(ranges_of(30_000, 100, 100, 100), limits=NO_LIMITS, slots=4, cut=True)
    assert max(sum(each.size for each in task) for task in tasks) <= 8_000


def test_large_records_make_more_tasks() -> None:
    large = [replace(each, record_size=1 << 20) for each in ranges_of(*[1000] * 12)]
    assert [task_count(large, slots=slots, rows_of_a_task=10**9) for slots in (1, 2, 12, 50)] == [23, 24, 24, 50]
    assert task_count(ranges_of(*[1000] * 12), slots=50, rows_of_a_task=10**9) == 1


def test_offsets_that_compaction_took_cost_next_to_nothing() -> None:
    compacted = [replace(each, record_size=0.001) for each in ranges_of(*[10_000_000] * 12)]
    assert task_count(compacted, slots=8, rows_of_a_task=10**9) == 2
    assert task_count(ranges_of(*[10_000_000] * 12), slots=8, rows_of_a_task=10**9) == 32


def test_small_ranges_stay_whole() -> None:
    (first, second) = plan(ranges_of(*[100_000] * 12), limits=NO_LIMITS, slots=2, cut=True)
    assert sorted([*first, *second], key=lambda each: each.partition) == ranges_of(*[100_000] * 12)


def test_a_large_range_is_cut_for_all_slots() -> None:
    tasks = plan(ranges_of(8_000_000, 100, 100), limits=NO_LIMITS, slots=4, cut=True)
    assert sorted(sum(each.size for each in task) for task in tasks) == [2_000_000] * 2 + [2_000_100] * 2
    assert cuts([each for task in tasks for each in task]) == {0: [2_000_000, 4_000_000, 6_000_000]}


def test_a_huge_partition_makes_no_task_that_runs_for_minutes() -> None:
    tasks = plan(ranges_of(1_000_000_000), limits=NO_LIMITS, slots=2, cut=True)
    assert max(each.cost for task in tasks for each in task) < 7_000_000


@pytest.mark.parametrize("limits", [{"max_tasks": 0}, {"min_partitions": 1}])
def test_ranges_stay_whole_where_the_options_say_so(limits: dict[str, int]) -> None:
    tasks = plan(ranges_of(8_000_000, 8_000_000), limits=TaskLimits(**limits), slots=4, cut=True)
    assert [len(task) for task in tasks] == [1, 1]


def test_without_cutting_a_partition_is_one_range() -> None:
    assert plan(ranges_of(8_000_000), limits=NO_LIMITS, slots=4) == [tuple(ranges_of(8_000_000))]


ranges_drawn = st.lists(
    st.tuples(st.integers(0, 50_000_000), st.integers(0, 3), st.sampled_from([0.001, 1.0, 100.0, 1e6])), max_size=12
)


@given(
    ranges_drawn,
    st.integers(1, 50),
    st.booleans(),
    st.builds(
        TaskLimits, st.none() | st.integers(1, 30), st.none() | st.integers(10**6, 10**8), st.none() | st.integers(0, 9)
    ),
)
def test_a_plan_covers_every_offset_once(
    drawn: list[tuple[int, int, float]], slots: int, cut: bool, limits: TaskLimits
) -> None:
    ranges = [
        OffsetRange(TopicPartition("t", n), 7, 7 + size, leader, None, mean)
        for n, (size, leader, mean) in enumerate(drawn)
    ]
    tasks = plan(ranges, limits=limits, slots=slots, cut=cut)
    assert all(tasks)
    if limits.max_tasks and limits.max_records is None:
        assert len(tasks) <= limits.max_tasks
    for whole in ranges:
        own = sorted((each.start, each.end) for task in tasks for each in task if each.partition == whole.partition)
        ends = [whole.start, *(end for _, end in own)]
        assert [start for start, _ in own] == ends[:-1]
        assert ends[-1] == whole.end


def test_five_thousand_partitions_are_spread_over_all_slots() -> None:
    ranges = [OffsetRange(TopicPartition("t", number), 0, 5000, number % 9) for number in range(5000)]
    tasks = plan(ranges, limits=NO_LIMITS, slots=100, cut=True)
    assert (len(tasks), sum(len(task) for task in tasks)) == (100, 5000)
    assert max(len(task) for task in tasks) - min(len(task) for task in tasks) <= 6


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (TaskLimits(max_records=1), "maxRecordsPerPartition=1"),
        (TaskLimits(min_partitions=30_000), "minPartitions=30000"),
        (TaskLimits(max_records=2, max_tasks=0), "maxRecordsPerPartition=2, maxTasks=0"),
    ],
)
def test_very_many_small_tasks_are_warned_of(limits: TaskLimits, said: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "kwire.spark"):
        assert len(plan(ranges_of(30_000), limits=limits, slots=2)) > 10_000
    assert f"tasks for 30000 offsets with {said}: a task costs" in caplog.text


def test_as_many_large_tasks_are_not(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "kwire.spark"):
        assert len(plan(ranges_of(10**11), limits=TaskLimits(max_records=5_000_000), slots=2)) == 20_000
    assert not caplog.records


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (TaskLimits(max_records=1), "maxRecordsPerPartition=1"),
        (TaskLimits(min_partitions=2**40), f"minPartitions={2**40}"),
    ],
)
def test_more_tasks_than_a_driver_bears_are_refused_before_they_are_made(limits: TaskLimits, said: str) -> None:
    with pytest.raises(ConfigError, match=f"tasks or parts of tasks with {said}; the limit is 1000000"):
        plan(ranges_of(10**12), limits=limits, slots=2)
