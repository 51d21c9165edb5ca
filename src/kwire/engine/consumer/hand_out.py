"""The records that a consumer's last poll handed out: delivered once the caller has them.

Layer 3, no I/O. A poll hands records out; the call that follows knows whether they arrived. They did if the poll came
to its end (`arrived`), or, in a loop, as far as the iterator went (`iterator`); the rest is handed out again.
The front sets these two without a call between the last look and the assignment, so no exception comes in between.

Delivered records are finished when the caller polls again, or, in a loop, goes on to the next record. A call in between
delivers and does not finish: until the next poll the partitions say from where on they are `unfinished`.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.engine.consumer.partition_state import PartitionState

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class RecordIterator(Protocol):
    """What a loop over records goes by."""

    def end(self) -> int:
        """Ends the iteration; returns how many records it returned."""


class HandOut:
    """Used with the core to itself, but for `arrived` and `iterator`, which the front sets."""

    __slots__ = ("_again", "_unfinished", "arrived", "iterator", "states")

    def __init__(self) -> None:
        self.states: list[PartitionState] = []
        self._unfinished: list[PartitionState] = []
        self._again = False
        self.arrived = False
        self.iterator: RecordIterator | None = None

    def add(self, state: PartitionState) -> None:
        """Notes that the first chunk of the partition was handed out, in part or whole."""
        self.states.append(state)

    def limit(self, count: int) -> None:
        """Of the records handed out the caller gets the first `count` only."""
        self._again |= self._keep_rest(count)

    def settle(self, *, finished: bool) -> bool:
        """Settles what was handed out: True if some of it did not arrive and waits again. By a poll it is `finished`,
        by any other call perhaps not."""
        if not (self.states or self._unfinished or self._again or self.iterator is not None):
            self.arrived = False
            return False
        again, self._again = self._again, False
        if self.iterator is not None:
            given = self.iterator.end()
            again |= self._keep_rest(given)
            if not finished:
                self._hold_last(given)
            self.iterator = None
        elif not finished and self.arrived:
            self._hold_all()
        if finished and self._unfinished:
            self._finish()
        for state in self.states:
            if self.arrived:
                state.set_delivered()
            else:
                state.take_back()
                again = True
        self.states = []
        self.arrived = False
        return again

    def _hold_all(self) -> None:
        """The caller has what a poll returned, and may be processing any of it."""
        for state in self.states:
            self._hold(state, state.delivered)

    def _hold_last(self, given: int) -> None:
        """The caller is processing the last record that the iterator returned."""
        for state in self.states:
            if state.chunks:
                chunk = state.chunks[0]
                count = chunk.handed_out - chunk.delivered
                if 0 < given <= count:
                    index = chunk.delivered + given - 1
                    epoch = chunk.epoch_of(index - 1) if index else state.delivered[1]
                    self._hold(state, (chunk.records[index].offset, epoch))
                given -= count

    def _hold(self, state: PartitionState, begin: tuple[int, int]) -> None:
        if state.unfinished is None:
            state.unfinished = begin
            self._unfinished.append(state)

    def _finish(self) -> None:
        for state in self._unfinished:
            state.unfinished = None
        self._unfinished = []

    def _keep_rest(self, arrived: int) -> bool:
        """Of the records handed out only the first `arrived` reached the caller; whether any did not."""
        kept = False
        for state in self.states:
            if not state.chunks:
                continue
            chunk = state.chunks[0]
            count = min(arrived, chunk.handed_out - chunk.delivered)
            arrived -= count
            if chunk.delivered + count < chunk.handed_out:
                kept = True
                chunk.handed_out = chunk.delivered + count
        return kept
