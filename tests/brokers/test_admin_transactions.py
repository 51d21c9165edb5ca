"""Admin on transactions of real Kafka; what it finds and does is looked at by Apache's tools and by confluent-kafka."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import confluent_kafka
import pytest

from kwire import Admin, Producer, TopicPartition, errors
from tests.brokers import Cluster
from tests.testing.peers import java_tools

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
ClusterOf = Callable[[str], Cluster]
TopicNames = Callable[[], str]


def open_transaction(servers: str, topic: str) -> Producer:
    """A producer whose transactional id is the topic's name, with one record of an open transaction."""
    producer = Producer(servers, transactional_id=topic)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"open", partition=0).result(30)
    return producer


def tool(folder: Path, servers: str, *arguments: str) -> str:
    return java_tools.run(folder, "TransactionsCommand", "--bootstrap-server", servers, *arguments)


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2"])
def test_transactions_are_what_apaches_tools_say(
    release: str, kafka_cluster: ClusterOf, new_topic: TopicNames, tmp_path: Path
) -> None:
    servers, topic = kafka_cluster(release).bootstrap_servers, new_topic()
    partition = TopicPartition(topic, 0)
    with Admin(servers) as admin:
        admin.create_topics({topic: 1})
        with open_transaction(servers, topic) as producer:
            [listed] = [row for row in admin.list_transactions(states=["Ongoing"]) if row.transactional_id == topic]
            assert f"{topic}\t{listed.coordinator_id}" in "\t".join(tool(tmp_path, servers, "list").split())
            assert admin.list_transactions(producer_ids=[listed.producer_id]) == [listed]
            found = admin.describe_transactions([topic])[topic]
            told = tool(tmp_path, servers, "describe", "--transactional-id", topic)
            for value in (found.producer_id, found.producer_epoch, found.state, found.timeout_ms, found.started):
                assert str(value) in told
            assert found.partitions == (partition,)
            assert f"{topic}-0" in told
            [state] = admin.describe_producers([partition])[partition]
            told = tool(tmp_path, servers, "describe-producers", "--topic", topic, "--partition", "0")
            assert state.current_transaction_start_offset == 0
            for value in (state.producer_id, state.producer_epoch, state.last_sequence, state.last_timestamp):
                assert str(value) in told
            producer.commit_transaction()
        with pytest.raises(errors.broker.TRANSACTIONAL_ID_NOT_FOUND):
            admin.describe_transactions([f"{topic}-none"])


def test_the_newest_filters(kafka_cluster: ClusterOf, new_topic: TopicNames) -> None:
    servers, topic = kafka_cluster("4.4.0").bootstrap_servers, new_topic()
    with Admin(servers) as admin:
        admin.create_topics({topic: 1})
        with open_transaction(servers, topic) as producer:
            assert [row.transactional_id for row in admin.list_transactions(pattern=f"{topic[:-1]}.")] == [topic]
            assert admin.list_transactions(pattern=f"{topic}-none") == []
            ongoing = [row.transactional_id for row in admin.list_transactions(min_duration=0.001)]
            assert topic in ongoing
            assert admin.list_transactions(min_duration=3600, states=["Ongoing"]) == []
            with pytest.raises(errors.broker.INVALID_REGULAR_EXPRESSION):
                admin.list_transactions(pattern="(")
            producer.abort_transaction()


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2", "2.8.2", "1.1.1"])
def test_a_fenced_producer_of_another_client_can_commit_no_more(
    release: str, kafka_cluster: ClusterOf, new_topic: TopicNames
) -> None:
    servers, topic = kafka_cluster(release).bootstrap_servers, new_topic()
    with Admin(servers) as admin:
        admin.create_topics({topic: 1})
        for fence in (lambda: admin.fence_producers([topic]), lambda: admin.force_terminate_transaction(topic)):
            peer = confluent_kafka.Producer({"bootstrap.servers": servers, "transactional.id": topic})
            peer.init_transactions(30)
            peer.begin_transaction()
            peer.produce(topic, b"never")
            peer.flush(30)
            fence()
            with pytest.raises(confluent_kafka.KafkaException):
                peer.commit_transaction(30)
    reader = confluent_kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest", "enable.partition.eof": True}
    )
    reader.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    message = reader.poll(30)
    assert message is not None
    assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
    reader.close()


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2"])
def test_an_abort_ends_what_is_open_in_the_partition(
    release: str, kafka_cluster: ClusterOf, new_topic: TopicNames, tmp_path: Path
) -> None:
    servers, topic = kafka_cluster(release).bootstrap_servers, new_topic()
    partition = TopicPartition(topic, 0)
    with Admin(servers) as admin:
        admin.create_topics({topic: 1})
        producer = open_transaction(servers, topic)
        [state] = admin.describe_producers([partition], broker=kafka_cluster(release).node_ids[0])[partition]
        fields = {"producer_id": state.producer_id, "producer_epoch": state.producer_epoch}
        admin.abort_transaction(partition, state)
        told = tool(tmp_path, servers, "describe-producers", "--topic", topic, "--partition", "0")
        [row] = [line.split() for line in told.splitlines() if line.split()[:1] == [str(state.producer_id)]]
        assert row[-1] == "None"
        admin.force_terminate_transaction(topic)
        with pytest.raises(errors.broker.INVALID_PRODUCER_EPOCH):
            admin.abort_transaction(partition, {**fields, "coordinator_epoch": 0})
        with pytest.raises(errors.KafkaError):
            producer.commit_transaction()
        producer.close()


def test_a_release_before_transactions_says_so(kafka_cluster: ClusterOf) -> None:
    with Admin(kafka_cluster("0.10.2.2").bootstrap_servers) as admin:
        for call in (
            admin.list_transactions,
            lambda: admin.describe_transactions(["tx"]),
            lambda: admin.fence_producers(["tx"]),
            lambda: admin.force_terminate_transaction("tx"),
        ):
            with pytest.raises(errors.broker.UNSUPPORTED_VERSION):
                call()
