"""What happened to each record while workers were killed, and what must hold of it; knows nothing of how they work.

Workers append a line to a journal when a record is handled; all append to one file, so that its lines are in order.

    nothing lost        each record is in the journal, or among the dead letters
    never too far       at any time, all below a committed offset is in one of them
    order               the first time that records of a key are handled is in the order of their offsets
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

Place = tuple[int, int]
"""Partition and offset."""


class Handled(NamedTuple):
    partition: int
    offset: int
    key: str
    worker: str


class Journal:
    """The file that workers append to: `partition offset key worker`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Handled]:
        text = self.path.read_text() if self.path.exists() else ""
        rows = [line.split() for line in text.splitlines()]
        return [Handled(int(partition), int(offset), key, worker) for partition, offset, key, worker in rows]


def check_commits(committed: Mapping[int, int], handled: Iterable[Handled], dead: Iterable[Place]) -> None:
    """`committed` was read before the others."""
    done = {(row.partition, row.offset) for row in handled} | set(dead)
    for partition, end in committed.items():
        missing = [offset for offset in range(end) if (partition, offset) not in done]
        assert not missing, f"{end} is committed in partition {partition}, but {missing[:5]} were not handled"


def check_nothing_is_lost(written: Mapping[int, int], handled: Iterable[Handled], dead: Iterable[Place]) -> None:
    check_commits(written, handled, dead)


def check_order(handled: Iterable[Handled]) -> None:
    newest: dict[tuple[int, str], int] = {}
    seen: set[Place] = set()
    for row in handled:
        if (row.partition, row.offset) in seen:
            continue
        seen.add((row.partition, row.offset))
        before = newest.get((row.partition, row.key), -1)
        assert row.offset > before, f"{row} was first handled after {before} of its key"
        newest[row.partition, row.key] = row.offset


def repeated(handled: Iterable[Handled]) -> int:
    """How many times a record was handled beyond the first."""
    counts = Counter((row.partition, row.offset) for row in handled)
    return sum(counts.values()) - len(counts)
