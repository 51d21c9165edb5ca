"""Counts by topic, within a bound on topics that are read no more."""

from __future__ import annotations

from kwire.engine.common.topic_totals import MAX_UNUSED, TopicTotals


def test_topics_out_of_use_are_counted_together_in_the_end() -> None:
    in_use = {"t0"}
    totals = TopicTotals(lambda: in_use)
    for number in range(3 * MAX_UNUSED):
        totals.add(f"t{number}", 1)
        totals.add("t0", 1)
    counts = totals.snapshot()
    assert len(counts.by_topic) <= MAX_UNUSED + len(in_use)
    assert counts.by_topic["t0"] == 3 * MAX_UNUSED + 1
    assert (counts.whole, counts.others > 0) == (6 * MAX_UNUSED, True)


def test_topics_in_use_keep_their_counts_however_many_they_are() -> None:
    names = [f"t{number}" for number in range(3 * MAX_UNUSED)]
    totals = TopicTotals(lambda: names)
    for name in names:
        totals.add(name, 2)
    assert (len(totals.snapshot().by_topic), totals.snapshot().others) == (len(names), 0)


def test_a_count_may_be_taken_back() -> None:
    totals = TopicTotals(tuple)
    totals.add("t", 5)
    totals.add("t", -2)
    assert totals.snapshot() == ({"t": 3}, 0)
