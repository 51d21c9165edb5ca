"""An answer that makes a client ask again, at once and for ever: it keeps a pace, whatever is asked and answered.

Generated: each program that works on a cluster, each request that it makes, each error code.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest

from kwire import protocol
from tests.engine.lying_world import (
    Change,
    Idling,
    Liar,
    Member,
    NewMember,
    OldTransacting,
    Producing,
    Program,
    Reading,
    Sharing,
    Transacting,
    rows_at,
)
from tests.thorough import THOROUGH

SECONDS = 3.0
MOST_PER_SECOND = 45
"""Of requests of one kind, in the mean over SECONDS: a program polls, sends and commits 20 times a second."""

PROGRAMS: dict[type[Program], tuple[int, ...]] = {
    Producing: (0, 3, 22),
    Transacting: (0, 3, 10, 22, 26, 28),
    OldTransacting: (0, 24, 25, 26, 28),
    Reading: (1, 2, 3),
    Idling: (1, 2, 3),
    Member: (1, 2, 3, 8, 9, 10, 11, 12, 14),
    NewMember: (1, 2, 3, 8, 9, 10, 68),
    Sharing: (3, 10, 76, 78),
}
SOME_CODES = [-1, 1, 3, 6, 15, 16, 22, 25, 27, 51, 70, 74, 79, 110, 999]
CODES = [code for code in range(-1, 140) if code] if THOROUGH else SOME_CODES
CASES = [(program, key) for program, keys in PROGRAMS.items() for key in keys]


def paths_to_codes(struct: Any, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Where a message has error codes."""
    found = [(*before, field.name) for field in struct.__fields__ if is_code(field.name)]
    for field in struct.__fields__:
        if field.struct is not None:
            found += paths_to_codes(field.struct, (*before, field.name))
    return found


def is_code(name: str) -> bool:
    """Whether a field of that name is an error code."""
    return name.endswith("error_code")


@pytest.mark.parametrize(("program", "key"), CASES, ids=[f"{p.__name__}-{protocol.APIS[k].name}" for p, k in CASES])
def test_an_error_that_comes_at_once_and_for_ever_is_not_asked_for_without_a_pause(
    program: type[Program], key: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    liar = Liar(monkeypatch)
    hasty = {}
    for path, code in itertools.product(paths_to_codes(protocol.APIS[key].response), CODES):

        def refuse(response: Any, path: tuple[str, ...] = path, code: int = code) -> None:
            for row in rows_at(response, path):
                setattr(row, path[-1], code)

        for healthy in (0.0, 1.0):
            asked = work_against(liar, program, key, refuse, healthy)
            for api_key, count in asked.items():
                if count > MOST_PER_SECOND * SECONDS:
                    rate = f"{protocol.APIS[api_key].name} {count / SECONDS:.0f}/s"
                    hasty[(".".join(path), code, "later" if healthy else "at first")] = rate
    assert hasty == {}
    assert liar.told


def work_against(liar: Liar, program: type[Program], key: int, change: Change, healthy: float) -> Counter[int]:
    """The requests of SECONDS in which such answers are changed, after so many seconds in which they are not."""
    liar.stop()
    if not healthy:
        liar.tell(key, change)
    liar.asked.clear()
    work = program()
    if healthy:
        work.world.run(work.world.now + healthy)
        liar.tell(key, change)
        liar.asked.clear()
        work.disconnect()
    work.world.run(work.world.now + SECONDS)
    return liar.asked
