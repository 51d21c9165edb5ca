"""Java's own producer beside kwire's on the embedded broker: the same partitions for the same keys.

Through Apache's console producer; its reader makes null and empty keys, too.
"""

from __future__ import annotations

import pytest

from kwire import Producer, records
from kwire.testing import Broker
from tests.brokers import find_release
from tests.brokers.maven import resolve_tools
from tests.testing.peers.test_java_clients import PRODUCER, java
from tests.timing import PATIENT

pytestmark = pytest.mark.kafka

PARTITIONS = 12
KEYS = ["", *(f"customer-{number}" for number in range(200)), *("ä" * length for length in range(1, 20))]


def by_java(broker: Broker, keys: list[str], *settings: str) -> list[int]:
    """The partition of each record, whose value is its number."""
    jars = f"{resolve_tools(find_release('4.4.0'))}/*"
    reader = ("parse.key=true", "key.separator=|", "null.marker=NULL")
    options = [word for text in reader for word in ("--reader-property", text)]
    options += [word for text in settings for word in ("--command-property", text)]
    lines = "\n".join(f"{key}|{number}" for number, key in enumerate(keys))
    java(jars, PRODUCER, "--bootstrap-server", broker.bootstrap_servers, "--topic", "t", *options, stdin=lines)
    found = {}
    for partition in range(PARTITIONS):
        for value in records.decode(broker.record_set("t", partition=partition)).values():
            found[int(value or b"")] = partition
    return [found[number] for number in range(len(keys))]


@pytest.mark.parametrize("name", ["default", "murmur2_random"])
def test_keys_go_where_javas_default_puts_them(name: str) -> None:
    with Broker(topics={"t": PARTITIONS}) as broker:
        theirs = by_java(broker, KEYS)
    with Broker(topics={"t": PARTITIONS}) as broker, Producer(broker.bootstrap_servers, partitioner=name) as producer:
        deliveries = [producer.send("t", b"v", key=key.encode()) for key in KEYS]
        assert [delivery.result(PATIENT).partition for delivery in deliveries] == theirs


def test_javas_round_robin_takes_every_partition_as_often_whatever_the_key() -> None:
    partitioner = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
    with Broker(topics={"t": PARTITIONS}) as broker:
        theirs = by_java(broker, ["same"] * 240, f"partitioner.class={partitioner}")
    with Broker(topics={"t": PARTITIONS}) as broker:
        with Producer.from_config({"partitioner.class": partitioner}, broker.bootstrap_servers) as producer:
            deliveries = [producer.send("t", b"v", key=b"same") for _ in range(240)]
            ours = [delivery.result(PATIENT).partition for delivery in deliveries]
    assert {ours.count(partition) for partition in range(PARTITIONS)} == {20}
    assert {theirs.count(partition) for partition in range(PARTITIONS)} == {20}


def test_without_a_look_at_keys_records_of_one_key_are_spread() -> None:
    with Broker(topics={"t": PARTITIONS}) as broker:
        theirs = by_java(broker, ["same"] * 5000, "partitioner.ignore.keys=true", "linger.ms=0", "batch.size=1000")
        assert len(set(theirs)) > 1
    with Broker(topics={"t": PARTITIONS}) as broker:
        settings = {"partitioner.ignore.keys": "true", "batch.size": 1000}
        with Producer.from_config(settings, broker.bootstrap_servers) as producer:
            deliveries = [producer.send("t", b"v" * 50, key=b"same") for _ in range(5000)]
            assert {delivery.result(PATIENT).partition for delivery in deliveries} == set(range(PARTITIONS))
