"""What a writer has seen acknowledged: its file, and how that file is judged."""

import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

_ROW = struct.Struct(">iiqdd")
FAILED = -1
"""The offset of a record whose delivery failed."""


class Ack(NamedTuple):
    """A record's fate: the times are seconds of CLOCK_MONOTONIC, which all processes of a machine share."""

    partition: int
    number: int
    offset: int
    sent: float
    known: float

    def packed(self) -> bytes:
        """As a row of the file."""
        return _ROW.pack(*self)


def read_acks(path: Path) -> list[Ack]:
    """The rows of a file, as their fates became known."""
    return [Ack(*row) for row in _ROW.iter_unpack(path.read_bytes())]


def faults(acks: Iterable[Ack], sent: Sequence[int], logs: Sequence[Sequence[int]]) -> Mapping[str, int]:
    """How many records were lost, doubled, out of order, or not acknowledged; each partition was sent 0, 1, 2, ..."""
    found: Counter[str] = Counter()
    offsets: list[dict[int, int]] = [{} for _ in sent]
    for ack in acks:
        found["acknowledged twice"] += ack.number in offsets[ack.partition]
        offsets[ack.partition][ack.number] = ack.offset
    for count, known, log in zip(sent, offsets, logs, strict=True):
        acknowledged = {number: offset for number, offset in known.items() if offset != FAILED}
        times = Counter(log)
        found["not acknowledged"] += count - len(acknowledged)
        found["lost"] += sum(number not in times for number in acknowledged)
        found["doubled"] += sum(many - 1 for many in times.values())
        found["out of order"] += _descents(log)
        found["at another offset"] += sum(
            not 0 <= offset < len(log) or log[offset] != number for number, offset in acknowledged.items()
        )
    return +found


def _descents(log: Sequence[int]) -> int:
    return sum(after < before for before, after in pairwise(log))


def wait(acks: Sequence[Ack], killed: float) -> float:
    """The seconds from a kill to the next acknowledgement, of a record that was sent after it, to one partition.

    `acks` are those of that partition, as the records were sent.
    """
    after = bisect_right(acks, killed, key=lambda ack: ack.sent)
    return next((ack.known for ack in acks[after:] if ack.offset != FAILED), float("inf")) - killed
