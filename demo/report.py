"""What the demonstration shows: a line of progress while a stage runs, and tables at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

_BAR_WIDTH = 30
_REDRAW_S = 0.1


@dataclass(frozen=True)
class Stage:
    """One measured stage: `size` counts the bytes of the values."""

    name: str
    records: int
    size: int
    seconds: float

    def cells(self) -> list[str]:
        rate = self.records / self.seconds
        megabytes = self.size / 1e6
        return [self.name, f"{self.records:,}", f"{megabytes:.1f}", f"{self.seconds:.2f}", f"{rate:,.0f}"]


class Progress:
    """One line that fills up; on a terminal it is drawn again and again, elsewhere only when the stage ends."""

    def __init__(self, name: str, total: int) -> None:
        self._name = name
        self._total = total
        self._started = time.perf_counter()
        self._drawn = 0.0
        self._terminal = sys.stdout.isatty()

    def show(self, done: int) -> None:
        now = time.perf_counter()
        if self._terminal and now - self._drawn >= _REDRAW_S:
            self._drawn = now
            self._draw(done, now, "\r")

    def finish(self, done: int) -> None:
        self._draw(done, time.perf_counter(), "\r" if self._terminal else "")
        print(flush=True)

    def _draw(self, done: int, now: float, before: str) -> None:
        filled = _BAR_WIDTH * done // self._total
        bar = "#" * filled + "." * (_BAR_WIDTH - filled)
        line = f"  {self._name:<24} [{bar}] {done:>11,} records {now - self._started:6.1f} s"
        print(before + line, end="", flush=True)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> str:
    """Rows under their heads: the first `text_columns` columns to the left, the others, numbers, to the right."""
    widths = [max(len(row[index]) for row in [heads, *rows]) for index in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        aligned = [
            cell.ljust(width) if index < text_columns else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return ("  " + "   ".join(aligned)).rstrip()

    rule = "  " + "   ".join("-" * width for width in widths)
    return "\n".join([line(heads), rule, *map(line, rows)])
