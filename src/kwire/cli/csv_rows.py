"""Rows as CSV whose lines end by a line feed, whatever their fields hold."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """A line for each row. Of line feeds and carriage returns in fields Python quotes those that also end its lines."""
    lines: list[str] = []
    csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n").writerows(rows)
    return "".join([f"{line[:-2]}\n" for line in lines])
