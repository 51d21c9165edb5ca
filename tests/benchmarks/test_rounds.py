"""Rotation, ratios and percentiles."""

from __future__ import annotations

from collections import Counter

import pytest
from benchmarks.compare.rounds import percentile, ratio_of, rotated


def test_everyone_is_at_every_place_equally_often() -> None:
    names = ["a", "b", "c"]
    orders = [rotated(names, number) for number in range(6)]
    for place in range(3):
        assert Counter(order[place] for order in orders) == {"a": 2, "b": 2, "c": 2}
    assert all(sorted(order) == names for order in orders)


def test_nobody_in_any_order() -> None:
    assert rotated([], 3) == []


def test_a_ratio_is_taken_inside_each_round() -> None:
    ratio = ratio_of({0: 1.0, 1: 10.0, 2: 2.0}, {0: 5.0, 1: 60.0, 2: 8.0})
    assert ratio is not None
    assert (ratio.median, ratio.least, ratio.greatest, ratio.rounds) == (5.0, 4.0, 6.0, 3)


def test_a_round_that_one_of_them_lacks_does_not_count() -> None:
    ratio = ratio_of({0: 1.0, 2: 1.0}, {0: 3.0, 1: 100.0})
    assert ratio is not None
    assert (ratio.median, ratio.rounds) == (3.0, 1)
    assert ratio_of({0: 1.0}, {1: 1.0}) is None


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.01, 1), (0.5, 50), (0.99, 99), (0.995, 100), (1.0, 100)])
def test_percentile_by_the_nearest_rank(share: float, expected: int) -> None:
    assert percentile([float(number) for number in range(1, 101)], share) == expected


def test_percentile_of_one_value() -> None:
    assert percentile([7.0], 0.99) == 7.0


def test_percentile_of_nothing_or_of_an_odd_share() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)
    with pytest.raises(ValueError, match="from 0 to 1"):
        percentile([1.0], 99)
