"""The sources under their names in one session, for programs that start several queries, name their own Python, or run
on a cluster: Spark tells no source how many tasks run at once there, and here the session does.

A source that Spark has found by itself has one map of environment variables for all queries of the JVM, and each
streaming query that starts writes to it without a lock (PythonStreamingSourceRunner.init). Two at once can leave
it with a count that is wrong for good: every later query ends in `Task not serializable`. Registered here, the source
has a map that threads may share. Stands on names of PySpark that are not public; with Spark Connect, where the map
belongs to the server, on public ones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kwire.spark.data_source import KwireDataSource
from kwire.spark.log_source import KwireLogDataSource
from kwire.spark.ranges.tasks import SLOTS_VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

_log: Final = logging.getLogger("kwire.spark")
_SOURCES: Final = (KwireDataSource, KwireLogDataSource)
_JAVA_SOURCE: Final = "org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource"


def register(spark: SparkSession) -> None:
    """Registers `format("kwire")` and `format("kwire-log")` in this session. Call it once, before the first `load()`.

    After that any number of queries may start at the same time. Tasks run in the Python of `PYSPARK_PYTHON`, where a
    source that Spark finds by itself takes `PYSPARK_DRIVER_PYTHON` if that is set. Without the option `slots` a read
    counts on those that the session has, or is to have by its settings. With Spark Connect each call makes a map of its
    own, which queries still share without a lock: there call it before the `load()` of each query, and give `slots`.
    Spark 4.0 keeps what it has found by itself, and this logs a warning: start one query after the other there, and
    give `slots`.
    """
    from pyspark.errors import AnalysisException

    for source in _SOURCES:
        try:
            _register(spark, source)
        except AnalysisException as refusal:
            if refusal.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
                raise
            _log.warning(
                "Spark %s keeps the %r that it has found by itself: start one query after the other, and give the "
                "option slots",
                spark.version,
                source.name(),
            )


def _register(spark: SparkSession, source: type[DataSource]) -> None:
    if hasattr(spark, "_jsparkSession"):
        _register_in_jvm(spark, source)
    else:
        spark.dataSource.register(source)


def _register_in_jvm(spark: SparkSession, source: type[DataSource]) -> None:
    """As PySpark's `dataSource.register` does it, but for the map."""
    made = getattr(spark._jvm, _JAVA_SOURCE)(_with_shared_environment(spark, source))
    spark._jsparkSession.dataSource().registerPython(source.name(), made)


def _with_shared_environment(spark: SparkSession, source: type[DataSource]) -> Any:
    from pyspark.sql.udf import _wrap_function

    jvm: Any = spark._jvm
    function = _wrap_function(spark.sparkContext, source)
    environment = jvm.java.util.concurrent.ConcurrentHashMap(function.envVars())
    settings = spark.sparkContext.getConf()
    environment.put(SLOTS_VARIABLE, str(slots_of(spark.sparkContext.defaultParallelism, settings.get)))
    return jvm.SimplePythonFunction(
        function.command(),
        environment,
        function.pythonIncludes(),
        function.pythonExec(),
        function.pythonVer(),
        function.broadcastVars(),
        function.accumulator(),
    )


def slots_of(parallelism: int, setting: Callable[[str, str], str | None]) -> int:
    """How many tasks run at once in a session: `parallelism` when all executors are there, which may come later."""

    def number(name: str, default: str = "0") -> int:
        text = setting(name, default) or default
        return int(text) if text.isdecimal() else 0

    executors = number("spark.executor.instances")
    if setting("spark.dynamicAllocation.enabled", "false") == "true":
        executors = max(executors, number("spark.dynamicAllocation.maxExecutors"))
    cores = max(executors * number("spark.executor.cores"), number("spark.cores.max"))
    return max(parallelism, cores // max(number("spark.task.cpus", "1"), 1))
