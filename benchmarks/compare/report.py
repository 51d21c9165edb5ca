"""What a comparison leaves: its tables, the targets, the data file, and the blocks of the README and of a page."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.compare.measure import Costs, Ratio, Result, costs_of, ratio_of
from benchmarks.compare.processes import ROOT
from benchmarks.compare.rows import (
    AIOKAFKA,
    CONFLUENT,
    CONTENDERS,
    GROUPS,
    KAFKA_PYTHON,
    KIO,
    KWIRE,
    ROWS,
    Row,
    row_named,
)

RESULTS = ROOT / "benchmarks" / "results"
PUBLISHED = RESULTS / "published.jsonl"
README = ROOT / "README.md"
BEGIN = "<!-- speed: written by benchmarks/compare -->"
END = "<!-- end of speed -->"
PERFORMANCE = ROOT / "docs" / "performance.md"
BEGIN_MISSED = "<!-- missed: written by benchmarks/compare -->"
END_MISSED = "<!-- end of missed -->"
_PACKAGES = ("confluent-kafka", "aiokafka", "kafka-python", "kio", "pyarrow", "cramjam", "isal")
_HEADINGS = {
    "codec": "Codec, in process: CPU per record, or per message where µs",
    "sweep": "Codec, sizes of records and batches: CPU per record",
    "produce": "Produce",
    "consume": "Consume",
    "tables": "Tables",
    "latency": "Latency",
    "asyncio": "asyncio",
    "tls": "TLS 1.3",
    "groups": "Groups and transactions",
    "kafka": "Apache Kafka",
    "memory": "Memory",
    "package": "Package",
}
_NOTE = "kwire verifies every checksum, librdkafka by default none."
_SIDE_METRICS = (
    ("thousand records per second (wall)", "records_per_s", 1e-3),
    ("resident memory added, MiB", "added_mib", 1.0),
)
_README_PEERS = (CONFLUENT, AIOKAFKA, KAFKA_PYTHON, KIO)
_README_ROWS = (
    "produce-deliveries produce-fire-and-forget produce-512-partitions produce-lz4 consume-records consume-values "
    "consume-columns aio-produce aio-consume-records aio-consume-one-by-one tls-produce-deliveries tls-consume-columns "
    "records values columns append metadata-decode"
)


# The tables


def heading(about: dict[str, Any]) -> str:
    """Where and when."""
    versions = ", ".join(f"{name} {text}" for name, text in about["versions"].items() if text)
    rounds = "one round" if about["rounds"] == 1 else f"medians of {about['rounds']} rounds"
    left_out = f"\n\nLeft out: {about['left_out']}." if about.get("left_out") else ""
    return (
        f"{about['date']}, {about['cores']} cores of {about['processor']}, Python {about['python']}, load before "
        f"{about['load_before'][0]}; {rounds}; {versions}\n\n{_NOTE}{left_out}"
    )


def tables(results: Sequence[Result]) -> str:
    """A table for each group that has results, then the targets, then what failed."""
    parts = []
    for group in GROUPS:
        rows = [(row, costs_of(row, results)) for row in ROWS if row.group == group]
        rows = [(row, costs) for row, costs in rows if costs]
        if rows:
            parts.append(_table(group, rows))
            parts += _side_tables([row for row, _ in rows], results)
    judgements = judge(results)
    if judgements:
        parts.append(_target_table(judgements))
    failures = _failures(results)
    if failures:
        parts.append("Failed:\n" + "\n".join(failures))
    return "\n\n".join(parts)


def _table(group: str, rows: list[tuple[Row, Costs]]) -> str:
    """kwire's median, then each peer's with its ratio."""
    peers = [name for name in CONTENDERS if name != KWIRE and any(name in costs for _, costs in rows)]
    lines = [["row", "unit", KWIRE, *peers]]
    for row, costs in rows:
        mine = costs.get(KWIRE, {})
        cells = [_cell(row, costs.get(peer), ratio_of(mine, costs.get(peer, {}))) for peer in peers]
        lines.append([row.title, row.unit, _cell(row, mine, None), *cells])
    return f"### {_HEADINGS[group]}\n\n" + markdown(lines)


def _cell(row: Row, cost: dict[int, float] | None, ratio: Ratio | None) -> str:
    if not cost:
        return ""
    text = number(row.shown(median(cost.values())))
    return text if ratio is None else f"{text} = {_with_range(ratio)}"


def _side_tables(rows: Sequence[Row], results: Sequence[Result]) -> list[str]:
    """Wall time and memory of rows that are compared by their CPU."""
    parts = []
    for title, metric, scale in _SIDE_METRICS:
        cpu_rows = [replace(row, metric=metric, scale=scale) for row in rows if row.metric == Row.metric]
        found = [(row.title, costs_of(row, results)) for row in cpu_rows]
        names = [name for name in CONTENDERS if any(name in costs for _, costs in found)]
        lines = [
            [row, *(number(median(costs[name].values())) if name in costs else "" for name in names)]
            for row, costs in found
        ]
        if names:
            parts.append(markdown([[title, *names], *lines]))
    return parts


def _failures(results: Iterable[Result]) -> list[str]:
    """One line for each run that failed; a run may yield several rows."""
    rows: dict[tuple[str, int, str], list[str]] = {}
    for result in results:
        if result.error:
            rows.setdefault((result.contender, result.round, result.error), []).append(result.row)
    return [
        f"- {', '.join(names)}, {contender}, round {number + 1}: {error}"
        for (contender, number, error), names in rows.items()
    ]


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def times(ratio: float) -> str:
    """A ratio for readers: "5.4x", "120x"."""
    return f"{ratio:.1f}x" if ratio < 10 else f"{ratio:,.0f}x"


def _with_range(ratio: Ratio) -> str:
    return f"{ratio.median:.2f}x ({ratio.min:.2f}-{ratio.max:.2f})"


def markdown(lines: list[list[str]]) -> str:
    """A table that reads well as text too."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    rows = ["| " + " | ".join(cells) + " |" for cells in padded]
    return "\n".join([rows[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *rows[1:]])


# The targets


@dataclass(frozen=True)
class Judgement:
    """A target and what was measured for it. `share` is the part of the target that was reached: met from 1 on.

    `at_best` is the same of the row's floor, where that was measured; `reasoned` a heading of benchmarks/README.md.
    """

    title: str
    target: str
    measured: str
    share: float
    at_best: Judgement | None = None
    reasoned: str = ""

    @property
    def met(self) -> bool:
        """Whether the target is reached."""
        return self.share >= 1


def judge(results: Sequence[Result]) -> list[Judgement]:
    """Every target that was measured, in the order of the rows."""
    found: list[Judgement] = []
    for row in ROWS:
        costs = costs_of(row, results)
        if KWIRE in costs:
            floor = _floor_of(row, results)
            best = {each.target: each for each in _judge_row(row, {**costs, KWIRE: floor}, results)} if floor else {}
            for each in _judge_row(row, costs, results):
                found.append(replace(each, at_best=best.get(each.target), reasoned=row.reasoned))
    return found


def _floor_of(row: Row, results: Sequence[Result]) -> dict[int, float]:
    """What nobody can cost less than, in each round in which all of it was measured."""
    parts = [costs_of(row_named(name or row.name), results).get(contender, {}) for contender, name in row.floor.items()]
    rounds = set.intersection(*map(set, parts)) if parts else set()
    return {number: sum(part[number] for part in parts) for number in sorted(rounds)}


def _judge_row(row: Row, costs: Costs, results: Sequence[Result]) -> Iterator[Judgement]:
    yield from _judge_cost(row, costs)
    yield from _judge_peers(row, costs)
    yield from _judge_rows(row, costs, results)


def _judge_cost(row: Row, costs: Costs) -> Iterator[Judgement]:
    if row.max_cost is not None:
        cost = median(costs[KWIRE].values())
        target = f"{'≥' if row.rate else '≤'} {number(row.shown(row.max_cost))} {row.unit}"
        share = row.max_cost / cost if cost else 1.0
        yield Judgement(row.title, target, f"{number(row.shown(cost))} {row.unit}", share)


def _judge_peers(row: Row, costs: Costs) -> Iterator[Judgement]:
    for peer, limit in row.peer_min.items():
        ratio = ratio_of(costs[KWIRE], costs.get(peer, {}))
        if ratio:
            yield Judgement(row.title, f"{peer} ≥ {limit:.3g}x", _with_range(ratio), ratio.median / limit)
    for peer, limit in row.peer_max.items():
        yield from _judge_limit(row, costs, costs.get(peer, {}), limit, peer)


def _judge_rows(row: Row, costs: Costs, results: Sequence[Result]) -> Iterator[Judgement]:
    for name, limit in row.row_max.items():
        other = row_named(name)
        yield from _judge_limit(row, costs, costs_of(other, results).get(KWIRE, {}), limit, f'"{other.title}"')


def _judge_limit(row: Row, costs: Costs, base: dict[int, float], limit: float, label: str) -> Iterator[Judgement]:
    """kwire's cost is at most `limit` times the base's."""
    ratio = ratio_of(base, costs[KWIRE])
    if ratio:
        yield Judgement(row.title, f"≤ {limit:.3g}x {label}", _with_range(ratio), limit / ratio.median)


def _target_table(judgements: Sequence[Judgement]) -> str:
    lines = [["row", "target", "measured", "of the target", ""]]
    for each in judgements:
        lines.append([each.title, each.target, each.measured, f"{each.share:.2f}", "met" if each.met else "missed"])
    return f"### Targets: {sum(each.met for each in judgements)} of {len(judgements)} met\n\n{markdown(lines)}"


# The data file: JSON lines, the first about the machine and versions, each other one result


def about_this_run(rounds: int, quick: bool, left_out: str) -> dict[str, Any]:
    """The machine, versions, date and load, and what the run leaves out."""
    from kwire import __version__

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "rounds": rounds,
        "quick": quick,
        "left_out": left_out,
        "machine": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_before": [round(load, 2) for load in os.getloadavg()],
        "versions": {KWIRE: __version__, **{name: _version(name) for name in _PACKAGES}},
        "commit": _commit(),
    }


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def data_file(about: dict[str, Any]) -> Path:
    """A name by the date, which git ignores."""
    stamp = str(about["date"]).replace(":", "").replace("-", "").partition("+")[0]
    return RESULTS / f"{stamp}.jsonl"


def save(about: dict[str, Any], results: Iterable[Result], path: Path) -> None:
    """Writes each result as it comes: a run that is cut short keeps what it has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"about": about}) + "\n")
        for result in results:
            file.write(json.dumps(_rounded(asdict(result))) + "\n")
            file.flush()


def _rounded(value: Any) -> Any:
    """Five significant digits are more than a measurement has."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return value


def load(path: Path) -> tuple[dict[str, Any], list[Result]]:
    """What `save` wrote."""
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    return json.loads(first)["about"], [Result(**json.loads(line)) for line in rest]


# The README's block, and that of the page on performance


def write_readme(about: dict[str, Any], results: Sequence[Result]) -> None:
    """Puts the summary between its marks. Raises ValueError when the file has none."""
    put_between(BEGIN, END, summary(about, results), README)


def write_missed(about: dict[str, Any], results: Sequence[Result]) -> None:
    """Puts the targets that are missed between their marks on the page. Raises ValueError when it has none."""
    put_between(BEGIN_MISSED, END_MISSED, missed(about, results), PERFORMANCE)


def missed(about: dict[str, Any], results: Sequence[Result]) -> str:
    """How many targets are met, and the others."""
    return missed_table(about, judge(results))


def missed_table(about: dict[str, Any], judgements: Sequence[Judgement]) -> str:
    """The same of targets that have been judged, for a page in docs/."""
    others = [each for each in judgements if not each.met]
    lines = [["", "target", "measured", "at best"]]
    lines += [[each.title, each.target, each.measured, _at_best(each)] for each in others]
    met = f"{len(judgements) - len(others)} of {len(judgements)} targets are met ({about['date'][:10]})"
    return f"{met}; these are not:\n\n{markdown(lines)}" if others else f"{met}."


def _at_best(judgement: Judgement) -> str:
    """What the floor reaches of a target, or where it stands why there is no such figure."""
    link = f"](../benchmarks/README.md#{judgement.reasoned})" if judgement.reasoned else ""
    best = judgement.at_best
    if best is None:
        return f"[why{link}" if link else ""
    text = best.measured if best.met else f"{best.measured}: nobody can"
    return f"[{text}{link}" if link else text


def put_between(begin_mark: str, end_mark: str, block: str, page: Path) -> None:
    """Writes `block` between two marks of a page. Raises ValueError when it has none."""
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(begin_mark)
    _, end, after = rest.partition(end_mark)
    if not begin or not end:
        raise ValueError(f"{page} lacks the marks {begin_mark!r} and {end_mark!r}")
    page.write_text(f"{before}{begin_mark}\n{block}\n{end_mark}{after}", encoding="utf-8")


def summary(about: dict[str, Any], results: Sequence[Result]) -> str:
    """The rows that a reader wants first: kwire's cost, and how many times that each peer's is."""
    versions = about["versions"]
    lines = [["", KWIRE, *(f"{peer} {versions.get(peer) or ''}".strip() for peer in _README_PEERS)]]
    for row in map(row_named, _README_ROWS.split()):
        costs = costs_of(row, results)
        mine = costs.get(KWIRE)
        if mine:
            ratios = [ratio_of(mine, costs.get(peer, {})) for peer in _README_PEERS]
            cost = f"{number(median(mine.values()))} {row.unit}"
            lines.append([row.title, cost, *(times(ratio.median) if ratio else "" for ratio in ratios)])
    return (
        f"{markdown(lines)}\n\n{about['date'][:10]}, {about['cores']} cores of {about['processor']}, "
        f"Python {about['python']}, {about['rounds']} rounds; load of the machine by other work: "
        f"{about['load_before'][0]:.0f}."
    )
