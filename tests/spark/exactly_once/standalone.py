"""A standalone Spark with two workers that take each other for other hosts: Spark starts no speculative task otherwise.

All of it is on loopback: the workers have the addresses 127.0.0.2 and 127.0.0.3, and a core each.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyspark

from tests.brokers.ports import LOOPBACK, free_ports, is_open
from tests.brokers.processes import Child

_HOME: Final = Path(pyspark.__file__).parent
_WORKERS: Final = ("127.0.0.2", "127.0.0.3")
_READY_WITHIN_S: Final = 60.0


class Standalone:
    """A context manager: a master and its workers, each a process that ends with this one; `url` is the master's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port, *self._web_ports = free_ports(2 + len(_WORKERS))
        self._children: list[Child] = []
        self.url = f"spark://{LOOPBACK}:{self._port}"

    def __enter__(self) -> Self:
        own = ["--host", LOOPBACK, "--port", str(self._port), "--webui-port", str(self._web_ports[0])]
        master = self._start("master", "org.apache.spark.deploy.master.Master", own)
        deadline = time.monotonic() + _READY_WITHIN_S
        while not is_open(self._port):
            assert master.exit_code is None, master.tail()
            assert time.monotonic() < deadline, master.tail()
            time.sleep(0.1)
        for host, web_port in zip(_WORKERS, self._web_ports[1:], strict=True):
            own = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", str(web_port)]
            own += ["--work-dir", str(self._folder / host), self.url]
            self._start(host, "org.apache.spark.deploy.worker.Worker", own)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.kill()

    def _start(self, name: str, main: str, arguments: list[str]) -> Child:
        environment = [f"SPARK_HOME={_HOME}", "SPARK_DAEMON_MEMORY=256m", f"SPARK_LOCAL_DIRS={self._folder}"]
        command = ["/usr/bin/env", *environment, "bash", str(_HOME / "bin" / "spark-class"), main, *arguments]
        child = Child(name, command, self._folder / f"{name}.log", self._folder)
        self._children.append(child)
        return child
