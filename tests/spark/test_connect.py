"""Spark Connect: a server, and a client in a process of its own that reads, writes, decodes and streams through it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kwire.testing import Broker
from tests.brokers.ports import LOOPBACK, free_ports, is_open
from tests.brokers.processes import Child
from tests.brokers.spark_jars import spark_is
from tests.snippets import ROOT
from tests.spark.standalone import SPARK_HOME

_READY_WITHIN_S = 120.0
_PROGRAM = "tests.spark.connect_program"
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_VALUES = [f"{number}" for number in range(20)]
_TOPICS = ["copied", "at-least-once", "exactly-once", "by-batch"]

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not spark_is((4, 2)), reason="one Spark of the nightly run is enough"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server whose Python is this one."""
    pytest.importorskip("grpc")
    folder = tmp_path_factory.mktemp("connect")
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
    child = Child("connect", [*command, "spark-internal"], folder / "connect.log", folder)
    try:
        deadline = time.monotonic() + _READY_WITHIN_S
        while not is_open(port):
            assert child.exit_code is None, child.tail()
            assert time.monotonic() < deadline, child.tail()
            time.sleep(0.1)
        yield f"sc://{LOOPBACK}:{port}"
    finally:
        child.kill()


@pytest.fixture(scope="module")
def done(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], Broker]]:
    """What the client found, and the broker that it wrote to."""
    folder = tmp_path_factory.mktemp("client")
    with Broker(topics={"orders": 2, "json": 1, **dict.fromkeys(_TOPICS, 1)}) as broker:
        for number, value in enumerate(_VALUES):
            broker.append("orders", [value.encode()], partition=number % 2)
        broker.append("json", [b'{"id": 7, "note": "x"}', b'{"id": 8}'])
        ended = subprocess.run(
            [sys.executable, "-m", _PROGRAM, server, broker.bootstrap_servers, str(folder)],
            capture_output=True, text=True, check=False, cwd=ROOT, timeout=300,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr[-6000:]
        (line,) = [line for line in ended.stdout.splitlines() if line.startswith("FOUND")]
        yield json.loads(line.removeprefix("FOUND")), broker


@pytest.mark.parametrize("what", ["read", "record sets", "udtf"])
def test_rows_come_to_the_client(done: tuple[dict[str, Any], Broker], what: str) -> None:
    assert done[0][what] == sorted(_VALUES)


def test_values_are_decoded_and_views_are_made(done: tuple[dict[str, Any], Broker]) -> None:
    assert done[0]["decoded"] == [[7, "x"], [8, None]]
    assert done[0]["view"] == len(_VALUES)


@pytest.mark.parametrize("topic", _TOPICS)
def test_batches_and_streams_are_written(done: tuple[dict[str, Any], Broker], topic: str) -> None:
    values = done[1].values(topic, committed=True)
    assert sorted((value or b"").decode() for value in values) == sorted(_VALUES)
