"""A leader dies while kwire produces: with three nodes every record arrives.

Where the release has idempotence, each arrives once and in order.
"""

import time
from collections import defaultdict
from collections.abc import Callable

import pytest

import kwire
from tests.brokers import Cluster
from tests.brokers.peers.peer import WITHIN_S

_PARTITIONS = 3
_COUNT = 900


@pytest.mark.kafka
@pytest.mark.kafka_all
@pytest.mark.timeout(180)
@pytest.mark.parametrize("release", ["4.4.0", "2.8.2", "0.9.0.1"])
def test_records_survive_the_death_of_a_leader(release: str, new_topic: Callable[[], str]) -> None:
    topic = new_topic()
    with Cluster(release, nodes=3, overrides={"num.partitions": str(_PARTITIONS)}) as cluster:
        with kwire.Producer(cluster.bootstrap_servers) as producer:
            for partition in range(_PARTITIONS):
                producer.send(topic, b"0", partition=partition).result(timeout=WITHIN_S)
            leader = _leader(cluster, topic)
            for number in range(1, _COUNT):
                if number == _COUNT // 3:
                    cluster.kill_node(leader)
                producer.send(topic, str(number).encode(), partition=number % _PARTITIONS)
                time.sleep(0.002)
            producer.flush(timeout=2 * WITHIN_S)
        found = _read(cluster, topic, _COUNT + _PARTITIONS - 1)
        assert _leader(cluster, topic) != leader
    for partition in range(_PARTITIONS):
        sent = [0, *(n for n in range(1, _COUNT) if n % _PARTITIONS == partition)]
        if cluster.release.number >= (0, 11):
            assert found[partition] == sent
        else:
            assert set(found[partition]) == set(sent)


def _leader(cluster: Cluster, topic: str) -> int:
    with kwire.Admin(cluster.bootstrap_servers) as admin:
        return admin.describe_topics([topic])[topic].partitions[0].leader


def _read(cluster: Cluster, topic: str, count: int) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    deadline = time.monotonic() + WITHIN_S
    with kwire.Consumer(cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, partition) for partition in range(_PARTITIONS)])
        while sum(map(len, found.values())) < count and time.monotonic() < deadline:
            for record in consumer.poll(timeout=1.0):
                found[record.partition].append(int(record.value or b""))
    return found
