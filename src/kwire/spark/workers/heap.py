"""Keeps Python's garbage collection short in Spark's workers, and in the processes that make and plan a source.

A collection walks through all objects of all imported modules: some 20 ms of CPU for those of PySpark and pyarrow, more
than a short task needs for its rows. PySpark has one made after each task, each `load()` and each plan, and Python
makes some while kwire is being imported. The modules are there as long as the process, so collections may pass them
over.
"""

from __future__ import annotations

import gc
from functools import cache


@cache
def spare_imports() -> None:
    """Takes what is there now out of all later collections; once in a process, before kwire is imported."""
    gc.freeze()


@cache
def settle_heap() -> None:
    """Takes what is there now out of all later collections; once in a process, when the modules have been imported."""
    gc.collect()
    gc.freeze()
