"""`kwire.Producer` with default settings on real Apache Kafka: what it writes, foreign clients read."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kwire import Consumer, Producer, errors
from tests.brokers import Cluster
from tests.brokers.peers import Confluent, KafkaPython, PeerRecord

TopicNames = Callable[[], str]


def written(cluster: Cluster, count: int = 100) -> list[PeerRecord]:
    """Keys, nulls, headers and times, as far as the release's format has them."""
    magic = cluster.release.newest_magic
    return [
        PeerRecord(
            None if n % 10 == 9 else b"value %d " % n * (n % 7),
            None if n % 5 == 3 else b"key %d" % (n % 3),
            1_700_000_000_000 + n if magic else None,
            (("n", b"%d" % n), ("n", b"")) if magic == 2 and n % 3 == 0 else (),
        )
        for n in range(count)
    ]


def send_all(producer: Producer, topic: str, rows: list[PeerRecord]) -> list[int]:
    deliveries = [
        producer.send(topic, row.value, key=row.key, partition=0, timestamp=row.timestamp, headers=row.headers)
        for row in rows
    ]
    return [delivery.result(20).offset for delivery in deliveries]


def test_the_first_record_is_acknowledged_within_two_seconds(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    begin = time.monotonic()
    with Producer(kafka.bootstrap_servers) as producer:
        assert producer.send(topic, b"v", key=b"k").result(10).offset == 0
        assert time.monotonic() - begin < 2
        assert producer.send(topic, b"w").result(10).offset == 1


def test_a_read_from_a_moment_finds_what_was_sent_after_it(
    kafka_cluster: Callable[[str], Cluster], new_topic: TopicNames
) -> None:
    topic, found = new_topic(), []
    servers = kafka_cluster("4.4.0").bootstrap_servers
    with Producer(servers) as producer, Consumer(servers) as consumer:
        for _ in range(100):
            since = int(time.time() * 1000)
            metadata = producer.send(topic, b"v", partition=0).result(20)
            assert since <= metadata.timestamp <= int(time.time() * 1000)
            at = consumer.offsets_for_times({(topic, 0): since})[topic, 0]
            found.append(at is not None and at.offset <= metadata.offset)
    assert found == [True] * 100


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_foreign_clients_read_what_was_sent(kafka: Cluster, codec: str, new_topic: TopicNames) -> None:
    topic, rows = new_topic(), written(kafka)
    with Producer(kafka.bootstrap_servers, compression=codec) as producer:
        assert send_all(producer, topic, rows) == list(range(len(rows)))
    for peer in (KafkaPython, Confluent):
        read = peer(kafka).consume(topic, len(rows))
        assert [(row.value, row.key, row.headers) for row in read] == [(r.value, r.key, r.headers) for r in rows]
        if kafka.release.newest_magic:
            assert [row.timestamp for row in read] == [row.timestamp for row in rows]


def test_a_hundred_thousand_records_in_order(kafka: Cluster, new_topic: TopicNames) -> None:
    topic, count = new_topic(), 100_000
    with Producer(kafka.bootstrap_servers, batch_size=100_000) as producer:
        deliveries = producer.send_many(topic, [b"%d" % n for n in range(count)], partition=0)
        producer.flush(60)
        assert [delivery.result(0).offset for delivery in deliveries] == list(range(count))
    assert [row.value for row in KafkaPython(kafka).consume(topic, count)] == [b"%d" % n for n in range(count)]


@pytest.mark.parametrize("acks", [0, 1])
def test_other_acks(kafka: Cluster, acks: int, new_topic: TopicNames) -> None:
    topic = new_topic()
    with Producer(kafka.bootstrap_servers) as producer:
        producer.send(topic, b"first").result(10)
    with Producer(kafka.bootstrap_servers, acks=acks) as producer:
        offsets = [producer.send(topic, b"%d" % n).result(10).offset for n in range(5)]
    assert offsets == ([-1] * 5 if acks == 0 else [1, 2, 3, 4, 5])
    read = KafkaPython(kafka).consume(topic, 6)
    assert [row.value for row in read] == [b"first", *[b"%d" % n for n in range(5)]]


def test_headers_arrive_or_fail_their_record_but_are_never_dropped(kafka: Cluster, new_topic: TopicNames) -> None:
    topic = new_topic()
    with Producer(kafka.bootstrap_servers) as producer:
        with_headers = producer.send(topic, b"v", headers=[("h", b"1")])
        plain = producer.send(topic, b"w")
        if kafka.release.newest_magic == 2:
            assert with_headers.result(10).offset == 0
        else:
            with pytest.raises(errors.CodecError, match="headers"):
                with_headers.result(10)
        assert plain.result(10).offset == int(kafka.release.newest_magic == 2)


def test_keys_land_where_apaches_own_client_puts_them(kafka_cluster: Callable[[str], Cluster]) -> None:
    from confluent_kafka import Producer as ConfluentProducer
    from kafka.admin import KafkaAdminClient, NewTopic

    cluster = kafka_cluster("4.4.0")
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    admin.create_topics([NewTopic("keyed", 7, 1)])
    admin.close()
    places: dict[bytes, int] = {}
    other = ConfluentProducer({"bootstrap.servers": cluster.bootstrap_servers, "partitioner": "murmur2_random"})
    keys = [b"key %d" % n * (n % 5 + 1) for n in range(200)]
    for key in keys:
        other.produce("keyed", b"v", key=key, on_delivery=lambda _, m: places.update({m.key(): m.partition()}))
    other.flush(20)
    with Producer(cluster.bootstrap_servers) as producer:
        ours = {key: producer.send("keyed", b"v", key=key) for key in keys}
        assert {key: delivery.result(10).partition for key, delivery in ours.items()} == places
