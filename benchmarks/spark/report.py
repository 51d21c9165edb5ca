"""What a run leaves: its data file, its table of ratios, and the block of docs/spark.md that is written from it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from statistics import median
from typing import Any

from benchmarks.compare.measure import Ratio, ratio_of
from benchmarks.compare.processes import ROOT
from benchmarks.compare.report import Judgement, markdown, missed_table, processor, put_between, times
from benchmarks.spark.cases import KWIRE, READY, RECEIVED
from benchmarks.spark.rows import ROWS, Row
from benchmarks.spark.session import Cost

PUBLISHED = ROOT / "benchmarks" / "results" / "spark.jsonl"
PAGE = ROOT / "docs" / "spark.md"
BEGIN = "<!-- speed: written by benchmarks/spark -->"
END = "<!-- end of speed -->"
_REASONED = "what-spark-takes-itself"
_METRICS = {"cpu": "CPU", "wall": "time", "broker": "broker's CPU"}


@dataclass(frozen=True)
class Result:
    """What one contender cost in one round of a row, or how it failed."""

    row: str
    contender: str
    round: int
    cost: Cost | None
    error: str = ""

    def figure(self, metric: str) -> float:
        """Seconds for each row: of CPU, of time, of the broker's CPU."""
        assert self.cost is not None
        return {"cpu": self.cost.cpu_s, "wall": self.cost.wall_s, "broker": self.cost.broker_cpu_s}[
            metric
        ] / self.cost.rows


def about_this_run(rounds: int, *, quick: bool) -> dict[str, Any]:
    """Where, when and with what."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": len(os.sched_getaffinity(0)),
        "processor": processor(),
        "python": python_version(),
        "pyspark": version("pyspark"),
        "load_before": os.getloadavg(),
        "rounds": rounds,
        "quick": quick,
    }


def save(path: Path, about: dict[str, Any], results: Iterable[Result]) -> None:
    """Writes each result when it is there, so that an interrupted run leaves what it had."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        print(json.dumps(about), file=file)
        for result in results:
            print(json.dumps(asdict(result)), file=file, flush=True)


def load(path: Path) -> tuple[dict[str, Any], list[Result]]:
    """A data file: about the run, and its results."""
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    results = []
    for line in lines:
        fields = json.loads(line)
        cost = fields.pop("cost")
        results.append(Result(**fields, cost=Cost(**cost) if cost else None))
    return json.loads(first), results


def table(results: Sequence[Result]) -> str:
    """A line for each row and contender: its costs for each row of data, and how many times kwire's they are."""
    lines = [["work", "contender", *(f"{name}, ns per row" for name in _METRICS.values()), "times kwire's CPU", "time"]]
    for row in ROWS:
        for contender in row.contenders:
            costs = {metric: _rounds(results, row, contender, metric) for metric in _METRICS}
            if costs["wall"]:
                figures = [f"{median(by_round.values()) * 1e9:,.0f}" for by_round in costs.values()]
                ratios = [_shown(_ratio(results, row, contender, metric)) for metric in ("cpu", "wall")]
                lines.append([row.title, contender, *figures, *ratios])
    return markdown(lines)


def judge(results: Sequence[Result]) -> list[Judgement]:
    """Every target that was measured, in the order of the rows, with what ready batches reach of it."""
    found = []
    for row in ROWS:
        for metric, wanted in row.targets:
            ratio, best = _ratio(results, row, row.rival, metric), _ceiling(results, row, metric)
            if ratio:
                at_best = _judgement(row, metric, wanted, best) if best else None
                judgement = _judgement(row, metric, wanted, ratio)
                found.append(replace(judgement, at_best=at_best, reasoned=_REASONED))
    return found


def _judgement(row: Row, metric: str, wanted: float, ratio: Ratio) -> Judgement:
    return Judgement(row.title, f"{row.rival} ≥ {wanted:g}x {_METRICS[metric]}", _shown(ratio), ratio.median / wanted)


def failures(results: Iterable[Result]) -> list[str]:
    """A line for each run that failed."""
    return [f"{result.row}, {result.contender}: {result.error}" for result in results if result.error]


def write_page(about: dict[str, Any], results: Sequence[Result]) -> None:
    """Puts the summary between its marks. Raises ValueError when the page has none."""
    put_between(BEGIN, END, summary(about, results), PAGE)


def summary(about: dict[str, Any], results: Sequence[Result]) -> str:
    """How many times kwire's cost each row's rival costs, and how many times that of ready batches; then the targets
    that are missed.
    """
    lines = [["work", "against", "CPU", "CPU of ready batches", "time"]]
    for row in ROWS:
        ratios = [
            _ratio(results, row, row.rival, "cpu"),
            _ceiling(results, row, "cpu"),
            _ratio(results, row, row.rival, "wall"),
        ]
        if ratios[-1]:
            lines.append([row.title, row.rival, *(times(ratio.median) if ratio else "" for ratio in ratios)])
    return (
        f"{markdown(lines)}\n\n{about['date'][:10]}, PySpark {about['pyspark']}, Python {about['python']}, "
        f"`local[2]` on {about['cores']} cores of {about['processor']}, shared with the broker; medians of up to "
        f"{about['rounds']} rounds; load of the machine by other work: {about['load_before'][0]:.0f}.\n\n"
        f"{missed_table(about, judge(results))}"
    )


def _rounds(results: Iterable[Result], row: Row, contender: str, metric: str) -> dict[int, float]:
    own = [result for result in results if (result.row, result.contender) == (row.name, contender) and result.cost]
    return {result.round: result.figure(metric) for result in own}


def _ratio(results: Sequence[Result], row: Row, other: str, metric: str) -> Ratio | None:
    return ratio_of(_rounds(results, row, KWIRE, metric), _rounds(results, row, other, metric))


def _ceiling(results: Sequence[Result], row: Row, metric: str) -> Ratio | None:
    """What no source or sink in Python can pass in this row."""
    least = next((name for name in (RECEIVED, READY) if _rounds(results, row, name, metric)), READY)
    return ratio_of(_rounds(results, row, least, metric), _rounds(results, row, row.rival, metric))


def _shown(ratio: Ratio | None) -> str:
    return f"{ratio.median:.2f}x ({ratio.min:.2f}-{ratio.max:.2f})" if ratio else ""
