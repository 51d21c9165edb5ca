"""Writes the coroutines of `kwire.aio` that only run a wait from the methods of the clients for threads: same
signature, docstring and body, with `async` and `await`. So editors see both, and neither can be forgotten.

A public method, or one of a `with` block, is written if it consists of plain statements of which one is a call of a
door. Everything else in these files is written by hand: what is different on an event loop.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scripts.sources import PACKAGE, formatted

PAIRS = {
    "_admin/access.py": "aio/_admin/access.py",
    "_admin/cluster.py": "aio/_admin/cluster.py",
    "_admin/configs.py": "aio/_admin/configs.py",
    "_admin/groups.py": "aio/_admin/groups.py",
    "_admin/quorum.py": "aio/_admin/quorum.py",
    "_admin/replicas.py": "aio/_admin/replicas.py",
    "_admin/share_groups.py": "aio/_admin/share_groups.py",
    "_admin/streams_groups.py": "aio/_admin/streams_groups.py",
    "_admin/topics.py": "aio/_admin/topics.py",
    "_admin/transactions.py": "aio/_admin/transactions.py",
    "_client.py": "aio/client.py",
    "_transactions.py": "aio/transactions.py",
    "admin.py": "aio/admin.py",
    "consumer.py": "aio/consumer.py",
    "producer.py": "aio/producer.py",
    "registry/client.py": "aio/registry.py",
    "share_consumer.py": "aio/share_consumer.py",
}
"""The clients for threads, and those for asyncio: a class of the same name in each."""

AS_THEY_ARE = ("__init__", "from_config")
"""Methods that do not wait, of the same text in both."""

OF_BLOCKS = {"__enter__": "__aenter__", "__exit__": "__aexit__"}

_WAITS = re.compile(r"self\._(?:producer\._)?door\.(?:run|close)\(")
_PLAIN = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)

Method = ast.FunctionDef | ast.AsyncFunctionDef


class Written(NamedTuple):
    """A method, with the heading of its section if it comes first there."""

    name: str
    text: str


def wanted() -> dict[Path, str]:
    """The clients for asyncio."""
    return {PACKAGE / target: _wanted(PACKAGE / source, PACKAGE / target) for source, target in PAIRS.items()}


def _wanted(source: Path, target: Path) -> str:
    return formatted(with_calls(target.read_text(encoding="utf-8"), source.read_text(encoding="utf-8")), target)


def with_calls(text: str, source: str) -> str:
    """The text of a file of `kwire.aio` with the coroutines that the source's methods make."""
    for made in classes(source):
        before = ""
        for written in coroutines(made, source):
            text = _put(text, made.name, written, before)
            before = written.name
    return text


def classes(source: str) -> list[ast.ClassDef]:
    return [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]


def coroutines(made: ast.ClassDef, source: str) -> Iterator[Written]:
    """What the methods of a class for threads are on an event loop, in their order."""
    lines = source.splitlines(keepends=True)
    for method in _methods(made):
        text = "".join(lines[_begin(method, lines) : method.end_lineno])
        if method.name in AS_THEY_ARE:
            yield Written(method.name, text)
        elif (method.name[0] != "_" or method.name in OF_BLOCKS) and _only_waits(method, source):
            name = OF_BLOCKS.get(method.name, method.name)
            text = _WAITS.sub(lambda match: f"await {match[0]}", text)
            yield Written(name, text.replace(f"    def {method.name}", f"    async def {name}", 1))


def _methods(made: ast.ClassDef) -> list[Method]:
    return [node for node in made.body if isinstance(node, Method)]


def _only_waits(method: Method, source: str) -> bool:
    parts = [ast.get_source_segment(source, node) or "" for node in method.body]
    return all(isinstance(node, _PLAIN) for node in method.body) and any(map(_WAITS.search, parts))


def _begin(method: Method, lines: list[str]) -> int:
    """The index of its first line: that of the section's heading, if it is the first of one."""
    first = min([method.lineno, *(mark.lineno for mark in method.decorator_list)]) - 1
    return first - 2 if lines[first - 2].startswith("    # -- ") else first


def _put(text: str, name: str, written: Written, before: str) -> str:
    """The text with that method in place of the one of its name, or else after the one `before`."""
    lines = text.splitlines(keepends=True)
    (made,) = (each for each in classes(text) if each.name == name)
    methods = {method.name: method for method in _methods(made)}
    if (present := methods.get(written.name)) is not None:
        lines[_begin(present, lines) : present.end_lineno] = [written.text]
    else:
        end = methods[before].end_lineno if before else made.end_lineno
        lines.insert(end or 0, f"\n{written.text}")
    return "".join(lines)
