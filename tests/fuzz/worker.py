"""The Python half of the engine: which functions it calls for a target. Runs in the engine's process only."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable

import fuzz_engine  # built into the engine

if is_compiled := os.environ["KWIRE_FUZZ_TARGET"].startswith("compiled/"):  # before any of kwire is imported
    import fuzz_compiled  # stands for both extensions, so that plans are of its own classes

    sys.modules["kwire._codec"] = sys.modules["kwire._values"] = fuzz_compiled

from tests.fuzz.lines import count_lines

if traced := os.environ.get("KWIRE_FUZZ_TRACED"):  # before any of kwire is imported
    fuzz_engine.add_line_pairs()
    count_lines(f"kwire/{traced}", fuzz_engine.count_line)

from tests.fuzz.targets import target_of

if is_compiled:
    from tests.fuzz.compiled import compiled_function


def functions_of(name: str) -> tuple[object, Callable[[bytes, int, int], bytes] | None]:
    """What feeds the target FAMILY/NAME, a capsule if it is compiled; and what mutates its inputs."""
    target = target_of(name)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python does where it is a program
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    fuzz_engine.set_budget(*target.budget)
    gc.freeze()
    if is_compiled:
        return compiled_function(target), None
    for seed in target.seeds():
        target.run(seed)  # what is made once, such as plans, counts neither as time nor as memory of an input
    gc.freeze()
    if target.mutate is None:
        return target.check, None
    mutate = target.mutate
    return target.check, lambda data, most, seed: mutate(data, most, seed, fuzz_engine.mutate)
