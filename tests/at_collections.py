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
def at_allocation(number: int, step: Callable[[], object]) -> Iterator[None]:
    """Runs `step` where the block makes a tracked object, the first, second, ... of all; raises at the end what it did.

    A collection comes where more objects were made than freed since the last one: some are kept for that.
    """
    faults: list[BaseException] = []
    kept: list[object] = []
    collections = -1

    def collecting(moment: str, info: dict[str, int]) -> None:
        nonlocal collections
        kept.append(info)  # once free, it would be the next dict, made without a collection
        if moment == "stop":
            kept.append([{0} for _ in range(MORE_THAN_ARE_FREED)])
            return
        collections += 1
        if collections == number:
            gc.set_threshold(NEVER)
            try:
                step()
            except BaseException as fault:
                faults.append(fault)

    thresholds = gc.get_threshold()
    gc.freeze()
    gc.callbacks.append(collecting)
    gc.collect()  # empties the lists of free dicts, lists and tuples too, from which one is made without a collection
    try:
        gc.set_threshold(1, NEVER, NEVER)
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(collecting)
        gc.unfreeze()
    if faults:
        raise faults[0]


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
