"""A standalone Spark: a master and two workers, which take each other for other hosts. Spark starts no speculative task
where all executors are on one.

All of it is on loopback: the workers have the addresses 127.0.0.2 and 127.0.0.3, and a core each. Neither they nor
their executors know of this process' Python: they import what is shipped to them.
"""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyspark

from tests.brokers.ports import LOOPBACK, free_ports, is_open
from tests.brokers.processes import Child

SPARK_HOME: Final = Path(pyspark.__file__).parent
WORKERS: Final = ("127.0.0.2", "127.0.0.3")
OF_PYTHON: Final = ("PYTHONPATH", "VIRTUAL_ENV", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
"""The variables by which a program would find this process' Python and what it imports."""

_READY_WITHIN_S: Final = 60.0
_DAEMON: Final = "pyspark.daemon"


class Standalone:
    """A context manager: a master and its workers, each a process that ends with this one; `url` is the master's. When
    it is left, executors have ended, too.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port, *self._web_ports = free_ports(2 + len(WORKERS))
        self._children: list[Child] = []
        self.url = f"spark://{LOOPBACK}:{self._port}"

    def __enter__(self) -> Self:
        try:
            self._start_all()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def executors(self) -> list[int]:
        """The process ids of the executors, on whichever worker."""
        return [pid for pid in self._descendants() if "CoarseGrainedExecutorBackend" in command_of(pid)]

    def python_workers(self) -> list[int]:
        """The process ids of the Python workers: what the daemons of the executors have forked."""
        daemons = {pid for pid in self._descendants() if _DAEMON in command_of(pid)}
        return [pid for pid in daemons if parent_of(pid) in daemons]

    def executor_logs(self) -> Iterator[tuple[str, Path]]:
        """What executors have written to standard error, with the worker that each ran on."""
        for host in WORKERS:
            for log in sorted((self._folder / host).glob("*/*/stderr")):
                yield host, log

    def _descendants(self) -> list[int]:
        children = defaultdict(list)
        for pid in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
            children[parent_of(pid)].append(pid)
        found: list[int] = []
        waiting = [child.pid for child in self._children]
        while waiting:
            own = children[waiting.pop()]
            found += own
            waiting += own
        return found

    def _start_all(self) -> None:
        own = ["--host", LOOPBACK, "--port", str(self._port), "--webui-port", str(self._web_ports[0])]
        master = self._start("master", "org.apache.spark.deploy.master.Master", own)
        deadline = time.monotonic() + _READY_WITHIN_S
        while not is_open(self._port):
            assert master.exit_code is None, master.tail()
            assert time.monotonic() < deadline, master.tail()
            time.sleep(0.1)
        for host, web_port in zip(WORKERS, self._web_ports[1:], strict=True):
            own = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", str(web_port)]
            own += ["--work-dir", str(self._folder / host), self.url]
            self._start(host, "org.apache.spark.deploy.worker.Worker", own)

    def _start(self, name: str, main: str, arguments: list[str]) -> Child:
        unset = [option for variable in OF_PYTHON for option in ("-u", variable)]
        environment = [f"SPARK_HOME={SPARK_HOME}", "SPARK_DAEMON_MEMORY=256m", f"SPARK_LOCAL_DIRS={self._folder}"]
        command = ["/usr/bin/env", *unset, *environment]
        command += ["bash", str(SPARK_HOME / "bin" / "spark-class"), main, *arguments]
        child = Child(name, command, self._folder / f"{name}.log", self._folder)
        self._children.append(child)
        return child

    def _stop(self) -> None:
        """Executors outlive the kill of their worker by seconds, unless they are killed, too."""
        of_workers = self._descendants()
        for child in self._children:
            child.kill()
        for pid in of_workers:
            kill(pid)
        self._children.clear()


def command_of(pid: int) -> str:
    """The command line of a process; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def parent_of(pid: int) -> int | None:
    """The process id of its parent; None when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def kill(pid: int) -> None:
    """SIGKILL, to a process that may have ended already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
