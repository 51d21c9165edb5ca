"""Many names in the text of an error or a warning: the first few, and how many more there are. Imports nothing."""

from __future__ import annotations

from collections.abc import Iterable


def first_of(names: Iterable[object], count: int) -> str:
    """`a, b, c and 7 more`: at most `count` of the names."""
    texts = [str(name) for name in names]
    shown = ", ".join(texts[:count])
    return shown if len(texts) <= count else f"{shown} and {len(texts) - count} more"
