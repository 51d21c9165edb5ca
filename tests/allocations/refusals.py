"""Runs work again and again, each time with one allocation more before the one that fails, until none does.

What is refused memory says so (MemoryError, or kwire's LimitError "out of memory"), or does without and comes to the
right result. It keeps nothing: neither blocks of the pool nor references, and the next call works. Runs in a process of
its own, which `failing_malloc.c` was loaded into; malloc serves Python's objects, too, there (PYTHONMALLOC=malloc).
Works are compiled code, called by little Python: the interpreter itself does not get over each failure.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kwire._codec import pool_statistics
from kwire.errors import DeliveryError, LimitError

_library = ctypes.PyDLL(None)
_refuse = _library.kw_refuse
_refuse.argtypes, _refuse.restype = [ctypes.c_long], None
_stop = _library.kw_stop
_stop.restype = ctypes.c_long
_live = _library.kw_live
_live.restype = ctypes.c_long
_SPARED = (b"cramjam", b"arrow", b"libstdc++", b"isal")
_TRIES = 3
_NOISE = 2
"""Pieces of memory that Python may keep of one try: a free list that grows, a cache."""


class Work(NamedTuple):
    """What is tried, what its result must be checked by, and the objects to which no reference may stay behind."""

    attempt: Callable[[], Any]
    check: Callable[[Any], None]
    holds: tuple[Any, ...] = ()


def refuse_each(make: Callable[[], Work], step: int = 1) -> int:
    """Tries the work with each allocation refused, or each `step`-th; returns how many allocations it makes."""
    work = make()
    unraisable: list[str] = []
    sys.unraisablehook = lambda args: unraisable.append(f"{args.exc_value!r} in {args.object!r}")
    work.check(work.attempt())
    work.check(work.attempt())
    spare_foreign_libraries()
    gc.freeze()
    gc.disable()
    n = 1
    while _try(work, n, unraisable):
        n += step
    gc.enable()
    return n


def _try(work: Work, n: int, unraisable: list[str]) -> bool:
    """Whether the work makes as many as `n` allocations."""
    left_behind: list[int] = []
    for _ in range(_TRIES):
        gc.collect()
        before = _held(work)
        live = _live()
        came, told = _attempt(work, n)
        gc.collect()
        after = _held(work)
        assert not unraisable, f"allocation {n}: {unraisable}"
        assert after == before, f"allocation {n} ({told!r}): held {before} before, {after} afterwards"
        left_behind.append(_live() - live)
        work.check(work.attempt())
    assert min(left_behind[1:]) <= _NOISE, f"allocation {n} ({told!r}): leaves {left_behind} pieces of memory behind"
    return came


def _attempt(work: Work, n: int) -> tuple[bool, str]:
    results: list[Any] = []
    came, error = refused(n, lambda: results.append(work.attempt()))
    if error is None:
        work.check(results[0])
    return came, error or "no error"


def refused(n: int, work: Callable[[], object]) -> tuple[bool, str | None]:
    """Does the work with its n-th allocation refused; whether it came to that, and the error that told of it."""
    told = None
    try:
        _refuse(n)
        work()
    except (MemoryError, LimitError, DeliveryError) as error:
        told = repr(error)
        causes = error.exceptions if isinstance(error, DeliveryError) else (error,)
        if not all(map(is_out_of_memory, causes)):
            raise AssertionError(f"allocation {n}: {error!r}") from error
    except BaseException as error:
        _stopped()
        raise AssertionError(f"allocation {n}: {error!r}") from error
    return _stopped(), told


def is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or (isinstance(error, LimitError) and "out of memory" in str(error))


def spare_foreign_libraries() -> None:
    """Spares the libraries that the work has loaded by now and that end the process when they get no memory."""
    for library in _SPARED:
        _library.kw_spare(library)


def _stopped() -> bool:
    """Whether the allocation came that was to fail."""
    while True:
        try:
            return bool(_stop() == 0)
        except MemoryError:
            return True


def _held(work: Work) -> tuple[Any, ...]:
    statistics = pool_statistics()
    return statistics["live_blocks"], statistics["live_bytes"], *map(sys.getrefcount, work.holds)


def run(works: dict[str, Callable[[], Work]], names: Iterator[str], step: int) -> None:
    """Prints each name with the number of allocations; stops at the first that goes wrong."""
    for name in names:
        print(name, end=" ", flush=True)
        print(refuse_each(works[name], step), flush=True)
