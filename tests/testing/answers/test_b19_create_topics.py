"""CreateTopics: what is made, what is refused and why."""

from __future__ import annotations

import pytest

from kwire.errors import broker as codes
from kwire.protocol import CreateTopicsRequest
from tests.testing.in_process import InProcess

Wanted = CreateTopicsRequest.CreatableTopic
Assignment = Wanted.CreatableReplicaAssignment
Config = Wanted.CreatableTopicConfig


def wanted(name: str = "orders", partitions: int = 2, replicas: int = 1, **settings: str) -> Wanted:
    configs = [Config(name=key.replace("_", "."), value=value) for key, value in settings.items()]
    return Wanted(name=name, num_partitions=partitions, replication_factor=replicas, configs=configs)


@pytest.mark.parametrize("version", range(8))
def test_a_topic_is_made_in_every_version(version: int) -> None:
    broker = InProcess("3.9.2")
    [result] = broker.ask(CreateTopicsRequest(topics=[wanted(retention_bytes="5000")]), version).topics
    assert (result.name, result.error_code) == ("orders", 0)
    topic = broker.cluster.topics["orders"]
    assert (len(topic.partitions), topic.settings.retention_bytes) == (2, 5000)
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (2, 1)
        assert ("retention.bytes", "5000") in {(config.name, config.value) for config in result.configs}
    if version >= 7:
        assert result.topic_id == topic.topic_id


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (wanted("a b"), codes.INVALID_TOPIC_EXCEPTION.code),
        (wanted("old"), codes.TOPIC_ALREADY_EXISTS.code),
        (wanted(partitions=0), codes.INVALID_PARTITIONS.code),
        (wanted(partitions=-2), codes.INVALID_PARTITIONS.code),
        (wanted(replicas=2), codes.INVALID_REPLICATION_FACTOR.code),
        (wanted(no_such_setting="1"), codes.INVALID_CONFIG.code),
        (wanted(retention_bytes="many"), codes.INVALID_CONFIG.code),
        (wanted(message_timestamp_type="Never"), codes.INVALID_CONFIG.code),
        (Wanted(name="t", num_partitions=1, replication_factor=-1, assignments=[Assignment(broker_ids=[1])]),
         codes.INVALID_REQUEST.code),
        (Wanted(name="t", num_partitions=-1, replication_factor=-1, assignments=[Assignment(broker_ids=[2])]),
         codes.INVALID_REPLICA_ASSIGNMENT.code),
        (Wanted(name="t", num_partitions=-1, replication_factor=-1,
                assignments=[Assignment(partition_index=1, broker_ids=[1])]), codes.INVALID_REPLICA_ASSIGNMENT.code),
    ],
)  # fmt: skip
@pytest.mark.parametrize("validate_only", [False, True])
def test_what_is_refused(topic: Wanted, code: int, validate_only: bool) -> None:
    broker = InProcess()
    broker.cluster.create_topic("old", 1)
    [result] = broker.ask(CreateTopicsRequest(topics=[topic], validate_only=validate_only), 7).topics
    assert result.error_code == code
    assert result.error_message
    assert list(broker.cluster.topics) == ["old"]


def test_defaults_are_asked_for_with_minus_1_from_version_4_on() -> None:
    broker = InProcess(num_partitions=5)
    request = CreateTopicsRequest(topics=[wanted(partitions=-1, replicas=-1)])
    assert broker.ask(request, 3).topics[0].error_code == codes.INVALID_REPLICATION_FACTOR.code
    assert broker.ask(request, 4).topics[0].error_code == 0
    assert len(broker.cluster.topics["orders"].partitions) == 5


def test_assignments_make_as_many_partitions() -> None:
    broker = InProcess()
    given = [Assignment(partition_index=index, broker_ids=[1]) for index in (1, 0)]
    topic = Wanted(name="orders", num_partitions=-1, replication_factor=-1, assignments=given)
    assert broker.ask(CreateTopicsRequest(topics=[topic]), 5).topics[0].num_partitions == 2


def test_a_name_given_twice_is_refused_once_and_the_others_are_made() -> None:
    broker = InProcess()
    request = CreateTopicsRequest(topics=[wanted("twice"), wanted("once"), wanted("twice")])
    results = {result.name: result.error_code for result in broker.ask(request, 5).topics}
    assert results == {"twice": codes.INVALID_REQUEST.code, "once": 0}
    assert list(broker.cluster.topics) == ["once"]


def test_validate_only_makes_nothing() -> None:
    broker = InProcess()
    [result] = broker.ask(CreateTopicsRequest(topics=[wanted()], validate_only=True), 5).topics
    assert (result.error_code, result.num_partitions) == (0, 2)
    assert not broker.cluster.topics
