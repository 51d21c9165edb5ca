"""The log of one partition, in memory: pieces of wire bytes with an index of entries.

Offsets are given here and nowhere else. Bytes that were handed out stay as they are: a piece only grows at its end,
inside the room it was born with, and leaves the log as a whole. Segments are what Kafka has on disk: retention by time
drops whole ones, and the log cleaner leaves the last one, which is written to, alone. What a compacted log keeps is
decided in `compaction.py`. This file knows no requests, sockets or topics; time comes in as an argument.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kwire import records
from kwire.errors import broker as codes
from kwire.testing.records.record_sets import Entry, last_offset_of, place

_FIRST_PIECE = 64 * 1024
_LARGEST_PIECE = 4 * 1024 * 1024


class SegmentLimits(NamedTuple):
    """How large a segment may become, and what time it may span, in ms."""

    max_bytes: int = 1024**3
    max_ms: int = 7 * 86_400_000


class Kept(NamedTuple):
    """An entry that is in the log, with the offsets that it covers."""

    data: bytes | bytearray | memoryview
    base_offset: int
    last_offset: int
    max_timestamp: int

    def timestamp(self, now_ms: int) -> int:
        """The largest of its records'; without any the time at which it came."""
        return self.max_timestamp if self.max_timestamp >= 0 else now_ms


@dataclass(slots=True)
class _Segment:
    """A segment. Times in ms: the first and the largest of its records', and when the last entry came."""

    base_offset: int
    first_timestamp: int
    size: int = 0
    largest_timestamp: int = -1
    written_ms: int = 0

    def add(self, size: int, timestamp: int, now_ms: int) -> None:
        self.size += size
        self.largest_timestamp = max(self.largest_timestamp, timestamp)
        self.written_ms = now_ms

    def is_full(self, limits: SegmentLimits, size: int, timestamp: int) -> bool:
        return self.size + size > limits.max_bytes or timestamp - self.first_timestamp > limits.max_ms


class _Piece:
    """A fixed piece of memory that fills up, and where each of its entries begins."""

    __slots__ = ("base_offsets", "last_offset", "max_timestamps", "memory", "positions", "start", "used")

    def __init__(self, size: int, start: int) -> None:
        self.memory = bytearray(size)
        self.start = start  # where it begins in the log, in bytes
        self.used = 0
        self.base_offsets: list[int] = []
        self.positions: list[int] = []
        self.max_timestamps: list[int] = []
        self.last_offset = -1

    def has_room(self, size: int) -> bool:
        return self.used + size <= len(self.memory)

    def add(self, added: Kept) -> None:
        end = self.used + len(added.data)
        self.memory[self.used : end] = added.data
        self.base_offsets.append(added.base_offset)
        self.positions.append(self.used)
        self.max_timestamps.append(added.max_timestamp)
        self.last_offset = added.last_offset
        self.used = end

    def copy_of_first(self, count: int) -> _Piece:
        """The first entries alone, in memory of their own: the bytes of the others may have been handed out."""
        made = _Piece(len(self.memory), self.start)
        made.used = self.positions[count]
        made.memory[: made.used] = self.memory[: made.used]
        made.base_offsets = self.base_offsets[:count]
        made.positions = self.positions[:count]
        made.max_timestamps = self.max_timestamps[:count]
        made.last_offset = last_offset_of(self.entry(count - 1))
        return made

    def entry(self, index: int) -> memoryview:
        end = self.positions[index + 1] if index + 1 < len(self.positions) else self.used
        return memoryview(self.memory)[self.positions[index] : end].toreadonly()


class PartitionLog:
    """Entries in offset order. `start_offset` is the first that may be read, `end_offset` the next to be given.

    `compacted_to` is up to where it was compacted, `tombstones` when (ms) records without a value may go, by offset.

    With one replica every appended record is committed, so `end_offset` is the high watermark as well.
    """

    def __init__(self, retention_bytes: int | None = None, limits: SegmentLimits | None = None) -> None:
        self.start_offset = 0
        self.end_offset = 0
        self.retention_bytes = retention_bytes
        self.limits = limits or SegmentLimits()
        self.compacted_to = 0
        self.tombstones: dict[int, int] = {}
        self._pieces: list[_Piece] = []
        self._segments: list[_Segment] = []
        self._written = 0

    @property
    def size(self) -> int:
        """Bytes now held."""
        return sum(piece.used for piece in self._pieces)

    def append(
        self,
        entries: Sequence[Entry],
        *,
        leader_epoch: int = 0,
        append_time: int | None = None,
        now_ms: int = 0,
    ) -> int:
        """Gives `entries` their offsets (and append time, ms, if not None); returns the first one's offset."""
        first = self.end_offset
        for entry in entries:
            place(entry, self.end_offset, leader_epoch, append_time)
            added = Kept(entry.data, entry.base_offset, entry.last_offset, entry.max_timestamp)
            self._add(added, now_ms, begins=self._is_full(added, now_ms))
            self.end_offset = entry.last_offset + 1
        self._retain()
        return first

    def available(self, offset: int, end: int | None = None) -> int:
        """How many bytes a reader from `offset` has before it, up to the offset `end` if not None.

        Raises BrokerError as `read` does.
        """
        found = self._find(offset)
        if found is None:
            return 0
        piece, index = found
        return max(self._position(end) - (piece.start + piece.positions[index]), 0)

    def read(self, offset: int, max_bytes: int, *, first_whole: bool, end: int | None = None) -> bytes | memoryview:
        """Whole entries from the one that holds `offset` on, up to `max_bytes`, from one piece.

        With `first_whole` the first entry is given even if it is larger. No entry at or after the offset `end` is
        given, if not None. Raises BrokerError (OFFSET_OUT_OF_RANGE) outside of the log.
        """
        found = self._find(offset)
        if found is None or (end is not None and end <= offset):
            return b""
        piece, index = found
        begin = piece.positions[index]
        limit = min(self._position(end) - piece.start, piece.used)
        if limit - begin > max_bytes:
            last = bisect_right(piece.positions, begin + max_bytes) - 1
            limit = piece.positions[last]
            if last == index and first_whole:
                limit = begin + len(piece.entry(index))
        return memoryview(piece.memory)[begin:limit].toreadonly()

    def offset_for_timestamp(self, timestamp: int) -> tuple[int, int] | None:
        """(timestamp, offset) of the first record at or after `timestamp` (ms), or None."""
        for entry, max_timestamp in self._entries():
            if max_timestamp < timestamp:
                continue
            for record in records.decode(entry):
                if record.timestamp >= timestamp and record.offset >= self.start_offset:
                    return record.timestamp, record.offset
        return None

    def offset_of_max_timestamp(self) -> tuple[int, int] | None:
        """(timestamp, offset) of the first record with the greatest timestamp, or None in a log without any."""
        greatest = max((stamp for _, stamp in self._entries()), default=-1)
        return None if greatest < 0 else self.offset_for_timestamp(greatest)

    def segment_starts(self) -> list[int]:
        """The base offset of each piece, in order; the first is the start offset of the log."""
        later = [piece.base_offsets[0] for piece in self._pieces[1:]]
        return [self.start_offset, *later]

    def whole(self) -> bytes:
        """Every entry from the one that holds the start offset on."""
        found = self._find(self.start_offset)
        if found is None:
            return b""
        first, index = found
        begin = {id(first): first.positions[index]}
        pieces = self._pieces[self._pieces.index(first) :]
        return b"".join(memoryview(piece.memory)[begin.get(id(piece), 0) : piece.used] for piece in pieces)

    def delete_before(self, offset: int) -> None:
        """Moves the start of the log to `offset` and frees the pieces that lie before it as a whole."""
        if not self.start_offset <= offset <= self.end_offset:
            raise codes.OFFSET_OUT_OF_RANGE(f"{offset} is not within {self.start_offset}..{self.end_offset}")
        self.start_offset = offset
        while self._pieces and self._pieces[0].last_offset < offset:
            del self._pieces[0]
        while len(self._segments) > 1 and self._segments[1].base_offset <= offset:
            del self._segments[0]
        if offset == self.end_offset:
            self._segments.clear()
        self.tombstones = {at: deadline for at, deadline in self.tombstones.items() if at >= offset}

    def truncate(self, offset: int) -> None:
        """Loses every entry from the one that holds `offset` on, as a replica does that was ahead of its new leader."""
        kept: list[_Piece] = []
        for piece in self._pieces:
            held = bisect_left(piece.base_offsets, offset)
            if held and last_offset_of(piece.entry(held - 1)) >= offset:
                held -= 1
            if held == len(piece.base_offsets):
                kept.append(piece)
                continue
            if held:
                kept.append(piece.copy_of_first(held))
            break
        self._pieces = kept
        self.end_offset = kept[-1].last_offset + 1 if kept else self.start_offset
        self.start_offset = min(self.start_offset, self.end_offset)
        self._written = kept[-1].start + kept[-1].used if kept else 0
        self._segments = [each for each in self._segments if each.base_offset < self.end_offset]
        self.compacted_to = min(self.compacted_to, self.end_offset)
        self.tombstones = {at: deadline for at, deadline in self.tombstones.items() if at < self.end_offset}

    def _is_full(self, added: Kept, now_ms: int) -> bool:
        """Whether a segment has to begin for the entry."""
        if not self._segments:
            return True
        return self._segments[-1].is_full(self.limits, len(added.data), added.timestamp(now_ms))

    def _add(self, added: Kept, now_ms: int, *, begins: bool) -> None:
        timestamp, size = added.timestamp(now_ms), len(added.data)
        if begins:
            self._segments.append(_Segment(added.base_offset, timestamp))
        self._segments[-1].add(size, timestamp, now_ms)
        self._piece_for(size).add(added)
        self._written += size

    def _piece_for(self, size: int) -> _Piece:
        if not self._pieces or not self._pieces[-1].has_room(size):
            grown = 2 * len(self._pieces[-1].memory) if self._pieces else _FIRST_PIECE
            self._pieces.append(_Piece(max(size, min(grown, _LARGEST_PIECE)), self._written))
        return self._pieces[-1]

    def _retain(self) -> None:
        limit = self.retention_bytes
        while limit is not None and len(self._pieces) > 1 and self.size - self._pieces[0].used >= limit:
            self.delete_before(self._pieces[1].base_offsets[0])

    def _find(self, offset: int) -> tuple[_Piece, int] | None:
        """The piece and the entry that hold `offset`, or the first after it; None where there is none."""
        if not self.start_offset <= offset <= self.end_offset:
            raise codes.OFFSET_OUT_OF_RANGE(f"{offset} is not within {self.start_offset}..{self.end_offset}")
        at = bisect_left(self._pieces, offset, key=lambda held: held.last_offset)
        if at == len(self._pieces):
            return None
        piece = self._pieces[at]
        index = max(bisect_right(piece.base_offsets, offset) - 1, 0)
        if offset < self.compacted_to and last_offset_of(piece.entry(index)) < offset:
            index += 1
        return piece, index

    def _position(self, offset: int | None) -> int:
        """Where the entry that holds `offset` begins in the log, in bytes; for None where the log ends."""
        found = None if offset is None else self._find(offset)
        if found is None:
            return self._written
        piece, index = found
        return piece.start + piece.positions[index]

    def _entries(self) -> Iterator[tuple[memoryview, int]]:
        """Each entry with its greatest timestamp."""
        for piece in self._pieces:
            for index, stamp in enumerate(piece.max_timestamps):
                yield piece.entry(index), stamp

    # Retention by time.

    def expiry(self, retention_ms: int, *, by_arrival: bool) -> int | None:
        """From when (ms) on the oldest segment may go; None in an empty log.

        That depends on its records' largest timestamp, or with `by_arrival` on when they came, whichever is later.
        """
        return self._expiry(self._segments[0], retention_ms, by_arrival) if self._segments else None

    def start_without_expired(self, retention_ms: int, now_ms: int, *, by_arrival: bool) -> int:
        """Where the log would begin without the segments at its start that may go by now."""
        for segment in self._segments:
            if self._expiry(segment, retention_ms, by_arrival) > now_ms:
                return max(segment.base_offset, self.start_offset)
        return self.end_offset

    @staticmethod
    def _expiry(segment: _Segment, retention_ms: int, by_arrival: bool) -> int:
        newest = max(segment.largest_timestamp, segment.written_ms if by_arrival else 0)
        return newest + retention_ms + 1

    # Compaction.

    @property
    def active_offset(self) -> int:
        """Where the segment begins that is written to; without any, where the log ends."""
        return self._segments[-1].base_offset if self._segments else self.end_offset

    def segments(self) -> Iterator[tuple[int, int, int, int]]:
        """(base offset, bytes, first timestamp, largest timestamp) of each segment."""
        for each in self._segments:
            yield each.base_offset, each.size, each.first_timestamp, each.largest_timestamp

    def entries_before(self, offset: int) -> Iterator[Kept]:
        """The entries that lie before `offset` as a whole."""
        for piece in self._pieces:
            for index, base_offset in enumerate(piece.base_offsets):
                data = piece.entry(index)
                last_offset = last_offset_of(data)
                if last_offset >= offset:
                    return
                yield Kept(data, base_offset, last_offset, piece.max_timestamps[index])

    def replace_before(self, offset: int, kept: Sequence[Kept]) -> None:
        """Has `kept` in the place of the entries that lie before `offset` as a whole; they are one segment then."""
        after = [each for each in self.entries_before(self.end_offset + 1) if each.last_offset >= offset]
        written = {each.base_offset: each.written_ms for each in self._segments}
        latest = max((at for base_offset, at in written.items() if base_offset < offset), default=0)
        self._pieces, self._segments, self._written = [], [], 0
        for each in kept:
            self._add(each, latest, begins=not self._segments)
        for each in after:
            begins = each.base_offset in written and each.base_offset >= offset
            latest = written[each.base_offset] if begins else latest
            self._add(each, latest, begins=begins or not self._segments)
        self.compacted_to = max(self.compacted_to, offset)
