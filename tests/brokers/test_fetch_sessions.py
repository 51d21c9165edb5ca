"""Many partitions that get few records each: idle ones rest in fetch sessions (KIP-227), and no record is lost."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable

import pytest

import kwire
from tests.brokers import Cluster
from tests.brokers.peers.peer import WITHIN_S

PARTITIONS = 60
COUNT = 150


@pytest.mark.timeout(180)
def test_every_record_of_many_partitions_comes_once(kafka: Cluster, new_topic: Callable[[], str]) -> None:
    if kafka.release.number < (0, 10, 1):
        pytest.skip("no CreateTopics")
    topic = new_topic()
    with kwire.Admin(kafka.bootstrap_servers) as admin:
        admin.create_topics({topic: PARTITIONS})
    check(kafka, topic, lambda number: None)


@pytest.mark.kafka
@pytest.mark.timeout(180)
@pytest.mark.parametrize("release", ["4.4.0"])
def test_a_session_outlives_the_death_of_its_broker(release: str, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    with Cluster(release, nodes=3) as cluster:
        with kwire.Admin(cluster.bootstrap_servers) as admin:
            admin.create_topics({topic: {"num_partitions": PARTITIONS, "replication_factor": 3}})

        def disturb(number: int) -> None:
            if number == COUNT // 3:
                cluster.kill_node(2)
            if number == 2 * COUNT // 3:
                cluster.start_node(2)

        check(cluster, topic, disturb)


def check(cluster: Cluster, topic: str, disturb: Callable[[int], None]) -> None:
    """Sends records one by one while they are read: each comes once, in order."""
    sent: dict[int, list[int]] = defaultdict(list)
    read: dict[int, list[int]] = defaultdict(list)
    with (
        kwire.Producer(cluster.bootstrap_servers, linger_ms=0) as producer,
        kwire.Consumer(cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([(topic, partition) for partition in range(PARTITIONS)])

        def take(timeout: float) -> None:
            for record in consumer.poll(timeout):
                read[record.partition].append(int(record.value or b""))

        for number in range(COUNT):
            disturb(number)
            partition = number * 7 % PARTITIONS
            producer.send(topic, b"%d" % number, partition=partition)
            sent[partition].append(number)
            take(0.02)
        producer.flush()
        deadline = time.monotonic() + WITHIN_S
        while sum(map(len, read.values())) < COUNT and time.monotonic() < deadline:
            take(1.0)
        take(0.5)
    assert read == sent
