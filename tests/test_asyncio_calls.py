"""The clients for asyncio: what only runs a wait is written from the clients for threads, the rest is their own."""

from __future__ import annotations

import ast
import re
from difflib import SequenceMatcher

from scripts.asyncio_calls import PAIRS, classes, coroutines, with_calls
from scripts.sources import PACKAGE

TWINS = {**PAIRS, "_door.py": "aio/door.py"}
MAX_ALIKE = 0.10
OF_ONE_WORD = ("try:", "finally:", "else:", "return", "return None", "raise")

SOURCE = '''
class Client:
    def ask(self, what: str) -> int:
        """Asks."""
        found = self._door.run(self._asked(what))
        return found

    # -- more -----

    def tell(self) -> None:
        self._door.run(self._told())

    def own(self) -> None:
        try:
            self._door.run(self._told())
        finally:
            pass
'''
TARGET = """
class Client:
    async def tell(self) -> None:
        return None

    def by_hand(self) -> None: ...
"""
WRITTEN = '''
class Client:
    # -- more -----

    async def tell(self) -> None:
        await self._door.run(self._told())

    def by_hand(self) -> None: ...

    async def ask(self, what: str) -> int:
        """Asks."""
        found = await self._door.run(self._asked(what))
        return found
'''


def test_methods_that_wait_are_written_and_all_else_is_left_alone() -> None:
    assert with_calls(TARGET, SOURCE) == WRITTEN
    assert with_calls(WRITTEN, SOURCE) == WRITTEN


def statements(source: str, written: set[tuple[str, str]]) -> list[str]:
    """The lines that do something: of functions, without headers, docstrings, comments, `async` and `await`, and
    without the methods that are written, as (class, name). Statements of one word say nothing."""
    lines = source.splitlines()
    chosen: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            chosen |= {number for part in body for number in range(part.lineno, (part.end_lineno or 0) + 1)}
    for made in classes(source):
        for node in made.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (made.name, node.name) in written:
                chosen -= set(range(node.lineno, (node.end_lineno or 0) + 1))
    kept = (lines[number - 1].partition("  #")[0].strip() for number in sorted(chosen))
    return [
        re.sub(r"\b(?:async|await) ", "", line)
        for line in kept
        if line not in OF_ONE_WORD and line[:1] not in ("", "#")
    ]


def test_little_that_is_written_by_hand_is_alike() -> None:
    alike = total = 0
    for source, target in TWINS.items():
        theirs, ours = ((PACKAGE / name).read_text(encoding="utf-8") for name in (source, target))
        written = {(made.name, each.name) for made in classes(theirs) for each in coroutines(made, theirs)}
        pair = SequenceMatcher(None, statements(theirs, set()), statements(ours, written), autojunk=False)
        alike += sum(block.size for block in pair.get_matching_blocks() if block.size > 1)  # one line alone is chance
        total += len(statements(ours, set()))
    assert alike <= MAX_ALIKE * total, (alike, total)
