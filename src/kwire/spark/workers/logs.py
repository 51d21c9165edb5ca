"""Where kwire's log goes in the Python processes of Spark, on the driver and on executors: to standard error, by the
option `logLevel`.

PySpark configures no logging in them, and Python's own default shows warnings only. Where somebody has configured it,
or Spark collects it (`spark.sql.pyspark.worker.logging.enabled`), only the level is set.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

LEVELS: Final = ("debug", "info", "warning", "error")

_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_TIME: Final = "%y/%m/%d %H:%M:%S"  # as Spark's own lines have it


def tell_from(level: str | None) -> None:
    """Has kwire's loggers tell what is at least so grave; leaves them as they are without a level."""
    if level is None:
        return
    logger = logging.getLogger("kwire")
    logger.setLevel(level.upper())
    if not logger.hasHandlers():
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter(_FORMAT, _TIME))
        logger.addHandler(handler)


def task_name() -> str:
    """Which of Spark's tasks this is, as Spark's own log names it: `Task 3.0 in stage 5 (TID 17)`."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return "This process"
    task = f"{context.partitionId()}.{context.attemptNumber()}"
    return f"Task {task} in stage {context.stageId()} (TID {context.taskAttemptId()})"
