"""The moves that lifecycles make while a module of tests runs, and whether they are all that their tables have."""

from __future__ import annotations

from collections import defaultdict
from types import ModuleType

import pytest

from kwire.engine.common.lifecycle import Lifecycle, Moves

Move = tuple[str, str]
"""From a state to a state."""


class MadeMoves:
    """The moves by the class that made them; `ran` has the tests of the module that have run."""

    def __init__(self, module: ModuleType) -> None:
        self.made: dict[type[Lifecycle], set[Move]] = defaultdict(set)
        self.ran: set[str] = set()
        self._module = module

    def note(self, lifecycle: Lifecycle, to: str) -> None:
        self.made[type(lifecycle)].add((lifecycle.state, to))

    def are_all_of(self, lifecycle: type[Lifecycle]) -> bool:
        """Whether each move of the table was made by the tests of this module, all of which have to have run."""
        tests = {name for name in vars(self._module) if name.startswith("test_")}
        if tests - self.ran:
            pytest.skip("asks what all tests of the module have done")
        made = self.made[lifecycle]
        assert made == moves_of(lifecycle.MOVES), f"never made: {sorted(moves_of(lifecycle.MOVES) - made)}"
        return True


def moves_of(table: Moves) -> set[Move]:
    return {(state, to) for state, row in table.items() for to in row.moves}
