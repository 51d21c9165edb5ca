"""Every connection dies within a second or two, in the middle of whatever it carries: nothing is lost or doubled.

A producer and a consumer reach a real broker only through a proxy that cuts each connection after 0.5 to 1.5 seconds.
"""

import time
from collections.abc import Callable

import pytest

import kwire
from tests.brokers import Cluster
from tests.brokers.mortal_proxy import MortalProxy
from tests.brokers.ports import LOOPBACK, free_ports
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

_DEATHS = 12


@pytest.mark.kafka
@pytest.mark.timeout(300)
@pytest.mark.parametrize("release", ["4.4.0", pytest.param("3.9.2", marks=pytest.mark.kafka_all)])
def test_connections_that_die_lose_and_double_nothing(release: str, new_topic: Callable[[], str]) -> None:
    topic, [port] = new_topic(), free_ports(1)
    settings = {"num.partitions": str(PARTITIONS), "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}"}
    with Cluster(release, overrides=settings) as cluster:
        target = int(cluster.bootstrap_servers.rpartition(":")[2])
        with MortalProxy(port, target, life=(0.5, 1.5), seed=1) as proxy:
            with kwire.Producer(f"{LOOPBACK}:{port}") as producer:
                for partition in range(PARTITIONS):
                    assert producer.send(topic, b"-1", partition=partition).result(60).offset == 0
            writer, follower = Writer(f"{LOOPBACK}:{port}", topic, 0), Follower(f"{LOOPBACK}:{port}", topic)
            writer.start()
            follower.start()
            give_up = time.monotonic() + READ_WITHIN_S
            while proxy.deaths < _DEATHS and writer.is_alive():
                assert time.monotonic() < give_up, f"only {proxy.deaths} connections died"
                time.sleep(0.05)
            expected = check_order(writer, follower)
            ends = [len(numbers) for numbers in expected]
            assert read_by_kwire(cluster, topic, ends) == expected
        with MortalProxy(port, target, life=(600, 600), seed=2):
            assert read_by_confluent(cluster, topic, sum(ends)) == expected
