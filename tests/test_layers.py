"""The layer contracts where import-linter cannot look: inside the extension, and in what ships and what does not."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COMPILED = sorted([*ROOT.glob("src/kwire/*.pyx"), *ROOT.glob("src/kwire/_pxi/*/*.pxi")])
MODULES = sorted(ROOT.glob("src/**/*.py"))
IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+(c?import)|(c?import)\s+([\w.]+))", re.MULTILINE)
KWIRE_IN_THE_EXTENSION = {"kwire", "kwire.errors", "kwire.compression", "kwire.records"}
IO_AND_CLOCKS = {"socket", "ssl", "select", "selectors", "asyncio", "time", "random", "logging", "os", "subprocess"}
FOREIGN_IN_THE_EXTENSION = {"kwire", "cython", "cpython", "libc", "pyarrow"}
LAZY_COLUMN_LIBRARIES = {"pyarrow", "pandas", "numpy", "pyspark"}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(source: str) -> set[str]:
    return {match[1] or match[4] for match in IMPORT.finditer(source)}


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.name)
def test_the_extension_knows_no_schema_no_sockets_and_no_clocks(path: Path) -> None:
    names = imported(path.read_text())
    upwards = {name for name in names if name.split(".")[0] == "kwire"} - KWIRE_IN_THE_EXTENSION
    assert not upwards, f"{path.name} imports {sorted(upwards)}, which stands above it"
    outside = {name for name in names if name.split(".")[0] in IO_AND_CLOCKS}
    assert not outside, f"{path.name} imports {sorted(outside)}"
    foreign = {name.split(".")[0] for name in names} - sys.stdlib_module_names - FOREIGN_IN_THE_EXTENSION
    assert not foreign, f"{path.name} imports {sorted(foreign)}"


@pytest.mark.parametrize("path", [p for p in COMPILED if p.suffix == ".pxi"], ids=lambda path: path.name)
def test_every_included_file_says_what_it_is(path: Path) -> None:
    assert path.read_text().startswith("# "), f"{path.name} has no head"


@pytest.mark.parametrize("path", [p for p in COMPILED if p.suffix == ".pxi"], ids=lambda path: path.name)
def test_every_included_file_is_in_the_table_of_contents(path: Path) -> None:
    contents = (ROOT / "src/kwire/_codec.pyx").read_text()
    assert f'include "{path.parent.name}/{path.name}"' in contents


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(parsed(path)), f"{path} has no docstring"


@pytest.mark.parametrize(
    "path", [p for p in MODULES if "spark" not in str(p.relative_to(ROOT / "src"))], ids=lambda path: path.name
)
def test_column_libraries_are_imported_inside_functions_only(path: Path) -> None:
    for node in parsed(path).body:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        assert not LAZY_COLUMN_LIBRARIES & {name.split(".")[0] for name in names}, f"{path} line {node.lineno}"
