"""The frames of one direction, also when parts of them were not captured.

    size int32 (not counting itself), then `size` bytes
A frame with a hole is yielded up to the hole: its size says where the next one begins. When that is lost, too, the
next place that looks like a frame is searched. Only captured bytes are ever held; a size above `max_frame` is taken
for something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kwire.cli.capture.streams import Gap, Piece

__all__ = ["Frame", "Framer", "Lost"]

_SIZE = 4
_HEAD = 14  # size, key, version, correlation id, length of the client id


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame with its size field, or the part of it before the first of `missing` bytes.

    `begin_ns` and `end_ns` are the times of its first and last segment; `places` are (offset in the frame, offset in
    the file, size).
    """

    data: bytes
    missing: int
    begin_ns: int
    end_ns: int
    places: tuple[tuple[int, int, int], ...]

    def offset_of(self, at: int) -> int | None:
        """Which byte of the frame the byte `at` of the file is."""
        for offset, begin, size in self.places:
            if begin <= at < begin + size:
                return offset + at - begin
        return None


class Lost(NamedTuple):
    """Bytes that belong to no frame that could be made out; `captured` of them were there."""

    size: int
    captured: int
    time_ns: int


class Framer:
    """Cuts the bytes of one direction into frames.

    `may_begin(head)` judges the first bytes of a frame where one is expected, `looks_like(head)` where one is searched:
    both get 14 bytes, or fewer when the frame is shorter. `synchronized`: the next byte begins a frame.
    """

    def __init__(self, may_begin: Callable[[bytes], bool], looks_like: Callable[[bytes], bool], max_frame: int) -> None:
        self.synchronized = False
        self._may_begin = may_begin
        self._looks_like = looks_like
        self._max_frame = max_frame
        self._buffer = bytearray()
        self._places: list[tuple[int, int, int, int]] = []
        self._to_skip = 0
        self._lost = 0
        self._lost_captured = 0
        self._time_ns = 0

    @property
    def head(self) -> bytes:
        """The bytes that wait for the rest of their frame, or for their place to be found."""
        return bytes(self._buffer[:_HEAD])

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait for the rest of their frame."""
        return len(self._buffer)

    def take(self, item: Piece | Gap) -> Iterator[Frame | Lost]:
        """The frames that are whole now, or will never be."""
        self._time_ns = item.time_ns
        if isinstance(item, Gap):
            yield from self._take_gap(item.size)
            return
        data, at = item.data, item.at
        if self._to_skip:
            passed = min(self._to_skip, len(data))
            self._to_skip -= passed
            data, at = data[passed:], at + passed
        if data:
            self._places.append((len(self._buffer), at, len(data), item.time_ns))
            self._buffer += data
            yield from self._cut()

    def end(self) -> Iterator[Frame | Lost]:
        """What is left when no more comes: the beginning of a frame, or nothing that makes sense."""
        size = self._stated_size()
        if self.synchronized and size is not None and len(self._buffer) >= 2 * _SIZE:
            yield self._frame(len(self._buffer), size + _SIZE - len(self._buffer))
        else:
            self._lose(len(self._buffer))
        yield from self._report_lost()

    def _take_gap(self, gap: int) -> Iterator[Frame | Lost]:
        passed = min(self._to_skip, gap)
        self._to_skip -= passed
        gap -= passed
        if not gap:
            return
        size = self._stated_size()
        if self.synchronized and size is not None and len(self._buffer) >= 2 * _SIZE:
            missing = size + _SIZE - len(self._buffer)
            yield self._frame(len(self._buffer), missing)
            self._to_skip = max(0, missing - gap)
            gap = max(0, gap - missing)
        else:
            self._lose(len(self._buffer))
        if gap:
            self.synchronized = False
            self._lost += gap
            yield from self._report_lost()

    def _stated_size(self) -> int | None:
        """What the size field says, if it is there and can be meant."""
        if len(self._buffer) < _SIZE:
            return None
        size = int.from_bytes(self._buffer[:_SIZE], "big", signed=True)
        return size if 0 <= size <= self._max_frame else None

    def _cut(self) -> Iterator[Frame | Lost]:
        while self._buffer:
            if not self.synchronized:
                if not self._search():
                    return
                yield from self._report_lost()
            if len(self._buffer) < _SIZE:
                return
            size = self._stated_size()
            head_size = _HEAD if size is None else min(_HEAD, size + _SIZE)
            if size is not None and len(self._buffer) < head_size:
                return
            if size is None or not self._may_begin(bytes(self._buffer[:head_size])):
                self.synchronized = False
                self._lose(1)
                continue
            if len(self._buffer) < size + _SIZE:
                return
            yield self._frame(size + _SIZE, 0)

    def _search(self) -> bool:
        """Drops bytes up to the next place that looks like a frame; False when more bytes are needed to say so."""
        at = self._buffer.find(0)
        while 0 <= at <= len(self._buffer) - 2 * _SIZE:
            size = int.from_bytes(self._buffer[at : at + _SIZE], "big", signed=True)
            if _SIZE <= size <= self._max_frame:
                end = at + min(_HEAD, size + _SIZE)
                if end > len(self._buffer):
                    break
                if self._looks_like(bytes(self._buffer[at:end])):
                    self._lose(at)
                    self.synchronized = True
                    return True
            at = self._buffer.find(0, at + 1)
        self._lose(at if at >= 0 else len(self._buffer))
        return False

    def _lose(self, size: int) -> None:
        self._lost += size
        self._lost_captured += size
        self._drop(size)

    def _report_lost(self) -> Iterator[Lost]:
        if self._lost:
            yield Lost(self._lost, self._lost_captured, self._time_ns)
        self._lost = self._lost_captured = 0

    def _frame(self, size: int, missing: int) -> Frame:
        places = [(offset, at, min(length, size - offset)) for offset, at, length, _ in self._places if offset < size]
        times = [time_ns for offset, _, _, time_ns in self._places if offset < size]
        frame = Frame(bytes(self._buffer[:size]), missing, min(times), max(times), tuple(places))
        self._drop(size)
        return frame

    def _drop(self, size: int) -> None:
        del self._buffer[:size]
        kept = []
        for offset, at, length, time_ns in self._places:
            passed = max(0, size - offset)
            if passed < length:
                kept.append((max(0, offset - size), at + passed, length - passed, time_ns))
        self._places = kept
