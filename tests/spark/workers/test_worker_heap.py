"""Collections after each task, `load()` and plan pass over what the process has imported."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

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

ASKED = """
import gc
import pyspark.worker
from pathlib import Path
from tempfile import TemporaryDirectory

from kwire.spark.batch_reader import KwireReader
from kwire.spark.data_source import KwireDataSource
from kwire.spark.log_source import KwireLogDataSource, KwireLogReader
from kwire.spark.options.log import parse_log_options
from kwire.spark.options.read import parse_batch_options
from kwire.testing import Broker


def make() -> None:
    KwireDataSource({"kafka.bootstrap.servers": "b:9092", "subscribe": "t"}).schema()


def make_log() -> None:
    KwireLogDataSource({"path": "t-0"}).schema()


def plan() -> None:
    with Broker(topics={"t": 1}) as broker:
        servers = broker.bootstrap_servers
        KwireReader(parse_batch_options({"kafka.bootstrap.servers": servers, "subscribe": "t"})).partitions()


def plan_log() -> None:
    with TemporaryDirectory() as folder:
        Path(folder, "t-0").mkdir()
        Path(folder, "t-0", "00000000000000000000.log").touch()
        KwireLogReader(parse_log_options({"path": folder + "/t-0"})).partitions()
"""
COLLECTED = """
frozen = gc.get_freeze_count()
assert frozen > 10000, "what PySpark has imported"
gc.collect()
assert len(gc.get_objects()) < frozen / 10
"""


def test_heap_is_settled_once() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_what_pyspark_has_imported_is_passed_over_while_kwire_is_imported() -> None:
    shipped = pickle.dumps(KwireDataSource({}))
    subprocess.run([sys.executable, "-c", UNPICKLED, shipped.hex()], check=True)


@pytest.mark.parametrize("question", ["make", "make_log", "plan", "plan_log"])
def test_what_is_there_when_spark_has_its_answer_is_passed_over(question: str) -> None:
    subprocess.run([sys.executable, "-c", f"{ASKED}\n{question}()\n{COLLECTED}"], check=True)
