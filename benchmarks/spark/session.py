"""The session that all contenders share: Spark on two local cores, with Spark's own Kafka connector beside kwire.

`Context` says where the broker is and counts what a piece of work costs: CPU of the JVM with its Python workers, CPU of
the broker, and time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.brokers.processes import Child
from tests.brokers.spark_jars import resolve_spark_jars

from benchmarks.compare.processes import ROOT
from benchmarks.spark.process_tree import ProcessTree

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Cost:
    """What a piece of work took; `rows` is what a cost per row divides by."""

    rows: int
    cpu_s: float
    wall_s: float
    broker_cpu_s: float


@dataclass(frozen=True)
class Context:
    """The session, the broker, and the processes whose CPU is counted. `quick` shortens what runs for a given time."""

    spark: SparkSession
    servers: str
    broker: ProcessTree
    data_folder: Path
    jvm: ProcessTree
    quick: bool

    def cost_of(self, work: Callable[[], int]) -> Cost:
        """Runs `work`, which returns its number of rows."""
        cpu, broker_cpu, began = self.jvm.cpu_seconds(), self.broker.cpu_seconds(), time.perf_counter()
        with self.jvm.watched():
            rows = work()
            wall = time.perf_counter() - began
        return Cost(rows, self.jvm.cpu_seconds() - cpu, wall, self.broker.cpu_seconds() - broker_cpu)

    def read(self, source: str, topic: str, **options: str) -> DataFrame:
        """The topic by `format(source)`, from its first record to its last."""
        reader = self.spark.read.format(source).options(**options).option("subscribe", topic)
        return reader.option("kafka.bootstrap.servers", self.servers).load()


@contextmanager
def running_session(servers: str, broker: Child, data_folder: Path, java: str, *, quick: bool) -> Iterator[Context]:
    """Spark beside a broker of one node, whose partitions have their folders in `data_folder`; stopped at the end."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    source = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, source))
    from pyspark.sql import SparkSession

    from benchmarks.spark.ready_batches import ReadyBatches

    session = (
        SparkSession.builder.master("local[2]")
        .appName("kwire-benchmarks")
        .config("spark.jars", ",".join(map(str, resolve_spark_jars())))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.extraJavaOptions", java)
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    session.dataSource.register(ReadyBatches)
    try:
        jvm = ProcessTree(session.sparkContext._gateway.proc.pid)
        yield Context(session, servers, ProcessTree(broker.pid), data_folder, jvm, quick)
    finally:
        session.stop()
