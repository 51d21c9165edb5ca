"""Rows are committed exactly once, whatever dies: by random schedules, without a JVM, embedded and on real Kafka."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kwire import Admin
from kwire.spark.exactly_once import commit as exactly_once_commit
from kwire.spark.exactly_once import task as exactly_once_task
from tests.brokers import Cluster
from tests.spark.exactly_once.query_world import EmbeddedQueryWorld, QueryWorld
from tests.thorough import SOAK, THOROUGH, seeds

SEEDS = seeds(400 if SOAK else 15 if THOROUGH else 5)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """For brokers that are dead, and for decisions of drivers that are."""
    monkeypatch.setattr(exactly_once_commit, "_LIST_WITHIN_S", 0.5)
    monkeypatch.setattr(exactly_once_task, "_LOOK_WITHIN_S", 0.5)


@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_row_is_committed_once(release: str, seed: int) -> None:
    world = EmbeddedQueryWorld(seed, release=release, nodes=1 if seed % 5 else 3)
    try:
        world.play()
        world.check()
    finally:
        world.stop()


@pytest.mark.parametrize("release", ["3.9.2", "4.4.0"])
@pytest.mark.parametrize("seed", seeds(25 if SOAK else 2))
def test_each_row_is_committed_once_on_real_kafka(
    kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str], release: str, seed: int
) -> None:
    servers, topic = kafka_cluster(release).bootstrap_servers, new_topic()
    with Admin(servers) as admin:
        admin.create_topics({topic: 3})
    world = QueryWorld(seed, servers, topic=topic)
    try:
        world.play()
        world.check()
    finally:
        world.stop()
