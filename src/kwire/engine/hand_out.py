"""The records that a consumer's last poll handed out: delivered once the caller has them.

Layer 3, no I/O. A poll hands records out; the call that follows knows whether they arrived. They did if the poll came
to its end (`arrived`), or, in a loop, as far as the iterator went (`iterator`); the rest is handed out again.
The front sets these two without a call between the last look and the assignment, so no exception comes in between.
"""

from __future__ import annotations

from kwire._codec import ConsumedIterator
from kwire.engine.partition_state import PartitionState


class HandOut:
    """Used with the core to itself, but for `arrived` and `iterator`, which the front sets."""

    __slots__ = ("arrived", "iterator", "states")

    def __init__(self) -> None:
        self.states: list[PartitionState] = []
        self.arrived = False
        self.iterator: ConsumedIterator | None = None

    def add(self, state: PartitionState) -> None:
        """Notes that the first chunk of the partition was handed out, in part or whole."""
        self.states.append(state)

    def settle(self) -> bool:
        """Settles what was handed out: True if some of it did not arrive and waits again."""
        again = False
        if self.iterator is not None:
            again = self._keep_rest(self.iterator.end())
            self.iterator = None
        for state in self.states:
            if self.arrived:
                state.set_delivered()
            else:
                state.take_back()
                again = True
        self.states = []
        self.arrived = False
        return again

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
