"""The log of one partition, in memory: segments of wire bytes with an index of entries.

Offsets are given here and nowhere else. Bytes that were handed out stay as they are: a segment only grows at its end,
inside the room it was born with, and leaves the log as a whole. This file knows no requests, sockets or topics; time
comes in as an argument.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from kwire import records
from kwire.errors import broker as codes
from kwire.testing.record_sets import Entry, place

_FIRST_SEGMENT = 64 * 1024
_LARGEST_SEGMENT = 4 * 1024 * 1024


class _Segment:
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

    def add(self, entry: Entry) -> None:
        end = self.used + len(entry.data)
        self.memory[self.used : end] = entry.data
        self.base_offsets.append(entry.base_offset)
        self.positions.append(self.used)
        self.max_timestamps.append(entry.max_timestamp)
        self.last_offset = entry.last_offset
        self.used = end

    def last_offset_of(self, index: int) -> int:
        """The last offset of an entry, as far as the next one tells."""
        return self.base_offsets[index + 1] - 1 if index + 1 < len(self.base_offsets) else self.last_offset

    def copy_of_first(self, count: int) -> _Segment:
        """The first entries alone, in memory of their own: the bytes of the others may have been handed out."""
        made = _Segment(len(self.memory), self.start)
        made.used = self.positions[count]
        made.memory[: made.used] = self.memory[: made.used]
        made.base_offsets = self.base_offsets[:count]
        made.positions = self.positions[:count]
        made.max_timestamps = self.max_timestamps[:count]
        made.last_offset = self.last_offset_of(count - 1)
        return made

    def entry(self, index: int) -> memoryview:
        end = self.positions[index + 1] if index + 1 < len(self.positions) else self.used
        return memoryview(self.memory)[self.positions[index] : end].toreadonly()


class PartitionLog:
    """Entries in offset order. `start_offset` is the first that may be read, `end_offset` the next to be given.

    With one replica every appended record is committed, so `end_offset` is the high watermark as well.
    """

    def __init__(self, retention_bytes: int | None = None) -> None:
        self.start_offset = 0
        self.end_offset = 0
        self.retention_bytes = retention_bytes
        self._segments: list[_Segment] = []
        self._written = 0

    @property
    def size(self) -> int:
        """Bytes now held."""
        return sum(segment.used for segment in self._segments)

    def append(self, entries: Sequence[Entry], *, leader_epoch: int = 0, append_time: int | None = None) -> int:
        """Gives `entries` their offsets (and append time, ms, if not None); returns the first one's offset."""
        first = self.end_offset
        for entry in entries:
            place(entry, self.end_offset, leader_epoch, append_time)
            self._segment_for(len(entry.data)).add(entry)
            self._written += len(entry.data)
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
        segment, index = found
        return max(self._position(end) - (segment.start + segment.positions[index]), 0)

    def read(self, offset: int, max_bytes: int, *, first_whole: bool, end: int | None = None) -> bytes | memoryview:
        """Whole entries from the one that holds `offset` on, up to `max_bytes`, from one segment.

        With `first_whole` the first entry is given even if it is larger. No entry at or after the offset `end` is
        given, if not None. Raises BrokerError (OFFSET_OUT_OF_RANGE) outside of the log.
        """
        found = self._find(offset)
        if found is None or (end is not None and end <= offset):
            return b""
        segment, index = found
        begin = segment.positions[index]
        limit = min(self._position(end) - segment.start, segment.used)
        if limit - begin > max_bytes:
            last = bisect_right(segment.positions, begin + max_bytes) - 1
            limit = segment.positions[last]
            if last == index and first_whole:
                limit = begin + len(segment.entry(index))
        return memoryview(segment.memory)[begin:limit].toreadonly()

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
        """The base offset of each segment, in order; the first is the start offset of the log."""
        later = [segment.base_offsets[0] for segment in self._segments[1:]]
        return [self.start_offset, *later]

    def whole(self) -> bytes:
        """Every byte still held, entry after entry."""
        return b"".join(memoryview(segment.memory)[: segment.used] for segment in self._segments)

    def delete_before(self, offset: int) -> None:
        """Moves the start of the log to `offset` and frees the segments that lie before it as a whole."""
        if not self.start_offset <= offset <= self.end_offset:
            raise codes.OFFSET_OUT_OF_RANGE(f"{offset} is not within {self.start_offset}..{self.end_offset}")
        self.start_offset = offset
        while self._segments and self._segments[0].last_offset < offset:
            del self._segments[0]

    def truncate(self, offset: int) -> None:
        """Loses every entry from the one that holds `offset` on, as a replica does that was ahead of its new leader."""
        kept: list[_Segment] = []
        for segment in self._segments:
            held = bisect_left(segment.base_offsets, offset)
            if held and segment.last_offset_of(held - 1) >= offset:
                held -= 1
            if held == len(segment.base_offsets):
                kept.append(segment)
                continue
            if held:
                kept.append(segment.copy_of_first(held))
            break
        self._segments = kept
        self.end_offset = kept[-1].last_offset + 1 if kept else self.start_offset
        self.start_offset = min(self.start_offset, self.end_offset)
        self._written = kept[-1].start + kept[-1].used if kept else 0

    def _segment_for(self, size: int) -> _Segment:
        if not self._segments or not self._segments[-1].has_room(size):
            grown = 2 * len(self._segments[-1].memory) if self._segments else _FIRST_SEGMENT
            self._segments.append(_Segment(max(size, min(grown, _LARGEST_SEGMENT)), self._written))
        return self._segments[-1]

    def _retain(self) -> None:
        limit = self.retention_bytes
        while limit is not None and len(self._segments) > 1 and self.size - self._segments[0].used >= limit:
            self.delete_before(self._segments[1].base_offsets[0])

    def _find(self, offset: int) -> tuple[_Segment, int] | None:
        """The segment and the entry that hold `offset`; None at the end of the log."""
        if not self.start_offset <= offset <= self.end_offset:
            raise codes.OFFSET_OUT_OF_RANGE(f"{offset} is not within {self.start_offset}..{self.end_offset}")
        if offset == self.end_offset:
            return None
        segment = self._segments[bisect_left(self._segments, offset, key=lambda held: held.last_offset)]
        return segment, max(bisect_right(segment.base_offsets, offset) - 1, 0)

    def _position(self, offset: int | None) -> int:
        """Where the entry that holds `offset` begins in the log, in bytes; for None where the log ends."""
        found = None if offset is None else self._find(offset)
        if found is None:
            return self._written
        segment, index = found
        return segment.start + segment.positions[index]

    def _entries(self) -> Iterator[tuple[memoryview, int]]:
        """Each entry with its greatest timestamp."""
        for segment in self._segments:
            for index, stamp in enumerate(segment.max_timestamps):
                yield segment.entry(index), stamp
