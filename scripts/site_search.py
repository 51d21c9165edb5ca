"""The search index of the site: rows of tables are found by their first cell, and names by each of their words.

The search weighs titles far above texts, and a page's sections are all that has one: an error, a setting or another
client's method in a row of a table is lost in the words of the whole table. So each row of the pages in ROWS becomes
an entry of its own, titled with its first cell and with an id to lead to, and each name in the second column of the
list of how-tos does, for the page it leads to. Methods in the reference are titled with their class. Pages for users of
kwire come before those for its developers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

ROWS = (
    "operations/troubleshooting.html",
    "reference/error-codes.html",
    "settings.html",
    "from-aiokafka.html",
    "from-confluent-kafka.html",
    "from-kafka-python.html",
    "reference/spark-options.html",
)
"""Pages whose tables are looked up in by their first column."""
HOW_TOS = "how-to/index.html"
"""A page whose tables have links, and beside each what else its question is called."""
BOOSTS = {
    "operations/troubleshooting": 2.0,
    "how-to/index": 0.7,
    "how-to/": 1.4,
    "from-": 0.7,
    "files": 0.1,
    "architecture": 0.3,
    "lifecycles": 0.3,
    "benchmarks": 0.3,
    "decisions/": 0.2,
    "changelog": 0.2,
    "contributing": 0.2,
    "sanitizers": 0.2,
    "reference/messages": 0.3,
    "reference/aio": 0.9,
    "reference/error-codes": 1.0,
    "reference/wire": 0.8,
    "reference/": 1.5,
}
"""How much more, or less, a page counts than others whose words match as well, by how its name begins."""


def boost_of(page: str) -> float:
    return next((boost for start, boost in BOOSTS.items() if page.startswith(start)), 1.0)


def with_row_ids(page: str, html: str) -> str:
    """The content of a page, where rows that are looked up can be linked to."""
    if page not in ROWS:
        return html
    taken: set[str] = set()

    def named(row: re.Match[str]) -> str:
        name = slug = _word(unescape(re.sub("<[^>]+>", "", row[1]))).lower()
        while name in taken:
            name += "_"
        taken.add(name)
        return f'<tr id="{name}">\n<td{row[0].partition("<td")[2]}' if slug else row[0]

    return re.sub(r"<tr>\s*<td[^>]*>(.*?)</td>", named, html, flags=re.DOTALL)


def extend_index(site: Path) -> None:
    """Writes the index of a built site anew."""
    path = site / "search" / "search_index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    entries = [*map(_with_its_class, index["docs"])]
    entries += [_entry(f"{page}#{row.anchor}", row.cells, page) for page in ROWS for row in rows_of(site / page)]
    by_location = {entry["location"]: entry for entry in entries}
    for row in rows_of(site / HOW_TOS):
        target = urljoin(HOW_TOS, row.link)
        if "#" in target:
            by_location[target]["title"] += f" ({row.cells[-1]})"
        else:
            for name in row.cells[-1].split(", "):
                entries.append(_entry(f"{target}#{_word(name)}", [name, row.cells[0]], target))
    index["docs"] = entries
    path.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")


def _with_its_class(entry: dict[str, Any]) -> dict[str, Any]:
    anchor = entry["location"].partition("#kwire.")[2]
    return {**entry, "title": anchor} if anchor and "." in anchor else entry


def _entry(location: str, cells: list[str], page: str) -> dict[str, Any]:
    return {
        "location": location,
        "title": cells[0],
        "text": ". ".join(filter(None, cells[1:])),
        "boost": boost_of(page),
    }


def _word(text: str) -> str:
    return re.sub(r"\W+", "-", text).strip("-")


class Row:
    """A row of a table: its id, the texts of its cells, where its first link leads."""

    def __init__(self, anchor: str | None) -> None:
        self.anchor = anchor
        self.cells: list[str] = []
        self.link = ""


def rows_of(page: Path) -> Iterator[Row]:
    """The rows of a page's tables that have a text in their first and last cells, without their heads."""
    parser = _Tables()
    parser.feed(page.read_text(encoding="utf-8"))
    for row in parser.rows:
        row.cells = [" ".join(cell.split()) for cell in row.cells]
        if row.cells and row.cells[0] and row.cells[-1]:
            yield row


class _Tables(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self._is_in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "tr":
            self.rows.append(Row(given.get("id")))
        elif tag == "td":
            self.rows[-1].cells.append("")
            self._is_in_cell = True
        elif tag == "a" and self._is_in_cell and not self.rows[-1].link:
            self.rows[-1].link = given.get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self._is_in_cell = False

    def handle_data(self, data: str) -> None:
        if self._is_in_cell:
            self.rows[-1].cells[-1] += data
