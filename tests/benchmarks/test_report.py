"""What the tables say of given outcomes, and that data files give back what was saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.compare import report, results
from benchmarks.compare.figures import number
from benchmarks.compare.runner import Outcome, Plan
from benchmarks.compare.work import AIOKAFKA, CONFLUENT, KWIRE, RAW
from benchmarks.compare.worker import module_of, verbs_of
from benchmarks.compare.works import WORKS, chosen, left_out, work_named

SENT = next(work for work in WORKS if work.name == "produce-fates")


def sent(contender: str, *costs: float) -> list[Outcome]:
    return [Outcome(SENT.name, contender, number, "mock", {SENT.metric: cost}) for number, cost in enumerate(costs)]


def test_a_row_has_the_median_of_the_ratios_and_their_range() -> None:
    text = report.tables([*sent(KWIRE, 0.2, 0.4, 0.25), *sent(CONFLUENT, 1.6, 2.4, 2.5), *sent(AIOKAFKA, 10, 12, 11)])
    row = next(line for line in text.splitlines() if SENT.title in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == [SENT.title, "CPU s per million", "0.25", "2.4 = 8.00x (6.00-10.00)", "11 = 44.00x (30.00-50.00)"]


def test_a_rate_is_shown_as_one_and_compared_as_a_cost() -> None:
    work = work_named("crc32c")
    text = report.tables(
        [
            Outcome(work.name, KWIRE, 0, "", {"cpu_ns": 2**20 / 20}),
            Outcome(work.name, AIOKAFKA, 0, "", {"cpu_ns": 2**20 / 2}),
        ]
    )
    row = next(line for line in text.splitlines() if work.title in line)
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "CRC-32C of 1 MiB",
        "GB/s",
        "20",
        "2 = 10.00x (10.00-10.00)",
    ]


def test_what_was_left_out_is_told_at_the_head() -> None:
    about = {
        "date": "2030-01-02",
        "cores": 2,
        "processor": "Z80",
        "python": "3.11",
        "load_before": [0.5],
        "rounds": 1,
        "versions": {},
    }
    assert report.heading({**about, "left_out": "sweep"}).endswith("\n\nLeft out: sweep.")
    assert "Left out" not in report.heading(about)


def test_failures_are_told() -> None:
    text = report.tables([*sent(KWIRE, 0.5), Outcome(SENT.name, CONFLUENT, 1, "mock", error="exit code 1")])
    assert "- produce-fates, confluent-kafka, round 2: exit code 1" in text


def test_numbers_have_three_digits() -> None:
    assert [number(value) for value in (0.12345, 12.345, 1234.5)] == ["0.123", "12.3", "1,234"]


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
        "memory-produce",
        "memory-consume",
        "import-records",
    ]
    assert chosen([]) == list(WORKS)
    with pytest.raises(ValueError, match="'prodcue' is no work and no group"):
        chosen(["prodcue"])


def test_names_and_goals_of_works_are_sound() -> None:
    names = [work.name for work in WORKS]
    assert len(set(names)) == len(names)
    for work in WORKS:
        assert KWIRE in work.counts
        assert set(work.goals) | set(work.within) <= set(work.counts), f"{work.name}: a target for nobody"
        assert all(goal > 0 for goal in (*work.goals.values(), *work.within.values(), *work.beside.values()))
        assert all(work_named(name).metric == work.metric for name in work.beside)


def test_a_figure_of_another_s_run_needs_the_same_run() -> None:
    for work in WORKS:
        source = work_named(work.source)
        assert (work.verb, work.options, work.loaded, work.sink, work.rounds, work.quick, set(work.counts)) == (
            source.verb,
            source.options,
            source.loaded,
            source.sink,
            source.rounds,
            source.quick,
            set(source.counts),
        )


def test_a_quick_run_says_what_it_leaves_out() -> None:
    quick = chosen([], quick=True)
    assert left_out(quick) == "sweep, memory"
    assert left_out(list(WORKS)) == ""
    assert left_out([work for work in WORKS if work.name != "consume-1k"]) == "consume 1 KiB to values"
    assert [work.group for work in chosen(["memory"], quick=True)] == ["memory", "memory"], "what is named is done"


def test_a_name_is_a_work_or_a_group_but_not_both() -> None:
    assert not {work.name for work in WORKS} & {work.group for work in WORKS}


@pytest.mark.parametrize(
    ("contender", "verb"),
    sorted(
        {(contender, work.verb) for work in WORKS for contender in work.counts if work.verb not in ("import", "sizes")}
    ),
)
def test_every_contender_of_a_work_can_do_it(contender: str, verb: str) -> None:
    assert callable(verbs_of(module_of(contender, verb))[verb])


def test_a_quick_run_does_a_share_but_never_nothing() -> None:
    quick = Plan(2, True, "mock", (KWIRE, RAW), lambda text: None)
    assert quick.count(SENT, KWIRE) == SENT.counts[KWIRE] // 2
    assert quick.count(SENT, CONFLUENT) == SENT.counts[CONFLUENT] // 4
    assert quick.count(next(work for work in WORKS if work.name == "memory-produce"), KWIRE) > 100_000
    one = next(work for work in WORKS if work.name == "one-p50")
    assert quick.who(one, 1) == [RAW, KWIRE]
