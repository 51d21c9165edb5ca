"""Collections after each task pass over what the worker has imported."""

from __future__ import annotations

import pickle
import subprocess
import sys

from kwire.spark.data_source import KwireDataSource

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

UNPICKLED = """
import gc, pickle, sys
import pyspark.worker

assert "kwire.spark.data_source" not in sys.modules
pickle.loads(bytes.fromhex(sys.argv[1]))
frozen = gc.get_freeze_count()
assert frozen > 1000, "what PySpark has imported"
kept = [[] for _ in range(1000)]
pickle.loads(bytes.fromhex(sys.argv[1]))
assert gc.get_freeze_count() == frozen, "only once in a process"
assert len(gc.get_objects()) > 1000, "what has come since is collected"
"""


def test_heap_is_settled_once() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_what_pyspark_has_imported_is_passed_over_while_kwire_is_imported() -> None:
    shipped = pickle.dumps(KwireDataSource({}))
    subprocess.run([sys.executable, "-c", UNPICKLED, shipped.hex()], check=True)
