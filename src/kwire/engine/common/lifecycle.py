"""Lifecycles: the states of a part of a client, and the only way from one to the next.

Layer 3, no I/O. Each lifecycle has a table of its states, MOVES, which `move` obeys, and `checked`, for an assignment
of more than the state. Only they and the constructor say what `state` becomes; `tests/engine/common/test_lifecycle.py`
holds the engine to that. `make docs` prints the tables into docs/lifecycles.md and into the heads of files.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire._typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import ClassVar


class State(NamedTuple):
    """A row of the table: what the state means, and the states that may follow it, each with what leads there."""

    meaning: str
    moves: Mapping[str, str]


Moves = Mapping[str, State]
"""state -> its row. The first is where a lifecycle begins, unless its constructor says otherwise."""


class ImpossibleMoveError(RuntimeError):
    """A lifecycle was to go from one state to another that its table does not let follow: a defect of kwire."""


class Lifecycle:
    """Has a `state`, which changes along MOVES only."""

    __slots__ = ()

    MOVES: ClassVar[Moves]
    state: str

    def move(self, to: str) -> None:
        """Goes into that state; ImpossibleMoveError where the table has no such move."""
        self.state = self.checked(to)  # type: ignore[misc]  # a slot of the subclass, or in its __dict__

    def checked(self, to: str) -> str:
        """`to`, where the table lets it follow: for an assignment that has to change more at the same instant, since a
        step may be cut between any two."""
        if to not in self.MOVES[self.state].moves:
            raise ImpossibleMoveError(f"{type(self).__name__}: {self.state} -> {to}")
        return to
