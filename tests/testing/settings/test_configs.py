"""Configs of topics, brokers and groups: what is set takes effect, and is told."""

from __future__ import annotations

from typing import Any

from kwire.errors import broker as codes
from kwire.protocol import (
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from tests.testing.in_process import InProcess
from tests.testing.wire import batch, produce

TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
SET, DELETE = 0, 1
_Resource = IncrementalAlterConfigsRequest.AlterConfigsResource


def changed(broker: InProcess, kind: int, name: str, key: str, value: str | None) -> int:
    """The error code of setting a config, or of deleting it."""
    config = _Resource.AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
    request = IncrementalAlterConfigsRequest(
        resources=[_Resource(resource_type=kind, resource_name=name, configs=[config])]
    )
    code: int = broker.ask(request, 1).responses[0].error_code
    return code


def told(broker: InProcess, kind: int, name: str, key: str) -> tuple[str, int, list[tuple[str, str, int]]]:
    """(the value, its source, its synonyms) of a config."""
    asked = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=[key]
    )
    [config] = broker.ask(DescribeConfigsRequest(resources=[asked], include_synonyms=True), 4).results[0].configs
    return config.value, config.config_source, [(each.name, each.value, each.source) for each in config.synonyms]


def with_topic(**options: Any) -> InProcess:
    broker = InProcess(**options)
    broker.cluster.create_topic("orders", 1)
    return broker


def test_a_topics_own_value_goes_over_the_brokers() -> None:
    broker = with_topic()
    too_large = produce(batch(b"x" * 5000))
    assert changed(broker, BROKER, "", "message.max.bytes", "1000") == 0
    assert broker.ask(too_large, 9).responses[0].partition_responses[0].error_code == codes.MESSAGE_TOO_LARGE.code
    assert changed(broker, TOPIC, "orders", "max.message.bytes", "10000") == 0
    assert broker.ask(too_large, 9).responses[0].partition_responses[0].error_code == 0
    assert told(broker, TOPIC, "orders", "max.message.bytes") == (
        "10000",
        1,
        [("max.message.bytes", "10000", 1), ("message.max.bytes", "1000", 3), ("message.max.bytes", "1048588", 5)],
    )
    assert changed(broker, TOPIC, "orders", "max.message.bytes", None) == 0
    assert told(broker, TOPIC, "orders", "max.message.bytes")[:2] == ("1000", 3)


def test_a_brokers_property_changes_while_it_runs() -> None:
    broker = with_topic()
    name = "group.consumer.assignment.interval.ms"
    assert changed(broker, BROKER, "1", name, "6000") == 0
    assert broker.cluster.properties.group_consumer_assignment_interval_ms == 6000
    assert told(broker, BROKER, "1", name)[:2] == ("6000", 2)
    assert told(broker, GROUP, "g", "consumer.assignment.interval.ms")[0] == "6000"
    assert changed(broker, BROKER, "1", name, "soon") == codes.INVALID_REQUEST.code
    assert changed(broker, BROKER, "1", name, None) == 0
    assert broker.cluster.properties.group_consumer_assignment_interval_ms == 0
    assert changed(broker, BROKER, "9", "num.io.threads", "5") == codes.INVALID_REQUEST.code


def test_a_groups_config_reaches_the_group() -> None:
    broker = with_topic()
    assert changed(broker, GROUP, "g", "share.auto.offset.reset", "earliest") == 0
    assert broker.cluster.groups.configs.text("g", "share.auto.offset.reset") == "earliest"
    assert told(broker, GROUP, "g", "share.auto.offset.reset")[:2] == ("earliest", 8)
    assert changed(broker, GROUP, "g", "share.auto.offset.reset", "sometimes") == codes.INVALID_CONFIG.code
    assert changed(broker, GROUP, "g", "streams.num.standby.replicas", "1") == 0
    assert told(broker, GROUP, "g", "streams.num.standby.replicas")[:2] == ("1", 8)
    assert changed(broker, GROUP, "g", "share.auto.offset.reset", None) == 0
    assert broker.cluster.groups.configs.text("g", "share.auto.offset.reset") == "latest"


def test_resources_with_configs_are_listed() -> None:
    broker = with_topic(nodes=2)
    changed(broker, METRICS, "slow", "interval.ms", "1000")
    changed(broker, GROUP, "g", "share.auto.offset.reset", "earliest")
    listed = broker.ask(ListConfigResourcesRequest(resource_types=[]), 1).config_resources
    assert [(row.resource_type, row.resource_name) for row in listed] == [
        (32, "g"), (16, "slow"), (8, "1"), (8, "2"), (4, "1"), (4, "2"), (2, "orders")
    ]  # fmt: skip


def test_less_retention_takes_effect_with_the_next_append() -> None:
    broker = with_topic()
    for _ in range(50):
        broker.ask(produce(batch(b"x" * 10_000)), 9)
    assert broker.cluster.topics["orders"].partitions[0].log.start_offset == 0
    changed(broker, TOPIC, "orders", "retention.bytes", "1000")
    broker.ask(produce(batch(b"x" * 200_000)), 9)
    assert broker.cluster.topics["orders"].partitions[0].log.start_offset > 0
