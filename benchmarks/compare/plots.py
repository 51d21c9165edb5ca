"""The ratios as pictures, in SVG. The only file here that needs matplotlib (the dependency group `bench`).

Backgrounds are transparent and all ink is of middle brightness, so that a file reads on light and on dark pages.
Text in SVG stays text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from benchmarks.compare.measure import Ratio, Result, costs_of, ratio_of
from benchmarks.compare.report import number, times
from benchmarks.compare.rows import (
    AIOKAFKA,
    BATCH_COUNTS,
    CONFLUENT,
    KAFKA_PYTHON,
    KIO,
    KWIRE,
    RAW_SOCKET,
    RECORD_SIZES,
    batch_row,
    row_named,
    size_row,
)

_INK = "#768390"
_FAINT = "#76839055"
_COLOURS = {
    KWIRE: "#d1495b",
    CONFLUENT: "#4684c4",
    AIOKAFKA: "#d9982f",
    KAFKA_PYTHON: "#5b9f72",
    KIO: "#9a6fc9",
    RAW_SOCKET: "#768390",
}
_LINES = [(name, output, style) for name in (KWIRE, AIOKAFKA) for output, style in (("values", "-"), ("columns", "--"))]
_BAR_INCHES = 0.17
_WIDTH_INCHES = 8.5


class _Bars(NamedTuple):
    """A picture of how many times the cost of `base` each other contender's is."""

    title: str
    base: str
    rows: str


_PICTURES = {
    "codec": _Bars(
        "Codec: CPU per record, as a multiple of kwire's",
        KWIRE,
        "columns records consumer-records values headers-unread magic-1 values-lz4 values-gzip append encode-values "
        "encode-arrow metadata-decode fetch-decode",
    ),
    "produce": _Bars(
        "Produce: CPU per record, as a multiple of kwire's",
        KWIRE,
        "produce-deliveries produce-fire-and-forget produce-32-partitions produce-512-partitions produce-1k "
        "produce-lz4 produce-message-sets",
    ),
    "consume": _Bars(
        "Consume: CPU per record, as a multiple of kwire's",
        KWIRE,
        "consume-records consume-one-by-one consume-values consume-columns consume-1k",
    ),
    "latency": _Bars(
        "One record in flight: time, as a multiple of a raw socket's", RAW_SOCKET, "round-trip-p50 round-trip-p99"
    ),
}

mpl.use("Agg")
mpl.rcParams.update(
    {
        "svg.hashsalt": "kwire",
        "svg.fonttype": "none",
        "font.size": 9,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK),
        **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), "none"),
    }
)

_BarRows = list[tuple[str, list[tuple[str, Ratio]]]]
"""Each row's label, and its contenders with their ratios."""


def draw(about: dict[str, Any], results: Sequence[Result], folder: Path) -> list[Path]:
    """A picture for each group that has results; returns the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, picture in _PICTURES.items():
        rows = _bar_rows(picture, results)
        if rows:
            written.append(_save(_draw_bars(picture, rows, about), folder, name))
    if any(row_named(result.row).group == "sweep" for result in results):
        written.append(_save(_draw_sweep(results, about), folder, "sizes"))
    return written


def _bar_rows(picture: _Bars, results: Sequence[Result]) -> _BarRows:
    rows = []
    for row in map(row_named, picture.rows.split()):
        costs = costs_of(row, results)
        base = costs.get(picture.base)
        if base:
            others = [name for name in _COLOURS if name in costs and name != picture.base]
            ratios = [(name, ratio_of(base, costs[name])) for name in others]
            label = f"{row.title}\n{picture.base}: {number(median(base.values()))} {row.unit}"
            rows.append((label, [(name, ratio) for name, ratio in ratios if ratio]))
    return rows


def _draw_bars(picture: _Bars, rows: _BarRows, about: dict[str, Any]) -> Figure:
    units = sum(max(len(ratios), 2) + 1 for _, ratios in rows)
    figure, axes = plt.subplots(figsize=(_WIDTH_INCHES, 1.15 + _BAR_INCHES * units))
    place, ticks = 0.0, []
    for label, ratios in rows:
        ticks.append((place + (len(ratios) - 1) / 2, label))
        for offset, (name, ratio) in enumerate(ratios):
            _draw_bar(axes, place + offset, name, ratio)
        place += max(len(ratios), 2) + 1
    axes.set_yticks([tick for tick, _ in ticks], [label for _, label in ticks], fontsize=8)
    axes.set_ylim(place - 1, -1)
    _scale_bars(axes, min(ratio.min for _, ratios in rows for _, ratio in ratios))
    axes.axvline(1, color=_COLOURS[picture.base], linewidth=1.6)
    shown = [name for name in _COLOURS if any(name == other for _, ratios in rows for other, _ in ratios)]
    handles: list[Any] = [Line2D([0], [0], color=_COLOURS[picture.base], linewidth=1.6)]
    handles += [Rectangle((0, 0), 1, 1, color=_COLOURS[name]) for name in shown]
    labels = [f"{_with_version(picture.base, about)} = 1x", *(_with_version(name, about) for name in shown)]
    _write_around(figure, picture.title, handles, labels, about)
    return figure


def _scale_bars(axes: Axes, smallest: float) -> None:
    axes.set_xscale("log")
    axes.set_xlim(left=min(1.0, smallest) * 0.97)
    axes.set_xlim(right=axes.get_xlim()[1] * 1.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=_FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _draw_bar(axes: Axes, place: float, name: str, ratio: Ratio) -> None:
    axes.barh(place, ratio.median - 1, left=1, color=_COLOURS[name], height=0.8)
    axes.plot([ratio.min, ratio.max], [place, place], color=_INK, linewidth=0.9)
    axes.text(max(ratio.max, 1.0) * 1.04, place, times(ratio.median), va="center", fontsize=7.5)


def _draw_sweep(results: Sequence[Result], about: dict[str, Any]) -> Figure:
    figure, (left, right) = plt.subplots(1, 2, figsize=(_WIDTH_INCHES, 3.4))
    _draw_lines(left, size_row, RECORD_SIZES, results)
    _draw_lines(right, batch_row, BATCH_COUNTS, results)
    left.set_xlabel("bytes of a record", fontsize=8)
    right.set_xlabel("records in a batch (100 bytes each)", fontsize=8)
    left.set_ylabel("CPU ns per record", fontsize=8)
    handles = [Line2D([0], [0], color=_COLOURS[name], linestyle=style) for name, _, style in _LINES]
    labels = [f"{_with_version(name, about)}, to {output}" for name, output, _ in _LINES]
    _write_around(figure, "Decoding: sizes of records and batches", handles, labels, about)
    return figure


def _draw_lines(
    axes: Axes, name_of: Callable[[int, str], str], steps: Sequence[int], results: Sequence[Result]
) -> None:
    for contender, output, style in _LINES:
        costs = [costs_of(row_named(name_of(step, output)), results).get(contender) for step in steps]
        points = [(step, median(cost.values())) for step, cost in zip(steps, costs, strict=True) if cost]
        axes.plot(*zip(*points, strict=True), style, marker="o", markersize=3, linewidth=1.4, color=_COLOURS[contender])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(color=_FAINT, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7.5)


def _write_around(figure: Figure, title: str, handles: list[Any], labels: list[str], about: dict[str, Any]) -> None:
    """The title, the legend and where the figures are from."""
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
    count = about["rounds"]
    rounds = "One round" if count == 1 else f"Medians of {count} rounds, thin lines from the minimum to the maximum"
    machine = f"{about['cores']} cores of {about['processor']}, Python {about['python']}, {about['date'][:10]}"
    figure.text(0.01, 0.03 * inch, f"Logarithmic. {rounds}. {machine}.", fontsize=6.5, ha="left", va="bottom")
    figure.tight_layout(rect=(0, 0.14 * inch, 1, 1 - 0.48 * inch))


def _with_version(name: str, about: dict[str, Any]) -> str:
    version = about["versions"].get(name)
    return f"{name} {version}" if version else name


def _save(figure: Figure, folder: Path, name: str) -> Path:
    path = folder / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path
