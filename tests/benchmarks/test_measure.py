"""The arithmetic of rounds: order, ratios, percentiles, how much each contender does."""

from __future__ import annotations

from collections import Counter

import pytest
from benchmarks.compare.contenders.meters import Meter, latency, percentile
from benchmarks.compare.measure import Plan, Ratio, Result, measure, ratio_of, rotated
from benchmarks.compare.rows import CONFLUENT, KWIRE, RAW_SOCKET, Row, row_named


def test_over_the_rounds_every_contender_has_every_place() -> None:
    orders = [rotated(["a", "b", "c"], number) for number in range(6)]
    for place in range(3):
        assert Counter(order[place] for order in orders) == {"a": 2, "b": 2, "c": 2}
    assert rotated([], 3) == []


def test_a_ratio_is_taken_inside_each_round() -> None:
    assert ratio_of({0: 1.0, 1: 10.0, 2: 2.0}, {0: 5.0, 1: 60.0, 2: 8.0}) == Ratio(5.0, 4.0, 6.0)


def test_a_round_that_one_of_them_lacks_does_not_count() -> None:
    assert ratio_of({0: 1.0, 2: 1.0}, {0: 3.0, 1: 100.0}) == Ratio(3.0, 3.0, 3.0)
    assert ratio_of({0: 1.0}, {1: 1.0}) is None
    assert ratio_of({0: 0.0}, {0: 1.0}) is None


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.01, 1), (0.5, 50), (0.99, 99), (0.995, 100), (1.0, 100)])
def test_percentile_by_nearest_rank(share: float, expected: int) -> None:
    assert percentile([float(number) for number in range(1, 101)], share) == expected


def test_costs_are_per_record() -> None:
    meter = Meter()
    meter.cpu_s, meter.wall_s, meter.waits, meter.added_kib = 0.5, 2.0, 500, 3072
    assert meter.per_record(250_000) == {
        "cpu_s_per_million": 2.0,
        "records_per_s": 125_000,
        "wall_ns": 8_000.0,
        "waits_per_million": 2_000.0,
        "added_mib": 3.0,
        "count": 250_000,
    }
    assert latency([3e-6, 1e-6], cpu_s=4e-6) == pytest.approx({"p50_us": 1, "p99_us": 3, "cpu_us": 2, "count": 2})


def test_a_quick_run_handles_a_share_but_not_too_few() -> None:
    sent, exchanged = row_named("produce-deliveries"), row_named("round-trip-p50")
    quick = Plan(2, True, "mock", (KWIRE, RAW_SOCKET), lambda text: None)
    assert quick.records(sent, KWIRE) == sent.records[KWIRE] // 2
    assert quick.records(sent, CONFLUENT) == sent.records[CONFLUENT] // 4
    assert quick.records(Row("x", "x", "x", "x", {KWIRE: 60}), KWIRE) == 50
    assert quick.order(exchanged, 1) == [RAW_SOCKET, KWIRE]
    assert len(Plan(5, False, "mock", (KWIRE,), lambda text: None).rounds_of(row_named("memory-produce"))) == 2


def test_a_contender_that_fails_is_a_result_with_an_error() -> None:
    size = Row("size", "size", "package", "size", {KWIRE: 1, "no-such-package": 1})
    plan = Plan(1, True, "mock", (KWIRE, "no-such-package"), lambda text: None)
    mine, failed = measure([size], plan)
    assert mine.error == ""
    assert 0.1 < mine.measured["compiled_mb"] < 5
    assert "no-such-package is not installed" in failed.error
    assert failed == Result("size", "no-such-package", 0, error=failed.error)


def test_a_topic_that_was_not_filled_fails_its_rows_and_no_others() -> None:
    unread = Row("unread", "unread", "consume", "consume", {KWIRE: 60}, options={"writer": "no-such-writer"})
    sent = Row("sent", "sent", "produce", "produce", {KWIRE: 60})
    failed, mine = measure([unread, sent], Plan(1, True, "embedded", (KWIRE,), lambda text: None))
    assert "topic in-100-50 was not prepared: the parent process of no_such_writer" in failed.error
    assert mine.error == ""
    assert mine.measured["count"] == 50
