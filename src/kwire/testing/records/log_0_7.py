"""The log of one partition of a Kafka 0.7 broker, in memory: segments of bytes, offsets that are byte positions.

As release 0.7.2 does it: a produced set is checked message by message, also inside compressed ones, and stored as it
is, without what is cut off at its end; a segment that has outgrown its size is closed at the next append; what has
not been flushed cannot be seen. Knows no requests and no sockets; time (ms) is asked of a clock that is passed in.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kwire import errors, records
from kwire.errors import broker as codes
from kwire.protocol import kafka_0_7

__all__ = ["ByteLog", "MessageTooLargeError"]


class MessageTooLargeError(Exception):
    """A message larger than the broker takes: 0.7 drops its whole set and says so in its own log only."""


@dataclass(slots=True)
class _Segment:
    """`flushed` of its bytes can be seen; `modified` is when it was last written to."""

    start: int
    modified: int
    content: bytearray = field(default_factory=bytearray)
    flushed: int = 0

    @property
    def end(self) -> int:
        return self.start + self.flushed


class ByteLog:
    """One partition. Sizes in bytes; `flush_interval` in messages."""

    def __init__(
        self,
        *,
        segment_bytes: int,
        max_message_size: int,
        flush_interval: int,
        retention_bytes: int | None,
        clock: Callable[[], int],
    ) -> None:
        self._segment_bytes = segment_bytes
        self._max_message_size = max_message_size
        self._flush_interval = flush_interval
        self._retention_bytes = retention_bytes
        self._clock = clock
        self._unflushed = 0
        self._segments = [_Segment(0, clock())]

    @property
    def start_offset(self) -> int:
        return self._segments[0].start

    @property
    def end_offset(self) -> int:
        """The position after the last byte that can be seen."""
        return self._segments[-1].end

    def append(self, message_set: bytes) -> int:
        """Stores the whole messages of a set; returns the offset of the first.

        Raises CodecError for a set that 0.7 refuses by closing the connection, MessageTooLargeError for one it drops.
        """
        kept = self._checked(message_set)
        count = len(records.decode(kept, generation="0.7"))
        last = self._segments[-1]
        if len(last.content) > self._segment_bytes:
            self._roll()
            last = self._segments[-1]
        first = last.start + len(last.content)
        if kept:
            last.content += kept
            last.modified = self._clock()
        self._unflushed += count
        if self._unflushed >= self._flush_interval:
            self.flush()
        self._retain()
        return first

    def flush(self) -> None:
        """Makes everything visible, if there are messages that are not."""
        if self._unflushed:
            last = self._segments[-1]
            last.flushed = len(last.content)
            self._unflushed = 0

    def read(self, offset: int, max_size: int) -> bytes:
        """The visible bytes from `offset` on, `max_size` at most, up to the end of a segment.

        Raises BrokerError (OFFSET_OUT_OF_RANGE) before the first and after the last byte.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise codes.OFFSET_OUT_OF_RANGE(f"{offset} is not within {self.start_offset}..{self.end_offset}")
        for segment in self._segments:
            if segment.start <= offset < segment.end:
                begin = offset - segment.start
                return bytes(memoryview(segment.content)[begin : min(begin + max_size, segment.flushed)])
        return b""

    def offsets_before(self, time: int, maximum: int) -> list[int]:
        """Where segments begin that are not younger than `time` (ms, LATEST, EARLIEST), and the end; descending."""
        places = [(segment.start, segment.modified) for segment in self._segments]
        last = self._segments[-1]
        if last.flushed:
            places.append((last.end, self._clock()))
        if time == kafka_0_7.EARLIEST:
            places = places[:1]
        elif time != kafka_0_7.LATEST:
            while places and places[-1][1] > time:
                places.pop()
        return [start for start, _ in reversed(places)][:maximum]

    def whole(self) -> bytes:
        """Every visible byte."""
        return b"".join(segment.content[: segment.flushed] for segment in self._segments)

    def delete_before(self, offset: int) -> None:
        """Drops the segments that end at or before `offset`; the last one stays."""
        while len(self._segments) > 1 and self._segments[0].end <= offset:
            del self._segments[0]

    def _checked(self, message_set: bytes) -> bytes:
        """The whole messages of the set: the checks of its outermost layer, in the order of the messages."""
        end = 0
        for at, size in _messages(message_set):
            magic = message_set[at + 4] if size else -1
            if magic not in (0, 1) or size < 5 + magic:
                raise errors.CorruptError(f"a message of {size} bytes and magic {magic}", "messages", at)
            payload = memoryview(message_set)[at + 9 + magic : at + 4 + size]
            stored = int.from_bytes(message_set[at + 5 + magic : at + 9 + magic], "big")
            if zlib.crc32(payload) != stored:
                raise errors.CorruptError("the checksum does not match", "messages", at)
            if len(payload) > self._max_message_size:
                raise MessageTooLargeError(f"a payload of {len(payload)} bytes; {self._max_message_size} are taken")
            end = at + 4 + size
        return message_set[:end]

    def _roll(self) -> None:
        self.flush()
        self._segments.append(_Segment(self.end_offset, self._clock()))

    def _retain(self) -> None:
        limit = self._retention_bytes
        while limit is not None and len(self._segments) > 1:
            if sum(segment.flushed for segment in self._segments[1:]) < limit:
                break
            del self._segments[0]


def _messages(message_set: bytes) -> Iterator[tuple[int, int]]:
    """(position, length) of each whole message. Raises CodecError when not even the first one is whole."""
    at = 0
    while len(message_set) - at >= 4:
        size = int.from_bytes(message_set[at : at + 4], "big", signed=True)
        if size < 0 or (at == 0 and size > len(message_set) - 4):
            raise errors.InvalidLengthError(f"a message of {size} bytes in a set of {len(message_set)}", "messages", at)
        if size > len(message_set) - at - 4:
            return
        yield at, size
        at += 4 + size
