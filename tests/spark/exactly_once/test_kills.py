"""Drivers and Python workers of a real query are killed, and it is started again: each row is there once.

The embedded broker holds back an answer, so that the kill falls into the step that asked. On real Kafka chance decides.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest

from kwire import Admin, Producer
from kwire.testing import Broker
from tests.brokers import Cluster
from tests.spark.exactly_once.driver_lives import MAX_LIFE_S, Life, life, read, until
from tests.thorough import FIRST_SEED, SOAK, seeds

_SPARK = tuple(map(int, pyspark.__version__.split(".")[:2]))
pytestmark = [
    pytest.mark.wall_clock,
    pytest.mark.spark,
    pytest.mark.timeout(1800 if SOAK else 400),
    pytest.mark.skipif(_SPARK < (4, 2), reason="streams have batches of limited size from Spark 4.2 on"),
]

ROWS = [b"%d" % number for number in range(240)]
_HELD = ["Produce", "InitProducerId", "OffsetFetch", "TxnOffsetCommit", "EndTxn", "EndTxn", "EndTxn"]


def hold_and_kill(broker: Broker, running: Life, rng: random.Random) -> str:
    """Kills the driver when it waits for an answer that never comes."""
    api = rng.choice(_HELD)
    before = broker.request_count("TxnOffsetCommit")
    until(lambda: running.is_over or broker.request_count("TxnOffsetCommit") > before + rng.randrange(3), MAX_LIFE_S)
    time.sleep(rng.choice([0, 0, 0.1]))
    count, effect = broker.request_count(api), rng.random() < 0.6
    broker.faults.mute(api, after_effect=effect)
    until(lambda: running.is_over or broker.request_count(api) > count, 15.0)
    time.sleep(0.05)
    over = running.is_over
    running.kill()
    broker.faults.clear()
    return "it had ended" if over else f"killed in {api}, {'with' if effect else 'without'} effect"


@pytest.mark.parametrize("seed", seeds(4 if SOAK else 1))
def test_killed_drivers_on_the_embedded_broker(tmp_path: Path, seed: int) -> None:
    rng, happened = random.Random(seed), []
    with Broker(topics={"in": 2, "out": 3}) as broker:
        for number, row in enumerate(ROWS):
            broker.append("in", [row], partition=number % 2)
        given = (broker.bootstrap_servers, "in", "out", tmp_path / "checkpoint")
        for _ in range(8 if SOAK else 1):
            with life(*given) as running:
                happened.append(hold_and_kill(broker, running, rng))
        written = broker.request_count("Produce")
        with life(*given) as running:
            until(lambda: running.is_over or broker.request_count("Produce") > written + 3, MAX_LIFE_S)
            until(lambda: running.is_over or running.kill_a_worker(rng), 60.0)
            told = running.wait()
        assert "the query has ended" in told, (happened, told[-3000:])
        broker.clock.advance(1000)
        found = Counter(broker.values("out", committed=True))
    assert found == Counter(ROWS), happened


@pytest.mark.kafka
@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"] if SOAK else ["4.4.0"])
def test_killed_drivers_on_real_kafka(
    tmp_path: Path, kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str], release: str
) -> None:
    rng, servers = random.Random(FIRST_SEED), kafka_cluster(release).bootstrap_servers
    source, target = new_topic(), new_topic()
    with Admin(servers) as admin, Producer(servers) as producer:
        admin.create_topics({source: 2, target: 3})
        for number, row in enumerate(ROWS):
            producer.send(source, row, partition=number % 2)
    given = (servers, source, target, tmp_path / "checkpoint")
    for _ in range(10 if SOAK else 1):
        end = _ends(servers, target)
        with life(*given) as running:
            until(lambda end=end: running.is_over or _ends(servers, target) > end, MAX_LIFE_S)
            time.sleep(rng.uniform(0, 3))
    with life(*given) as running:
        told = running.wait()
    assert "the query has ended" in told, told[-3000:]
    assert read(servers, target, len(ROWS)) == Counter(ROWS)


def _ends(servers: str, topic: str) -> int:
    with Admin(servers) as admin:
        return sum(row.offset for row in admin.list_offsets({(topic, 0): "latest"}).values() if row is not None)
