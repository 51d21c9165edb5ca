"""What the tables say of given outcomes, and that data files give back what was saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.compare import report, results
from benchmarks.compare.runner import Outcome, Plan
from benchmarks.compare.work import AIOKAFKA, CONFLUENT, KWIRE, RAW
from benchmarks.compare.worker import verbs_of
from benchmarks.compare.works import WORKS, chosen

SENT = next(work for work in WORKS if work.name == "produce-fates")


def sent(contender: str, *costs: float) -> list[Outcome]:
    return [Outcome(SENT.name, contender, number, "mock", {SENT.metric: cost}) for number, cost in enumerate(costs)]


def test_a_row_has_the_median_of_the_ratios_and_says_whether_it_reaches_the_goal() -> None:
    text = report.tables([*sent(KWIRE, 0.2, 0.4, 0.25), *sent(CONFLUENT, 1.6, 2.4, 2.5), *sent(AIOKAFKA, 10, 12, 11)])
    row = next(line for line in text.splitlines() if SENT.title in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == [SENT.title, "CPU s per million", "0.25", "2.4 = 8.00x (6.00-10.00), reaches 6x",
                     "11 = 44.00x (30.00-50.00)", "≤ 0.3: yes"]


def test_a_goal_that_is_missed_is_called_so() -> None:
    text = report.tables([*sent(KWIRE, 0.5), *sent(CONFLUENT, 2.0)])
    assert "4.00x (4.00-4.00), below 6x" in text
    assert "≤ 0.3: no" in text


def test_failures_are_told() -> None:
    text = report.tables([*sent(KWIRE, 0.5), Outcome(SENT.name, CONFLUENT, 1, "mock", error="exit code 1")])
    assert "- produce-fates, confluent-kafka, round 2: exit code 1" in text


def test_numbers_have_three_digits() -> None:
    assert [report.number(value) for value in (0.12345, 12.345, 1234.5)] == ["0.123", "12.3", "1,234"]


def test_a_data_file_gives_back_what_was_saved(tmp_path: Path) -> None:
    about = {"date": "2030-01-02T03:04:05+00:00", "versions": {"kwire": "1"}}
    outcomes = sent(KWIRE, 0.123456789)
    assert list(results.recorded(about, outcomes, tmp_path / "run.jsonl")) == outcomes
    found, loaded = results.load(tmp_path / "run.jsonl")
    assert found == about
    assert loaded == [Outcome(SENT.name, KWIRE, 0, "mock", {SENT.metric: 0.12346})]
    assert results.default_path(about, published=True) == results.PUBLISHED / "20300102T030405.jsonl"
    assert results.PUBLISHED not in results.default_path(about, published=False).parents


def test_a_run_that_is_cut_short_keeps_what_it_has(tmp_path: Path) -> None:
    def cut() -> Iterator[Outcome]:
        yield from sent(KWIRE, 0.5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(results.recorded({"date": "2030"}, cut(), tmp_path / "run.jsonl"))
    assert results.load(tmp_path / "run.jsonl") == ({"date": "2030"}, sent(KWIRE, 0.5))


def test_works_are_chosen_by_name_or_group() -> None:
    assert [work.name for work in chosen(["import-records", "memory"])] == [
        "memory-produce", "memory-consume", "import-records"]
    assert chosen([]) == list(WORKS)
    with pytest.raises(ValueError, match="'prodcue' is no work and no group"):
        chosen(["prodcue"])


def test_names_and_goals_of_works_are_sound() -> None:
    names = [work.name for work in WORKS]
    assert len(set(names)) == len(names)
    for work in WORKS:
        assert KWIRE in work.counts
        assert set(work.goals) <= set(work.counts), f"{work.name} has a goal for a contender that does not run"
        assert all(goal > 0 for goal in work.goals.values())


def test_a_name_is_a_work_or_a_group_but_not_both() -> None:
    assert not {work.name for work in WORKS} & {work.group for work in WORKS}


@pytest.mark.parametrize(("contender", "verb"), sorted(
    {(contender, work.verb) for work in WORKS for contender in work.counts if work.verb not in ("import", "sizes")}))
def test_every_contender_of_a_work_can_do_it(contender: str, verb: str) -> None:
    assert callable(verbs_of(contender, verb)[verb])


def test_a_quick_run_does_a_share_but_never_nothing() -> None:
    quick = Plan(2, True, "mock", (KWIRE, RAW), lambda text: None)
    assert quick.count(SENT, KWIRE) == SENT.counts[KWIRE] // 4
    assert quick.count(next(work for work in WORKS if work.name == "memory-produce"), KWIRE) > 100_000
    one = next(work for work in WORKS if work.name == "one-p50")
    assert quick.who(one, 1) == [RAW, KWIRE]
