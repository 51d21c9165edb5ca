"""Consumer with default settings on real Apache Kafka: positions, times, transactions, limits, a broker that pauses."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from kwire import Admin, Consumer, Producer, TopicPartition, errors
from tests.brokers import Cluster
from tests.brokers.peers import Confluent

TopicNames = Callable[[], str]
ClusterOf = Callable[[str], Cluster]


def write(cluster: Cluster, topic: str, values: list[bytes], **more: object) -> None:
    with Producer(cluster.bootstrap_servers, **more) as producer:
        for value in values:
            producer.send(topic, value, partition=0)
        producer.flush(20)


def read(consumer: Consumer, count: int, seconds: float = 20.0) -> list[bytes | None]:
    found: list[bytes | None] = []
    give_up = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < give_up:
        found += consumer.poll(timeout=1.0).values()
    return found


def test_positions_and_ends(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    t0 = TopicPartition(topic, 0)
    values = [b"%d" % number for number in range(1000)]
    write(kafka, topic, values)
    with Consumer(kafka.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([t0])
        assert read(consumer, 1000) == values
        assert consumer.position(t0) == 1000
        assert consumer.beginning_offsets([t0]) == {t0: 0}
        assert consumer.end_offsets([t0]) == {t0: 1000}
        consumer.seek(t0, 990)
        assert read(consumer, 10) == values[990:]
        consumer.seek_to_beginning()
        assert consumer.poll(timeout=10, max_records=3).values() == values[:3]
        consumer.seek_to_end()
        assert consumer.position(t0) == 1000
        consumer.assign([t0], at={t0: 100}, until={t0: 200})
        assert [r.value for r in consumer] == values[100:200]


def test_a_position_that_is_not_there(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    t0 = TopicPartition(topic, 0)
    write(kafka, topic, [b"only"])
    with Consumer(kafka.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([t0], at={t0: 500})
        assert read(consumer, 1) == [b"only"]
    with Consumer(kafka.bootstrap_servers, auto_offset_reset="none") as consumer:
        consumer.assign([t0], at={t0: 500})
        with pytest.raises(errors.BrokerError, match=f"{topic}-0 at offset 500") as caught:
            read(consumer, 1)
        assert caught.value.code == 1


def test_offsets_by_time(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    t0 = TopicPartition(topic, 0)
    base = int(time.time() * 1000) - 100_000
    if kafka.release.number < (0, 10, 1):
        write(kafka, topic, [b"0"])
        with Consumer(kafka.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            with pytest.raises(errors.BrokerError, match="cannot look offsets up by time"):
                consumer.offsets_for_times({t0: base})
        return
    with Producer(kafka.bootstrap_servers) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0, timestamp=base + 1000 * number).result(20)
    with Consumer(kafka.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        found = consumer.offsets_for_times({t0: base + 4500})[t0]
        assert found is not None
        assert (found.offset, found.timestamp) == (5, base + 5000)
        assert consumer.offsets_for_times({t0: base + 10**9}) == {t0: None}
        consumer.assign([t0])
        consumer.seek(t0, datetime.fromtimestamp((base + 6500) / 1000, UTC))
        assert consumer.position(t0) == 7


def test_a_record_larger_than_the_fetch_is_read(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    values = [b"a", b"x" * 300_000, b"z"]
    write(kafka, topic, values)
    with Consumer(kafka.bootstrap_servers, auto_offset_reset="earliest", max_partition_fetch_bytes=1000) as consumer:
        consumer.assign([(topic, 0)])
        assert read(consumer, 3) == values


def test_committed_records_only(kafka: Cluster, new_topic: TopicNames) -> None:
    if kafka.release.number < (0, 11) or kafka.release.name == "2.8.2-kraft":
        pytest.skip(f"Kafka {kafka.release.name} has no transactions")
    topic = new_topic()
    Confluent(kafka).produce_transactions(
        topic, [([b"kept"], True), ([b"dropped", b"too"], False), ([b"also", b"kept"], True), ([b"gone"], False)]
    )
    write(kafka, topic, [b"plain"])
    with Consumer(kafka.bootstrap_servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        consumer.assign([(topic, 0)])
        assert read(consumer, 4) == [b"kept", b"also", b"kept", b"plain"]


def test_what_is_written_later_is_read_at_once(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    write(kafka, topic, [b"before"])
    with Consumer(kafka.bootstrap_servers) as consumer, Producer(kafka.bootstrap_servers) as producer:
        consumer.subscribe([topic])
        t0 = TopicPartition(topic, 0)
        while t0 not in consumer.assignment():
            consumer.poll(timeout=0.1)
        assert consumer.position(t0) == 1
        for number in range(5):
            producer.send(topic, b"%d" % number, partition=0).result(20)
            assert read(consumer, 1) == [b"%d" % number]


@pytest.mark.kafka
def test_a_pause_does_not_make_a_new_broker_old(kafka_cluster: ClusterOf, new_topic: TopicNames) -> None:
    """A broker that is stopped for a second while a client connects is still spoken to in its own versions."""
    topic = new_topic()
    with Cluster("4.4.0") as cluster:
        write(cluster, topic, [b"x"])
        cluster.broker().pause()
        try:
            with Consumer(cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
                consumer.assign([(topic, 0)])
                assert not consumer.poll(timeout=1.2)
                cluster.broker().resume()
                assert read(consumer, 1) == [b"x"]
                versions = consumer._core.versions(1)
                assert versions is not None
                assert not versions.before_0_10
        finally:
            cluster.broker().resume()


@pytest.mark.kafka
@pytest.mark.kafka_all
@pytest.mark.timeout(180)
@pytest.mark.parametrize("release", ["4.4.0", "2.8.2", "0.9.0.1"])
def test_reading_goes_on_when_a_leader_dies_and_comes_back(release: str, new_topic: TopicNames) -> None:
    topic, count = new_topic(), 900
    places = [TopicPartition(topic, partition) for partition in range(3)]
    settings = {"num.partitions": "3", "default.replication.factor": "3"}
    with Cluster(release, nodes=3, overrides=settings) as cluster, Producer(cluster.bootstrap_servers) as producer:
        for tp in places:
            producer.send(topic, b"first", partition=tp.partition).result(20)
        with Admin(cluster.bootstrap_servers) as admin:
            leader = admin.describe_topics([topic])[topic].partitions[0].leader
        found: dict[int, list[int]] = {tp.partition: [] for tp in places}
        with Consumer(cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign(places)
            for number in range(count):
                if number == count // 3:
                    cluster.kill_node(leader)
                if number == 2 * count // 3:
                    cluster.start_node(leader)
                producer.send(topic, b"%d" % number, partition=number % 3)
                for record in consumer.poll(timeout=0.002):
                    found[record.partition].append(record.offset)
            producer.flush(60)
            ends = consumer.end_offsets(places, timeout=30)
            give_up = time.monotonic() + 60
            while any(consumer.position(tp) < ends[tp] for tp in places) and time.monotonic() < give_up:
                for record in consumer.poll(timeout=1.0):
                    found[record.partition].append(record.offset)
    for tp in places:
        assert found[tp.partition] == list(range(ends[tp]))
        assert ends[tp] >= count // 3 + 1
