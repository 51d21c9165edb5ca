"""What a target is, and the list of them: each family's file adds its own by `@target`.

A target is a function of bytes. It returns when kwire took the input or refused it with an error that the target
documents (`errors_of`), and raises whatever else happens: a foreign exception, or an AssertionError of its own, such as
for a round trip that does not come round. The engine adds a limit of CPU time and one of memory.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from kwire import _codec

FAMILIES: Final = (
    "records", "messages", "values", "arrow", "logs", "captures", "logins", "texts", "objects", "clients",
    "driven", "broker", "classes", "refused", "endpoints", "asked", "inputs", "jobs",
    "compiled",
)  # fmt: skip
Mutate = Callable[[bytes, int, int, Callable[[bytes, int], bytes]], bytes]


@dataclass(frozen=True)
class Target:
    """`run` feeds it. `seeds` are whole inputs to begin with, `words` what bytes alone would not find.

    mutate(data, most, seed, plain)  another input than libFuzzer's own mutation `plain(data, most)` would make
    traced      a folder or file of kwire's Python whose lines count as coverage, beside the compiled code
    budget      bytes of memory that an input may take, and for each of its bytes
    share       how much of the time it gets, beside the others
    """

    name: str
    family: str
    run: Callable[[bytes], None]
    what: str
    seeds: Callable[[], Iterable[bytes]]
    mutate: Mutate | None
    words: tuple[bytes, ...]
    traced: str | None
    budget: tuple[int, int]
    max_len: int
    share: float

    @property
    def is_compiled(self) -> bool:
        """Whether the engine calls a function in C for it; `run` is the same with the ordinary extensions."""
        return self.family == "compiled"

    @property
    def path(self) -> str:
        return f"{self.family}/{self.name}"

    def check(self, data: bytes) -> None:
        """Feeds it, and sees that nothing is held afterwards that was not held before."""
        before = _held()
        self.run(data)
        if _held() > before and _collected() > before and _after(self.run, data) > before:
            # What is made once and kept has been made now; what a thread will let go of is not kept by each call.
            once, twice, thrice = (_after(self.run, data) for _ in range(3))
            assert not once < twice < thrice, f"{thrice - twice} blocks of memory or drivers are left by each call"


_DRIVERS: Final = (("kwire.drivers.loop", "_drivers"), ("kwire.drivers.reactor", "_reactors"))


def _held() -> int:
    """How many blocks of memory there are, and drivers of clients."""
    drivers = sum(len(getattr(sys.modules.get(module), name, ())) for module, name in _DRIVERS)
    return _codec.pool_statistics()["live_blocks"] + drivers


def _collected() -> int:
    gc.collect()
    return _held()


def _after(run: Callable[[bytes], None], data: bytes) -> int:
    run(data)
    return _collected()


_TARGETS: dict[str, Target] = {}


def target(
    *,
    seeds: Callable[[], Iterable[bytes]] = lambda: (),
    mutate: Mutate | None = None,
    words: Iterable[bytes] = (),
    traced: str | None = None,
    budget: tuple[int, int] = (4 << 20, 4 << 10),
    max_len: int = 1024,
    share: float = 1.0,
) -> Callable[[Callable[[bytes], None]], Callable[[bytes], None]]:
    """Adds the function to the list, under its name."""

    def added(run: Callable[[bytes], None]) -> Callable[[bytes], None]:
        what = (run.__doc__ or "").split("\n")[0]
        family = run.__module__.rpartition(".")[2]
        name = run.__name__.replace("_", "-")
        add(Target(name, family, run, what, seeds, mutate, tuple(words), traced, budget, max_len, share))
        return run

    return added


def add(made: Target) -> None:
    assert _TARGETS.setdefault(made.name, made) is made, f"{made.name} is there twice"


def all_targets() -> dict[str, Target]:
    """Every target by its name, in the order of the families."""
    for family in FAMILIES:
        importlib.import_module(f"tests.fuzz.{family}")
    return dict(_TARGETS)


def targets_of(family: ModuleType) -> list[Target]:
    """The targets of a family that is imported already."""
    name = family.__name__.rpartition(".")[2]
    return [each for each in _TARGETS.values() if each.family == name]


def target_of(path: str) -> Target:
    """The target FAMILY/NAME, for which no other family is imported."""
    family, _, name = path.partition("/")
    importlib.import_module(f"tests.fuzz.{family}")
    return _TARGETS[name]
