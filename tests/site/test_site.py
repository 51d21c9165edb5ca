"""The site of the documentation, without building it: `make site` does that, and is stricter."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from scripts import site_hooks

import kwire
from tests.snippets import ROOT, without_code

DOCS = ROOT / "docs"
SOURCES = sorted([*DOCS.rglob("*.md"), *(ROOT / path for path in site_hooks.PAGES)])
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation_once() -> None:
    named = re.findall(r"[\w./-]+\.md$", CONFIG.partition("\nnav:\n")[2], re.MULTILINE)
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert len(named) == len(set(named))
    assert set(named) == there | set(site_hooks.PAGES.values())


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_headings_that_are_there(source: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)#([^)\s]+)\)", without_code(source.read_text("utf-8"))):
        page = (source.parent / target).resolve() if target else source
        assert anchor in anchors(page), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, on the site as on GitHub."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_a_link_to_a_file_that_is_not_on_the_site_becomes_its_path() -> None:
    text = "[the hooks](../scripts/site_hooks.py), [`scripts/site_hooks.py`](../scripts/site_hooks.py)"
    expected = "the hooks (`scripts/site_hooks.py`), `scripts/site_hooks.py`"
    assert site_hooks.with_site_links(text, "docs/a.md", "a.md") == expected


def test_links_between_pages_that_stand_elsewhere_hold_on_the_site() -> None:
    text = "[a](../CHANGELOG.md) [b](README.md#speed)\n```\n[c](../CHANGELOG.md)\n```\n[d](../docs/how/e.md)"
    expected = "[a](changelog.md) [b](benchmarks.md#speed)\n```\n[c](../CHANGELOG.md)\n```\n[d](how/e.md)"
    assert site_hooks.with_site_links(text, "benchmarks/README.md", "benchmarks.md") == expected


def test_a_link_to_nothing_stays_for_the_build_to_refuse() -> None:
    assert site_hooks.with_site_links("[a](../gone.md)", "docs/a.md", "a.md") == "[a](../gone.md)"


def test_what_is_fetched_from_another_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="https://a.example/">ok</a><script async src="https://b.example/x.js">')
    (tmp_path / "b.css").write_text("a { background: url(https://c.example/d.png) }")
    (tmp_path / "c.html").write_text('<script src="assets/x.js"></script><img src="plots/a.svg">')
    assert [line.partition(":")[0] for line in site_hooks.foreign_assets(tmp_path)] == ["a.html", "b.css"]


def test_texts_of_the_troubleshooting_page_are_those_of_the_code() -> None:
    page = (DOCS / "operations" / "troubleshooting.md").read_text("utf-8")
    said = all_texts()
    cells = [re.findall(r"`([^`]+)`", row.split(" | ")[0]) for row in page.splitlines() if row.startswith("| ")]
    pieces = [piece.strip() for cell in cells for text in cell for piece in text.split("…") if piece.strip(" :();")]
    missing = [piece for piece in pieces if piece not in said and piece not in OF_SPARK]
    assert len(pieces) > 40
    assert not missing


OF_SPARK = {"Failed to find the data source", "DATA_SOURCE_NOT_FOUND", "UNSUPPORTED_DATA_SOURCE_SAVE_MODE"}


def all_texts() -> str:
    """The sources, with the parts of texts that are broken over lines put together."""
    paths = [path for end in ("py", "pxi") for path in (ROOT / "src" / "kwire").rglob(f"*.{end}")]
    source = "\n".join(path.read_text("utf-8") for path in paths)
    return re.sub(r"""["']\s*\n\s*f?["']""", "", source)


def test_public_names_are_in_the_reference() -> None:
    pages = "\n".join(path.read_text("utf-8") for path in (DOCS / "reference").glob("*.md"))
    documented = re.findall(r"^::: (\S+)$", pages, re.MULTILINE)
    assert len(documented) == len(set(documented))
    wanted = {f"kwire.{name}" for name in kwire.__all__ if name not in ("errors", "__version__")}
    for module in MODULES:
        names = import_module(module).__all__
        wanted |= {f"{module}.{name}" for name in names if not hasattr(kwire, name) or module == "kwire.aio"}
    missing = {name for name in wanted - set(documented) if not is_elsewhere(name)}
    assert not missing


ROOMS = ("admin", "aio", "errors", "legacy", "partitioners", "protocol", "records", "registry", "spark", "testing")
MODULES = [f"kwire.{name}" for name in ROOMS]


def is_elsewhere(name: str) -> bool:
    """Modules; messages, which have a table; names that stand in the reference under another module."""
    module, _, last = name.rpartition(".")
    found = getattr(import_module(module), last)
    is_message = module == "kwire.protocol" and isinstance(found, type) and last.endswith(("Request", "Response"))
    return isinstance(found, ModuleType) or is_message or last in SHARED


SHARED = {*kwire.__all__, *kwire.errors.__all__}
