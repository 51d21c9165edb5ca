"""Leaders are killed again and again while kwire writes and reads: nothing is lost, doubled or out of order.

Three nodes, replication factor 3, min.insync.replicas 2, a producer with default settings. While the records are sent,
a consumer follows the log; at the end kwire and confluent-kafka read it whole.
"""

from collections.abc import Callable

import pytest

import kwire
from tests.brokers import Cluster
from tests.brokers.leaders import leaders, wait_for_another_leader, wait_for_replicas
from tests.brokers.traffic import PARTITIONS, Follower, Writer, check_order, read_by_confluent, read_by_kwire

pytestmark = pytest.mark.wall_clock


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
            wait_for_replicas(cluster, [topic])
            leader = leaders(cluster, topic)[partition]
            cluster.kill_node(leader)
            wait_for_another_leader(cluster, topic, partition, leader)
            cluster.start_node(leader)
        expected = check_order(writer, follower)
        ends = [len(numbers) for numbers in expected]
        assert read_by_kwire(cluster, topic, ends) == expected
        assert read_by_confluent(cluster, topic, sum(ends)) == expected
