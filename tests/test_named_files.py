"""Files that the documentation and the heads of files name: each is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.sources import DOCS, PACKAGE, ROOT

NAMED = re.compile(r"`([\w./]+\.(?:py|pyi|pyx|pxd|pxi))`")
PAGES = (ROOT / "CONTRIBUTING.md", ROOT / "README.md", ROOT / "ROADMAP.md", *DOCS.rglob("*.md"))
FOLDERS = ("src", "tests", "scripts", "benchmarks", "demo", "examples")
TREE = [path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.p*")] + [Path("setup.py")]
OF_A_USER = {("docs/spark.md", "tokens.py")}


def texts() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        yield page, page.read_text(encoding="utf-8")
    for path in PACKAGE.rglob("*.p*"):
        if path.suffix == ".py":
            yield from ((path, text) for text in docstrings(path))
        elif path.suffix in (".pyx", ".pxd", ".pxi"):
            yield path, path.read_text(encoding="utf-8")


def docstrings(path: Path) -> Iterator[str]:
    """Those of the module, its classes, its functions and its names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def is_there(name: str) -> bool:
    parts = Path(name).parts
    return any(path.parts[-len(parts) :] == parts for path in TREE)


def stands_for_any(name: str) -> bool:
    return Path(name).stem in ("x", "name") or "NN_" in name


def test_each_file_that_a_page_or_a_docstring_names_is_there() -> None:
    named = {(path.relative_to(ROOT).as_posix(), name) for path, text in texts() for name in NAMED.findall(text)}
    assert len(named) > 100
    missing = {(where, name) for where, name in named - OF_A_USER if not (is_there(name) or stands_for_any(name))}
    assert missing == set()
