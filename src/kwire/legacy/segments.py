"""Log segments of Kafka 0.7 on disk: `<topic>-<partition>/<offset of the first byte>.kafka`, messages and nothing else.

The files are mapped, not read: what is decoded shares their pages.
Source: the log directory of release 0.7.2.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from kwire import errors, records
from kwire.legacy.messages import Message, Position, placed

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
        """Behind its last byte, whole message or not."""
        return self.base_offset + self.path.stat().st_size

    def records(self, *, check_crc: bool = True) -> records.Records:
        """All its whole messages. Raises the CodecErrors of `kwire.records.decode`; an OSError for the file."""
        return records.decode(self._content(), generation="0.7", base_offset=self.base_offset, check_crc=check_crc)

    def messages(self, start: Position | None = None) -> Iterator[Message]:
        """Its messages from `start` on (default: all), each with the position at which reading goes on.

        Decodes piece after piece, so that a segment may hold more than fits into memory. Raises as `records`.
        """
        at = Position(self.base_offset) if start is None else max(start, Position(self.base_offset))
        content = memoryview(self._content())
        size = _PIECE
        while (begin := at.offset - self.base_offset) < len(content):
            piece = content[begin : begin + size]
            try:
                found = records.decode(piece, generation="0.7", base_offset=at.offset)
            except errors.CodecError as error:
                raise type(error)(
                    f"{self.path.name}, what begins at byte {begin}: {error.message}", error.field, error.offset
                ) from None
            yield from placed(found, at)
            if found.consumed:
                at, size = Position(at.offset + found.consumed), _PIECE
            elif len(piece) == size:
                size = max(found.needed, 2 * size)
            else:
                return  # the last message was never written to its end

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
