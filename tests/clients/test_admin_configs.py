"""Admin on configs, against the embedded broker, old and new: what is told of them, changed, reset and refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import kwire
from kwire import Admin, errors
from kwire.admin import ConfigResource
from kwire.testing import Broker
from tests.expressions import UNREADABLE

T, U = ConfigResource("topic", "t"), ConfigResource("topic", "u")


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(nodes=3, topics=["t", "u"], auto_create_topics=False) as running:
        yield running


@pytest.fixture
def admin(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap_servers) as made:
        yield made


@pytest.mark.parametrize("release", ["0.11.0.3", "1.1.1", "2.8.2", "4.4.0"])
def test_configs_are_told_with_where_they_are_set(release: str) -> None:
    with Broker(release=release) as broker, Admin(broker.bootstrap_servers) as admin:
        broker.create_topic("t", settings={"retention.ms": "1234"})
        found = admin.describe_configs([("topic", "t")])
        assert list(found) == [("topic", "t")]
        assert len(found[T]) > 10
        set_one, default = found[T]["retention.ms"], found[T]["cleanup.policy"]
        assert (set_one.value, set_one.source, set_one.is_default) == ("1234", "dynamic-topic-config", False)
        assert (default.value, default.source, default.is_default) == ("delete", "default-config", True)
        assert default.type == ("list" if release >= "2.8" else "unknown")


def test_only_the_configs_that_are_named_are_told(admin: Admin) -> None:
    found = admin.describe_configs({T: ["retention.ms"], U: None})
    assert list(found[T]) == ["retention.ms"]
    assert len(found[U]) > 10


def test_each_broker_is_asked_about_itself(broker: Broker, admin: Admin) -> None:
    found = admin.describe_configs([("broker", 1), ("broker", "2"), ("broker", ""), ("broker-logger", "3")])
    assert [(resource.type, resource.name) for resource in found] == [
        ("broker", "1"), ("broker", "2"), ("broker", ""), ("broker-logger", "3"),
    ]  # fmt: skip
    assert {name: found["broker", name]["broker.id"].value for name in "12"} == {"1": "1", "2": "2"}  # type: ignore[index]
    assert {broker.request_count("DescribeConfigs", node=node) for node in (1, 2, 3)} <= {1, 2}


def test_synonyms_and_documentation_are_told_if_asked_for(admin: Admin) -> None:
    plain = admin.describe_configs([T])[T]["cleanup.policy"]
    assert (plain.synonyms, plain.documentation) == ((), None)
    more = admin.describe_configs([T], include_synonyms=True, include_documentation=True)[T]["cleanup.policy"]
    assert [(each.name, each.source) for each in more.synonyms] == [("log.cleanup.policy", "default-config")]


@pytest.mark.parametrize(("option", "oldest"), [("include_synonyms", 1), ("include_documentation", 3)])
def test_what_a_broker_cannot_tell_is_an_error(option: str, oldest: int) -> None:
    with Broker(release="0.11.0.3", topics=["t"]) as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=f"kwire needs one from {oldest} to"):
            admin.describe_configs([T], **{option: True})


def test_resources_that_fail_are_named_and_the_others_are_asked_about(broker: Broker, admin: Admin) -> None:
    wanted = [("topic", "nowhere"), ("broker", "7"), T]
    with pytest.raises(errors.broker.UnknownTopicOrPartitionError, match="of topic 'nowhere'") as raised:
        admin.describe_configs(wanted)
    failures = raised.value.failures
    assert list(failures) == wanted[:2]
    assert isinstance(failures["broker", "7"], errors.broker.BrokerNotAvailableError)
    assert "the cluster has the brokers 1, 2, 3" in str(failures["broker", "7"])


def test_who_may_not_describe_is_told_so(broker: Broker, admin: Admin) -> None:
    broker.deny("describe_configs", "topic", "t")
    with pytest.raises(errors.broker.TopicAuthorizationFailedError, match="DescribeConfigs of topic 't'") as raised:
        admin.describe_configs([T, U])
    assert list(raised.value.failures) == [T]


def test_a_broker_without_configs_says_so() -> None:
    with Broker(release="0.10.2.2", topics=["t"]) as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"DescribeConfigs: .*from Kafka 0\.11 on"):
            admin.describe_configs([T])


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ("topic", "expected a list of"),
        (("topic", "t"), "like .'topic', 'orders'"),
        ([("topic", "")], "'' is not a topic name"),
        ([("topics", "t")], "'topics' is not a type of resource: they are 'topic', 'broker'"),
        ([(["topic"], "t")], "is not a type of resource"),
        ([("broker", "one")], "the id of a broker, or '' for all brokers"),
        ([("broker", True)], "the id of a broker"),
        ([("broker-logger", "")], "the id of a broker$"),
        ([("group", "")], "'' is not the name of a group"),
        ([{"type": "topic"}], "is not a resource"),
        ({("topic", "t"): [1]}, "1 is not the name of a config"),
        ({("topic", "t"): 1}, "expected names of configs"),
    ],
)
def test_resources_that_cannot_be_meant(resources: Any, words: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError, match=words):
        admin.describe_configs(resources)


def test_a_resource_may_be_a_mapping_of_javas_names(admin: Admin) -> None:
    assert list(admin.describe_configs([{"type": "topic", "name": "t"}])) == [T]


def test_secrets_are_not_told() -> None:
    with Broker() as broker, Admin(broker.bootstrap_servers) as admin:
        entries = admin.describe_configs([("broker", 1)])[ConfigResource("broker", "1")]
        secret = entries["ssl.keystore.password"]
        assert (secret.value, secret.is_sensitive, secret.type) == (None, True, "password")


def values_of(admin: Admin, resource: tuple[str, str], *names: str) -> dict[str, str | None]:
    """What is set of these configs, or all that is."""
    found = admin.describe_configs([resource])[ConfigResource(*resource)]
    shown = {entry.name: entry.value for entry in found.values() if entry.source.startswith("dynamic")}
    return {name: shown.get(name) for name in names} if names else shown


def test_configs_are_set_appended_to_subtracted_from_and_deleted(admin: Admin) -> None:
    admin.incremental_alter_configs({T: {"retention.ms": 1000, "segment.ms": "2000", "preallocate": True}})
    assert values_of(admin, T) == {"retention.ms": "1000", "segment.ms": "2000", "preallocate": "true"}
    admin.incremental_alter_configs(
        {T: {"cleanup.policy": ("append", "compact"), "segment.ms": None}, U: {"preallocate": False}}
    )
    assert values_of(admin, T) == {"retention.ms": "1000", "cleanup.policy": "delete,compact", "preallocate": "true"}
    assert values_of(admin, U) == {"preallocate": "false"}
    admin.incremental_alter_configs(
        {T: {"cleanup.policy": {"op_type": "subtract", "value": ["delete"]}, "preallocate": ("delete", None)}}
    )
    assert values_of(admin, T) == {"retention.ms": "1000", "cleanup.policy": "compact"}


def test_a_broker_is_changed_by_itself_and_all_brokers_by_the_controller(broker: Broker, admin: Admin) -> None:
    admin.incremental_alter_configs(
        {("broker", 2): {"log.cleaner.threads": 2}, ("broker", ""): {"log.cleaner.threads": 3}}
    )
    assert values_of(admin, ("broker", "2"), "log.cleaner.threads") == {"log.cleaner.threads": "2"}
    assert values_of(admin, ("broker", "3"), "log.cleaner.threads") == {"log.cleaner.threads": "3"}
    asked = {node: broker.request_count("IncrementalAlterConfigs", node=node) for node in broker.nodes}
    assert {node for node, count in asked.items() if count} == {2, broker.controller}


@pytest.mark.parametrize("pattern", UNREADABLE)
def test_client_metrics_match_by_patterns_that_can_be_read(admin: Admin, pattern: str) -> None:
    with pytest.raises(errors.broker.InvalidConfigError):
        admin.incremental_alter_configs({("client-metrics", "m"): {"match": f"client_id={pattern}"}})
    admin.incremental_alter_configs({("client-metrics", "m"): {"match": "client_id=a.*,client_software_name=x"}})


def test_groups_and_client_metrics_have_configs(admin: Admin) -> None:
    admin.incremental_alter_configs(
        {("group", "g"): {"consumer.session.timeout.ms": 50_000}, ("client-metrics", "m"): {"interval.ms": 60_000}}
    )
    assert values_of(admin, ("group", "g")) == {"consumer.session.timeout.ms": "50000"}
    assert values_of(admin, ("client-metrics", "m"), "interval.ms") == {"interval.ms": "60000"}


def test_validation_changes_nothing(admin: Admin) -> None:
    admin.incremental_alter_configs({T: {"retention.ms": 1}}, validate_only=True)
    admin.alter_configs({T: {"retention.ms": 1}}, validate_only=True)
    assert values_of(admin, T) == {}
    with pytest.raises(errors.broker.InvalidConfigError):
        admin.incremental_alter_configs({T: {"retention.ms": "soon"}}, validate_only=True)


def test_a_resource_that_fails_is_named_and_the_others_are_changed(admin: Admin) -> None:
    wrong = {T: {"retention.ms": "soon"}, U: {"retention.ms": 5}, ("topic", "nowhere"): {"retention.ms": 5}}
    for change in (admin.incremental_alter_configs, admin.alter_configs):
        with pytest.raises(
            errors.broker.InvalidConfigError, match=r"AlterConfigs of topic 't': .*and 1 more"
        ) as raised:
            change(wrong)
        assert list(raised.value.failures) == [T, ("topic", "nowhere")]
        assert values_of(admin, T) == {}
        assert values_of(admin, U) == {"retention.ms": "5"}
        admin.incremental_alter_configs({U: {"retention.ms": None}})


def test_who_may_not_alter_is_told_so(broker: Broker, admin: Admin) -> None:
    broker.deny("alter_configs", "topic", "t")
    with pytest.raises(errors.broker.TopicAuthorizationFailedError):
        admin.incremental_alter_configs({T: {"retention.ms": 5}})


@pytest.mark.parametrize("release", ["0.11.0.3", "2.8.2", "4.4.0"])
def test_the_old_call_resets_what_it_is_not_given(release: str) -> None:
    with Broker(release=release, topics=["t"]) as broker, Admin(broker.bootstrap_servers) as admin:
        admin.alter_configs({T: {"retention.ms": 5, "cleanup.policy": ["compact", "delete"]}})
        assert values_of(admin, T) == {"retention.ms": "5", "cleanup.policy": "compact,delete"}
        admin.alter_configs({T: {"segment.ms": "7"}})
        assert values_of(admin, T) == {"segment.ms": "7"}


def test_a_broker_that_only_replaces_is_not_made_to_change_single_configs() -> None:
    with Broker(release="1.1.1") as broker, Admin(broker.bootstrap_servers) as admin:
        broker.create_topic("t", settings={"segment.ms": "7"})
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"from Kafka 2\.3 on; AlterConfigs, which"):
            admin.incremental_alter_configs({T: {"retention.ms": 5}})
        assert broker.request_count("AlterConfigs") == 0
        assert values_of(admin, T) == {"segment.ms": "7"}


def test_a_broker_whose_configs_cannot_be_changed_says_so() -> None:
    with Broker(release="0.10.2.2", topics=["t"]) as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"^AlterConfigs: .*from Kafka 0\.11 on"):
            admin.alter_configs({T: {"retention.ms": 5}})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([T], "expected a mapping {.type, name.: "),
        ({T: "retention.ms"}, "of topic 't': expected a mapping"),
        ({("broker", 1): {}, ("broker", "1"): {}}, "broker '1' is there twice"),
        ({T: {"": 1}}, "'' is not the name of a config"),
        ({T: {"a": b"hidden"}}, "a of topic 't': expected a str, a number, .*, not bytes"),
        ({T: {"a": ("append",)}}, "expected .operation, value."),
        ({T: {"a": ("add", "hidden")}}, "the operations are 'set', 'delete'"),
        ({T: {"a": ("append", None)}}, "not NoneType"),
        ({T: {"a": {"value": "hidden"}}}, "expected {'op_type'"),
    ],
)
def test_changes_that_cannot_be_meant(changes: Any, words: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError, match=words) as raised:
        admin.incremental_alter_configs(changes)
    assert "hidden" not in str(raised.value), "a value may be a secret"


@pytest.mark.parametrize(
    ("value", "words"), [(None, "so leave it out"), (("append", "x"), r"incremental_alter_configs\(\) can append")]
)
def test_what_the_old_call_cannot_do(value: Any, words: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError, match=words):
        admin.alter_configs({T: {"cleanup.policy": value}})


def test_a_change_is_asked_of_the_controller_that_has_taken_over(broker: Broker, admin: Admin) -> None:
    broker.faults.error("IncrementalAlterConfigs", 41, times=2)
    admin.incremental_alter_configs({T: {"retention.ms": 5}})
    assert values_of(admin, T) == {"retention.ms": "5"}


def test_configs_are_changed_and_told_on_an_event_loop(broker: Broker) -> None:
    async def use() -> dict[ConfigResource, Any]:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            await admin.incremental_alter_configs({T: {"retention.ms": 5}})
            with pytest.raises(errors.broker.UnknownTopicOrPartitionError):
                await admin.alter_configs({("topic", "nowhere"): {"retention.ms": 5}})
            return dict(await admin.describe_configs([T]))

    assert asyncio.run(use())[T]["retention.ms"].value == "5"


def test_what_has_configs_is_listed(admin: Admin) -> None:
    admin.incremental_alter_configs(
        {("group", "g"): {"consumer.session.timeout.ms": 50_000}, ("client-metrics", "m"): {"interval.ms": 60_000}}
    )
    assert admin.list_config_resources(["topic", "group"]) == [("group", "g"), T, U]
    assert admin.list_config_resources("broker") == [("broker", str(node)) for node in (1, 2, 3)]
    assert {resource.type for resource in admin.list_config_resources()} == {
        "topic", "broker", "broker-logger", "client-metrics", "group",
    }  # fmt: skip
    assert admin.list_client_metrics_resources() == ["m"]
    with pytest.raises(errors.ConfigError, match="'topics' is not a type of resource"):
        admin.list_config_resources(["topics"])
    with pytest.raises(errors.ConfigError, match="types=1"):
        admin.list_config_resources(1)  # type: ignore[arg-type]


def test_who_may_not_list_is_told_so(broker: Broker, admin: Admin) -> None:
    broker.deny("describe_configs", "cluster")
    with pytest.raises(errors.broker.ClusterAuthorizationFailedError, match="ListConfigResources of topic"):
        admin.list_config_resources(["topic"])


def test_an_older_broker_lists_client_metrics_alone() -> None:
    with Broker(release="3.9.2") as broker, Admin(broker.bootstrap_servers) as admin:
        admin.incremental_alter_configs({("client-metrics", "m"): {"interval.ms": 60_000}})
        assert admin.list_config_resources(["client-metrics"]) == [("client-metrics", "m")]
        assert admin.list_client_metrics_resources() == ["m"]
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"from Kafka 4\.1 on; of topics"):
            admin.list_config_resources(["topic"])
    with Broker(release="2.8.2") as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"from Kafka 3\.7 on"):
            admin.list_client_metrics_resources()


def test_no_types_of_resources_are_all_types(admin: Admin) -> None:
    found = admin.list_config_resources()
    assert {T, U} < set(found)
    assert admin.list_config_resources([]) == admin.list_config_resources(None) == found
