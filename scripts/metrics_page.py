"""Writes the table of docs/metrics.md from that of kwire.fronts.metrics_table."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.sources import DOCS

from kwire.fronts.metrics_table import AVERAGE, NOW, TABLE, Metric

PAGE = DOCS / "metrics.md"
_TABLE = re.compile(r"(?<=^<!-- table -->\n).*?(?=^<!-- end -->$)", re.MULTILINE | re.DOTALL)


def wanted() -> dict[Path, str]:
    """The one page: its text is written by hand."""
    return {PAGE: _TABLE.sub(lambda _: table(), PAGE.read_text(encoding="utf-8"))}


def table() -> str:
    """A row for each metric."""
    heading = ["", "| name | of | also by | kind | unit | what it is | in `since()` |", "|---|---|---|---|---|---|---|"]
    return "\n".join([*heading, *map(_row, TABLE), "", ""])


def _row(row: Metric) -> str:
    tags = ", ".join(row.tags) + ("" if row.untagged else " only")
    window = row.name if row.kind in {NOW, AVERAGE} else row.rate.name if row.rate is not None else ""
    shown = f"`{window}`" if window not in {"", row.name} else "yes" if window else ""
    return f"| `{row.name}` | {row.of} | {tags} | {row.kind} | {row.unit} | {row.doc} | {shown} |"
