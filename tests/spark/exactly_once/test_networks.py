"""A real query whose way to real Kafka is slow, cut, or silent, one fault after another: each row is there once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kwire import Admin, Producer
from tests.brokers.spark_jars import LIMITS_BATCHES, spark_is
from tests.chaos.cluster import PLAIN, ChaosCluster
from tests.chaos.schedule import CUTS, NODES, Fault
from tests.spark.exactly_once.driver_lives import MAX_LIFE_S, Life, life, read, until
from tests.thorough import SOAK, seeds

pytestmark = [
    pytest.mark.wall_clock,
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.timeout(1800 if SOAK else 600),
    pytest.mark.skipif(not spark_is(LIMITS_BATCHES), reason="streams have batches of limited size from Spark 4.2 on"),
]

ROWS = [b"%d" % number for number in range(1600 if SOAK else 600)]
_FAULTS = 8 if SOAK else 3
"""In each life of the driver."""
_KILLED_LIVES = 3 if SOAK else 1
_MAX_LIVES = 6
_LAST_LIFE_S = 600.0


def disturb(cluster: ChaosCluster, rng: random.Random, running: Life, checkpoint: Path, *, kills: bool) -> list[Fault]:
    """Faults that begin and end while the query is at work; the driver may be killed during the last of them."""
    done: list[Fault] = []
    until(lambda: running.is_over or (checkpoint / "offsets" / "0").exists(), MAX_LIFE_S)
    while len(done) < _FAULTS and not running.is_over:
        fault = draw_cut(rng)
        done.append(fault)
        proxies = [proxy for node in ([fault.node] if fault.node else NODES) for proxy in cluster.proxies[node]]
        for proxy in proxies:
            proxy.begin(fault)
        until(lambda: running.is_over, fault.lasts)
        if kills and len(done) == _FAULTS:
            running.kill()
        for proxy in proxies:
            proxy.end(fault)
        until(lambda: running.is_over, rng.uniform(0, 3))
    return done


def draw_cut(rng: random.Random) -> Fault:
    """One of the network of one node, or of all."""
    kind = rng.choice(list(CUTS))
    return Fault(kind, 0.0, rng.uniform(0.5, 5), rng.choice((None, *NODES)), amount=rng.uniform(*CUTS[kind]))


@pytest.mark.parametrize("seed", seeds(1))
def test_faults_of_the_network_on_real_kafka(tmp_path: Path, new_topic: Callable[[], str], seed: int) -> None:
    rng, source, target, checkpoint = random.Random(seed), new_topic(), new_topic(), tmp_path / "checkpoint"
    happened: list[object] = []
    with ChaosCluster(seed) as cluster:
        with Admin(cluster.bootstrap_servers) as admin, Producer(cluster.bootstrap_servers) as producer:
            admin.create_topics({source: 2, target: 3})
            for number, row in enumerate(ROWS):
                producer.send(source, row, partition=number % 2)
        for number in range(_MAX_LIVES):
            with life(cluster.proxied(PLAIN), source, target, checkpoint) as running:
                happened += disturb(cluster, rng, running, checkpoint, kills=number < _KILLED_LIVES)
                told = running.wait(_LAST_LIFE_S)
            happened.append(told[-3000:])
            if "the query has ended" in told:
                break
        found = read(cluster.bootstrap_servers, target, len(ROWS))
    assert any(isinstance(each, Fault) for each in happened)
    assert found == Counter(ROWS), happened
