"""Collections after each task pass over what the worker has imported."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
import kwire.spark.workers.heap as heap

heap.settle_heap()
frozen = gc.get_freeze_count()
assert frozen > 1000
kept = [[] for _ in range(1000)]
heap.settle_heap()
assert gc.get_freeze_count() <= frozen, "only once in a process"
assert len(gc.get_objects()) < frozen + 2000
"""


def test_heap_is_settled_once() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
