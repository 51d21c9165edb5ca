"""Where a message of Kafka 0.7 stands, and going on from there.

A fetch can begin only where an outermost message begins, so a place inside a compressed one is that offset and a count
of the messages to pass over. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kwire.records import Records

__all__ = ["Message", "Position", "placed"]


class Position(NamedTuple):
    """A place in a partition's log: byte `offset`, where an outermost message begins, and how many inside to `skip`."""

    offset: int
    skip: int = 0


class Message(NamedTuple):
    """One message. Reading goes on at `next`, behind it; `next.offset` is what 0.7.2's client calls its offset."""

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
        behind = found[number + 1].offset if number + 1 < len(found) else end
        here = Position(offset, skip)
        skip = skip + 1 if behind == offset else 0
        if here >= start:
            yield Message(here, record.value or b"", Position(behind, skip))
