"""DescribeConfigs of a broker: all that its release has, with the values that hold; and the quorum."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

from kwire.errors import broker as codes
from kwire.protocol import DescribeConfigsRequest, DescribeQuorumRequest
from kwire.testing import Broker
from kwire.testing.settings.broker_configs import BOOLEAN, INT, PASSWORD
from tests.testing.client import Client
from tests.testing.in_process import PORT, InProcess
from tests.testing.settings.test_configs import BROKER, changed
from tests.timing import PATIENT

AT_START, SHIPPED = 4, 5


def described(broker: InProcess, name: str = "1", documented: bool = False) -> dict[str, Any]:
    asked = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=BROKER, resource_name=name, configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True, include_documentation=documented)
    return {config.name: config for config in broker.ask(request, 4, node=int(name or 1)).results[0].configs}


@pytest.mark.parametrize(("release", "count"), [("4.4.0", 352), ("3.9.2", 315)])
def test_a_broker_has_all_configs_of_its_release(release: str, count: int) -> None:
    found = described(InProcess(release))
    assert len(found) == count
    assert ("zookeeper.connect" in found) == (release == "3.9.2")
    for config in found.values():
        assert config.is_sensitive == (config.config_type == PASSWORD)
        assert config.value is None or not config.is_sensitive


def test_its_own_options_are_true() -> None:
    broker = InProcess(
        nodes=2,
        racks=["a", "b"],
        num_partitions=3,
        max_message_bytes=5000,
        auto_create_topics=False,
        topic_defaults={"retention.ms": "1000"},
    )
    found = described(broker, "2")
    listener = f"PLAINTEXT://127.0.0.1:{PORT + 1}"
    expected = {
        "node.id": "2", "broker.id": "2", "broker.rack": "b", "num.partitions": "3", "message.max.bytes": "5000",
        "auto.create.topics.enable": "false", "advertised.listeners": listener, "listeners": listener,
        "log.retention.ms": "1000", "group.initial.rebalance.delay.ms": "0",
    }  # fmt: skip
    assert {name: found[name].value for name in expected} == expected
    assert {found[name].config_source for name in expected} == {AT_START}
    assert found["num.partitions"].config_type == INT
    assert found["num.partitions"].read_only
    assert [(each.value, each.source) for each in found["num.partitions"].synonyms] == [("3", 4), ("1", 5)]
    assert (found["background.threads"].value, found["background.threads"].config_source) == ("10", SHIPPED)
    assert not found["background.threads"].read_only
    assert found["delete.topic.enable"].config_type == BOOLEAN


def test_security_is_told_without_secrets() -> None:
    users = {"alice": "secret"}
    with Broker(users=users, max_reauth_ms=5000, authorizer=True, super_users=["User:alice"]) as broker:
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
        secret = {"sasl.username": "alice", "sasl.password": "secret"}
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, **login, **secret})
        [asked] = admin.describe_configs([ConfigResource(ConfigResource.Type.BROKER, "1")]).values()
        found = asked.result(PATIENT)
        values = {name: config.value for name, config in found.items()}
        assert values["sasl.enabled.mechanisms"] == "SCRAM-SHA-512,SCRAM-SHA-256,PLAIN"
        assert values["connections.max.reauth.ms"] == "5000"
        assert str(values["advertised.listeners"]).startswith("SASL_PLAINTEXT://127.0.0.1:")
        assert "StandardAuthorizer" in str(values["authorizer.class.name"])
        assert "secret" not in str(values.values())


def test_what_has_an_effect_is_explained() -> None:
    broker = InProcess()
    assert {config.documentation for config in described(broker).values()} == {None}
    texts = {name: config.documentation for name, config in described(broker, documented=True).items()}
    assert texts["num.partitions"] == "How many partitions a new topic has by default."
    assert texts["num.io.threads"] is None
    assert sum(text is not None for text in texts.values()) > 40


def test_a_running_broker_takes_only_what_may_change() -> None:
    broker = InProcess()
    assert changed(broker, BROKER, "1", "num.partitions", "3") == codes.INVALID_REQUEST.code
    assert changed(broker, BROKER, "", "advertised.listeners", "PLAINTEXT://x:1") == codes.INVALID_REQUEST.code
    assert changed(broker, BROKER, "1", "message.max.bytes", "x") == codes.INVALID_REQUEST.code
    assert changed(broker, BROKER, "", "log.cleaner.backoff.ms", "20000") == 0
    assert changed(broker, BROKER, "1", "log.cleaner.backoff.ms", "30000") == 0
    found = described(broker)["log.cleaner.backoff.ms"]
    assert [(each.value, each.source) for each in found.synonyms] == [("30000", 2), ("20000", 3), ("15000", 5)]
    assert broker.cluster.properties.log_cleaner_backoff_ms == 30000


def test_what_nobody_knows_is_kept_and_not_told() -> None:
    broker = InProcess()
    assert changed(broker, BROKER, "1", "my.own", "secret") == 0
    found = described(broker)["my.own"]
    assert (found.value, found.is_sensitive, found.config_type, found.config_source) == (None, True, 0, 2)
    assert changed(broker, BROKER, "1", "ssl.key.password", "secret") == 0
    assert described(broker)["ssl.key.password"].value is None


def test_the_controller_leads_the_quorum_and_all_vote() -> None:
    broker = InProcess(nodes=3)
    broker.cluster.kill(1)
    wanted = DescribeQuorumRequest.TopicData
    asked = [wanted.PartitionData(partition_index=0)]
    request = DescribeQuorumRequest(topics=[wanted(topic_name="__cluster_metadata", partitions=asked)])
    answer = broker.ask(request, 2, node=2)
    [row] = answer.topics[0].partitions
    assert (answer.error_code, row.error_code, row.leader_id) == (0, 0, 2)
    assert [voter.replica_id for voter in row.current_voters] == [1, 2, 3]
    assert {voter.log_end_offset for voter in row.current_voters} == {row.high_watermark}
    assert row.observers == ()
    assert [node.node_id for node in answer.nodes] == [1, 2, 3]
    missing = DescribeQuorumRequest(topics=[wanted(topic_name="orders", partitions=asked)])
    assert broker.ask(missing, 2, node=2).topics[0].partitions[0].error_code == 3
    broker.cluster.authorizer.deny("describe", "cluster", None, None)
    assert broker.ask(request, 2, node=2).error_code == codes.CLUSTER_AUTHORIZATION_FAILED.code


def test_releases_with_zookeeper_have_no_quorum() -> None:
    with Broker(release="2.8.2") as broker, Client(broker) as client:
        client.send(DescribeQuorumRequest(topics=[]), 0)
        assert client.is_closed()
