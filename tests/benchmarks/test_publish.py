"""Only a whole run changes the tree; what it writes into the README; pictures; sizes; the share of two threads."""

from __future__ import annotations

import threading
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchmarks.compare import __main__ as command
from benchmarks.compare import publish, results, runner
from benchmarks.compare.contenders.two_threads import share_of_one
from benchmarks.compare.measure import WorkFailedError
from benchmarks.compare.runner import Outcome, Plan
from benchmarks.compare.sizes import sizes
from benchmarks.compare.work import AIOKAFKA, CONFLUENT, KWIRE, RAW, Work
from benchmarks.compare.works import WORKS

ABOUT: dict[str, Any] = {
    "date": "2030-01-02T03:04:05+00:00",
    "rounds": 2,
    "quick": False,
    "cores": 2,
    "processor": "Z80",
    "python": "3.11.9",
    "load_before": [0.5, 0.5, 0.5],
    "versions": {KWIRE: "1.2", CONFLUENT: "2.3", AIOKAFKA: "0.9", "kio": None},
}


def outcomes(name: str, costs: dict[str, tuple[float, ...]]) -> list[Outcome]:
    work = next(work for work in WORKS if work.name == name)
    return [
        Outcome(name, contender, number, "mock", {work.metric: cost / work.scale})
        for contender, rounds in costs.items()
        for number, cost in enumerate(rounds)
    ]


PRODUCED = outcomes("produce-fates", {KWIRE: (0.2, 0.3), CONFLUENT: (1.0, 1.8), AIOKAFKA: (4.0, 6.0)})
VALUES = outcomes("values", {KWIRE: (40.0, 50.0), AIOKAFKA: (400.0, 520.0)})
IN_FLIGHT = outcomes("one-p50", {RAW: (10.0, 10.0), KWIRE: (15.0, 17.0)})


def test_the_readme_gets_the_table_between_its_marks(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{publish.BEGIN}\nold\n{publish.END}\nafter\n")
    publish.write_readme(ABOUT, [*PRODUCED, *VALUES], readme)
    lines = readme.read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
    assert [cell.strip() for cell in lines[2].strip("|").split("|")] == [
        "",
        "kwire",
        "confluent-kafka 2.3",
        "aiokafka 0.9",
        "kafka-python",
        "kio",
    ]
    assert [cell.strip() for cell in lines[4].strip("|").split("|")] == [
        "produce, each fate known",
        "0.25 CPU s per million",
        "5.5x",
        "20x",
        "",
        "",
    ]
    assert [cell.strip() for cell in lines[5].strip("|").split("|")] == ["to values", "45 ns", "", "10x", "", ""]


def test_a_readme_without_marks_is_refused(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("nothing")
    with pytest.raises(ValueError, match="lacks the marks"):
        publish.write_readme(ABOUT, PRODUCED, readme)
    assert readme.read_text() == "nothing"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--quick"], "a quick run"),
        (["values"], "some works only"),
        (["--sink", "embedded"], "another sink"),
        (["--only", "aiokafka"], "some contenders only"),
        (["--rounds", "3"], "fewer than five rounds"),
    ],
)
def test_less_than_a_whole_run_leaves_the_tree_as_it_is(
    arguments: list[str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(command, "run", lambda works, plan: iter(PRODUCED))
    monkeypatch.setattr(publish, "write_readme", lambda *given: pytest.fail("the README was written"))
    monkeypatch.setattr(results, "_PRIVATE", tmp_path / "private")
    monkeypatch.setattr(results, "PUBLISHED", tmp_path / "published")
    monkeypatch.setattr(results, "PLOTS", tmp_path / "plots")
    assert command.main(["--publish", *arguments]) == 0
    assert f"not to be published, the tree stays as it is: {reason}" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["private"]


def test_pictures_name_the_peers_with_their_versions_and_are_small(tmp_path: Path) -> None:
    plots = pytest.importorskip("benchmarks.compare.plots", reason="needs matplotlib")
    written = plots.draw(ABOUT, [*PRODUCED, *VALUES, *IN_FLIGHT], tmp_path)
    assert sorted(path.name for path in written) == [
        "codec.png",
        "codec.svg",
        "latency.png",
        "latency.svg",
        "produce.png",
        "produce.svg",
    ]
    text = " ".join(
        "".join(node.itertext())
        for node in ElementTree.parse(tmp_path / "produce.svg").iter()
        if node.tag.endswith("}text")
    )
    for part in ("kwire 1.2 = 1x", "confluent-kafka 2.3", "aiokafka 0.9", "5.5x", "kwire: 0.25 CPU s per million"):
        assert part in text
    assert all(path.stat().st_size < 100_000 for path in written)


def test_rounds_of_a_work_end_at_its_own_limit() -> None:
    plan = Plan(5, False, "mock", (KWIRE,), lambda text: None)
    short = Work("x", "x", "memory", "produce", {KWIRE: 1}, rounds=2)
    assert (list(plan.rounds_of(short)), list(plan.rounds_of(WORKS[0]))) == ([0, 1], [0, 1, 2, 3, 4])


def test_sizes_of_this_tree_and_of_a_package_that_is_not_there() -> None:
    mine = sizes(KWIRE)
    assert 0 < mine["wheel_mb"] < 2
    assert mine["compiled_mb"] > 0.1
    with pytest.raises(WorkFailedError, match="no-such-package is not installed"):
        sizes("no-such-package")


def test_a_package_that_is_not_there_is_told_as_a_failure() -> None:
    work = Work("size", "size", "package", "sizes", {"no-such-package": 1})
    (outcome,) = runner.run([work], Plan(1, True, "mock", ("no-such-package",), lambda text: None))
    assert outcome.error == "no-such-package is not installed"


def test_two_threads_do_twice_what_one_does() -> None:
    callers: Counter[str] = Counter()
    measured = share_of_one(lambda: callers.update([threading.current_thread().name]), 0.0)
    assert measured["share"] > 0
    workers = [count for name, count in callers.items() if name != threading.current_thread().name]
    assert len(workers) == 9, "one thread, then two, in three turns"
    assert len(set(workers)) == 1, "each of them as often"
