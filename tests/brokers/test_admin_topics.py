"""Admin on partitions, records, ids of topics and the cluster of real Kafka, looked at by confluent-kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from kwire import Admin, Producer, TopicPartition, errors
from tests.brokers import Cluster
from tests.brokers.test_admin_configs import seen_at_last
from tests.timing import PATIENT

ClusterOf = Callable[[str], Cluster]
NewTopic = Callable[[], str]

RELEASES = ["4.4.0", "3.9.2", "2.8.2", "1.1.1"]


class Seen:
    """What confluent-kafka sees of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        settings = {"bootstrap.servers": cluster.bootstrap_servers}
        self._admin = AdminClient(settings)
        self._consumer = confluent_kafka.Consumer({**settings, "group.id": "seen"})

    def close(self) -> None:
        self._consumer.close()

    def partitions(self, topic: str) -> int:
        known = self._admin.list_topics(timeout=PATIENT).topics.get(topic)
        return 0 if known is None else len(known.partitions)

    def offsets(self, topic: str, partition: int) -> tuple[int, int]:
        there = confluent_kafka.TopicPartition(topic, partition)
        low, high = self._consumer.get_watermark_offsets(there, timeout=PATIENT)
        return low, high

    def brokers(self) -> dict[int, tuple[str, int]]:
        return {node: (each.host, each.port) for node, each in self._admin.list_topics(timeout=PATIENT).brokers.items()}


@pytest.fixture
def seen(kafka_cluster: ClusterOf, release: str) -> Iterator[Seen]:
    made = Seen(kafka_cluster(release))
    yield made
    made.close()


@pytest.mark.parametrize("release", RELEASES)
def test_partitions_are_added(kafka_cluster: ClusterOf, new_topic: NewTopic, release: str, seen: Seen) -> None:
    topic = new_topic()
    with Admin(kafka_cluster(release).bootstrap_servers) as admin:
        admin.create_topics({topic: 1})
        admin.create_partitions({topic: 2})
        assert seen_at_last(lambda: seen.partitions(topic), 2)
        node = next(iter(seen.brokers()))
        admin.create_partitions({topic: {"total_count": 3, "new_assignments": [[node]]}})
        assert seen_at_last(lambda: seen.partitions(topic), 3)
        admin.create_partitions({topic: 4}, validate_only=True)
        with pytest.raises(errors.broker.InvalidPartitionsError, match=topic) as raised:
            admin.create_partitions({topic: 3, "nowhere": 3})
        assert list(raised.value.failures) == [topic, "nowhere"]
        assert seen.partitions(topic) == 3


@pytest.mark.parametrize("release", RELEASES)
def test_records_are_deleted(kafka_cluster: ClusterOf, new_topic: NewTopic, release: str, seen: Seen) -> None:
    servers, topic = kafka_cluster(release).bootstrap_servers, new_topic()
    t0, t1 = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with Admin(servers) as admin, Producer(servers) as producer:
        admin.create_topics({topic: 2})
        for partition in (0, 1):
            producer.send_many(topic, [b"a"] * 10, partition=partition)
        producer.flush()
        assert admin.delete_records({t0: 4, t1: "latest"}) == {t0: 4, t1: 10}
        assert [seen.offsets(*tp) for tp in (t0, t1)] == [(4, 10), (10, 10)]
        with pytest.raises(errors.broker.OffsetOutOfRangeError) as raised:
            admin.delete_records({t0: 11, t1: 3})
        assert list(raised.value.failures) == [t0]
        assert seen.offsets(*t0) == (4, 10)


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2"])
def test_topics_are_known_by_their_ids(kafka_cluster: ClusterOf, new_topic: NewTopic, release: str, seen: Seen) -> None:
    name, other = new_topic(), new_topic()
    with Admin(kafka_cluster(release).bootstrap_servers) as admin:
        made = admin.create_topics({name: 2, other: 1})[name].topic_id
        assert seen_at_last(lambda: seen.partitions(name), 2)
        found = admin.describe_topics([made])
        assert [(topic_id, info.name, len(info.partitions)) for topic_id, info in found.items()] == [(made, name, 2)]
        admin.delete_topics([made])
        assert seen_at_last(lambda: seen.partitions(name), 0)
        assert seen.partitions(other) == 1
        with pytest.raises(errors.UnknownTopicError, match=str(made)):
            admin.describe_topics([made])
        with pytest.raises(errors.broker.UnknownTopicIdError, match=str(made)):
            admin.delete_topics([made])


@pytest.mark.parametrize("release", ["2.8.2"])
def test_a_topic_is_deleted_by_its_id(kafka_cluster: ClusterOf, new_topic: NewTopic, release: str, seen: Seen) -> None:
    topic = new_topic()
    with Admin(kafka_cluster(release).bootstrap_servers) as admin:
        admin.create_topics({topic: 1})
        topic_id = admin.describe_topics([topic])[topic].topic_id
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"by their ids from Kafka 3\.1 on"):
            admin.describe_topics([topic_id])
        admin.delete_topics([topic_id])
        assert seen_at_last(lambda: seen.partitions(topic), 0)


@pytest.mark.parametrize("release", [*RELEASES, "0.10.2.2"])
def test_the_cluster_is_described(kafka_cluster: ClusterOf, release: str, seen: Seen) -> None:
    with Admin(kafka_cluster(release).bootstrap_servers) as admin:
        found = admin.describe_cluster()
        assert {node: (each.host, each.port) for node, each in found.brokers.items()} == seen.brokers()
        assert found.cluster_id
        assert found.controller in found.brokers.values()
        if release >= "2":
            operations = admin.describe_cluster(include_authorized_operations=True).authorized_operations
            assert operations is not None
            assert {"alter", "describe", "create", "alter_configs"} <= operations


def test_old_brokers_say_what_they_lack(kafka_cluster: ClusterOf, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Admin(kafka_cluster("0.10.2.2").bootstrap_servers) as admin:
        admin.create_topics({topic: 1})
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"from Kafka 1\.0 on"):
            admin.create_partitions({topic: 2})
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"from Kafka 0\.11 on"):
            admin.delete_records({(topic, 0): 0})
