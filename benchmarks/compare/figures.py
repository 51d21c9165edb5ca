"""Costs out of outcomes, and numbers and tables as text. Pure functions, no I/O."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.compare.rounds import Ratio
from benchmarks.compare.runner import Outcome
from benchmarks.compare.work import Work

Costs = dict[str, dict[int, float]]
"""contender -> round -> cost"""


def costs_of(work: Work, outcomes: Iterable[Outcome]) -> Costs:
    """The figure that the work compares, of every contender's every round that did not fail."""
    costs: Costs = {}
    for outcome in outcomes:
        if outcome.work == work.name and work.metric in outcome.measured:
            costs.setdefault(outcome.contender, {})[outcome.round] = outcome.measured[work.metric] * work.scale
    return costs


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def with_range(ratio: Ratio) -> str:
    """The median of the rounds, and the least and the greatest."""
    return f"{ratio.median:.2f}x ({ratio.least:.2f}-{ratio.greatest:.2f})"


def markdown(lines: list[list[str]]) -> str:
    """A table that reads well as text too."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    rows = ["| " + " | ".join(cells) + " |" for cells in padded]
    return "\n".join([rows[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *rows[1:]])
