"""The process that runs `demo.spark_job`: started, listened to, and ended in time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from examples.spark.spark_log import keep, reason

import kwire


class SparkProcess:
    """A context manager; whatever happens, the process has ended when it is left."""

    def __init__(self, arguments: Sequence[str], within_s: float) -> None:
        source = Path(kwire.__file__).parent.parent
        path = os.pathsep.join(filter(None, [str(source), str(Path.cwd()), os.environ.get("PYTHONPATH", "")]))
        self._environment = {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}
        self._command = [sys.executable, "-m", "demo.spark_job", *arguments]
        self._within_s = within_s

    def __enter__(self) -> Self:
        self._log = tempfile.NamedTemporaryFile("w+", prefix="spark-", suffix=".log")
        self._child = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=self._log, text=True, env=self._environment
        )
        self._limit = threading.Timer(self._within_s, self._child.kill)
        self._limit.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limit.cancel()
        if kind is not None:
            self._child.kill()
        with self._child, self._log:
            self._child.wait()

    def next_message(self) -> dict[str, Any]:
        """What the job says next; RuntimeError with the reason and the place of its log when it ended instead."""
        assert self._child.stdout is not None
        for line in self._child.stdout:
            if line.startswith("{"):
                message: dict[str, Any] = json.loads(line)
                return message
        code = self._child.wait()
        log = Path(self._log.name)
        raise RuntimeError(
            f"the Spark job ended early, with code {code}: {reason(log.read_text(errors='replace'))}\n"
            f"  its log: {keep(log)}"
        )
