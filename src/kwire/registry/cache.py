"""What was answered and never changes, within bounds of number and size."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

MAX_KEPT: Final = 1000
MAX_CHARACTERS: Final = 16 << 20


class Cache:
    """Of one kind of answers. It is emptied when it is full: to fill it again takes one request for each.

    generation   how often it was emptied; what was asked for in one is not kept in the next
    """

    def __init__(self) -> None:
        self.generation = 0
        self._kept: dict[Hashable, tuple[Any, int]] = {}
        self._characters = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def characters(self) -> int:
        return self._characters

    def get(self, key: Hashable) -> Any:
        """None where it is not kept."""
        kept = self._kept.get(key)
        return None if kept is None else kept[0]

    def put(self, key: Hashable, value: Any, characters: int, generation: int) -> None:
        if generation != self.generation:
            return
        if len(self._kept) >= MAX_KEPT or self._characters + characters > MAX_CHARACTERS:
            self.clear()
        self._kept[key] = (value, characters)
        self._characters += characters

    def clear(self) -> None:
        self.generation += 1
        self._kept.clear()
        self._characters = 0
