"""Shows how streaming queries come along: a line for each micro-batch, and a plot of a whole run from its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_BARS = " ▁▂▃▄▅▆▇█"
_SHOWN = 24
_HEIGHT, _WIDTH = 8, 72


class Progress:
    """Prints each micro-batch of queries once, with the speed of the last ones, and keeps it in a file."""

    def __init__(self, file: Path) -> None:
        self._seen: dict[str, int] = {}
        self._speeds: dict[str, list[float]] = {}
        self._file = file

    def show(self, queries: Sequence[StreamingQuery]) -> None:
        """Prints what is new."""
        with self._file.open("a", encoding="utf-8") as file:
            for query in queries:
                for batch in query.recentProgress:
                    if batch["batchId"] > self._seen.get(query.name, -1):
                        self._seen[query.name] = batch["batchId"]
                        self._show_batch(query.name, batch, file)

    def _show_batch(self, name: str, batch: Any, file: TextIO) -> None:
        rows, seconds = batch["numInputRows"], batch["durationMs"]["triggerExecution"] / 1000
        self._speeds.setdefault(name, []).append(rows / seconds)
        line = f"  {name:8} batch {batch['batchId']:3}  {rows:8,} orders in {seconds:5.2f} s  "
        print(line + sparkline(self._speeds[name][-_SHOWN:]), flush=True)
        began = datetime.fromisoformat(batch["timestamp"]).timestamp()
        print(json.dumps({"query": name, "at": began + seconds, "rows": rows}), file=file)


def sparkline(numbers: Sequence[float]) -> str:
    """A bar for each number, as high as it is in relation to the largest."""
    top = max(numbers, default=0) or 1
    return "".join(_BARS[round(number / top * (len(_BARS) - 1))] for number in numbers)


def plot(file: Path, query: str, kills: Sequence[float] = ()) -> str:
    """The rows that a query has read over time, from the file of `Progress`; `kills` are times to mark."""
    batches = [each for each in map(json.loads, file.read_text().splitlines()) if each["query"] == query]
    first, last = batches[0]["at"], max(batches[-1]["at"], batches[0]["at"] + 1e-3)

    def column(when: float) -> int:
        return min(max(int((when - first) / (last - first) * (_WIDTH - 1)), 0), _WIDTH - 1)

    heights = [0.0] * _WIDTH
    total = 0
    for batch in batches:
        total += batch["rows"]
        heights[column(batch["at"]) :] = [total] * (_WIDTH - column(batch["at"]))
    marks = {column(when) for when in kills}
    lines = []
    for level in range(_HEIGHT, 0, -1):
        cells = [_cell(height / max(total, 1) * _HEIGHT - (level - 1)) for height in heights]
        label = f"{total:>10,}" if level == _HEIGHT else " " * 10
        lines.append(f"  {label} |" + "".join("x" if at in marks else cell for at, cell in enumerate(cells)).rstrip())
    lines.append(f"  {'':10} +{'-' * _WIDTH}")
    lines.append(f"  {'':10}  0 s{last - first:>{_WIDTH - 5}.0f} s" + ("   x: killed" if marks else ""))
    return "\n".join(lines)


def _cell(filled: float) -> str:
    return _BARS[round(min(max(filled, 0), 1) * (len(_BARS) - 1))]
