"""The code blocks of the documentation, for the tests that run them as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "localhost:9092"


def snippets(document: str, language: str = "python") -> list[str]:
    """The blocks of that language in a document, named from the repository's root; "" are those without one."""
    return [code for found, code in blocks(document) if found == language]


def blocks(document: str) -> list[tuple[str, str]]:
    """All blocks of a document, each with its language."""
    return _BLOCK.findall((ROOT / document).read_text(encoding="utf-8"))


def without_code(text: str) -> str:
    """The prose of a document."""
    return _BLOCK.sub("", text)


def snippet(document: str, phrase: str) -> str:
    """The one Python block with that phrase in it."""
    (found,) = [code for code in snippets(document) if phrase in code]
    return found


def run(code: str, *, servers: str = ADDRESS, **given: Any) -> dict[str, Any]:
    """Runs a block with these names given and a broker's address for the documented one; what it defined."""
    namespace: dict[str, Any] = dict(given)
    exec(compile(code.replace(ADDRESS, servers), "<snippet>", "exec"), namespace)
    return namespace
