"""The records of decisions: numbered, short, of one form, and listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.snippets import ROOT

FOLDER = ROOT / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
PARTS = ["Context", "Decision", "Figures", "What would change it"]
PAGES = [
    *FOLDER.glob("*.md"),
    *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "ROADMAP", "SECURITY", "CODE_OF_CONDUCT")),
]


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_short_and_has_its_four_parts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") < 60
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == PARTS
    assert text.startswith(f"# {int(path.stem[:2])}. ")


def test_the_records_are_numbered_and_listed_under_their_titles() -> None:
    assert [int(path.stem[:2]) for path in RECORDS] == list(range(1, len(RECORDS) + 1))
    listed = re.findall(r"^\| \[(\d+)\]\((.+?)\) \| (.+) \|$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    titles = [path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for path in RECORDS]
    assert [f"{number}. {title}" for number, _, title in listed] == titles
    assert [name for _, name, _ in listed] == [path.name for path in RECORDS]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_of_pages_for_contributors_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"
