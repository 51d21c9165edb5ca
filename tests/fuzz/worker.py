"""The Python half of the engine: which functions it calls for a target. Runs in the engine's process only."""

from __future__ import annotations

import gc
import logging
import os
import signal
import warnings
from collections.abc import Callable

import fuzz_engine  # built into the engine

from tests.fuzz.lines import count_lines

if traced := os.environ.get("KWIRE_FUZZ_TRACED"):  # before any of kwire is imported
    fuzz_engine.add_line_pairs()
    count_lines(f"kwire/{traced}", fuzz_engine.count_line)

from tests.fuzz.targets import target_of


def functions_of(name: str) -> tuple[Callable[[bytes], None], Callable[[bytes, int, int], bytes] | None]:
    """What feeds the target FAMILY/NAME, and what mutates its inputs."""
    target = target_of(name)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as Python does where it is a program
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    fuzz_engine.set_budget(*target.budget)
    gc.freeze()
    for seed in target.seeds():
        target.run(seed)  # what is made once, such as plans, counts neither as time nor as memory of an input
    gc.freeze()
    if target.mutate is None:
        return target.check, None
    mutate = target.mutate
    return target.check, lambda data, most, seed: mutate(data, most, seed, fuzz_engine.mutate)
