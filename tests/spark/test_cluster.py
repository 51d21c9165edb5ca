"""The demonstration on a Spark cluster, undisturbed and while drivers, executors, Python workers and brokers are
killed: each order is billed once, as confluent-kafka reads it, and executors tell what they have read.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from demo.cluster.story import KINDS, Outcome, Place, cluster, undisturbed, with_kills

from tests.brokers.spark_jars import LIMITS_BATCHES, spark_is
from tests.spark.standalone import WORKERS
from tests.thorough import FIRST_SEED, SOAK

KILLS = 30 if SOAK else 10
_ORDERS = 20_000

pytestmark = [
    pytest.mark.wall_clock,
    pytest.mark.nightly,
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.skipif(not spark_is(LIMITS_BATCHES), reason="streams have batches of limited size from Spark 4.2 on"),
]


def check(outcome: Outcome) -> None:
    assert (outcome.missing[:10], outcome.doubled[:10]) == ([], []), outcome.kills
    assert outcome.is_right, "bills of orders that nobody wrote"


@pytest.mark.timeout(600)
def test_a_job_with_a_shipped_environment_bills_each_order_once(tmp_path: Path) -> None:
    with cluster(tmp_path, print) as place:
        outcome = undisturbed(place, _ORDERS, print)
    check(outcome)
    assert {read.host for read in outcome.reads} == set(WORKERS)
    assert sum(read.rows for read in outcome.reads) == _ORDERS
    assert all(read.end - read.start == read.rows for read in outcome.reads)


@pytest.mark.timeout(3000)
def test_each_order_is_billed_once_whatever_is_killed(tmp_path: Path) -> None:
    with cluster(tmp_path, print) as place:
        outcome = with_kills(place, KILLS, FIRST_SEED, print)
        leftover = survivors(place)
    check(outcome)
    assert len(outcome.kills) == KILLS
    assert {kill.partition(" (")[0] for kill in outcome.kills} == set(KINDS)
    assert [pid for pid in leftover if Path(f"/proc/{pid}").exists()] == []


def survivors(place: Place) -> list[int]:
    """Who runs now and has to be gone when the cluster is left."""
    return [*place.spark.executors(), *(place.kafka.broker(node).pid for node in place.kafka.node_ids)]
