"""Another thread's step at the very places where it may come in: where an allocation runs the cyclic collector.

Up to Python 3.11 any allocation of an object that the collector tracks may run it, and with it finalizers and
`gc.callbacks`: Python, which may also let other threads run. Later ones collect between byte codes only.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NEVER = 1_000_000
SOON_S = 1e-5
LONG_ENOUGH_S = 1e-4
MORE_THAN_ARE_FREED = 50
ALLOCATIONS = range(1, 40)


@contextmanager
def at_allocations(step: Callable[[], object]) -> Iterator[None]:
    """Runs `step` wherever the block makes a tracked object; raises at the end what it did, the first time only.

    A collection comes where more objects were made than freed since the last one: some are kept for that.
    """
    faults: list[BaseException] = []
    kept: list[set[int]] = []
    used: list[dict[str, int]] = []

    def collecting(moment: str, info: dict[str, int]) -> None:
        if moment == "start":
            kept.clear()
            if not faults:
                try:
                    step()
                except BaseException as fault:
                    faults.append(fault)
        else:
            kept.extend({0} for _ in range(MORE_THAN_ARE_FREED))
        used.append(info)  # once free, it would be the next dict, made without a collection

    thresholds = gc.get_threshold()
    gc.freeze()
    gc.collect()  # empties the lists of free dicts, lists and tuples too, from which one is made without a collection
    gc.callbacks.append(collecting)
    try:
        collecting("stop", {})
        gc.set_threshold(1, NEVER, NEVER)
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(collecting)
        gc.unfreeze()
    if faults:
        raise faults[0]


@contextmanager
def at_allocation(number: int, step: Callable[[], object]) -> Iterator[None]:
    """Runs `step` once, where the block makes its first, second, ... tracked object; raises at the end what it did."""
    made = 0

    def count() -> None:
        nonlocal made
        made += 1
        if made == number:
            step()

    with at_allocations(count):
        yield


@contextmanager
def threads_that_switch_at_allocations(threshold: int) -> Iterator[None]:
    """Lets other threads run wherever `threshold` more tracked objects were made than freed, and between byte codes."""

    chance = random.Random(threshold)

    def collecting(_: str, __: dict[str, int]) -> None:
        if chance.random() < 0.3:
            time.sleep(chance.choice((0, 0, LONG_ENOUGH_S)))

    thresholds = gc.get_threshold()
    interval = sys.getswitchinterval()
    gc.freeze()
    gc.callbacks.append(collecting)
    try:
        sys.setswitchinterval(SOON_S)
        gc.set_threshold(threshold, 100, 100)
        yield
    finally:
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)
        gc.callbacks.remove(collecting)
        gc.unfreeze()
