"""Topics copied from one real Kafka to another from the shell, as confluent-kafka sees them."""

from __future__ import annotations

from collections.abc import Callable

import confluent_kafka
import pytest

from kwire import Producer
from tests.brokers import Cluster
from tests.cli.conftest import Kwire, kwire
from tests.timing import PATIENT

__all__ = ["kwire"]

Seen = list[tuple[object, ...]]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("release", ["2.8.2", "0.10.2.2"])
def test_a_topic_moves_to_a_new_cluster_in_two_runs(
    kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str], kwire: Kwire, release: str
) -> None:
    old, new, topic = kafka_cluster(release).bootstrap_servers, kafka_cluster("4.4.0").bootstrap_servers, new_topic()
    headers = [] if release == "0.10.2.2" else [("n", b"1")]
    command = ("copy", "--from", f"kafka://{old}/{topic}", "--to", f"{new}/{topic}")
    assert kwire("topics", "create", f"{topic}:2", "-b", old).code == 0
    for first in (0, 50):
        with Producer(old) as producer:
            for number in range(first, first + 50):
                name = b"%d" % number
                producer.send(topic, name, key=name, partition=number % 2, timestamp=number + 1, headers=headers)
        run = kwire(*command)
        assert (run.code, run.err.startswith(f"50 records to {topic}, ")) == (0, True), run.err
    assert seen_in(new, topic) == [[(b"%d" % n, b"%d" % n, n + 1, headers) for n in range(p, 100, 2)] for p in (0, 1)]


def seen_in(servers: str, topic: str) -> list[Seen]:
    found: list[Seen] = [[], []]
    reader = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "none", "enable.auto.commit": False})
    reader.assign([confluent_kafka.TopicPartition(topic, partition, 0) for partition in (0, 1)])
    while sum(map(len, found)) < 100:
        record = reader.poll(PATIENT)
        assert record is not None
        assert record.error() is None
        row = (record.key(), record.value(), record.timestamp()[1], record.headers() or [])
        found[record.partition()].append(row)
    reader.close()
    return found
