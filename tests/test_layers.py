"""The layer contracts where import-linter cannot look: inside the extensions, and in what ships and what does not.

Included files import nothing from each other, so their uses are taken from the compiler: `tests/cython_analysis.py`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cython_analysis import analysis
from tests.each import each

ROOT = Path(__file__).resolve().parents[1]
COMPILED = sorted([*ROOT.glob("src/kwire/*.pyx"), *ROOT.glob("src/kwire/*.pxd"), *ROOT.glob("src/kwire/_pxi/*/*.pxi")])
MODULES = sorted(ROOT.glob("src/**/*.py"))
IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+(c?import)|(c?import)\s+([\w.]+))", re.MULTILINE)
KWIRE_IN_THE_EXTENSION = {
    "kwire",
    "kwire._codec",
    "kwire._html",
    "kwire.errors",
    "kwire.errors.wording",
    "kwire.compression",
    "kwire.records",
}
IO_AND_CLOCKS = {
    "_socket",
    "socket",
    "ssl",
    "select",
    "selectors",
    "asyncio",
    "time",
    "random",
    "logging",
    "os",
    "subprocess",
}
FOREIGN_IN_THE_EXTENSION = {"kwire", "cython", "cpython", "libc", "pyarrow"}
HEADER = re.compile(r'^cdef extern from "([\w./<>]+)"', re.MULTILINE)
CONTENTS = re.compile(r'^# ((?:codec: )?[a-z]+)$|^include "([\w/.]+)"', re.MULTILINE)


def _layers() -> dict[str, list[str]]:
    """The compiled files by layer, as the extensions include them: each uses those before it."""
    layers: dict[str, list[str]] = {}
    contents = "".join((ROOT / "src/kwire" / name).read_text() for name in ("_codec.pxd", "_codec.pyx", "_values.pyx"))
    for heading, name in CONTENTS.findall(contents):
        if heading:
            layers[heading] = []
        else:
            layers[list(layers)[-1]].append(Path(name).stem)
    return layers


LAYERS = _layers()

COMPONENTS = (
    {"encode", "record_batches", "record_scan", "messages_0_7", "records", "record_columns"},
    {"plans", "plans_decode", "plans_encode"},
    {"delivery", "batch", "queues", "sequences", "sink", "accumulator", "placing"},
    {"produce_request", "sender"},
)
"""Files of one layer that are one thing, so that they may use each other both ways."""

ALLOWED = {"sockets.h": {"connection_socket", "reactor"}, "clock.h": {"accumulator", "reactor"}}
"""The accumulator stamps records that bring no timestamp, and times its batches, within `send()`."""

LAZY_COLUMN_LIBRARIES = {"pyarrow", "pandas", "numpy", "pyspark"}
OF_A_COLUMN_LIBRARY = re.compile("|".join(LAZY_COLUMN_LIBRARIES))


def imported(source: str) -> set[str]:
    return {match[1] or match[4] for match in IMPORT.finditer(source)}


@each("path", COMPILED)
def test_the_extension_imports_nothing_above_it_and_no_io(path: Path) -> None:
    names = imported(path.read_text())
    upwards = {name for name in names if name.split(".")[0] == "kwire"} - KWIRE_IN_THE_EXTENSION
    assert not upwards, f"{path.name} imports {sorted(upwards)}, which stands above it"
    outside = {name for name in names if name.split(".")[0] in IO_AND_CLOCKS}
    assert not outside, f"{path.name} imports {sorted(outside)}"
    foreign = {name.split(".")[0] for name in names} - sys.stdlib_module_names - FOREIGN_IN_THE_EXTENSION
    assert not foreign, f"{path.name} imports {sorted(foreign)}"


@pytest.mark.parametrize("header", ALLOWED)
def test_only_few_compiled_files_have_sockets_or_a_clock(header: str) -> None:
    assert {path.stem for path in COMPILED if header in HEADER.findall(path.read_text())} == ALLOWED[header]


def test_a_compiled_file_uses_only_those_before_it() -> None:
    order = [name for layer in LAYERS.values() for name in layer]
    upwards = [
        use
        for use in analysis().uses
        if order.index(Path(use.source).stem) > order.index(Path(use.file).stem)
        and not any({Path(use.source).stem, Path(use.file).stem} <= component for component in COMPONENTS)
    ]
    assert not upwards, "\n".join(sorted(f"{use.file} uses {use.name} of {use.source}" for use in upwards))


def test_a_component_lies_within_one_layer() -> None:
    assert all(any(component <= set(layer) for layer in LAYERS.values()) for component in COMPONENTS)


def test_the_values_use_no_file_of_the_codec_but_those_of_the_seam() -> None:
    """What the codec has besides is not compiled into them, and none of it uses them."""
    across = {
        Path(use.source).stem
        for use in analysis().uses
        if (Path(use.file).stem in LAYERS["values"]) != (Path(use.source).stem in LAYERS["values"])
    }
    assert across <= set(LAYERS["seam"])


def test_every_compiled_file_is_included_once() -> None:
    assert sorted(name for layer in LAYERS.values() for name in layer) == sorted(
        path.stem for path in COMPILED if path.suffix == ".pxi"
    )


ABOUT_TABLES = {
    *(ROOT / "src/kwire/cli" / name for name in ("produce_tables.py", "table_files.py")),
    *(ROOT / "src/kwire/tables").glob("*.py"),
}
"""Files that are imported once somebody asks for a table."""


@each(
    "path",
    [path for path in MODULES if "spark" not in str(path.relative_to(ROOT / "src")) and path not in ABOUT_TABLES],
)
def test_column_libraries_are_imported_inside_functions_only(path: Path) -> None:
    text = path.read_text()
    for node in ast.parse(text).body if OF_A_COLUMN_LIBRARY.search(text) else ():
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        assert not LAZY_COLUMN_LIBRARIES & {name.split(".")[0] for name in names}, f"{path} line {node.lineno}"


STEP = re.compile(r"^ +(?:\w+: )?([\w.]+(?:, \w+)*) +((?:\w+/)*\w+\.(?:pxi|py|h))(?: |$)", re.MULTILINE)


def test_the_pictures_of_the_architecture_page_name_what_is_there() -> None:
    steps = STEP.findall((ROOT / "docs/architecture.md").read_text())
    assert len(steps) > 30
    for names, file in steps:
        (path,) = (path for path in (ROOT / "src/kwire").rglob(Path(file).name) if str(path).endswith(f"/{file}"))
        for name in names.split(", "):
            for part in name.split("."):
                assert re.search(rf"\b{part}\b", path.read_text()), f"{file} has no {part}"


def _needs(path: Path, *, types: bool) -> set[str]:
    """The modules of kwire that a file imports, at run time or, with `types`, for its annotations, too."""
    names: set[str] = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree) if types else _run(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run: without what only a type checker reads."""
    yield node
    skips = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    children = node.orelse if isinstance(node, ast.If) and skips else ast.iter_child_nodes(node)
    for child in children:
        yield from _run(child)


def _circles(needs: dict[str, set[str]]) -> list[list[str]]:
    """The files that can be reached from themselves, each with those that it needs of them."""
    reached = {name: set(found) for name, found in needs.items()}
    for through in needs:  # Warshall's closure
        for found in reached.values():
            if through in found:
                found |= reached[through]
    return [
        sorted(found & {other for other in found if name in reached[other]})
        for name, found in reached.items()
        if name in found
    ]


@pytest.mark.parametrize(
    ("folder", "types"), [("engine", True), ("drivers", False), ("spark", False), ("testing", False), ("cli", False)]
)
def test_no_two_files_need_each_other(folder: str, types: bool) -> None:
    """In the engine not even for types: what a file asks of those above it is a Protocol beside it."""
    modules = {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path
        for path in MODULES
        if folder in path.relative_to(ROOT).parts
    }
    needs = {name: _needs(path, types=types) & (modules.keys() - {name}) for name, path in modules.items()}
    circles = _circles(needs)
    assert not circles, circles[0]
