"""What read_committed leaves out: aborted transactions, and all from the first one on that has not ended.

A `.txnindex` names the transactions whose abort stands in its segment; they may have begun in an earlier one. A broker
makes that file with the first entry, so that where it is missing nothing was aborted, or it was lost: then the headers
of the segment's batches are gone through, and its markers are read. Where a log ends, the `.snapshot` of its last
segment says which transactions were open there, and the batches after it what became of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

from kwire._codec import scan_records
from kwire.log_files.folders import Segment
from kwire.log_files.frames import Frame
from kwire.log_files.indexes import Aborted, parse_aborted, parse_open_transactions
from kwire.log_files.overlaps import Stretch
from kwire.log_files.partition_log import PartitionLog
from kwire.log_files.storage import read_whole

_COMMIT = b"\0\1"


class Transactions(NamedTuple):
    """`aborted` by their last offset. No record from `stable_offset` on is committed yet; None where all have ended."""

    aborted: list[Aborted]
    stable_offset: int | None


NO_TRANSACTIONS: Final = Transactions([], None)


def find_transactions(log: PartitionLog, start: int) -> Transactions:
    """Those that concern records from `start` on."""
    stretches = log.stretches
    first = max(bisect_right([each.first for each in stretches], start) - 1, 0)
    known = [_by_index(log, each.segment) for each in stretches[first:]]
    snapshots = _snapshots(log)
    begin = max(snapshots, default=0)
    if any(named is None for named in known):
        begin = min(begin, first)
    walk = _Walk()
    for number in range(begin, len(stretches)):
        walk.opened = dict(snapshots.get(number, walk.opened))
        walk.over(log, stretches[number])
    walk.opened = snapshots.get(len(stretches), walk.opened)
    aborted = _joined([*walk.aborted, *(each for named in known for each in named or ())])
    return Transactions([each for each in aborted if each.last >= start], min(walk.opened.values(), default=None))


def _joined(found: Iterable[Aborted]) -> list[Aborted]:
    """Each transaction once, by its end: whoever has seen more of it knows an earlier begin."""
    begins: dict[tuple[int, int], int] = {}
    for producer_id, first, last, _ in found:
        begins[last, producer_id] = min(first, begins.get((last, producer_id), first))
    return [Aborted(producer_id, first, last) for (last, producer_id), first in sorted(begins.items())]


def _by_index(log: PartitionLog, segment: Segment) -> list[Aborted] | None:
    """What a `.txnindex` says; None where there is none to believe."""
    found = segment.companions.get(".txnindex")
    return None if found is None else parse_aborted(read_whole(log.storage_of(segment), found))


def _snapshots(log: PartitionLog) -> dict[int, dict[int, int]]:
    """The open transactions of producers, by their first offset, where each stretch begins that has a snapshot.

    In tiered storage the snapshot is that of the segment's end.
    """
    found = {}
    for number, stretch in enumerate(log.stretches):
        segment = stretch.segment
        snapshot = segment.companions.get(".snapshot")
        is_of_edge = stretch.to_last_byte if segment.is_tiered else stretch.first == segment.base_offset
        if snapshot is not None and is_of_edge:
            opened = parse_open_transactions(read_whole(log.storage_of(segment), snapshot))
            if opened is not None:
                found[number + segment.is_tiered] = opened
    return found


class _Walk:
    """Goes over batches in order."""

    def __init__(self) -> None:
        self.opened: dict[int, int] = {}
        self.aborted: list[Aborted] = []

    def over(self, log: PartitionLog, stretch: Stretch) -> None:
        for frame in log.frames_of(stretch):
            if frame.is_control:
                if frame.is_transactional:
                    self._end(log, stretch.segment, frame)
            elif frame.is_transactional:
                self.opened.setdefault(frame.producer_id, frame.base_offset)

    def _end(self, log: PartitionLog, segment: Segment, marker: Frame) -> None:
        first = self.opened.pop(marker.producer_id, None)
        if first is not None and not _is_commit(log, segment, marker):
            self.aborted.append(Aborted(marker.producer_id, first, marker.last_offset))


def _is_commit(log: PartitionLog, segment: Segment, marker: Frame) -> bool:
    with log.storage_of(segment).open(segment.path) as file:
        records, _ = scan_records(file.read_at(marker.position, marker.size))
    return any((record.key or b"")[2:4] == _COMMIT for record in records)
