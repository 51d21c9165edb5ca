"""Whatever stands where an argument of Admin has its place: the call works, a broker refuses it, or a ConfigError names
the argument before anything is asked. No other error leaves a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from kwire import Admin
from kwire.admin import MemberToRemove, NewPartitions, NewTopic
from kwire.engine.common.absent import ADMIN
from kwire.errors import CodecError, ConfigError, KafkaError
from kwire.testing import Broker

ID = UUID(int=7)


class Given(NamedTuple):
    """A call as it may be: its positional and its keyword arguments."""

    name: str
    positional: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = {}

    def __str__(self) -> str:
        given = [*map(_shown, self.positional), *(f"{name}={_shown(value)}" for name, value in self.keywords.items())]
        return f"{self.name}({', '.join(given)})"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:60]}... ({len(text)} characters)"


CALLS = [
    Given("create_topics", ({"a": 1},), {"validate_only": True}),
    Given("create_topics", ({"a": {"num_partitions": 1, "replication_factor": 1, "configs": {"k": "v"}}},)),
    Given("create_topics", ({"a": {"assignments": {0: [1]}}},)),
    Given("create_topics", ({"a": NewTopic(1, 1, {"k": "v"})},)),
    Given("create_topics", (["a"],)),
    Given("delete_topics", (["a"],)),
    Given("delete_topics", ([ID],)),
    Given("create_partitions", ({"t": 4},), {"validate_only": True}),
    Given("create_partitions", ({"t": {"total_count": 4, "new_assignments": [[1]]}},)),
    Given("create_partitions", ({"t": NewPartitions(4, [[1]])},)),
    Given("delete_records", ({("t", 0): 0},)),
    Given("list_topics", (), {"internal": True}),
    Given("describe_topics", (["t"],)),
    Given("describe_topics", ([ID],)),
    Given("list_offsets", ({("t", 0): 0},), {"isolation_level": "read_committed"}),
    Given("list_offsets", ({("t", 0): datetime(2024, 1, 1, tzinfo=UTC)},)),
    Given("list_groups", (), {"states": ["Stable"], "types": ["classic"], "protocol_types": ["consumer"]}),
    Given("list_consumer_groups", (), {"states": ["Stable"], "types": ["classic"]}),
    Given("describe_consumer_groups", (["g"],), {"include_authorized_operations": True}),
    Given("describe_classic_groups", (["g"],), {"include_authorized_operations": True}),
    Given("delete_consumer_groups", (["g"],)),
    Given("list_consumer_group_offsets", ("g",), {"partitions": [("t", 0)], "require_stable": True}),
    Given("list_consumer_group_offsets", ({"g": [("t", 0)]},)),
    Given("alter_consumer_group_offsets", ("g", {("t", 0): 0})),
    Given("delete_consumer_group_offsets", ("g", [("t", 0)])),
    Given("remove_members_from_consumer_group", ("g", ["m"]), {"reason": "r"}),
    Given("remove_members_from_consumer_group", ("g", [{"group_instance_id": "m", "member_id": "n"}])),
    Given("remove_members_from_consumer_group", ("g", [MemberToRemove("m", "n")])),
    Given("lag", ("g",), {"require_stable": True}),
    Given("create_acls", ([("topic", "t", "literal", "User:b", "*", "read", "allow")],)),
    Given(
        "create_acls",
        (
            [
                {
                    "resource_type": "topic",
                    "name": "t",
                    "pattern_type": "literal",
                    "principal": "User:b",
                    "host": "*",
                    "operation": "read",
                    "permission_type": "allow",
                }
            ],
        ),
    ),
    Given("describe_acls", ({"resource_type": "topic"},)),
    Given("delete_acls", ([{"resource_type": "topic"}],)),
    Given("describe_client_quotas", ([("user", "b")],), {"strict": True}),
    Given("describe_client_quotas", ([{"entity_type": "user", "match": "b"}],)),
    Given("alter_client_quotas", ({(("user", "b"),): {"producer_byte_rate": 1.0}},), {"validate_only": True}),
    Given("describe_user_scram_credentials", (["b"],)),
    Given("alter_user_scram_credentials", ({"b": {"SCRAM-SHA-256": "p"}},)),
    Given(
        "alter_user_scram_credentials",
        ({"b": {"SCRAM-SHA-256": {"password": "p", "iterations": 4096, "salt": b"s"}}},),
    ),
    Given("create_delegation_token", (), {"max_lifetime_ms": 1, "renewers": ["User:b"], "owner": "User:c"}),
    Given("renew_delegation_token", (b"h",), {"renew_time_period_ms": 1}),
    Given("expire_delegation_token", ("aA==",), {"expiry_time_period_ms": 1}),
    Given("describe_delegation_token", (["User:b"],)),
    Given("describe_share_groups", (["g"],), {"include_authorized_operations": True}),
    Given("list_share_group_offsets", ("g",), {"partitions": [("t", 0)]}),
    Given("list_share_group_offsets", ({"g": [("t", 0)]},)),
    Given("alter_share_group_offsets", ("g", {("t", 0): 0})),
    Given("delete_share_group_offsets", ("g", ["t"])),
    Given("delete_share_groups", (["g"],)),
    Given(
        "describe_streams_groups",
        (["g"],),
        {"include_authorized_operations": True, "include_topology_description": True},
    ),
    Given("list_streams_group_offsets", ("g",), {"partitions": [("t", 0)], "require_stable": True}),
    Given("alter_streams_group_offsets", ("g", {("t", 0): 0})),
    Given("delete_streams_group_offsets", ("g", [("t", 0)])),
    Given("delete_streams_groups", (["g"],)),
    Given(
        "describe_configs",
        ({("topic", "t"): ["retention.ms"]},),
        {"include_synonyms": True, "include_documentation": True},
    ),
    Given("describe_configs", ([{"type": "topic", "name": "t"}],)),
    Given("incremental_alter_configs", ({("topic", "t"): {"k": ("append", "v")}},), {"validate_only": True}),
    Given("incremental_alter_configs", ({("topic", "t"): {"k": {"op_type": "set", "value": 1}}},)),
    Given("alter_configs", ({("topic", "t"): {"k": ["v"]}},), {"validate_only": True}),
    Given("list_config_resources", (["topic"],)),
    Given("list_client_metrics_resources"),
    Given("describe_cluster", (), {"include_authorized_operations": True, "include_fenced_brokers": True}),
    Given("describe_log_dirs", ([1],)),
    Given("describe_replica_log_dirs", ([("t", 0, 1)],)),
    Given("describe_replica_log_dirs", ([{"topic": "t", "partition": 0, "broker_id": 1}],)),
    Given("alter_replica_log_dirs", ({("t", 0, 1): "/d"},)),
    Given("alter_partition_reassignments", ({("t", 0): [1]},), {"allow_replication_factor_change": True}),
    Given("list_partition_reassignments", ([("t", 0)],)),
    Given("elect_leaders", ("preferred", [("t", 0)])),
    Given(
        "list_transactions",
        (),
        {"states": ["Ongoing"], "producer_ids": [1], "min_duration": 1.0, "pattern": "x"},
    ),
    Given("describe_transactions", (["x"],)),
    Given("describe_producers", ([("t", 0)],), {"broker": 1}),
    Given("abort_transaction", (("t", 0), {"producer_id": 1, "producer_epoch": 1, "coordinator_epoch": 1})),
    Given("fence_producers", (["x"],)),
    Given("force_terminate_transaction", ("x",)),
    Given("describe_features", (), {"broker": 1}),
    Given("update_features", ({"f": 1},), {"validate_only": True}),
    Given("update_features", ({"f": (1, "upgrade")},)),
    Given("update_features", ({"f": {"max_version_level": 1, "upgrade_type": "upgrade"}},)),
    Given("describe_metadata_quorum"),
    Given("add_raft_voter", (1, ID, [("L", "h", 1)]), {"cluster_id": "c"}),
    Given("remove_raft_voter", (1, str(ID)), {"cluster_id": "c"}),
    Given("unregister_broker", (1,)),
]
NASTY: list[Any] = [
    None,
    True,
    0,
    -1,
    2**15,
    2**31,
    2**63,
    10**400,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "\ud800",
    "x" * 40_000,
    "10",
    b"x",
    bytearray(b"x"),
    [],
    [[1]],
    ["a", ["b"]],
    [None],
    {},
    {"x": {"y": []}},
    {1: 2},
    (),
    ("a", "b"),
    ({}, {}),
    {1, 2},
    object(),
    int,
    len,
    datetime(1, 1, 1),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime.max,
    timedelta.max,
    timedelta.min,
    UUID(int=0),
    range(3),
]


def changed(value: Any) -> Iterator[Any]:
    """The argument with each of its parts replaced, one at a time, by each nasty value."""
    yield from NASTY
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from ({**value, key: other} for other in changed(inner))
            for other in changed(key):
                try:
                    yield {other: inner}
                except TypeError:  # it cannot be a key
                    continue
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            for other in changed(inner):
                parts = [*value[:at], other, *value[at + 1 :]]
                yield type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def variants(call: Given) -> Iterator[Given]:
    """The call with each part of its arguments replaced, one at a time."""
    for at, value in enumerate(call.positional):
        for other in changed(value):
            yield call._replace(positional=(*call.positional[:at], other, *call.positional[at + 1 :]))
    for name, value in call.keywords.items():
        for other in changed(value):
            yield call._replace(keywords={**call.keywords, name: other})
    for other in NASTY:
        yield call._replace(keywords={**call.keywords, "timeout": other})


def fault(admin: Admin, nowhere: Admin, call: Given) -> str:
    """What is wrong about the outcome of the call, "" for nothing."""
    keywords = {"timeout": 1, **call.keywords}
    try:
        getattr(admin, call.name)(*call.positional, **keywords)
    except ConfigError as error:
        if "no request can be made" in str(error):
            return f"{call}: {error}"
        try:
            getattr(nowhere, call.name)(*call.positional, **keywords)
        except ConfigError:
            return ""
        except KafkaError:
            return f"{call}: something was asked before {error}"
    except CodecError as error:
        return f"{call}: {error!r}"
    except KafkaError:
        return ""
    except Exception as error:
        return f"{call}: {error!r}"
    return ""


def test_every_call_is_tried() -> None:
    inherited = {
        "client_instance_id",
        "close",
        "from_config",
        "health",
        "kind",
        "metrics",
        "one_caller",
        "reads_by_itself",
        "settings",
    }
    there = {name for name in dir(Admin) if not name.startswith("_")}
    assert {call.name for call in CALLS} == there - inherited - set(ADMIN)


def test_no_argument_makes_another_error_than_a_config_error() -> None:
    with (
        Broker(topics={"t": 3}) as broker,
        Admin(broker.bootstrap_servers) as admin,
        Admin("127.0.0.1:1", default_api_timeout_ms=100) as nowhere,
    ):
        admin.list_topics()  # versions and leaders are known: requests are made within the calls
        faults = [found for call in CALLS for each in variants(call) if (found := fault(admin, nowhere, each))]
    assert faults[:20] == []
