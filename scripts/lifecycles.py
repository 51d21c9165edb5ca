"""Prints the tables of states, MOVES, into the heads of the files that obey them and into docs/lifecycles.md."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from types import ModuleType

from scripts.files_page import first_sentence
from scripts.sources import DOCS, PACKAGE

import kwire.engine
from kwire.engine.common.lifecycle import Lifecycle, Moves

PAGE = DOCS / "lifecycles.md"
HEAD = """# The lifecycles

Generated from the tables `MOVES` of the engine by `make docs`. A part of a client goes from one state to another only
as its table says (`engine/common/lifecycle.py`), and the tests take each of these moves.
"""
MARK = "States, and what may follow each, printed from MOVES:"
PRINTED = re.compile(rf"(?P<mark>^{MARK}\n)\n?(?:^    .*\n)*\n", re.MULTILINE)
WIDTH, INDENT, GAP = 120, " " * 4, "  "
MEANING_WIDTH = 56


def lifecycles() -> list[type[Lifecycle]]:
    """Every class of the engine with a table of its own, in the order of their files."""
    for module in pkgutil.walk_packages(kwire.engine.__path__, "kwire.engine."):
        importlib.import_module(module.name)
    engine = (each for each in _subclasses(Lifecycle) if each.__module__.startswith("kwire.engine."))
    found = {each for each in engine if "MOVES" in vars(each)}
    return sorted(found, key=lambda each: each.__module__)


def _subclasses(base: type) -> Iterator[type]:
    for each in base.__subclasses__():
        yield each
        yield from _subclasses(each)


def names(moves: Moves) -> dict[str, str]:
    """The name of the constant for each state."""
    constants = vars(home(moves)).items()
    found = {value: name for name, value in constants if name.isupper() and isinstance(value, str)}
    return {state: found[state] for state in moves}


def home(moves: Moves) -> ModuleType:
    """The module that defines the table: others import it."""
    (module,) = (
        each
        for each in sys.modules.values()
        if vars(each).get("MOVES") is moves and "MOVES" in vars(each).get("__annotations__", ())
    )
    return module


def source(lifecycle: type[Lifecycle]) -> Path:
    """The file of the class."""
    return PACKAGE.parent / (lifecycle.__module__.replace(".", "/") + ".py")


# -- the heads ---------------------------------------------------------------------------------------------------------


def with_table(text: str, moves: Moves) -> str:
    """The text of a file with the table after the mark in its head."""
    printed, count = PRINTED.subn(lambda found: f"{found['mark']}\n{table(moves)}\n", text, count=1)
    if not count:
        raise ValueError(f"there is no {MARK!r}")
    return printed


def table(moves: Moves) -> str:
    """A row for each state."""
    called = names(moves)
    rows = [(called[state], row.meaning, ", ".join(called[each] for each in row.moves)) for state, row in moves.items()]
    rows.insert(0, ("state", "what it is", "may be followed by"))
    widths = [max(len(row[at]) for row in rows) for at in range(2)]
    widths[1] = min(widths[1], MEANING_WIDTH)
    widths.append(WIDTH - len(INDENT) - sum(widths) - 2 * len(GAP))
    return "".join(line for row in rows for line in _lines(row, widths))


def _lines(row: tuple[str, ...], widths: list[int]) -> Iterator[str]:
    cells = [textwrap.wrap(text, width) for text, width in zip(row, widths, strict=True)]
    for line in zip_longest(*cells, fillvalue=""):
        yield (INDENT + GAP.join(f"{text:{width}}" for text, width in zip(line, widths, strict=True))).rstrip() + "\n"


# -- the page ----------------------------------------------------------------------------------------------------------


def page() -> str:
    """The whole page: a section for each lifecycle."""
    return "\n".join([HEAD, *(_section(each) for each in lifecycles())])


def _section(lifecycle: type[Lifecycle]) -> str:
    path = source(lifecycle)
    title = f"## `{lifecycle.__name__}`\n\n`{path.relative_to(PACKAGE)}`: {first_sentence(path)}\n\n"
    return title + "| state | what it is | next | when |\n|---|---|---|---|\n" + "".join(_rows(lifecycle.MOVES))


def _rows(moves: Moves) -> Iterator[str]:
    called = names(moves)
    for state, row in moves.items():
        cells = f"| {called[state]} | {row.meaning} "
        for to, when in row.moves.items() or [(None, "")]:
            yield f"{cells}| {called[to] if to is not None else '–'} | {when} |\n"
            cells = "| | "


# -- all of them -------------------------------------------------------------------------------------------------------


def wanted() -> dict[Path, str]:
    """Each file with the text that it should have."""
    texts = {source(each): with_table(source(each).read_text(encoding="utf-8"), each.MOVES) for each in lifecycles()}
    return {**texts, PAGE: page()}
