"""Admin's calls about configs on real Kafka; what they did is looked at by confluent-kafka and Java's tool."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import ConfigResource as TheirResource

from kwire import Admin, errors
from kwire.admin import ConfigResource
from tests.brokers.cluster import Cluster
from tests.brokers.peers.console import Console
from tests.timing import PATIENT

ClusterOf = Callable[[str], Cluster]
NewTopic = Callable[[], str]

WITH_CONFIGS = ["4.4.0", "3.9.2", "2.8.2", "1.1.1"]
INCREMENTAL = ["4.4.0", "3.9.2", "2.8.2"]


def seen_by_confluent(cluster: Cluster, kind: str, name: str) -> dict[str, tuple[str | None, bool]]:
    """Value and whether it is the default, by the config's name."""
    client = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    [future] = client.describe_configs([TheirResource(TheirResource.Type[kind.upper()], name)]).values()
    return {entry.name: (entry.value, entry.is_default) for entry in future.result(PATIENT).values()}


def seen_at_last(look: Callable[[], Any], expected: object) -> bool:
    """Whether that is seen soon; a broker of KRaft learns a change after the controller has made it."""
    deadline = time.monotonic() + PATIENT
    while look() != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(look() == expected)


def make_topic(admin: Admin, topic: str, configs: Mapping[str, str] | None = None) -> None:
    admin.create_topics({topic: {"num_partitions": 1, "configs": configs or {}}})
    assert seen_at_last(lambda: topic in admin.list_topics(), True)


def set_on_topic(cluster: Cluster, topic: str) -> dict[str, str | None]:
    # A topic's configs that follow the broker's properties are no defaults either.
    return {
        name: value
        for name, (value, _) in seen_by_confluent(cluster, "topic", topic).items()
        if name in ("cleanup.policy", "retention.ms", "segment.ms")
    }


@pytest.mark.parametrize("release", WITH_CONFIGS)
def test_configs_are_told_as_to_confluent(kafka_cluster: ClusterOf, new_topic: NewTopic, release: str) -> None:
    cluster, topic = kafka_cluster(release), new_topic()
    with Admin(cluster.bootstrap_servers) as admin:
        make_topic(admin, topic, {"retention.ms": "1234"})
        of_topic, of_broker = ConfigResource("topic", topic), ConfigResource("broker", str(cluster.node_ids[0]))
        found = admin.describe_configs([of_topic, of_broker, ("broker", "")], include_synonyms=True)
    for resource in (of_topic, of_broker):
        told = {entry.name: (entry.value, entry.is_default) for entry in found[resource].values()}
        assert told == seen_by_confluent(cluster, resource.type, resource.name)
    entry = found[of_topic]["retention.ms"]
    assert (entry.value, entry.source) == ("1234", "dynamic-topic-config")
    assert entry.synonyms[0][:2] == ("retention.ms", "1234")


@pytest.mark.parametrize("release", INCREMENTAL)
def test_single_configs_are_changed(kafka_cluster: ClusterOf, new_topic: NewTopic, release: str) -> None:
    cluster, topic = kafka_cluster(release), new_topic()
    resource = ConfigResource("topic", topic)
    with Admin(cluster.bootstrap_servers) as admin:
        make_topic(admin, topic)

        def seen() -> dict[str, str | None]:
            return set_on_topic(cluster, topic)

        before = seen()
        admin.incremental_alter_configs({resource: {"retention.ms": 1000, "cleanup.policy": ("append", "compact")}})
        assert seen_at_last(seen, {**before, "retention.ms": "1000", "cleanup.policy": "delete,compact"})
        admin.incremental_alter_configs({resource: {"retention.ms": 7}}, validate_only=True)
        changes = {"retention.ms": None, "cleanup.policy": ("subtract", ["delete"]), "segment.ms": "5000"}
        admin.incremental_alter_configs({resource: changes})
        assert seen_at_last(seen, {**before, "cleanup.policy": "compact", "segment.ms": "5000"})
        # 2.8.2 calls a value that cannot be INVALID_REQUEST.
        wrong = errors.broker.InvalidConfigError if release >= "3" else errors.broker.InvalidRequestError
        with pytest.raises(wrong, match="retention") as raised:
            admin.incremental_alter_configs(
                {resource: {"retention.ms": "soon"}, ("topic", "nowhere"): {"segment.ms": 1}}
            )
        assert {key.name: type(error) for key, error in raised.value.failures.items()} == {
            topic: wrong,
            "nowhere": errors.broker.UnknownTopicOrPartitionError,
        }


@pytest.mark.parametrize("release", INCREMENTAL)
def test_brokers_are_changed(kafka_cluster: ClusterOf, release: str) -> None:
    cluster = kafka_cluster(release)
    one, every = ("broker", str(cluster.node_ids[0])), ("broker", "")
    name = "log.cleaner.backoff.ms"

    def seen() -> str | None:
        return seen_by_confluent(cluster, *one)[name][0]

    with Admin(cluster.bootstrap_servers) as admin:
        admin.incremental_alter_configs({every: {name: 14_000}})
        try:
            assert seen_at_last(seen, "14000")
            admin.incremental_alter_configs({one: {name: 13_000}})
            assert seen_at_last(seen, "13000")
        finally:
            admin.incremental_alter_configs({one: {name: None}, every: {name: None}})
        assert seen_at_last(seen, "15000")
        with pytest.raises(errors.broker.BrokerNotAvailableError, match="broker 99: the cluster has the brokers"):
            admin.describe_configs([("broker", 99)])


@pytest.mark.parametrize("release", INCREMENTAL)
def test_loggers_are_changed(kafka_cluster: ClusterOf, release: str) -> None:
    cluster = kafka_cluster(release)
    resource = ConfigResource("broker-logger", str(cluster.node_ids[0]))
    with Admin(cluster.bootstrap_servers) as admin:
        name, before = next(iter(admin.describe_configs([resource])[resource].items()))
        level = "ERROR" if before.value != "ERROR" else "WARN"
        admin.incremental_alter_configs({resource: {name: level}})
        after = admin.describe_configs({resource: [name]})[resource][name]
        assert (after.value, after.source) == (level, "dynamic-broker-logger-config")
        admin.incremental_alter_configs({resource: {name: before.value}})


@pytest.mark.parametrize("release", WITH_CONFIGS)
def test_all_configs_are_replaced(kafka_cluster: ClusterOf, new_topic: NewTopic, release: str) -> None:
    cluster, topic = kafka_cluster(release), new_topic()
    resource = ConfigResource("topic", topic)
    with Admin(cluster.bootstrap_servers) as admin:
        make_topic(admin, topic)

        def seen() -> dict[str, str | None]:
            return set_on_topic(cluster, topic)

        before = seen()
        admin.alter_configs({resource: {"retention.ms": 1000, "cleanup.policy": "compact"}})
        assert seen_at_last(seen, {**before, "retention.ms": "1000", "cleanup.policy": "compact"})
        admin.alter_configs({resource: {"segment.ms": 5000}})
        assert seen_at_last(seen, {**before, "segment.ms": "5000"})


def test_what_has_configs_is_listed(kafka_cluster: ClusterOf, new_topic: NewTopic) -> None:
    cluster, topic = kafka_cluster("4.4.0"), new_topic()
    with Admin(cluster.bootstrap_servers) as admin:
        make_topic(admin, topic)
        admin.incremental_alter_configs(
            {
                ("group", topic): {"consumer.session.timeout.ms": 50_000},
                ("client-metrics", topic): {"interval.ms": 60_000, "metrics": ["a.", "b."]},
            }
        )
        wanted = {("topic", topic), ("group", topic), ("client-metrics", topic)}
        assert seen_at_last(lambda: wanted <= set(admin.list_config_resources()), True)
        assert admin.list_config_resources(["client-metrics"]) == [("client-metrics", topic)]
        assert admin.list_client_metrics_resources() == [topic]


def test_older_brokers_list_client_metrics_alone(kafka_cluster: ClusterOf, new_topic: NewTopic) -> None:
    cluster, name = kafka_cluster("3.9.2"), new_topic()
    with Admin(cluster.bootstrap_servers) as admin:
        admin.incremental_alter_configs({("client-metrics", name): {"interval.ms": 60_000}})
        assert seen_at_last(admin.list_client_metrics_resources, [name])
        told = Console(cluster).run(
            "kafka.admin.ConfigCommand",
            "--bootstrap-server", cluster.bootstrap_servers,
            "--describe", "--entity-type", "client-metrics", "--entity-name", name,
        )  # fmt: skip
        assert "interval.ms=60000" in told
        with pytest.raises(errors.broker.UnsupportedVersionError, match="client-metrics are listed"):
            admin.list_config_resources()


def test_brokers_that_cannot_change_single_configs_say_what_they_can(
    kafka_cluster: ClusterOf, new_topic: NewTopic
) -> None:
    with Admin(kafka_cluster("1.1.1").bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"alter_configs\(\) works on older brokers"):
            admin.incremental_alter_configs({("topic", new_topic()): {"retention.ms": 1}})
    with Admin(kafka_cluster("0.10.2.2").bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"from Kafka 0\.11 on"):
            admin.describe_configs([("topic", new_topic())])
