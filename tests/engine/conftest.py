"""Every test of the engine notes the moves of its lifecycles."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kwire.engine.common.lifecycle import Lifecycle
from tests.engine.moves import MadeMoves


@pytest.fixture(scope="module", autouse=True)
def moves(request: pytest.FixtureRequest) -> Iterator[MadeMoves]:
    """The moves that the tests of this module have made so far."""
    noted = MadeMoves(request.module)

    checked = Lifecycle.checked

    def note(lifecycle: Lifecycle, to: str) -> str:
        checked(lifecycle, to)
        noted.note(lifecycle, to)
        return to

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lifecycle, "checked", note)
        yield noted


@pytest.fixture(autouse=True)
def _note_test(request: pytest.FixtureRequest, moves: MadeMoves) -> None:
    moves.ran.add(request.function.__name__)
