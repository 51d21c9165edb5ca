"""Clients of Spark Connect and their server are killed while a query writes to real Kafka: each row is there once.

The server goes on with the query of a client that is gone, until another client starts it again from its checkpoint.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kwire import Admin, Producer
from tests.brokers import Cluster
from tests.brokers.spark_jars import LIMITS_BATCHES, spark_is
from tests.spark.connect_server import LOG, connect_server
from tests.spark.exactly_once.driver_lives import MAX_LIFE_S, Life, life, read, until

pytestmark = [
    pytest.mark.wall_clock,
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not spark_is(LIMITS_BATCHES), reason="streams have batches of limited size from Spark 4.2 on"),
]

ROWS = [b"%d" % number for number in range(3200)]
_LAST_LIFE_S = 600.0


def wait_for_its_batch(client: Life, log: Path) -> None:
    """Until the client's own run of the query has written a batch."""
    before = runs(log)
    until(lambda: client.is_over or runs(log) > before, MAX_LIFE_S)
    assert not client.is_over, client.wait()
    assert runs(log) > before


def runs(log: Path) -> set[str]:
    """Those that the server has reported a batch of."""
    return set(re.findall('"runId" : "(.+)"', log.read_text()))


def test_clients_and_their_server_are_killed(
    tmp_path: Path, kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str]
) -> None:
    pytest.importorskip("grpc")
    servers = kafka_cluster("4.4.0").bootstrap_servers
    source, target, checkpoint = new_topic(), new_topic(), tmp_path / "checkpoint"
    with Admin(servers) as admin, Producer(servers) as producer:
        admin.create_topics({source: 2, target: 3})
        for number, row in enumerate(ROWS):
            producer.send(source, row, partition=number % 2)
    given = (servers, source, target, checkpoint)
    with connect_server(tmp_path) as url:
        for _ in range(2):
            with life(*given, url) as client:
                wait_for_its_batch(client, tmp_path / LOG)
    with connect_server(tmp_path) as url, life(*given, url) as client:
        told = client.wait(_LAST_LIFE_S)
    assert "the query has ended" in told, told[-3000:]
    assert read(servers, target, len(ROWS)) == Counter(ROWS)
