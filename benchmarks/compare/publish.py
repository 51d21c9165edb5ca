"""What a complete run changes in the tree: a data file, the plots, and the table in the README."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.compare.figures import costs_of, markdown, number
from benchmarks.compare.measure import ROOT
from benchmarks.compare.rounds import ratio_of
from benchmarks.compare.runner import Outcome
from benchmarks.compare.work import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, KIO, KWIRE
from benchmarks.compare.works import work_named

README = ROOT / "README.md"
BEGIN = "<!-- speed: written by benchmarks/compare -->"
END = "<!-- end of speed -->"
_PEERS = (CONFLUENT, AIOKAFKA, KAFKA_PYTHON, KIO)
_ROWS = (
    "produce-fates",
    "produce-unasked",
    "produce-512",
    "produce-lz4",
    "consume-records",
    "consume-values",
    "consume-columns",
    "records",
    "values",
    "columns",
    "append",
    "metadata-decode",
)


def write_readme(about: dict[str, Any], outcomes: Sequence[Outcome], path: Path = README) -> None:
    """Puts the table between its marks. Raises ValueError when the file has none."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} lacks the marks {BEGIN!r} and {END!r}")
    path.write_text(f"{before}{BEGIN}\n{summary(about, outcomes)}\n{END}{after}", encoding="utf-8")


def summary(about: dict[str, Any], outcomes: Sequence[Outcome]) -> str:
    """The rows that a reader wants first: kwire's cost, and how many times that each peer's is."""
    versions = about["versions"]
    lines = [["", "kwire", *(f"{peer} {versions.get(peer) or ''}".strip() for peer in _PEERS)]]
    for work in map(work_named, _ROWS):
        costs = costs_of(work, outcomes)
        mine = costs.get(KWIRE)
        if mine:
            ratios = [ratio_of(mine, costs.get(peer, {})) for peer in _PEERS]
            lines.append(
                [
                    work.title,
                    f"{number(median(mine.values()))} {work.unit}",
                    *(f"{_times(ratio.median)}" if ratio else "" for ratio in ratios),
                ]
            )
    where = (
        f"{about['date'][:10]}, {about['cores']} cores of {about['processor']}, Python {about['python']}, "
        f"{about['rounds']} rounds; load of the machine by other work: {about['load_before'][0]:.0f}"
    )
    return f"{markdown(lines)}\n\n{where}."


def _times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio < 10 else f"{ratio:,.0f}x"
