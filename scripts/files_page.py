"""Writes docs/files.md: every file of the package with the first sentence of its head."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from scripts.sources import DOCS, PACKAGE

PAGE = DOCS / "files.md"

HEAD = """# The files

Generated from the heads of the files by `make docs`. What the layers are and how they use each other is in
[architecture.md](architecture.md).
"""
SENTENCE = re.compile(r"(.+?[.!?])(?=\s+[A-Z`]|\s*$)")
LAYER = re.compile(r"\s*Layer \d\b.*")


def wanted() -> dict[Path, str]:
    """The one page."""
    return {PAGE: page()}


def page() -> str:
    """The whole page: a section for each folder, a row for each file."""
    parts = [HEAD]
    for folder, paths in groupby(files(), key=lambda path: path.parent):
        name = folder.relative_to(PACKAGE.parent).as_posix()
        parts.append(f"## `{name}/`\n\n{_about(folder)}| file | what it is |\n|---|---|\n{''.join(_rows(paths))}")
    return "\n".join(parts)


def files() -> list[Path]:
    """The files with a head of their own: Python and Cython, folder by folder."""
    paths = (path for suffix in ("*.py", "*.pyx", "*.pxd", "*.pxi") for path in PACKAGE.rglob(suffix))
    return sorted((path for path in paths if path.stem != "__init__"), key=lambda path: (path.parent, path.name))


def first_sentence(path: Path) -> str:
    """What a file says first of itself; ValueError where it says nothing."""
    head = _docstring(path) if path.suffix in (".py", ".pyx") else _comment(path)
    paragraph = " ".join(head.partition("\n\n")[0].split())
    if not paragraph:
        raise ValueError(f"{path}: no head")
    found = SENTENCE.match(LAYER.sub("", paragraph))
    return (found[1] if found else paragraph).replace("|", "\\|")


def _docstring(path: Path) -> str:
    code = path.read_text(encoding="utf-8").partition("\ncimport ")[0]  # Cython follows, which is not Python
    return ast.get_docstring(ast.parse(code)) or ""


def _comment(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    first = next((number for number, line in enumerate(lines) if line.startswith("# ") and "cython:" not in line), 0)
    return "\n".join(line.removeprefix("#").strip() for line in _while_comment(lines[first:]))


def _while_comment(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("#"):
            return
        yield line


def _about(folder: Path) -> str:
    package = folder / "__init__.py"
    if not package.exists() or folder == PACKAGE or not _docstring(package):
        return ""
    return first_sentence(package) + "\n\n"


def _rows(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield f"| `{path.name}` | {first_sentence(path)} |\n"
