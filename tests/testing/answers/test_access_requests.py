"""ACLs, quotas and passwords that clients set: they hold from then on."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

import kwire
from kwire.errors import AuthError
from kwire.errors import broker as codes
from kwire.protocol import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    DescribeLogDirsRequest,
    DescribeUserScramCredentialsRequest,
)
from kwire.testing import Broker
from kwire.testing.state.authorizer import ALLOW, DENY, LITERAL, PREFIXED, READ, TOPIC, WRITE, Authorizer
from tests.testing.in_process import InProcess
from tests.testing.wire import batch, fetch, produce

ANY, MATCH = 1, 2


def guarded() -> InProcess:
    """A broker on which everything is allowed that no ACL is about."""
    broker = InProcess(authorizer=Authorizer(enabled=True, allow_everyone_if_no_acl_found=True))
    broker.cluster.create_topic("orders", 1)
    return broker


def create(
    broker: InProcess, name: str, *, pattern: int = LITERAL, operation: int = READ, permission: int = ALLOW
) -> int:
    made = CreateAclsRequest.AclCreation(
        resource_type=TOPIC,
        resource_name=name,
        resource_pattern_type=pattern,
        principal="User:ANONYMOUS",
        host="*",
        operation=operation,
        permission_type=permission,
    )
    code: int = broker.ask(CreateAclsRequest(creations=[made]), 3).results[0].error_code
    return code


def filters(**given: Any) -> dict[str, Any]:
    return {
        "resource_type_filter": ANY, "resource_name_filter": None, "pattern_type_filter": ANY, "principal_filter": None,
        "host_filter": None, "operation": ANY, "permission_type": ANY, **given,
    }  # fmt: skip


def names(broker: InProcess, **given: Any) -> list[str]:
    found = broker.ask(DescribeAclsRequest(**filters(**given)), 3)
    return sorted(row.resource_name for row in found.resources)


def test_acls_hold_from_then_on() -> None:
    broker = guarded()
    assert broker.ask(produce(batch(b"a")), 9).responses[0].partition_responses[0].error_code == 0
    assert create(broker, "orders", operation=WRITE, permission=DENY) == 0
    refused = broker.ask(produce(batch(b"a")), 9).responses[0].partition_responses[0].error_code
    assert refused == codes.TOPIC_AUTHORIZATION_FAILED.code
    assert create(broker, "ord", pattern=PREFIXED) == 0
    assert broker.ask(fetch(0), 11).responses[0].partitions[0].error_code == 0
    deleted = broker.ask(DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter(**filters())]), 3)
    assert len(deleted.filter_results[0].matching_acls) == 2
    assert broker.ask(produce(batch(b"a")), 9).responses[0].partition_responses[0].error_code == 0


def test_filters_find_acls() -> None:
    broker = guarded()
    for name, pattern in (("orders", LITERAL), ("ord", PREFIXED), ("*", LITERAL), ("other", LITERAL)):
        assert create(broker, name, pattern=pattern) == 0
    assert create(broker, "orders") == 0, "it is there already"
    assert names(broker) == ["*", "ord", "orders", "other"]
    assert names(broker, resource_name_filter="orders", pattern_type_filter=MATCH) == ["*", "ord", "orders"]
    assert names(broker, resource_name_filter="orders") == ["orders"]
    assert names(broker, pattern_type_filter=PREFIXED) == ["ord"]
    assert names(broker, principal_filter="User:bob") == []
    assert names(broker, operation=WRITE) == []


def test_without_an_authorizer_there_are_no_acls() -> None:
    broker = InProcess()
    assert create(broker, "orders") == codes.SECURITY_DISABLED.code
    assert broker.ask(DescribeAclsRequest(**filters()), 3).error_code == codes.SECURITY_DISABLED.code


def test_a_quota_throttles_from_then_on() -> None:
    broker = InProcess()
    broker.cluster.create_topic("orders", 1)
    entry = AlterClientQuotasRequest.EntryData
    changed = entry(
        entity=[entry.EntityData(entity_type="client-id", entity_name="test")],
        ops=[entry.OpData(key="producer_byte_rate", value=100.0)],
    )
    assert broker.ask(AlterClientQuotasRequest(entries=[changed]), 1).entries[0].error_code == 0
    assert broker.ask(produce(batch(b"x" * 1000)), 9).throttle_time_ms > 5000


def password(name: str, text: str, iterations: int = 4096) -> Any:
    salted = hashlib.pbkdf2_hmac("sha256", text.encode(), b"salt", iterations)
    return AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=name, mechanism=1, iterations=iterations, salt=b"salt", salted_password=salted
    )


def logs_in(broker: Broker, user: str, text: str) -> bool:
    settings = broker.client_settings | {"sasl_username": user, "sasl_password": text}
    with kwire.Admin(broker.bootstrap_servers, **settings) as admin:
        try:
            return admin.list_topics() is not None
        except AuthError:
            return False


def test_a_new_password_lets_a_user_in_and_the_old_one_does_not() -> None:
    with Broker(users={"alice": "old"}, mechanisms=["SCRAM-SHA-256"]) as broker:
        assert logs_in(broker, "alice", "old")
        assert not logs_in(broker, "bob", "new")
        scram = broker._state().scram
        in_process = InProcess()
        in_process.cluster.scram = scram
        request = AlterUserScramCredentialsRequest(upsertions=[password("alice", "new"), password("bob", "new")])
        assert [row.error_code for row in in_process.ask(request, 0).results] == [0, 0]
        assert logs_in(broker, "alice", "new")
        assert logs_in(broker, "bob", "new")
        assert not logs_in(broker, "alice", "old")
        gone = AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="bob", mechanism=1)
        assert in_process.ask(AlterUserScramCredentialsRequest(deletions=[gone]), 0).results[0].error_code == 0
        assert not logs_in(broker, "bob", "new")
        told = in_process.ask(DescribeUserScramCredentialsRequest(users=None), 0).results
        assert [(row.user, [(each.mechanism, each.iterations) for each in row.credential_infos]) for row in told] == [
            ("alice", [(1, 4096)])
        ]


@pytest.mark.parametrize("node", [1, 2])
def test_log_directories_tell_of_the_replicas_of_their_node(node: int) -> None:
    broker = InProcess(nodes=2)
    broker.cluster.create_topic("orders", 2, replication_factor=1)
    broker.ask(produce(batch(b"a")), 9, node=1)
    [found] = broker.ask(DescribeLogDirsRequest(topics=None), 4, node=node).results
    [topic] = found.topics
    [partition] = topic.partitions
    assert (partition.partition_index, partition.partition_size > 0) == (node - 1, node == 1)
