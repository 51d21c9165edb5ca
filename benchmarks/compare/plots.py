"""Plots of the tables as PNG and SVG. The only file here that needs matplotlib (the dependency group `bench`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from benchmarks.compare.report import costs_of, number
from benchmarks.compare.runner import Outcome
from benchmarks.compare.work import CONTENDERS, KWIRE, Work
from benchmarks.compare.works import WORKS

_COLOURS = {
    KWIRE: "#d1495b", "confluent-kafka": "#30638e", "aiokafka": "#edae49", "kafka-python": "#66a182", "kio": "#8d6a9f",
    "raw-socket": "#777777",
}
_SHOWN = {
    "codec": ("Codec: CPU per record, 100 bytes", "ns, logarithmic",
              ("columns", "records", "values", "magic-1", "values-lz4", "append", "encode-values")),
    "produce": ("Produce: CPU per million records", "CPU seconds, logarithmic",
                ("produce-fates", "produce", "produce-32", "produce-512", "produce-1k", "produce-lz4", "produce-old")),
    "consume": ("Consume: CPU per million records", "CPU seconds, logarithmic",
                ("consume", "consume-values", "consume-columns", "consume-1k")),
    "latency": ("One record in flight", "µs, logarithmic", ("one-p50", "one-p99")),
}
_HEIGHT_OF_ROW = 0.24

mpl.use("Agg")
mpl.rcParams["svg.hashsalt"] = "kwire"


def draw(about: dict[str, Any], outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """One plot for each group that has outcomes; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for group, (title, axis, names) in _SHOWN.items():
        works = [work for name in names for work in WORKS if work.name == name and costs_of(work, outcomes)]
        if works:
            figure = _bars(title, axis, works, outcomes, about)
            written += [_save(figure, folder / f"{group}.{kind}") for kind in ("png", "svg")]
            plt.close(figure)
    return written


def _bars(title: str, axis: str, works: list[Work], outcomes: Sequence[Outcome], about: dict[str, Any]) -> Figure:
    rows = [(work, name, median(costs[name].values()))
            for work in works for costs in [costs_of(work, outcomes)] for name in CONTENDERS if name in costs]
    figure, axes = plt.subplots(figsize=(9, 1.3 + _HEIGHT_OF_ROW * (len(rows) + len(works))))
    place, ticks = 0.0, []
    for work in works:
        mine = [(name, cost) for other, name, cost in rows if other is work]
        ticks.append((place + (len(mine) - 1) / 2, work.title))
        for name, cost in mine:
            axes.barh(place, cost, color=_COLOURS[name], height=0.85)
            axes.text(cost, place, f" {number(cost)}", va="center", fontsize=7)
            place += 1
        place += 1
    axes.set_yticks([tick for tick, _ in ticks], [text for _, text in ticks], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.margins(x=0.12)
    axes.set_xlabel(axis, fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_title(f"{title} (shorter is better)", fontsize=10, loc="left", pad=22)
    shown = [name for name in CONTENDERS if any(name == other for _, other, _ in rows)]
    handles = [Rectangle((0, 0), 1, 1, color=_COLOURS[name]) for name in shown]
    axes.legend(handles, [_named(name, about) for name in shown], fontsize=7, loc="lower left",
                bbox_to_anchor=(0, 1), ncols=len(shown), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return figure


def _named(name: str, about: dict[str, Any]) -> str:
    version = about["versions"].get(name)
    return f"{name} {version}" if version else name


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=130, metadata={"Date": None} if path.suffix == ".svg" else None)
    return path
