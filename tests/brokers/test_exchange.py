"""kwire with its default settings and other people's clients exchange records through real Apache Kafka, both ways.

Every release, every codec that it has, in the message format that it stores. What a format cannot carry (timestamps in
magic 0, headers before magic 2) is not sent to it.
"""

import random
import time
from collections.abc import Callable, Sequence

import pytest
from _pytest.mark import ParameterSet

import kwire
from kwire.records import decode
from tests.brokers import Cluster
from tests.brokers.peers import Confluent, Console, KafkaPython, Peer, PeerRecord
from tests.brokers.peers.peer import WITHIN_S

_COUNT = 40
_FIRST_ACKNOWLEDGED_WITHIN_S = 2.0
_ALL_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

NewTopic = Callable[[], str]

every_codec = pytest.mark.parametrize("codec", _ALL_CODECS)


def _records(magic: int, seed: int, *, null_headers: bool = True) -> list[PeerRecord]:
    headers = (("trace", b"\0\x01"), ("größe", b""), ("trace", None if null_headers else b"again"))
    rng = random.Random(seed)
    now = int(time.time() * 1000) - _COUNT
    return [
        PeerRecord(
            value=rng.randbytes(rng.randrange(1, 500)) if index % 7 else b"",
            key=f"key-{index}".encode() if index % 3 else None,
            timestamp=now + index if magic else None,
            headers=headers[: index % 4] if magic == 2 else (),
        )
        for index in range(_COUNT)
    ]


def _produce(cluster: Cluster, topic: str, records: Sequence[PeerRecord], codec: str = "none") -> None:
    with kwire.Producer(cluster.bootstrap_servers, compression=codec) as producer:
        sent = [
            producer.send(topic, r.value, key=r.key, partition=0, timestamp=r.timestamp, headers=r.headers)
            for r in records
        ]
        offsets = [delivery.result(timeout=WITHIN_S).offset for delivery in sent]
    assert offsets == list(range(offsets[0], offsets[0] + len(records)))


def _consume(cluster: Cluster, topic: str, count: int) -> list[PeerRecord]:
    found: list[PeerRecord] = []
    deadline = time.monotonic() + WITHIN_S
    with kwire.Consumer(cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        while len(found) < count and time.monotonic() < deadline:
            for r in consumer.poll(timeout=1.0):
                timestamp = None if r.timestamp_type == -1 else r.timestamp
                found.append(PeerRecord(r.value, r.key, timestamp, tuple(r.headers)))
    return found


@every_codec
@pytest.mark.parametrize("peer", [KafkaPython, Confluent], ids=["kafka-python", "confluent-kafka"])
def test_others_read_what_kwire_wrote(kafka: Cluster, codec: str, peer: type[Peer], new_topic: NewTopic) -> None:
    topic, records = new_topic(), _records(kafka.release.newest_magic, seed=1)
    _produce(kafka, topic, records, codec)
    assert peer(kafka).consume(topic, _COUNT) == records


@every_codec
@pytest.mark.parametrize("peer", [KafkaPython, Confluent], ids=["kafka-python", "confluent-kafka"])
def test_kwire_reads_what_others_wrote(kafka: Cluster, codec: str, peer: type[Peer], new_topic: NewTopic) -> None:
    topic = new_topic()
    records = _records(kafka.release.newest_magic, seed=2, null_headers=peer.writes_null_headers)
    peer(kafka).produce(topic, records, compression=codec)
    assert _consume(kafka, topic, _COUNT) == records


def test_apaches_console_reads_what_kwire_wrote(kafka: Cluster, new_topic: NewTopic) -> None:
    topic = new_topic()
    records = [PeerRecord(f"value {index}".encode(), f"key {index}".encode()) for index in range(_COUNT)]
    _produce(kafka, topic, records, "gzip")
    assert Console(kafka).consume(topic, _COUNT) == records


def test_kwire_reads_what_apaches_console_wrote(kafka: Cluster, new_topic: NewTopic) -> None:
    topic = new_topic()
    records = [PeerRecord(f"value {index}".encode(), f"key {index}".encode()) for index in range(_COUNT)]
    Console(kafka).produce(topic, records, compression="gzip")
    assert [(r.key, r.value) for r in _consume(kafka, topic, _COUNT)] == [(r.key, r.value) for r in records]


def _format(release: str, version: str, magic: int, *marks: pytest.MarkDecorator) -> ParameterSet:
    return pytest.param(release, version, magic, marks=[pytest.mark.kafka, *marks], id=f"{release}-keeps-{version}")


@pytest.mark.parametrize(
    ("release", "version", "magic"),
    [
        _format("0.10.2.2", "0.9.0", 0),
        _format("0.11.0.3", "0.9.0", 0, pytest.mark.kafka_all),
        _format("1.1.1", "0.10.0", 1, pytest.mark.kafka_all),
        _format("2.8.2", "0.8.2", 0, pytest.mark.kafka_all),
        _format("2.8.2", "0.10.2", 1, pytest.mark.kafka_all),
    ],
)
def test_an_older_format_than_the_broker_speaks(release: str, version: str, magic: int, new_topic: NewTopic) -> None:
    records = _records(magic, seed=3)
    with Cluster(release, overrides={"log.message.format.version": version}) as cluster:
        for codec in ("none", "gzip", "snappy", "lz4"):
            topic = new_topic()
            _produce(cluster, topic, records, codec)
            (segment,) = cluster.segments(topic)
            assert {batch.magic for batch in decode(segment.read_bytes()).batches} == {magic}
            assert _consume(cluster, topic, _COUNT) == records
            assert KafkaPython(cluster).consume(topic, _COUNT) == records


@pytest.mark.needs("transactions")
def test_records_of_transactions_without_their_markers(kafka: Cluster, new_topic: NewTopic) -> None:
    topic = new_topic()
    Confluent(kafka).produce_transactions(topic, [([b"kept"], True), ([b"dropped", b"too"], False), ([b"last"], True)])
    assert [r.value for r in _consume(kafka, topic, 4)] == [b"kept", b"dropped", b"too", b"last"]


@pytest.mark.parametrize("release", ["0.9.0.1", "0.8.2.2"])
@pytest.mark.parametrize("exists", [True, False], ids=["to-a-topic", "to-a-topic-not-yet-there"])
def test_the_first_record_is_acknowledged_soon(
    kafka_cluster: Callable[[str], Cluster], release: str, exists: bool, new_topic: NewTopic
) -> None:
    cluster, topic = kafka_cluster(release), new_topic()
    if exists:
        _produce(cluster, topic, [PeerRecord(b"so that the topic exists")])
    started = time.monotonic()
    with kwire.Producer(cluster.bootstrap_servers) as producer:
        delivered = producer.send(topic, b"first").result(timeout=WITHIN_S)
        seconds = time.monotonic() - started
    assert delivered.offset == int(exists)
    assert seconds < _FIRST_ACKNOWLEDGED_WITHIN_S


def test_topics_are_made_listed_and_deleted(kafka: Cluster, new_topic: NewTopic) -> None:
    topic = new_topic()
    with kwire.Admin(kafka.bootstrap_servers) as admin:
        if kafka.release.number < (0, 10, 1):
            with pytest.raises(kwire.KafkaError, match="CreateTopics"):
                admin.create_topics({topic: 3})
            return
        admin.create_topics({topic: 3})
        assert topic in admin.list_topics()
        assert _partitions_written_and_read(kafka, topic, partitions=3) == {0, 1, 2}
        admin.delete_topics([topic])
        _wait_until_gone(admin, topic)


def _partitions_written_and_read(cluster: Cluster, topic: str, partitions: int) -> set[int]:
    with kwire.Producer(cluster.bootstrap_servers) as producer:
        for partition in range(partitions):
            producer.send(topic, b"value", partition=partition)
    found: set[int] = set()
    deadline = time.monotonic() + WITHIN_S
    with kwire.Consumer(cluster.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, partition) for partition in range(partitions)])
        while len(found) < partitions and time.monotonic() < deadline:
            found |= {r.partition for r in consumer.poll(timeout=1.0)}
    return found


def _wait_until_gone(admin: "kwire.Admin", topic: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while topic in admin.list_topics():
        assert time.monotonic() < deadline, f"{topic} is still listed"
        time.sleep(0.05)
