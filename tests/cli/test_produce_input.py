"""How inputs of `kwire produce` are cut into records."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.cli.produce_input import split


class _Trickle:
    """A stream that brings so many bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = data
        self._size = size

    def read1(self, most: int) -> bytes:
        taken, self._data = self._data[: self._size], self._data[self._size :]
        return taken


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("delimiter", [b"\n", b"\r\n", b"ab"])
def test_records_are_the_same_however_the_input_is_cut(size: int, delimiter: bytes) -> None:
    lines = [b"", b"one", b"a", b"b\r", b"\n" if delimiter == b"ab" else b"x", b"", b"last"]
    for end in (b"", delimiter):
        stream: Any = _Trickle(delimiter.join(lines) + end, size)
        blocks = list(split(stream, delimiter))
        assert [line for block, _ in blocks for line in block] == delimiter.join(lines).split(delimiter)
        assert sum(read for _, read in blocks) == len(delimiter.join(lines) + end)
