"""Tables of real Kafka's topics, written and read by confluent-kafka on the other side."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import confluent_kafka
import pyarrow as pa
import pytest

import kwire
from kwire import Admin
from tests.brokers import Cluster
from tests.timing import PATIENT


@pytest.mark.timeout(300)
@pytest.mark.parametrize("release", ["4.4.0", "0.10.2.2"])
def test_tables_are_what_another_client_wrote_and_reads(
    kafka_cluster: Callable[[str], Cluster], new_topic: Callable[[], str], release: str
) -> None:
    servers, topic = kafka_cluster(release).bootstrap_servers, new_topic()
    with Admin(servers) as admin:
        admin.create_topics({topic: 2})
    codec = "zstd" if release == "4.4.0" else "lz4"
    writer = confluent_kafka.Producer({"bootstrap.servers": servers, "compression.type": codec})
    for number in range(20_000):
        writer.produce(topic, b"%d" % number, b"k", partition=number % 2, timestamp=1000 + number)
    assert writer.flush(PATIENT) == 0
    at = datetime.fromtimestamp(11, UTC)
    table = kwire.read(topic, servers, start=at, value="text", key="text")
    assert sorted(map(int, table["value"].to_pylist())) == list(range(10_000, 20_000))
    assert set(table["key"].to_pylist()) == {"k"}
    more = pa.table({"value": ["a", None], "partition": [0, 1]})
    assert kwire.write(more, topic, servers, compression=codec) == 2
    reader = confluent_kafka.Consumer({"bootstrap.servers": servers, "group.id": "none", "enable.auto.commit": False})
    reader.assign([confluent_kafka.TopicPartition(topic, number, 10_000) for number in (0, 1)])
    found = {}
    while len(found) < 2:
        record = reader.poll(PATIENT)
        assert record is not None
        assert record.error() is None
        found[record.partition()] = record.value()
    reader.close()
    assert found == {0: b"a", 1: None}
