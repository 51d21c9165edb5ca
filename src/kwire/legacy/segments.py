"""Log segments of Kafka 0.7 on disk: `<topic>-<partition>/<offset of the first byte>.kafka`, messages and nothing else.

The files are mapped, not read: what is decoded shares their pages.
Source: the log directory of release 0.7.2.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kwire import errors, records
from kwire._codec import scan_generation
from kwire.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from kwire.legacy.messages import Message, Position, placed, placed_fault

__all__ = ["Segment", "segments"]

_NAME = re.compile(r"(\d{20})\.kafka")
# What is decoded in one go: all that is compressed in a whole segment would not fit into memory.
_PIECE = 1 << 20


@dataclass(frozen=True)
class Segment:
    """One file. `base_offset` is the byte position of its first byte in the partition's log."""

    path: Path
    base_offset: int

    @property
    def end_offset(self) -> int:
        """After its last byte, whole message or not."""
        return self.base_offset + self.path.stat().st_size

    def records(self, *, check_crc: bool = True) -> records.Records:
        """All its whole messages. Raises the CodecErrors of `kwire.records.decode`; an OSError for the file."""
        return records.decode(self._content(), generation="0.7", base_offset=self.base_offset, check_crc=check_crc)

    def messages(self, start: Position | None = None, *, is_last: bool = True) -> Generator[Message, None, int]:
        """Its messages from `start` on (default: all), each with the position at which reading goes on.

        Decodes piece after piece, so that a segment may hold more than fits into memory. Raises as `records`, once what
        precedes the fault was given: the error's `seek_to` is the offset after the damaged message, None where not
        even its length can be right. Only the last segment of a log may end within a message: TruncatedError in others.
        The generator's own value is the offset after the last whole message.
        """
        at = Position(self.base_offset) if start is None else max(start, Position(self.base_offset))
        content = memoryview(self._content())
        size = _PIECE
        while (begin := at.offset - self.base_offset) < len(content):
            piece = content[begin : begin + size]
            where = f"{self.path}, what begins at byte {begin}"
            found, fault = scan_generation("0.7", piece, True, DEFAULT_MAX_DECOMPRESSED_BYTES, at.offset)
            if fault is not None and not found.consumed:
                raise placed_fault(fault, where, at.offset, content[begin:])
            yield from placed(found, at)
            if found.consumed:
                at, size = Position(at.offset + found.consumed), _PIECE
            elif len(piece) == size:
                size = max(found.needed, 2 * size)
            elif is_last:
                break  # the last message was never written to its end
            else:
                cut = f"{where}: {len(piece)} bytes are left, and the message would take {found.needed}"
                error = errors.TruncatedError(cut, "batches[0].length", 0)
                error.record_offset = at.offset
                raise error
        return at.offset

    def _content(self) -> bytes | mmap.mmap:
        if not self.path.stat().st_size:
            return b""  # which cannot be mapped
        with self.path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def segments(directory: str | Path) -> list[Segment]:
    """The segments of one partition's folder (or one file), oldest first.

    Raises ConfigError where there are none, CorruptError where one is missing between two others.
    """
    place = Path(directory)
    paths = [place] if place.is_file() else sorted(place.glob("*.kafka"))
    found = []
    for path in paths:
        name = _NAME.fullmatch(path.name)
        if name is None:
            raise errors.ConfigError(f"{path}: a segment of Kafka 0.7 is named after its offset, 20 digits and .kafka")
        found.append(Segment(path, int(name[1])))
    if not found:
        raise errors.ConfigError(f"{place}: no segment of Kafka 0.7 (00000000000000000000.kafka) is there")
    for before, after in pairwise(found):
        if before.end_offset != after.base_offset:
            raise errors.CorruptError(
                f"{before.path.name} ends at {before.end_offset}, but {after.path.name} follows", str(place)
            )
    return found
