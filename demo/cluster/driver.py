"""The driver of the streaming job: `spark-submit` in a folder that has the shipped environment, and in no other Python.

Each start is a process group of its own, so that a kill takes the JVM, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from examples.spark.spark_log import keep, reason
from tests.spark.standalone import OF_PYTHON, SPARK_HOME

from demo.cluster import environment, job

_QUICK_JVM: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CONF: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "700m",
    "spark.driver.extraJavaOptions": _QUICK_JVM,
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": _QUICK_JVM,
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.unix.domain.socket.enabled": "true",
}


class Driver:
    """A context manager: one start of the job, until it ends or is killed. `batches` are those it has told of."""

    def __init__(self, master: str, folder: Path, given: Mapping[str, Any]) -> None:
        settings = folder / "job.json"
        settings.touch(mode=0o600)
        settings.write_text(json.dumps(given), encoding="utf-8")
        shipped = ["--archives", f"{environment.NAME}.tar.gz#{environment.NAME}"]
        conf = [word for name, value in _CONF.items() for word in ("--conf", f"{name}={value}")]
        submit = str(SPARK_HOME / "bin" / "spark-submit")
        self._command = [submit, "--master", master, *shipped, *conf, str(Path(job.__file__)), str(settings)]
        self._folder = folder
        self.batches: list[dict[str, Any]] = []
        self.about: dict[str, Any] = {}

    def __enter__(self) -> Self:
        given = {"PYSPARK_PYTHON": f"./{environment.NAME}/bin/python", "SPARK_HOME": str(SPARK_HOME)}
        given["SPARK_LOCAL_DIRS"] = str(self._folder)  # what a killed driver leaves goes with the folder
        own = {name: value for name, value in os.environ.items() if name not in OF_PYTHON}
        self._log = (self._folder / "driver.log").open("ab")
        self._begins_at = self._log.tell()
        self._child = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=self._folder,
            env={**own, **given},
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._log.close()

    @property
    def has_ended(self) -> bool:
        return self._child.poll() is not None

    @property
    def exit_code(self) -> int | None:
        return self._child.poll()

    def kill(self) -> None:
        """SIGKILL to all of it; harmless when it has ended."""
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._child.wait()
        self._listener.join()

    def why(self) -> str:
        """Why this start ended, in a line."""
        return reason(self.log())

    def log(self) -> str:
        """What this start has written to standard error."""
        path = self._folder / "driver.log"
        return path.read_bytes()[self._begins_at :].decode(errors="replace")

    def kept_log(self) -> Path:
        """A copy of the log of all starts that outlives the demonstration."""
        return keep(self._folder / "driver.log")

    def _listen(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as lines:
            for line in lines:
                if line.startswith('{"batch"'):
                    self.batches.append(json.loads(line))
                elif line.startswith('{"spark"'):
                    self.about = json.loads(line)
