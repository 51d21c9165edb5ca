"""What the tables, the targets, the data file, the README and the pictures say of given results."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.compare import __main__ as command
from benchmarks.compare import report
from benchmarks.compare.measure import Result
from benchmarks.compare.report import Judgement
from benchmarks.compare.rows import AIOKAFKA, BARE, CONFLUENT, KAFKA_PYTHON, KWIRE, RAW_SOCKET, row_named

ABOUT: dict[str, Any] = {
    "date": "2030-01-02T03:04:05+00:00",
    "rounds": 3,
    "quick": False,
    "cores": 2,
    "processor": "Z80",
    "python": "3.11.9",
    "load_before": [0.5, 0.5, 0.5],
    "versions": {KWIRE: "1.2", CONFLUENT: "2.3", AIOKAFKA: "0.9", "kio": None},
}


def measured(name: str, contender: str, *costs: float) -> list[Result]:
    """A row's rounds with these costs, in the row's unit."""
    row = row_named(name)
    return [
        Result(name, contender, number, "mock", {row.metric: cost / row.scale}) for number, cost in enumerate(costs)
    ]


SENT = [
    *measured("produce-deliveries", KWIRE, 0.2, 0.4, 0.25),
    *measured("produce-deliveries", CONFLUENT, 1.6, 2.4, 2.5),
    *measured("produce-deliveries", AIOKAFKA, 10, 12, 11),
]
VALUES = [*measured("values", KWIRE, 40.0, 50.0, 45.0), *measured("values", AIOKAFKA, 400.0, 520.0, 450.0)]
REASONED = row_named("values").reasoned
IN_FLIGHT = [*measured("round-trip-p50", RAW_SOCKET, 10.0), *measured("round-trip-p50", KWIRE, 15.0)]


def cells(text: str, title: str) -> list[str]:
    """The cells of the first line that begins with this title."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {title} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_has_the_median_of_the_ratios_and_their_range() -> None:
    assert cells(report.tables(SENT), "produce, each delivery read") == [
        "produce, each delivery read",
        "CPU s per million",
        "0.25",
        "2.4 = 8.00x (6.00-10.00)",
        "11 = 44.00x (30.00-50.00)",
    ]


def test_a_rate_is_shown_as_one_and_compared_as_a_cost() -> None:
    results = [*measured("crc32c", KWIRE, 2**20 / 20), *measured("crc32c", AIOKAFKA, 2**20 / 2)]
    assert cells(report.tables(results), "CRC-32C of 1 MiB")[2:] == ["20", "2 = 10.00x (10.00-10.00)"]
    assert report.judge(results) == [Judgement("CRC-32C of 1 MiB", "≥ 15 GB/s", "20 GB/s", 20 / 15)]


def test_wall_time_and_memory_are_shown_beside_cpu() -> None:
    figures = {"cpu_s_per_million": 0.5, "records_per_s": 2e6, "added_mib": 7.5}
    text = report.tables([Result("consume-1k", KWIRE, 0, "mock", figures)])
    assert cells(text, "thousand records per second (wall)") == ["thousand records per second (wall)", KWIRE]
    assert [line.split("|")[2].strip() for line in text.splitlines() if "1 KiB" in line] == [
        "CPU s per million",
        "2,000",
        "7.5",
    ]


def test_failures_and_what_was_left_out_are_told() -> None:
    failed = [Result(name, CONFLUENT, 1, error="exit code 1") for name in ("round-trip-p50", "round-trip-p99")]
    assert "- round-trip-p50, round-trip-p99, confluent-kafka, round 2: exit code 1" in report.tables(failed)
    assert report.heading({**ABOUT, "left_out": "sweep"}).endswith("\n\nLeft out: sweep.")
    assert "Left out" not in report.heading(ABOUT)


def test_targets_of_the_cost_and_of_a_peer_s_multiple_of_it() -> None:
    found = report.judge(
        [
            *measured("produce-deliveries", KWIRE, 0.2, 0.4, 0.25),
            *measured("produce-deliveries", CONFLUENT, 1.0, 2.4, 1.0),
        ]
    )
    title = "produce, each delivery read"
    assert found == [
        Judgement(title, "≤ 0.3 CPU s per million", "0.25 CPU s per million", 0.3 / 0.25, reasoned=REASONED),
        Judgement(title, "confluent-kafka ≥ 10x", "5.00x (4.00-6.00)", 5 / 10, reasoned=REASONED),
    ]
    assert [each.met for each in found] == [True, False]


def test_targets_within_a_peer_s_and_another_row_s_cost() -> None:
    (found,) = report.judge(IN_FLIGHT)
    assert found == Judgement("one record in flight, p50", "≤ 1.5x raw-socket", "1.50x (1.50-1.50)", 1.0)
    (found,) = report.judge(
        [*measured("produce-512-partitions", KWIRE, 1.0, 1.2), *measured("produce-1-partition", KWIRE, 1.0, 1.0)]
    )
    assert (found.target, found.share) == ('≤ 1.1x "produce to 1 named partition"', 1.0)


def test_what_nobody_can_be_below_is_the_sum_of_a_floor_s_parts() -> None:
    parts = [*measured("values", BARE, 30.0, 20.0), *measured("index", KWIRE, 10.0, 20.0, 5.0)]
    found = report.judge([*VALUES, *parts])[-1]
    assert found.at_best == Judgement("to values", "aiokafka ≥ 13x", "11.50x (10.00-13.00)", 11.5 / 13)
    assert report.judge([*VALUES, *parts[:2]])[-1].at_best is None, "a part was not measured"


def test_the_table_of_missed_targets_says_which_nobody_can_reach() -> None:
    cost = [*measured("values", BARE, 20.0, 20.0), *measured("index", KWIRE, 10.0, 20.0)]
    assert cells(report.missed(ABOUT, [*VALUES, *cost]), "to values")[3] == (
        f"[13.17x (13.00-13.33)](../benchmarks/README.md#{REASONED})"
    )
    late = [*measured("values", BARE, 40.0, 40.0), *cost[2:]]
    assert "x (8.00-8.67): nobody can]" in report.missed(ABOUT, [*VALUES, *late])
    assert cells(report.missed(ABOUT, VALUES), "to values")[3].startswith("[why](")


def test_what_was_not_measured_is_not_judged() -> None:
    assert report.judge([]) == []
    assert report.judge(measured("columns", AIOKAFKA, 900.0)) == []
    found = report.judge([*measured("columns", KWIRE, 20.0), *measured("columns", KAFKA_PYTHON, 4000.0)])
    assert [each.target for each in found] == ["≤ 30 ns", "kafka-python ≥ 100x"]


def test_the_table_of_targets_counts_what_is_met() -> None:
    text = report.tables(SENT)
    assert "### Targets: 1 of 2 met" in text
    assert cells(text.partition("### Targets")[2], "produce, each delivery read")[3:] == ["1.20", "met"]


def test_a_data_file_keeps_what_was_measured_before_a_run_was_cut_short(tmp_path: Path) -> None:
    def cut() -> Iterator[Result]:
        yield from measured("values", KWIRE, 0.123456789)
        raise KeyboardInterrupt

    path = tmp_path / "run.jsonl"
    with pytest.raises(KeyboardInterrupt):
        report.save(ABOUT, cut(), path)
    assert report.load(path) == (ABOUT, measured("values", KWIRE, 0.12346))


def test_publishing_writes_the_data_file_the_readme_and_the_pictures(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    readme, published = tmp_path / "README.md", tmp_path / "published.jsonl"
    readme.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    page = tmp_path / "performance.md"
    page.write_text(f"{report.BEGIN_MISSED}\n{report.END_MISSED}\n")
    monkeypatch.setattr(report, "README", readme)
    monkeypatch.setattr(report, "PERFORMANCE", page)
    monkeypatch.setattr(report, "PUBLISHED", published)
    monkeypatch.setattr(command, "_PLOTS", tmp_path / "plots")
    report.save(ABOUT, [*SENT, *VALUES], tmp_path / "run.jsonl")
    assert command.main(["--publish", "--show", str(tmp_path / "run.jsonl")]) == 0
    assert command.main(["--publish", "--show", str(published)]) == 0, "what is published can be published again"
    assert report.load(published) == (ABOUT, [*SENT, *VALUES])
    lines = readme.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
    assert "| kwire " in lines[2]
    assert "| confluent-kafka 2.3 | aiokafka 0.9 | kafka-python | kio |" in lines[2]
    assert cells("\n".join(lines), "produce, each delivery read")[1:] == [
        "0.25 CPU s per million",
        "8.0x",
        "44x",
        "",
        "",
    ]
    assert cells("\n".join(lines), "to values")[1:] == ["45 ns", "", "10x", "", ""]
    told = page.read_text()
    assert "targets are met" in told
    assert cells(told, "produce, each delivery read")[1:3] == ["confluent-kafka ≥ 10x", "8.00x (6.00-10.00)"]


def test_a_readme_without_marks_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(report, "README", tmp_path / "README.md")
    report.README.write_text("nothing")
    with pytest.raises(ValueError, match="lacks the marks"):
        report.write_readme(ABOUT, SENT)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--quick"], "a quick run"),
        (["values"], "some rows only"),
        (["--broker", "embedded"], "another broker"),
        (["--only", "aiokafka"], "some contenders only"),
        (["--rounds", "3"], "fewer than five rounds"),
    ],
)
def test_less_than_a_whole_run_is_not_published(
    arguments: list[str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(command, "measure", lambda rows, plan: iter(SENT))
    monkeypatch.setattr(command, "_publish", lambda *given: pytest.fail("it was published"))
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    assert command.main(["--publish", *arguments]) == 0
    assert f"not to be published, the tree stays as it is: {reason}" in capsys.readouterr().err


def test_a_run_that_was_cut_short_is_not_published(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def cut(rows: object, plan: object) -> Iterator[Result]:
        yield from SENT
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "measure", cut)
    monkeypatch.setattr(command, "_publish", lambda *given: pytest.fail("it was published"))
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    assert command.main(["--publish"]) == 0


def test_pictures_name_the_peers_with_their_versions(tmp_path: Path) -> None:
    plots = pytest.importorskip("benchmarks.compare.plots", reason="needs matplotlib")
    sweep = [*measured("size-10-values", KWIRE, 20.0), *measured("batch-10-columns", AIOKAFKA, 400.0)]
    bare = measured("values", BARE, 20.0)
    written = plots.draw(ABOUT, [*SENT, *VALUES, *bare, *IN_FLIGHT, *sweep], tmp_path)
    assert {path.name for path in written} == {"codec.svg", "latency.svg", "produce.svg", "sizes.svg"}
    picture = ElementTree.parse(tmp_path / "produce.svg")
    text = " ".join("".join(node.itertext()) for node in picture.iter() if node.tag.endswith("}text"))
    for part in ("kwire 1.2 = 1x", "confluent-kafka 2.3", "aiokafka 0.9", "8.0x", "kwire: 0.25 CPU s per million"):
        assert part in text
    assert BARE not in (tmp_path / "codec.svg").read_text(), "it does a part of the work only"
