"""Leaders are killed again and again while kwire writes and reads: nothing is lost, doubled or out of order.

Three nodes, replication factor 3, min.insync.replicas 2, a producer with default settings. While the records are sent,
a consumer follows the log; at the end kwire and confluent-kafka read it whole.
"""

import time
from collections.abc import Callable

import pytest

import kwire
from tests.brokers import Cluster
from tests.brokers.traffic import (
    PARTITIONS,
    READ_WITHIN_S,
    Follower,
    Writer,
    check_order,
    read_by_confluent,
    read_by_kwire,
)

pytestmark = pytest.mark.wall_clock


def _leader(cluster: Cluster, topic: str, partition: int) -> int:
    with kwire.Admin(cluster.bootstrap_servers) as admin:
        return admin.describe_topics([topic])[topic].partitions[partition].leader


def _wait_for_another_leader(cluster: Cluster, topic: str, partition: int, gone: int) -> None:
    deadline = time.monotonic() + READ_WITHIN_S
    while _leader(cluster, topic, partition) in (gone, -1):
        assert time.monotonic() < deadline, f"partition {partition} got no leader after the death of node {gone}"
        time.sleep(0.05)


def _wait_for_replicas(cluster: Cluster, topic: str) -> None:
    deadline = time.monotonic() + READ_WITHIN_S
    while True:
        with kwire.Admin(cluster.bootstrap_servers) as admin:
            rows = admin.describe_topics([topic])[topic].partitions
        if all(len(row.isr) == 3 for row in rows.values()):
            return
        assert time.monotonic() < deadline, f"not all replicas came back into sync: {rows}"
        time.sleep(0.05)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("release", "kills", "count"),
    [
        pytest.param("4.4.0", 2, 60_000, id="4.4.0", marks=pytest.mark.kafka),
        pytest.param("4.4.0", 8, 200_000, id="4.4.0-long", marks=[pytest.mark.kafka, pytest.mark.kafka_all]),
        pytest.param("3.9.2", 8, 200_000, id="3.9.2-long", marks=[pytest.mark.kafka, pytest.mark.kafka_all]),
    ],
)
def test_leaders_die_and_every_record_arrives_once_in_order(
    release: str, kills: int, count: int, new_topic: Callable[[], str]
) -> None:
    topic = new_topic()
    settings = {"num.partitions": str(PARTITIONS), "min.insync.replicas": "2"}
    with Cluster(release, nodes=3, overrides=settings) as cluster:
        with kwire.Producer(cluster.bootstrap_servers) as producer:
            for partition in range(PARTITIONS):
                assert producer.send(topic, b"-1", partition=partition).result(30).offset == 0
        writer, follower = Writer(cluster.bootstrap_servers, topic, count), Follower(cluster.bootstrap_servers, topic)
        writer.start()
        follower.start()
        for kill in range(kills):
            partition = kill % PARTITIONS
            _wait_for_replicas(cluster, topic)
            leader = _leader(cluster, topic, partition)
            cluster.kill_node(leader)
            _wait_for_another_leader(cluster, topic, partition, leader)
            cluster.start_node(leader)
        expected = check_order(writer, follower)
        ends = [len(numbers) for numbers in expected]
        assert read_by_kwire(cluster, topic, ends) == expected
        assert read_by_confluent(cluster, topic, sum(ends)) == expected
