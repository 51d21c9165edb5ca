"""Spark Connect: a server, and a client in a process of its own that reads, writes, decodes and streams through it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kwire.testing import Broker
from tests.brokers.spark_jars import spark_is
from tests.snippets import ROOT
from tests.spark.connect_server import connect_server

_PROGRAM = "tests.spark.connect_program"
_VALUES = [f"{number}" for number in range(20)]
_TOPICS = ["copied", "at-least-once", "exactly-once", "by-batch"]

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not spark_is((4, 2)), reason="one Spark of the nightly run is enough"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of one."""
    pytest.importorskip("grpc")
    with connect_server(tmp_path_factory.mktemp("connect")) as url:
        yield url


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
