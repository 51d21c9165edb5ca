"""The files beside a segment: where offsets and times are, which transactions were aborted.

    .index       8 bytes an entry    offset - base int32, position int32: the last offset of what was appended there
    .timeindex  12 bytes             greatest timestamp so far int64, offset - base int32
    .txnindex   34 bytes             version int16, producer id, first, last and last stable offset int64
    .snapshot   version int16, crc uint32, count int32, entries of 46 bytes: producer id int64, epoch int16, sequence
                int32, last offset int64, delta int32, timestamp int64, coordinator epoch int32, transaction's first
                offset int64 (-1 none)
    *-checkpoint  text: version, count, lines
Indexes are allocated ahead: zeros follow the last entry as long as a broker appends. What cannot be is taken for not
there, since all of it can be found in the segments again.
Source: the log directory of release 4.4.
"""

from __future__ import annotations

import operator
import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

from kwire._codec import crc32c

_OFFSET_ENTRY: Final = 8
_OFFSET_PAIR: Final = struct.Struct(">ii")
_TIME_ENTRY: Final = struct.Struct(">qi")
_ABORTED_ENTRY: Final = struct.Struct(">hqqqq")
_SNAPSHOT_HEAD: Final = struct.Struct(">hIi")
_SNAPSHOT_ENTRY: Final = struct.Struct(">qhiqiqiq")


class Aborted(NamedTuple):
    """An aborted transaction: its records lie from `first` to `last`, which is its marker."""

    producer_id: int
    first: int
    last: int
    last_stable: int = -1


class ProducerEntry(NamedTuple):
    """What a partition remembers of a producer. `first_offset` is that of its open transaction, -1 without one."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    first_offset: int


class OffsetIndex:
    """Positions at which batches begin, one for about 4 KiB."""

    def __init__(self, content: bytes, base_offset: int, log_size: int) -> None:
        numbers = array("i")
        numbers.frombytes(_without_padding(content, _OFFSET_ENTRY))
        if sys.byteorder == "little":
            numbers.byteswap()
        self._base = base_offset
        self._offsets = numbers[::2]
        self.positions = numbers[1::2]
        if not (_ascends(self._offsets) and _ascends(self.positions) and self._lies_in(log_size)):
            del self._offsets[:], self.positions[:]

    def _lies_in(self, log_size: int) -> bool:
        return not self.positions or (self.positions[0] >= 0 and self.positions[-1] < log_size)

    def before(self, offset: int) -> int:
        """A position at or before the batch that holds `offset`, as near as the index says."""
        at = bisect_left(self._offsets, offset - self._base)
        if at < len(self._offsets) and self._offsets[at] == offset - self._base:
            return self.positions[at]
        return self.positions[at - 1] if at else 0


def _ascends(numbers: array[int]) -> bool:
    return all(map(operator.lt, numbers, numbers[1:]))


def _without_padding(content: bytes, entry: int) -> bytes:
    """The entries up to the zeros; the last byte of an entry may be zero, too."""
    used = len(content.rstrip(b"\0"))
    return content[: min(-(-used // entry), len(content) // entry) * entry]


class TimeIndex:
    """(greatest timestamp so far, offset) pairs."""

    def __init__(self, content: bytes, base_offset: int) -> None:
        self._content = _without_padding(content, _TIME_ENTRY.size)
        self._base = base_offset
        self._count = len(self._content) // _TIME_ENTRY.size

    @property
    def greatest(self) -> int | None:
        """The greatest timestamp up to the last entry; None without one."""
        return self._timestamp(self._count - 1) if self._count else None

    @property
    def last_offset(self) -> int:
        return self._offset(self._count - 1)

    def before(self, timestamp: int) -> int | None:
        """An offset at or before the first record that late; None where the index says nothing."""
        at = bisect_left(range(self._count), timestamp, key=self._timestamp)
        return self._offset(at - 1) if at else None

    def _timestamp(self, number: int) -> int:
        return int(_TIME_ENTRY.unpack_from(self._content, number * _TIME_ENTRY.size)[0])

    def _offset(self, number: int) -> int:
        return int(self._base + _TIME_ENTRY.unpack_from(self._content, number * _TIME_ENTRY.size)[1])


def offset_entries(content: bytes, base_offset: int) -> Iterator[tuple[int, int]]:
    """The (offset, position) pairs of an `.index`, whatever they are."""
    for offset, position in _OFFSET_PAIR.iter_unpack(_without_padding(content, _OFFSET_ENTRY)):
        yield base_offset + offset, position


def time_entries(content: bytes, base_offset: int) -> Iterator[tuple[int, int]]:
    """The (timestamp, offset) pairs of a `.timeindex`, whatever they are."""
    for timestamp, offset in _TIME_ENTRY.iter_unpack(_without_padding(content, _TIME_ENTRY.size)):
        yield timestamp, base_offset + offset


def parse_aborted(content: bytes) -> list[Aborted] | None:
    """The entries of a `.txnindex`; None when it is damaged."""
    if len(content) % _ABORTED_ENTRY.size:
        return None
    entries = list(_ABORTED_ENTRY.iter_unpack(content))
    if any(version != 0 or not 0 <= first <= last for version, _, first, last, _ in entries):
        return None
    return [Aborted(*entry) for _, *entry in entries]


def parse_producers(content: bytes) -> list[ProducerEntry] | None:
    """The entries of a `.snapshot`; None when it is damaged."""
    if len(content) < _SNAPSHOT_HEAD.size:
        return None
    version, crc, count = _SNAPSHOT_HEAD.unpack_from(content)
    whole = _SNAPSHOT_HEAD.size + count * _SNAPSHOT_ENTRY.size
    if version != 1 or count < 0 or len(content) < whole or crc32c(content[6:]) != crc:
        return None
    return list(map(ProducerEntry._make, _SNAPSHOT_ENTRY.iter_unpack(content[_SNAPSHOT_HEAD.size : whole])))


def parse_open_transactions(content: bytes) -> dict[int, int] | None:
    """Of a `.snapshot` the producers with an open transaction and its first offset; None when it is damaged."""
    entries = parse_producers(content)
    return (
        None if entries is None else {each.producer_id: each.first_offset for each in entries if each.first_offset >= 0}
    )


def parse_checkpoint(content: bytes) -> Iterator[list[str]]:
    """The lines of a checkpoint, split at blanks; none when it is not one that is known."""
    lines = content.decode("utf-8", "replace").splitlines()
    if len(lines) >= 2 and lines[0].strip() == "0":
        yield from (line.split() for line in lines[2:] if line.strip())
