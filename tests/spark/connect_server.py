"""A server of Spark Connect, whose Python is the one that runs this."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.brokers.ports import LOOPBACK, free_ports, is_open
from tests.brokers.processes import Child
from tests.snippets import ROOT
from tests.spark.standalone import SPARK_HOME

SCHEME: Final = "sc://"
LOG: Final = "connect.log"
"""Its log, in its folder."""
_READY_WITHIN_S = 120.0
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """Its URL; it is killed when the block is left."""
    (port,) = free_ports(1)
    conf = {
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": _JAVA,
        "spark.sql.shuffle.partitions": "2",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    python = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "SPARK_HOME": str(SPARK_HOME)}
    command = ["/usr/bin/env", *(f"{name}={value}" for name, value in python.items())]
    command += ["bash", str(SPARK_HOME / "bin" / "spark-submit"), "--master", "local[2]", "--class", _SERVER]
    command += [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    child = Child("connect", [*command, "spark-internal"], folder / LOG, folder)
    try:
        deadline = time.monotonic() + _READY_WITHIN_S
        while not is_open(port):
            assert child.exit_code is None, child.tail()
            assert time.monotonic() < deadline, child.tail()
            time.sleep(0.1)
        yield f"{SCHEME}{LOOPBACK}:{port}"
    finally:
        child.kill()
