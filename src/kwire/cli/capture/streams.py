"""One direction of a TCP connection: its bytes in order, each once, and the gaps that the capture has.

Segments may come twice, overlap, or come early. An early one waits for what is missing, but not for ever: when a hole
is a second old (by the capture's clock), or much waits for it, it is yielded as a gap. Sequence numbers wrap at
2^32 and are compared as RFC 9293 says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kwire.cli.capture.packets import Segment

__all__ = ["Gap", "Piece", "Stream"]

_PATIENCE_NS = 1_000_000_000
_MAX_WAITING = 256
_MAX_WAITING_BYTES = 4 * 1024 * 1024
_HALF = 0x8000_0000
_MASK = 0xFFFF_FFFF


class Piece(NamedTuple):
    """Bytes of the stream; `at` is where they begin in the file."""

    data: bytes
    time_ns: int
    at: int


class Gap(NamedTuple):
    """Bytes of the stream that are not in the capture."""

    size: int
    time_ns: int


class Stream:
    """Takes the segments of one direction; `started` says whether its first byte was the connection's first."""

    def __init__(self) -> None:
        self.started = False
        self._next: int | None = None
        self._waiting: list[Segment] = []
        self.waiting_bytes = 0
        self._hole_since_ns = 0
        self.finished = False

    def synchronize(self, sequence: int) -> None:
        """The connection begins: data follow the SYN of `sequence`."""
        self._next = (sequence + 1) & _MASK
        self.started = True

    def take(self, segment: Segment) -> Iterator[Piece | Gap]:
        """What can be given out now that `segment` has come."""
        if segment.payload or segment.missing:
            if self._next is None:
                self._next = segment.sequence
            if self._distance(segment) > 0:
                self._wait(segment)
            else:
                yield from self._give(segment)
                yield from self._give_waiting()
        if self._waiting and self._has_waited_enough(segment.time_ns):
            yield from self._give_up_hole(segment.time_ns)
        if segment.fin or segment.rst:
            self.finished = True

    def end(self) -> Iterator[Piece | Gap]:
        """What still waits, at the end of the capture or of the connection."""
        while self._waiting:
            yield from self._give_up_hole(self._waiting[0].time_ns)

    def _distance(self, segment: Segment) -> int:
        """How far after the next byte wanted the segment begins; negative when it overlaps what was yielded."""
        away = (segment.sequence - (self._next or 0)) & _MASK
        return away - 0x1_0000_0000 if away >= _HALF else away

    def _wait(self, segment: Segment) -> None:
        if not self._waiting:
            self._hole_since_ns = segment.time_ns
        self._waiting.append(segment)
        self.waiting_bytes += len(segment.payload)
        self._waiting.sort(key=self._distance)

    def _has_waited_enough(self, now_ns: int) -> bool:
        return (
            now_ns - self._hole_since_ns > _PATIENCE_NS
            or len(self._waiting) > _MAX_WAITING
            or self.waiting_bytes > _MAX_WAITING_BYTES
        )

    def _give_up_hole(self, now_ns: int) -> Iterator[Piece | Gap]:
        size = self._distance(self._waiting[0])
        if size > 0:
            self._next = self._waiting[0].sequence
            yield Gap(size, now_ns)
        yield from self._give_waiting()
        self._hole_since_ns = now_ns

    def _give_waiting(self) -> Iterator[Piece | Gap]:
        while self._waiting and self._distance(self._waiting[0]) <= 0:
            segment = self._waiting.pop(0)
            self.waiting_bytes -= len(segment.payload)
            yield from self._give(segment)

    def _give(self, segment: Segment) -> Iterator[Piece | Gap]:
        known = -self._distance(segment)
        size = len(segment.payload) + segment.missing
        if known >= size:
            return
        self._next = (segment.sequence + size) & _MASK
        data = segment.payload[known:]
        if data:
            yield Piece(data, segment.time_ns, segment.at + known)
        missing = segment.missing - max(0, known - len(segment.payload))
        if missing:
            yield Gap(missing, segment.time_ns)
