"""The headers of a segment's batches, one after the other: from length to length, without reading records.

    0 offset int64, 8 length int32, 12 (magic 2) leader epoch int32, 16 magic int8
    magic 0, 1: 17 attributes int8, (magic 1) 18 timestamp int64; the offset of a compressed set is that of its last
    magic 2: 21 attributes int16, 23 last offset delta int32, 35 max timestamp int64, 43 producer id int64
Kafka 0.7: 0 length int32; its offsets are the positions.

Nothing is checked but what must hold to find the next batch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from kwire.log_files.folders import Segment
from kwire.log_files.storage import OpenFile, Storage

HEAD_SIZE: Final = 61
PREFIX: Final = 12
MIN_FRAME: Final = 17
_MIN_LENGTHS: Final = (14, 22, 49)
_START: Final = struct.Struct(">qiib")
_REST_2: Final = struct.Struct(">Ihiqqq")
_REST_1: Final = struct.Struct(">bq")
_LENGTH_0_7: Final = struct.Struct(">i")

_CODEC: Final = 0x07
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20


class Frame(NamedTuple):
    """One batch by its header. `base_offset` is that of the last record for compressed sets of magic 0 and 1."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    magic: int
    attributes: int = 0
    leader_epoch: int = -1
    max_timestamp: int = -1
    producer_id: int = -1

    @property
    def end(self) -> int:
        return self.position + self.size

    @property
    def is_old_set(self) -> bool:
        """Whether `base_offset` is that of the last record, and others come before it."""
        return self.magic < 2 and bool(self.attributes & _CODEC)

    @property
    def is_transactional(self) -> bool:
        return self.magic == 2 and bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return self.magic == 2 and bool(self.attributes & _CONTROL)


class Window:
    """A file through one range that moves on: small reads in order cost one read for each `size` bytes."""

    def __init__(self, file: OpenFile, size: int, end: int) -> None:
        self._file = file
        self._size = max(size, HEAD_SIZE)
        self._end = end
        self._start = 0
        self._held = memoryview(b"")

    def at(self, position: int, size: int) -> memoryview:
        """`size` bytes from `position` on, fewer at the end."""
        begin = position - self._start
        if begin < 0 or begin + size > len(self._held):
            wanted = max(min(max(self._size, size), self._end - position), 0)
            self._start, begin = position, 0
            self._held = memoryview(self._file.read_at(position, wanted) if wanted else b"").cast("B")
        return self._held[begin : begin + size]


def frames(storage: Storage, segment: Segment, start: int = 0, end: int | None = None) -> Iterator[Frame]:
    """The whole batches from position `start` on, up to what cannot be one: a cut, zeros, damage."""
    end = segment.size if end is None else min(end, segment.size)
    with storage.open(segment.path) as file:
        window = Window(file, storage.hop_bytes, segment.size)
        position = start
        while position < end:
            frame = _frame_0_7(window, position, segment) if segment.is_0_7 else _frame(window, position)
            if frame is None or frame.end > segment.size:
                return
            yield frame
            position = frame.end


def _frame(window: Window, position: int) -> Frame | None:
    head = window.at(position, HEAD_SIZE)
    if len(head) < MIN_FRAME:
        return None
    offset, length, epoch, magic = _START.unpack_from(head)
    if not 0 <= magic <= 2 or length < _MIN_LENGTHS[magic] or len(head) < PREFIX + _MIN_LENGTHS[magic]:
        return None
    size = PREFIX + length
    if magic == 2:
        _, attributes, delta, _, timestamp, producer_id = _REST_2.unpack_from(head, 17)
        return Frame(position, size, offset, offset + delta, magic, attributes, epoch, timestamp, producer_id)
    attributes, timestamp = _REST_1.unpack_from(head, 17) if magic else (head[17], -1)
    return Frame(position, size, offset, offset, magic, attributes, -1, timestamp)


def _frame_0_7(window: Window, position: int, segment: Segment) -> Frame | None:
    head = window.at(position, _LENGTH_0_7.size)
    if len(head) < _LENGTH_0_7.size:
        return None
    (length,) = _LENGTH_0_7.unpack(head)
    if length < 5:
        return None
    offset = segment.base_offset + position
    return Frame(position, 4 + length, offset, offset + 3 + length, 0)
