"""Keeps Python's garbage collection short in Spark's workers.

After each task PySpark collects garbage, and that walks through all objects of all imported modules: some 20 ms of CPU,
more than a short task needs for its rows. They are there as long as the worker, so it may pass them over.
"""

from __future__ import annotations

import gc
from functools import cache


@cache
def settle_heap() -> None:
    """Takes what is there now out of all later collections; once in a process, when the modules have been imported."""
    gc.collect()
    gc.freeze()
