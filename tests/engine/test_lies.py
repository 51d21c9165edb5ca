"""Numbers that cannot be, and lists that are empty or doubled, in each field of each answer that the engine reads.

While they are told nothing but KafkaErrors comes out and a client keeps its pace; told the truth again it works again.
Generated from the schema. `make test` tries one value for each field, another one for the next.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kwire import protocol
from tests.engine.lying_world import Liar, Program, rows_at
from tests.engine.test_haste import CASES, MOST_PER_SECOND, SECONDS, is_code
from tests.thorough import THOROUGH

BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
HEALS_WITHIN_S = 100.0
"""An interval, a throttle time and what contradicts later answers are believed for up to a minute."""


class Lie(NamedTuple):
    """Sets what the path leads to."""

    path: tuple[str, ...]
    value: Callable[[Any], Any]
    words: str

    def __call__(self, response: Any) -> None:
        for row in rows_at(response, self.path):
            setattr(row, self.path[-1], self.value(getattr(row, self.path[-1])))


def lies_in(struct: Any, before: tuple[str, ...] = ()) -> Iterator[list[Lie]]:
    """For each field of a message, what may be said there."""
    for field in struct.__fields__:
        path = (*before, field.name)
        words = ".".join(path)
        if field.kind in BITS and not is_code(field.name):
            least = -(2 ** (BITS[field.kind] - 1))
            values = (least, -1, 0, -least - 1)
            yield [Lie(path, lambda old, value=value: value, f"{words}={value}") for value in values]
        elif field.kind == "array":
            yield [Lie(path, lambda old: [], f"{words} empty"), Lie(path, _doubled, f"{words} doubled")]
        if field.struct is not None:
            yield from lies_in(field.struct, path)


def _doubled(old: Any) -> Any:
    return None if old is None else [*old, *old]


def chosen(key: int) -> list[Lie]:
    found = list(lies_in(protocol.APIS[key].response))
    if THOROUGH:
        return list(itertools.chain.from_iterable(found))
    return [lies[(number + key) % len(lies)] for number, lies in enumerate(found)]


@pytest.mark.parametrize(("program", "key"), CASES, ids=[f"{p.__name__}-{protocol.APIS[k].name}" for p, k in CASES])
def test_a_lie_ends_with_the_lying(program: type[Program], key: int, monkeypatch: pytest.MonkeyPatch) -> None:
    liar = Liar(monkeypatch)
    trouble = []
    for lie in chosen(key):
        liar.stop()
        work = program()
        work.world.run(work.world.now + 0.5)
        liar.tell(key, lie)
        liar.asked.clear()
        work.disconnect()
        work.world.run(work.world.now + SECONDS)
        trouble += [
            f"{lie.words}: {protocol.APIS[asked].name} {count / SECONDS:.0f}/s"
            for asked, count in liar.asked.items()
            if count > MOST_PER_SECOND * SECONDS
        ]
        liar.stop()
        if program.__name__ != "Idling" and not heals(work):
            trouble.append(f"{lie.words}: does not work again; {[str(error) for error in work.errors[-1:]]}")
    assert trouble == []


def heals(work: Program) -> bool:
    """Whether it works again by itself, or after an error that it was told."""
    for _ in range(2):
        before, until = work.done, work.world.now + HEALS_WITHIN_S
        work.world.at(until, lambda: None)
        work.world.run(lambda before=before, until=until: work.done > before + 3 or work.world.now >= until)
        if work.done > before + 3:
            return True
        if not work.errors:
            return False
        work.mend()
    return False
