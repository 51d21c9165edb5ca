"""The tables: one row for each work, kwire's median first, then each peer's with its ratio; then the targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from benchmarks.compare import verdicts
from benchmarks.compare.figures import Costs, costs_of, markdown, number, with_range
from benchmarks.compare.rounds import Ratio, ratio_of
from benchmarks.compare.runner import Outcome
from benchmarks.compare.work import CONTENDERS, KWIRE, Work
from benchmarks.compare.works import GROUPS, WORKS

_HEADINGS = {
    "codec": "Codec, in process: CPU per record, or per message where µs",
    "sweep": "Codec, sizes of records and batches: CPU per record",
    "produce": "Produce",
    "consume": "Consume",
    "latency": "Latency",
    "memory": "Memory",
    "package": "Package",
}


_NOTE = (
    "kwire checks every checksum, librdkafka by default none. Rows of kwire under asyncio are left out: there is "
    "no asyncio client yet."
)
_BESIDE = (
    ("thousand records per second (wall)", "records_per_s", 1e-3),
    ("resident memory added, MiB", "added_mib", 1.0),
)


def tables(outcomes: Sequence[Outcome]) -> str:
    """All groups that have outcomes, then the targets, then what failed."""
    parts = []
    for group in GROUPS:
        rows = [(work, costs_of(work, outcomes)) for work in WORKS if work.group == group]
        rows = [(work, costs) for work, costs in rows if costs]
        if rows:
            parts.append(_table(group, rows))
            parts += _side_tables([work for work, _ in rows], outcomes)
    judged = verdicts.verdicts(outcomes)
    if judged:
        parts.append(verdicts.table(judged))
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
    return [
        f"- {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}, {contender}, "
        f"round {number + 1}: {error}"
        for (contender, number, error), names in works.items()
    ]


def _table(group: str, rows: list[tuple[Work, Costs]]) -> str:
    peers = [name for name in CONTENDERS if name != KWIRE and any(name in costs for _, costs in rows)]
    lines = [["work", "unit", KWIRE, *peers]]
    for work, costs in rows:
        mine = costs.get(KWIRE, {})
        cells = [_cell(work, costs.get(peer), ratio_of(mine, costs.get(peer, {}))) for peer in peers]
        lines.append([work.title, work.unit, number(work.shown(median(mine.values()))) if mine else "", *cells])
    return f"### {_HEADINGS[group]}\n\n" + markdown(lines)


def _side_tables(works: Sequence[Work], outcomes: Iterable[Outcome]) -> list[str]:
    """What else was measured of works that are compared by their CPU: wall time and memory."""
    works = [work for work in works if work.metric == "cpu_s_per_million"]
    outcomes = list(outcomes)
    parts = []
    for title, metric, scale in _BESIDE:
        rows = [(work.title, costs_of(replace(work, metric=metric, scale=scale), outcomes)) for work in works]
        names = [name for name in CONTENDERS if any(name in costs for _, costs in rows)]
        if names:
            parts.append(
                markdown(
                    [
                        [title, *names],
                        *(
                            [row, *(number(median(costs[name].values())) if name in costs else "" for name in names)]
                            for row, costs in rows
                        ),
                    ]
                )
            )
    return parts


def _cell(work: Work, cost: dict[int, float] | None, ratio: Ratio | None) -> str:
    """A peer's median and how many times kwire's its cost is, with the range of the rounds."""
    if not cost:
        return ""
    text = number(work.shown(median(cost.values())))
    return text if ratio is None else f"{text} = {with_range(ratio)}"


def heading(about: dict[str, Any]) -> str:
    """Where and when."""
    versions = ", ".join(f"{name} {text}" for name, text in about["versions"].items() if text)
    return (
        f"{about['date']}, {about['cores']} cores of {about['processor']}, Python {about['python']}, load before "
        f"{about['load_before'][0]}; {_rounds(about['rounds'])}; {versions}\n\n{_NOTE}{_left_out(about)}"
    )


def _rounds(count: int) -> str:
    return "one round" if count == 1 else f"medians of {count} rounds"


def _left_out(about: dict[str, Any]) -> str:
    return f"\n\nLeft out: {about['left_out']}." if about.get("left_out") else ""
