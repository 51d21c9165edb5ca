"""Where a message of Kafka 0.7 stands, and going on from there, also past one that cannot be read.

A fetch can begin only where an outermost message begins, so a place inside a compressed one is that offset and a count
of the messages to pass over. Nothing but its length says where a message ends: where that is wrong, too, the rest of
the segment cannot be read. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kwire.errors import CodecError
from kwire.records import Records

__all__ = ["Message", "Position", "placed", "placed_fault"]

_LENGTH_AND_MAGIC = 5
_MIN_LENGTH = 5


class Position(NamedTuple):
    """A place in a partition's log: byte `offset`, where an outermost message begins, and how many inside to `skip`."""

    offset: int
    skip: int = 0


class Message(NamedTuple):
    """One message. Reading goes on at `next`, after it; `next.offset` is what 0.7.2's client calls its offset."""

    position: Position
    value: bytes
    next: Position

    @property
    def offset(self) -> int:
        """The byte at which it, or the compressed message around it, begins."""
        return self.position.offset


def placed(found: Records, start: Position) -> Iterator[Message]:
    """The messages of a fetch from `start.offset` on that come at or after `start`."""
    end = start.offset + found.consumed
    skip = 0
    for number, record in enumerate(found):
        offset = record.offset
        after = found[number + 1].offset if number + 1 < len(found) else end
        here = Position(offset, skip)
        skip = skip + 1 if after == offset else 0
        if here >= start:
            yield Message(here, record.value or b"", Position(after, skip))


def placed_fault(error: CodecError, where: str, offset: int, content: memoryview) -> CodecError:
    """The same error, of the message that begins at byte `offset` of the log and of `content`, `where` in words.

    Its `record_offset` is the offset, its `seek_to` the one after the message, None where the length cannot be right.
    """
    size = _believable_size(content)
    after = "its length is wrong, too" if size is None else f"the next one begins at {offset + size}"
    found = type(error)(
        f"{where}: {error.message}; an offset is one at which a message begins; if one begins here, {after}",
        error.field,
        error.offset,
    )
    found.record_offset, found.seek_to = offset, None if size is None else offset + size
    return found


def _believable_size(content: memoryview) -> int | None:
    """Of the message at the beginning of `content`, its length field included: what follows it begins like one."""
    size = 4 + int.from_bytes(content[:4], "big", signed=True)
    if not 4 + _MIN_LENGTH <= size <= len(content):
        return None
    head = content[size : size + _LENGTH_AND_MAGIC]
    if len(head) < _LENGTH_AND_MAGIC:
        return size
    is_message = head[4] in (0, 1) and int.from_bytes(head[:4], "big", signed=True) >= _MIN_LENGTH + head[4]
    return size if is_message else None
