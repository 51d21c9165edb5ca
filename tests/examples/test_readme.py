"""The table of the examples: it has each of them, and what it links to is there."""

from __future__ import annotations

import re

from tests.examples.running import EXAMPLES


def test_each_program_has_a_row_and_each_link_leads_somewhere() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`([^`]+)`\]\(([^)]+)\)", page, re.MULTILINE)
    assert all((EXAMPLES / link).is_file() for _, link in rows)
    there = {
        f"{path.name}/" if path.is_dir() else path.name
        for path in EXAMPLES.iterdir()
        if not path.name.startswith((".", "__")) and path.name != "README.md"
    }
    assert {name for name, _ in rows} == there
