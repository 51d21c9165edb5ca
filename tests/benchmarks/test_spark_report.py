"""What the Spark comparison says of given results, and how it counts the CPU of a process with its children."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from benchmarks.compare.processes import ROOT
from benchmarks.spark import report
from benchmarks.spark.process_tree import ProcessTree
from benchmarks.spark.report import Result
from benchmarks.spark.session import Cost

ABOUT = {
    "date": "2030-01-02T03:04:05+00:00",
    "cores": 2,
    "processor": "Z80",
    "python": "3.11.9",
    "pyspark": "4.3.0",
    "load_before": [0.5, 0.5, 0.5],
    "rounds": 3,
    "quick": False,
}
PLAIN = [
    *(Result("plain", "kwire", number, Cost(100, cpu, cpu / 2, 0.1)) for number, cpu in enumerate((1.0, 2.0, 1.0))),
    *(Result("plain", "kafka", number, Cost(100, cpu, cpu, 0.3)) for number, cpu in enumerate((2.0, 6.0, 2.5))),
]
DAEMON = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
until_the_child_ends, held = os.pipe()
if not os.fork():
    end = time.process_time() + 0.8
    while time.process_time() < end: pass
os.close(held)
os.read(until_the_child_ends, 1)
"""


def cells(text: str, start: str) -> list[str]:
    """The cells of the first line that begins so."""
    line = next(line for line in text.splitlines() if line.replace(" ", "").startswith(start.replace(" ", "")))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_ratios_are_those_of_the_same_round() -> None:
    assert cells(report.table(PLAIN), "| read of 100 B, 7 columns | kafka")[2:] == [
        "25,000,000",
        "25,000,000",
        "3,000,000",
        "2.50x (2.00-3.00)",
        "5.00x (4.00-6.00)",
    ]


def ready(contender: str, cpu_s: float) -> list[Result]:
    return [Result("plain", contender, number, Cost(100, cpu_s, cpu_s, 0.0)) for number in range(3)]


def test_a_target_that_is_missed_is_told() -> None:
    assert all(each.met for each in report.judge(PLAIN))
    text = report.summary(ABOUT, [*PLAIN[:3], *ready("kafka", 1.5)])
    assert "1 of 2 targets are met (2030-01-02); these are not:" in text
    row = cells(text.partition("these are not")[2], "| read of 100 B, 7 columns")
    assert row[1:3] == ["kafka ≥ 2.2x CPU", "1.50x (0.75-1.50)"]
    assert row[3].startswith("[why](")


def test_what_ready_batches_reach_is_shown_beside_it() -> None:
    text = report.summary(ABOUT, [*PLAIN, *ready("ready-batches", 0.5)])
    assert cells(text, "| read of 100 B, 7 columns")[2:] == ["2.5x", "5.0x", "5.0x"]


def test_bytes_that_somebody_has_to_receive_count_with_ready_batches() -> None:
    best = [*ready("ready-batches", 0.5), *ready("ready-batches, bytes received", 0.75)]
    text = report.summary(ABOUT, [*PLAIN[:3], *ready("kafka", 1.5), *best])
    assert cells(text, "| read of 100 B, 7 columns")[2:4] == ["1.5x", "2.0x"]
    assert "[2.00x (2.00-2.00): nobody can]" in text
    assert (ROOT / "benchmarks" / "README.md").read_text().count("### What Spark takes itself\n") == 1


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    failed = Result("json", "kwire", 0, None, "no such decoder")
    report.save(tmp_path / "run.jsonl", ABOUT, [*PLAIN, failed])
    about, results = report.load(tmp_path / "run.jsonl")
    assert (about, results) == (ABOUT, [*PLAIN, failed])
    assert report.failures(results) == ["json, kwire: no such decoder"]


def test_the_page_gets_its_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "spark.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    monkeypatch.setattr(report, "PAGE", page)
    report.write_page(ABOUT, PLAIN)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert cells(text, "| read of 100 B, 7 columns")[1:] == ["kafka", "2.5x", "", "5.0x"]
    page.write_text("no marks")
    with pytest.raises(ValueError, match="lacks the marks"):
        report.write_page(ABOUT, PLAIN)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_workers_that_have_ended_still_count_whoever_waits_for_them() -> None:
    """Under a daemon that ignores SIGCHLD, as Spark's do."""
    tree = ProcessTree(os.getpid())
    before = tree.cpu_seconds()
    with tree.watched():
        subprocess.run([sys.executable, "-c", DAEMON], check=True)
    after = tree.cpu_seconds()
    assert 0.5 < after - before < 60
    assert tree.cpu_seconds() >= after
