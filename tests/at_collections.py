"""Another thread's step at the very places where it may come in: where an allocation runs the cyclic collector.

Up to Python 3.11 any allocation of an object that the collector tracks may run it, and with it finalizers and
`gc.callbacks`: Python, which may also let other threads run. Later ones collect between byte codes only.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NEVER = 1_000_000
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
