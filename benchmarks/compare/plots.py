"""Pictures of the ratios as PNG and SVG. The only file here that needs matplotlib (the dependency group `bench`).

Backgrounds are transparent and all ink is of middle brightness, so that the same file reads on light and on dark pages.
Text in SVG stays text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from benchmarks.compare.contenders.sweep import BATCHES, SIZES, batch_name, size_name
from benchmarks.compare.figures import costs_of, number
from benchmarks.compare.rounds import Ratio, ratio_of
from benchmarks.compare.runner import Outcome
from benchmarks.compare.work import AIOKAFKA, CONFLUENT, CONTENDERS, KAFKA_PYTHON, KIO, KWIRE, RAW
from benchmarks.compare.works import work_named

_INK = "#768390"
_FAINT = "#76839055"
_COLOURS = {
    KWIRE: "#d1495b",
    CONFLUENT: "#4684c4",
    AIOKAFKA: "#d9982f",
    KAFKA_PYTHON: "#5b9f72",
    KIO: "#9a6fc9",
    RAW: "#768390",
}
_LINES = (("values", "-"), ("columns", "--"))
_BAR_INCHES = 0.17
_WIDTH_INCHES = 8.5


@dataclass(frozen=True)
class _Picture:
    """Bars of how many times the cost of `base` each other contender's is."""

    title: str
    base: str
    works: tuple[str, ...]


_BARS = {
    "codec": _Picture(
        "Codec: CPU per record, as a multiple of kwire's",
        KWIRE,
        (
            "columns",
            "records",
            "handed-out",
            "values",
            "headers-unread",
            "magic-1",
            "values-lz4",
            "values-gzip",
            "append",
            "encode-values",
            "encode-arrow",
            "metadata-decode",
            "fetch-decode",
        ),
    ),
    "produce": _Picture(
        "Produce: CPU per record, as a multiple of kwire's",
        KWIRE,
        ("produce-fates", "produce-unasked", "produce-32", "produce-512", "produce-1k", "produce-lz4", "produce-old"),
    ),
    "consume": _Picture(
        "Consume: CPU per record, as a multiple of kwire's",
        KWIRE,
        ("consume-records", "consume-one", "consume-values", "consume-columns", "consume-1k"),
    ),
    "latency": _Picture("One record in flight: time, as a multiple of a raw socket's", RAW, ("one-p50", "one-p99")),
}

mpl.use("Agg")
mpl.rcParams.update(
    {
        "svg.hashsalt": "kwire",
        "svg.fonttype": "none",
        "font.size": 9,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "savefig.facecolor": "none",
    }
)


def draw(about: dict[str, Any], outcomes: Sequence[Outcome], folder: Path) -> list[Path]:
    """One picture for each group that has outcomes; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, picture in _BARS.items():
        rows = _rows(picture, outcomes)
        if rows:
            written += _save(_bars(picture, rows, about), folder, name)
    if any(outcome.work.startswith("size-") for outcome in outcomes):
        written += _save(_sweep(outcomes, about), folder, "sizes")
    return written


def _rows(picture: _Picture, outcomes: Sequence[Outcome]) -> list[tuple[str, list[tuple[str, Ratio]]]]:
    """Label of each work, with its contenders' ratios."""
    rows = []
    for work in map(work_named, picture.works):
        costs = costs_of(work, outcomes)
        base = costs.get(picture.base)
        if base:
            others = [name for name in CONTENDERS if name in costs and name != picture.base]
            ratios = [(name, ratio_of(base, costs[name])) for name in others]
            label = f"{work.title}\n{picture.base}: {number(median(base.values()))} {work.unit}"
            rows.append((label, [(name, ratio) for name, ratio in ratios if ratio]))
    return rows


def _bars(picture: _Picture, rows: list[tuple[str, list[tuple[str, Ratio]]]], about: dict[str, Any]) -> Figure:
    units = sum(max(len(ratios), 2) + 1 for _, ratios in rows)
    figure, axes = plt.subplots(figsize=(_WIDTH_INCHES, 1.15 + _BAR_INCHES * units))
    place, ticks = 0.0, []
    for label, ratios in rows:
        ticks.append((place + (len(ratios) - 1) / 2, label))
        for offset, (name, ratio) in enumerate(ratios):
            _bar(axes, place + offset, name, ratio)
        place += max(len(ratios), 2) + 1
    axes.set_yticks([tick for tick, _ in ticks], [label for _, label in ticks], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_xscale("log")
    axes.set_xlim(left=min(1.0, *(ratio.least for _, ratios in rows for _, ratio in ratios)) * 0.97)
    axes.set_xlim(right=axes.get_xlim()[1] * 1.6)
    axes.set_ylim(place - 1, -1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.axvline(1, color=_COLOURS[picture.base], linewidth=1.6)
    axes.grid(axis="x", color=_FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    shown = [name for name in CONTENDERS if any(name == other for _, ratios in rows for other, _ in ratios)]
    handles: list[Any] = [Line2D([0], [0], color=_COLOURS[picture.base], linewidth=1.6)]
    handles += [Rectangle((0, 0), 1, 1, color=_COLOURS[name]) for name in shown]
    _entitle(
        figure,
        axes,
        picture.title,
        handles,
        [f"{_named(picture.base, about)} = 1x", *(_named(name, about) for name in shown)],
        about,
    )
    return figure


def _bar(axes: Axes, place: float, name: str, ratio: Ratio) -> None:
    axes.barh(place, ratio.median - 1, left=1, color=_COLOURS[name], height=0.8)
    axes.plot([ratio.least, ratio.greatest], [place, place], color=_INK, linewidth=0.9)
    text = f"{ratio.median:.1f}x" if ratio.median < 10 else f"{ratio.median:,.0f}x"
    axes.text(max(ratio.greatest, 1.0) * 1.04, place, text, va="center", fontsize=7.5)


def _sweep(outcomes: Sequence[Outcome], about: dict[str, Any]) -> Figure:
    figure, panels = plt.subplots(1, 2, figsize=(_WIDTH_INCHES, 3.4))
    for axes, name_of, steps, label in (
        (panels[0], size_name, SIZES, "bytes of a record"),
        (panels[1], batch_name, BATCHES, "records in a batch (100 bytes each)"),
    ):
        for contender in (KWIRE, AIOKAFKA):
            for shape, style in _LINES:
                costs = [costs_of(work_named(name_of(step, shape)), outcomes).get(contender) for step in steps]
                points = [(step, median(cost.values())) for step, cost in zip(steps, costs, strict=True) if cost]
                axes.plot(
                    *zip(*points, strict=True),
                    style,
                    marker="o",
                    markersize=3,
                    linewidth=1.4,
                    color=_COLOURS[contender],
                )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(label, fontsize=8)
        axes.grid(color=_FAINT, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=7.5)
    panels[0].set_ylabel("CPU ns per record", fontsize=8)
    kinds = [(name, shape, style) for name in (KWIRE, AIOKAFKA) for shape, style in _LINES]
    handles = [Line2D([0], [0], color=_COLOURS[name], linestyle=style) for name, _, style in kinds]
    labels = [f"{_named(name, about)}, to {shape}" for name, shape, _ in kinds]
    _entitle(figure, panels[0], "Decoding: sizes of records and batches", handles, labels, about)
    return figure


def _entitle(
    figure: Figure, axes: Axes, title: str, handles: list[Any], labels: list[str], about: dict[str, Any]
) -> None:
    inch = 1 / figure.get_figheight()
    figure.text(0.01, 1 - 0.06 * inch, title, ha="left", va="top", fontsize=10.5, fontweight="bold")
    legend = figure.legend(
        handles,
        labels,
        fontsize=8,
        loc="upper left",
        bbox_to_anchor=(0, 1 - 0.25 * inch),
        ncols=len(labels),
        frameon=False,
        borderaxespad=0.2,
        handlelength=1.6,
        columnspacing=1.4,
    )
    legend.set_in_layout(False)
    figure.text(
        0.01,
        0.03 * inch,
        f"Logarithmic. {_rounds(about['rounds'])}. {about['cores']} cores of "
        f"{about['processor']}, Python {about['python']}, {about['date'][:10]}.",
        fontsize=6.5,
        ha="left",
        va="bottom",
    )
    figure.tight_layout(rect=(0, 0.14 * inch, 1, 1 - 0.48 * inch))


def _rounds(count: int) -> str:
    return "One round" if count == 1 else f"Medians of {count} rounds, thin lines from the least to the greatest"


def _named(name: str, about: dict[str, Any]) -> str:
    version = about["versions"].get(name)
    return f"{name} {version}" if version else name


def _save(figure: Figure, folder: Path, name: str) -> list[Path]:
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    figure.savefig(paths[0], dpi=110, pil_kwargs={"optimize": True})
    figure.savefig(paths[1], metadata={"Date": None})
    plt.close(figure)
    return paths
