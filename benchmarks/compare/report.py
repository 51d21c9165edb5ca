"""The tables: one row for each work, kwire's median first, then each peer's with its ratio. Text in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from benchmarks.compare.rounds import Ratio, ratio_of
from benchmarks.compare.runner import Outcome
from benchmarks.compare.work import CONTENDERS, KWIRE, Work
from benchmarks.compare.works import GROUPS, WORKS

Costs = dict[str, dict[int, float]]
"""contender -> round -> cost"""

_HEADINGS = {
    "codec": "Codec, in process: CPU per record, or per message where µs",
    "sweep": "Codec, sizes of records and batches: CPU per record",
    "produce": "Produce", "consume": "Consume", "latency": "Latency", "memory": "Memory", "package": "Package",
}


_NOTE = ("kwire checks every checksum, librdkafka by default none. Rows of kwire under asyncio are left out: there is "
         "no asyncio client yet.")
_BESIDE = (
    ("thousand records per second (wall)", "records_per_s", 1e-3),
    ("resident memory added, MiB", "added_mib", 1.0),
)


def costs_of(work: Work, outcomes: Iterable[Outcome]) -> Costs:
    """The figure that the work compares, of every contender's every round that did not fail."""
    costs: Costs = {}
    for outcome in outcomes:
        if outcome.work == work.name and work.metric in outcome.measured:
            costs.setdefault(outcome.contender, {})[outcome.round] = outcome.measured[work.metric] * work.scale
    return costs


def tables(outcomes: Sequence[Outcome]) -> str:
    """All groups that have outcomes."""
    parts = []
    for group in GROUPS:
        rows = [(work, costs_of(work, outcomes)) for work in WORKS if work.group == group]
        rows = [(work, costs) for work, costs in rows if costs]
        if rows:
            parts.append(_table(group, rows))
            parts += _side_tables([work for work, _ in rows], outcomes)
    failures = _failures(outcomes)
    if failures:
        parts.append("Failed:\n" + "\n".join(failures))
    return "\n\n".join(parts)


def _failures(outcomes: Iterable[Outcome]) -> list[str]:
    """One line for each process that failed; one of the codec's does many works."""
    works: dict[tuple[str, int, str], list[str]] = {}
    for outcome in outcomes:
        if outcome.error:
            works.setdefault((outcome.contender, outcome.round, outcome.error), []).append(outcome.work)
    return [f"- {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}, {contender}, "
            f"round {number + 1}: {error}" for (contender, number, error), names in works.items()]


def _table(group: str, rows: list[tuple[Work, Costs]]) -> str:
    peers = [name for name in CONTENDERS if name != KWIRE and any(name in costs for _, costs in rows)]
    lines = [["work", "unit", KWIRE, *peers, "goal"]]
    for work, costs in rows:
        mine = costs.get(KWIRE, {})
        cells = [_cell(costs.get(peer), ratio_of(mine, costs.get(peer, {})), work.goals.get(peer)) for peer in peers]
        lines.append([work.title, work.unit, number(median(mine.values())) if mine else "", *cells, _goal(work, mine)])
    return f"### {_HEADINGS[group]}\n\n" + markdown(lines)


def _side_tables(works: Sequence[Work], outcomes: Iterable[Outcome]) -> list[str]:
    """What else was measured of works that are compared by their CPU: wall time and memory."""
    works = [work for work in works if work.verb in ("produce", "consume") and work.metric == "cpu_s_per_million"]
    outcomes = list(outcomes)
    parts = []
    for title, metric, scale in _BESIDE:
        rows = [(work.title, costs_of(replace(work, metric=metric, scale=scale), outcomes)) for work in works]
        names = [name for name in CONTENDERS if any(name in costs for _, costs in rows)]
        if names:
            parts.append(markdown([[title, *names], *(
                [row, *(number(median(costs[name].values())) if name in costs else "" for name in names)]
                for row, costs in rows)]))
    return parts


def _cell(cost: dict[int, float] | None, ratio: Ratio | None, goal: float | None) -> str:
    """A peer's median cost and how many times kwire's it is, with the range of the rounds."""
    if not cost:
        return ""
    text = number(median(cost.values()))
    if ratio is None:
        return text
    text += f" = {ratio.median:.2f}x ({ratio.least:.2f}-{ratio.greatest:.2f})"
    return text if goal is None else f"{text}, {'reaches' if ratio.median >= goal else 'below'} {goal:.3g}x"


def _goal(work: Work, mine: dict[int, float]) -> str:
    if work.most is None or not mine:
        return ""
    return f"≤ {number(work.most)}: {'yes' if median(mine.values()) <= work.most else 'no'}"


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def markdown(lines: list[list[str]]) -> str:
    """A table that reads well as text too."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    rows = ["| " + " | ".join(cells) + " |" for cells in padded]
    return "\n".join([rows[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *rows[1:]])


def heading(about: dict[str, Any]) -> str:
    """Where and when."""
    versions = ", ".join(f"{name} {text}" for name, text in about["versions"].items() if text)
    return (f"{about['date']}, {about['cores']} cores of {about['processor']}, Python {about['python']}, load before "
            f"{about['load_before'][0]}; medians of {about['rounds']} rounds; {versions}\n\n{_NOTE}")
