"""How many there are, in texts: counts with their nouns, and the first few of many names. Imports nothing."""

from __future__ import annotations

from collections.abc import Iterable


def first_of(names: Iterable[object], count: int) -> str:
    """`a, b, c and 7 more`: at most `count` of the names."""
    texts = [str(name) for name in names]
    shown = ", ".join(texts[:count])
    return shown if len(texts) <= count else f"{shown} and {len(texts) - count} more"


def counted(count: int, one: str, many: str = "", *, spec: str = "") -> str:
    """`1 record`, `2 records`; `many` is for nouns that do not just take an s, `spec` for how to write the number."""
    return f"{count:{spec}} {one if count == 1 else many or f'{one}s'}"
