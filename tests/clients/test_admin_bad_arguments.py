"""Arguments that no check foresaw end their call with a ConfigError: the client goes on, and nothing is destroyed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import Admin, errors, protocol
from kwire.admin import AclFilter
from kwire.engine.admin.group_offsets import ListGroupOffsets
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError
from kwire.errors.broker import BROKER_NOT_AVAILABLE
from kwire.testing import Broker

Call = Callable[[Admin], Any]


@pytest.fixture
def admin() -> Iterator[Admin]:
    with Broker(topics={"t": 3}) as broker:
        broker.append("t", [b"kept"])
        with Admin(broker.bootstrap_servers) as made:
            made.list_topics()  # versions and leaders are known: requests are made within the call
            yield made


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.describe_features(broker=2**31),
        lambda a: a.describe_log_dirs([2**31]),
        lambda a: a.list_offsets({("t", 2**31): "latest"}),
        lambda a: a.create_topics({"x": {"configs": None}}),
        lambda a: a.create_topics({"x": {"assignments": [[0]]}}),
        lambda a: a.create_topics({"x": {"assignments": {0: 5}}}),
        lambda a: a.create_partitions({"t": {"total_count": 4, "new_assignments": 0}}),
    ],
)
def test_the_client_goes_on(admin: Admin, call: Call) -> None:
    with pytest.raises(ConfigError):
        call(admin)
    assert admin.list_topics() == ["t"]


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.delete_records({("t", 0): -1}),
        lambda a: a.delete_records({("t", 0): -1.0}),
        lambda a: a.delete_topics({"t": None}),
        lambda a: a.delete_consumer_group_offsets("g", {("t", 0): 5}),
        lambda a: a.delete_share_group_offsets("g", {"t": None}),
        lambda a: a.delete_acls([{"name": None, "principal": None}]),
        lambda a: a.delete_acls([{"operation": "any"}]),
        lambda a: a.delete_acls([(None,) * 7]),
        lambda a: a.delete_acls([AclFilter(resource_type="topic"), {}]),
    ],
)
def test_nothing_is_destroyed_by_mistake(admin: Admin, call: Call) -> None:
    with pytest.raises(ConfigError):
        call(admin)
    found = admin.list_offsets({("t", 0): "earliest"})["t", 0]
    assert found is not None
    assert found.offset == 0


def test_a_password_that_is_no_text_is_not_shown(admin: Admin) -> None:
    with pytest.raises(ConfigError) as caught:
        admin.alter_user_scram_credentials({"bob": {"SCRAM-SHA-256": "hunter2\ud800"}})
    assert "hunter2" not in repr(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("groups", [[], ["other"]])
def test_a_response_without_the_group_is_not_read_as_nothing_committed(groups: list[str]) -> None:
    made = protocol.OffsetFetchResponse
    response = made(groups=[made.OffsetFetchResponseGroup(group_id=name) for name in groups])
    for wanted in (None, [TopicPartition("t", 0)]):
        assert ListGroupOffsets({"g": wanted}, stable=False).result(["g"], response, 8) == {}


def test_a_response_without_a_partition_is_not_read_as_nothing_committed() -> None:
    made = protocol.OffsetFetchResponse
    response = made(groups=[made.OffsetFetchResponseGroup(group_id="g")])
    assert ListGroupOffsets({"g": [TopicPartition("t", 0)]}, stable=False).result(["g"], response, 8) == {}
    assert ListGroupOffsets({"g": None}, stable=False).result(["g"], response, 8) == {"g": {}}


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.describe_log_dirs([99]),
        lambda a: a.describe_features(broker=99),
        lambda a: a.describe_producers([("t", 0)], broker=99),
        lambda a: a.describe_replica_log_dirs([("t", 0, 99)]),
        lambda a: a.describe_configs([("broker", "99")]),
    ],
)
def test_a_broker_that_is_not_there_is_named_and_not_waited_for(admin: Admin, call: Call) -> None:
    with pytest.raises(BROKER_NOT_AVAILABLE, match="broker 99: the cluster has the brokers 1"):
        call(admin)


@pytest.mark.parametrize(
    "call",
    [
        lambda a, far: a.list_topics(timeout=far),
        lambda a, far: a.list_transactions(min_duration=far),
        lambda a, far: a.list_transactions(producer_ids=[far]),
        lambda a, far: a.alter_client_quotas({("user", "b"): {"producer_byte_rate": far}}),
        lambda a, far: a.list_offsets({("t", 0): far}),
        lambda a, far: a.create_topics({"x": far}),
        lambda a, far: a.create_topics({"x": {"replication_factor": far}}),
        lambda a, far: a.create_partitions({"t": {"total_count": 4, "new_assignments": [[far]]}}),
    ],
)
def test_a_number_that_no_request_can_carry_is_told(admin: Admin, call: Callable[[Admin, Any], Any]) -> None:
    with pytest.raises(ConfigError, match=f"{10**400}"):
        call(admin, 10**400)


def test_configs_of_new_topics_are_written_as_brokers_take_them(admin: Admin) -> None:
    given = {
        "preallocate": True,
        "retention.ms": 1000,
        "min.cleanable.dirty.ratio": 0.25,
        "cleanup.policy": ["compact"],
    }
    admin.create_topics({"x": {"num_partitions": 1, "configs": given}})
    found = admin.describe_configs({("topic", "x"): list(given)})["topic", "x"]
    assert {name: entry.value for name, entry in found.items()} == {
        "preallocate": "true",
        "retention.ms": "1000",
        "min.cleanable.dirty.ratio": "0.25",
        "cleanup.policy": "compact",
    }


@pytest.mark.parametrize("value", [None, b"1000", {}, [1], object(), float("nan"), ("set", None)])
def test_configs_of_new_topics_of_other_types_are_refused(admin: Admin, value: Any) -> None:
    with pytest.raises(ConfigError, match=r"topic 'x': configs: retention\.ms: expected a str"):
        admin.create_topics({"x": {"configs": {"retention.ms": value}}})


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, "1_000", "\u0661", "1e3", "9" * 400])
def test_the_embedded_broker_refuses_numbers_that_java_cannot_hold(admin: Admin, value: Any) -> None:
    with pytest.raises(errors.broker.InvalidConfigError, match="retention"):
        admin.incremental_alter_configs({("topic", "t"): {"retention.ms": value}})
    with pytest.raises(errors.broker.InvalidConfigError, match="retention"):
        admin.create_topics({"x": {"num_partitions": 1, "configs": {"retention.ms": value}}})


def test_the_embedded_broker_refuses_topics_whose_names_only_differ_in_a_dot(admin: Admin) -> None:
    admin.create_topics({"a.b": 1})
    with pytest.raises(errors.broker.InvalidTopicError, match="collides"):
        admin.create_topics({"a_b": 1})
