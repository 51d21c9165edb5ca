"""How far a micro-batch goes, beside batches that Spark's Kafka source made."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kwire.engine.common.addresses import TopicPartition
from kwire.spark.ranges.stream_limits import MinimumWait, limit_bytes, limit_offsets

BACKLOGS = st.lists(st.integers(0, 10**6), min_size=1, max_size=20)


def at(*offsets: int) -> dict[TopicPartition, int]:
    return {TopicPartition("t", number): offset for number, offset in enumerate(offsets)}


def batches(limit: int, *sizes: int) -> list[list[int]]:
    """The sizes of batches until all is read."""
    start, latest = at(*[0] * len(sizes)), at(*sizes)
    found = []
    while start != latest:
        end = limit_offsets(limit, start, latest)
        found.append([end[tp] - start[tp] for tp in sorted(end)])
        start = end
    return found


def test_shares_are_those_of_sparks_source() -> None:
    assert batches(7, 10, 5, 0) == [[4, 2, 0], [4, 2, 0], [2, 1, 0]]
    assert batches(100, 1000, 10, 1, 0, 333)[:3] == [[74, 1, 1, 0, 24], [74, 1, 0, 0, 24], [74, 1, 0, 0, 24]]


def test_limit_beyond_the_backlog_takes_all() -> None:
    assert batches(2**63 - 1, 10, 5) == [[10, 5]]


def test_partition_that_went_backwards_ends_where_it_is() -> None:
    assert limit_offsets(2, at(10, 0), at(4, 8)) == at(4, 2)


def test_partition_without_a_known_start_ends_at_its_latest() -> None:
    assert limit_offsets(2, at(0), at(8, 5)) == at(2, 5)


@given(st.integers(1, 10**7), BACKLOGS, st.integers(0, 2**62))
def test_each_batch_makes_progress_and_stays_within_the_log(limit: int, sizes: list[int], origin: int) -> None:
    start, latest = at(*[origin] * len(sizes)), at(*[origin + size for size in sizes])
    end = limit_offsets(limit, start, latest)
    read = {tp: end[tp] - start[tp] for tp in end}
    assert all(0 <= read[tp] <= latest[tp] - start[tp] for tp in end)
    assert sum(read.values()) <= limit + len(sizes)
    assert all(read[tp] > 0 for tp in end if latest[tp] > start[tp]), "no partition may starve"


@given(st.integers(1, 10**9), BACKLOGS, st.lists(st.floats(1, 10**6), min_size=20, max_size=20))
def test_bytes_are_limited_but_for_one_record_of_each_partition(
    limit: int, sizes: list[int], means: list[float]
) -> None:
    start, latest = at(*[0] * len(sizes)), at(*sizes)
    mean = dict(zip(latest, means, strict=False))
    end = limit_bytes(limit, start, latest, mean)
    assert all(math.floor(end[tp]) <= latest[tp] and (end[tp] > 0 or not latest[tp]) for tp in end)
    over = sum(mean[tp] for tp in end if end[tp] == 1)
    assert sum(end[tp] * mean[tp] for tp in end) <= limit * (1 + 1e-9) + over


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_batch_waits_for_enough_records_or_for_long_enough() -> None:
    clock = Clock()
    wait = MinimumWait(10, 60.0, clock)
    assert not wait.holds_back(at(0), at(1)), "the first batch of a run never waits"
    clock.now = 59.9
    assert wait.holds_back(at(1), at(10))
    assert not wait.holds_back(at(1), at(11))
    clock.now = 119.8
    assert wait.holds_back(at(11), at(12))
    clock.now = 119.9
    assert not wait.holds_back(at(11), at(12))


def test_new_partitions_count_from_zero_while_waiting() -> None:
    wait = MinimumWait(10, 60.0, Clock())
    wait.holds_back({}, {})
    assert wait.holds_back(at(0), at(0, 9))
    assert not wait.holds_back(at(0), at(0, 10))
