"""Structured choices out of an input's bytes: what an input means to a target that builds something from it.

Each choice takes a byte or two, so that a byte more or changed is one choice changed; without bytes left every choice
is the first one, so that whatever is built comes to an end.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Drawing:
    """The choices that `data` stands for, taken from its beginning on."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        """So many bytes; fewer at the end."""
        taken = self._data[self._at : self._at + size]
        self._at += len(taken)
        return taken

    def rest(self) -> bytes:
        return self.take(self.left)

    def byte(self) -> int:
        return self.take(1)[0] if self.left else 0

    def number(self, size: int = 2, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "big", signed=signed)

    def flag(self) -> bool:
        return self.byte() & 1 == 1

    def below(self, count: int) -> int:
        return (self.byte() if count <= 256 else self.number()) % count

    def choice(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def blob(self) -> bytes:
        """Bytes that a size of one byte stands before."""
        return self.take(self.byte())

    def blob_or_none(self) -> bytes | None:
        size = self.byte()
        return None if size == 255 else self.take(size)

    def text(self) -> str:
        return self.blob().decode("utf-8", "replace")


class DrawnRandom(random.Random):
    """The generator of `random` whose luck is an input: what makes random values makes them of it."""

    def __init__(self, drawing: Drawing) -> None:
        super().__init__(0)
        self._drawing = drawing

    def random(self) -> float:
        return self._drawing.byte() / 256

    def getrandbits(self, k: int, /) -> int:
        return self._drawing.number((k + 7) // 8) & ((1 << k) - 1)
