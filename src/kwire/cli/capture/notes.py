"""Notes for people on what is odd in a capture: the first few of each kind, and how many more there are."""

from __future__ import annotations

from collections import Counter

__all__ = ["MAX_OF_A_KIND", "Notes"]

MAX_OF_A_KIND = 20


class Notes:
    """Notes in the order in which they were added; a kind is told by words that can follow "more notes about"."""

    def __init__(self) -> None:
        self._told: list[str] = []
        self._counts: Counter[str] = Counter()

    def add(self, kind: str, text: str) -> None:
        self._counts[kind] += 1
        if self._counts[kind] <= MAX_OF_A_KIND:
            self._told.append(text)

    def all(self) -> list[str]:
        """Those that are told, then a line for each kind that has more."""
        more = {kind: count - MAX_OF_A_KIND for kind, count in self._counts.items() if count > MAX_OF_A_KIND}
        return [*self._told, *(f"more notes about {kind}: {count}" for kind, count in more.items())]
