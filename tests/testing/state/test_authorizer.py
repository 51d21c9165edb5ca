"""What clients may do: ACLs as Kafka's authorizer reads them, and what a test denies by hand."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.errors import ConfigError
from kwire.errors import broker as codes
from kwire.protocol import CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest
from kwire.testing import Broker
from kwire.testing.state.authorizer import (
    ALLOW,
    ALTER,
    DENY,
    DESCRIBE,
    LITERAL,
    PREFIXED,
    READ,
    TOPIC,
    WRITE,
    Acl,
    Authorizer,
)
from tests.testing.answers.test_b02_list_offsets import asked as list_offsets
from tests.testing.client import Client
from tests.testing.in_process import InProcess
from tests.testing.wire import batch, fetch, produce

ALICE, BOB, HERE = "User:alice", "User:bob", "127.0.0.1"


def acl(name: str = "t", **fields: Any) -> Acl:
    given = {
        "pattern": LITERAL, "principal": ALICE, "host": "*", "operation": READ, "permission": ALLOW, **fields
    }  # fmt: skip
    return Acl(TOPIC, name, **given)


def allows(authorizer: Authorizer, operation: int, name: str = "t", principal: str = ALICE, host: str = HERE) -> bool:
    return authorizer.allows(principal, host, operation, TOPIC, name)


@pytest.mark.parametrize(
    ("acls", "operation", "allowed"),
    [
        ([], READ, False),
        ([acl()], READ, True),
        ([acl()], WRITE, False),
        ([acl()], DESCRIBE, True),
        ([acl(operation=ALTER)], DESCRIBE, True),
        ([acl(operation=DESCRIBE)], READ, False),
        ([acl(operation=2)], WRITE, True),
        ([acl(), acl(permission=DENY)], READ, False),
        ([acl(operation=2), acl(operation=WRITE, permission=DENY)], READ, True),
        ([acl(), acl(operation=2, permission=DENY)], DESCRIBE, False),
        ([acl(principal="User:*")], READ, True),
        ([acl(principal=BOB)], READ, False),
        ([acl("*")], READ, True),
        ([acl("", pattern=PREFIXED)], READ, True),
        ([acl("tt", pattern=PREFIXED)], READ, False),
        ([acl(host=HERE)], READ, True),
        ([acl(host="10.0.0.1")], READ, False),
    ],
)
def test_acls_decide(acls: list[Acl], operation: int, allowed: bool) -> None:
    authorizer = Authorizer(enabled=True)
    authorizer.acls = dict.fromkeys(acls)
    assert allows(authorizer, operation) is allowed


def test_without_acls_of_a_resource_the_broker_decides() -> None:
    open_door = Authorizer(enabled=True, allow_everyone_if_no_acl_found=True)
    open_door.acls = {acl(principal=BOB): None}
    assert allows(open_door, READ, "other")
    assert not allows(open_door, READ, "t")
    assert allows(Authorizer(enabled=True, super_users=[ALICE]), READ)
    assert allows(Authorizer(), READ)


def test_what_is_denied_by_hand_can_be_permitted_again() -> None:
    authorizer = Authorizer()
    authorizer.deny("write", "topic", "t", "bob")
    assert not allows(authorizer, WRITE, principal=BOB)
    assert allows(authorizer, WRITE)
    assert allows(authorizer, READ, principal=BOB)
    authorizer.permit("write", "topic", "t", "bob")
    assert allows(authorizer, WRITE, principal=BOB)
    with pytest.raises(ConfigError, match="operation 'wrote'"):
        authorizer.deny("wrote", "topic", None, None)
    with pytest.raises(ConfigError, match="resource 'table'"):
        authorizer.deny("write", "table", None, None)


def denying(*denied: str) -> InProcess:
    broker = InProcess()
    broker.cluster.create_topic("orders", 1)
    for operation in denied:
        broker.cluster.authorizer.deny(operation, "topic", "orders", None)
    return broker


REFUSED = codes.TOPIC_AUTHORIZATION_FAILED.code


def test_topics_are_refused() -> None:
    broker = denying("read", "write", "describe", "delete", "create")
    topic_id = broker.cluster.topics["orders"].topic_id
    assert broker.ask(produce(batch(b"a")), 9).responses[0].partition_responses[0].error_code == REFUSED
    assert broker.ask(produce(batch(b"a"), topic_id=topic_id), 13).responses[0].partition_responses[0].error_code == (
        REFUSED
    )
    assert broker.ask(fetch(0), 11).responses[0].partitions[0].error_code == REFUSED
    assert broker.ask(fetch(0, topic_id=topic_id), 13).responses[0].partitions[0].error_code == REFUSED
    assert broker.ask(list_offsets(-1), 7).topics[0].partitions[0].error_code == REFUSED
    deleted = broker.ask(DeleteTopicsRequest(topic_names=["orders"]), 4)
    assert deleted.responses[0].error_code == REFUSED


def test_metadata_hides_what_may_not_be_seen() -> None:
    broker = denying("describe")
    asked = MetadataRequest.MetadataRequestTopic
    topic_id = broker.cluster.topics["orders"].topic_id
    assert broker.ask(MetadataRequest(topics=None), 12).topics == ()
    assert broker.ask(MetadataRequest(topics=[asked(name="orders")]), 12).topics[0].error_code == REFUSED
    by_id = broker.ask(MetadataRequest(topics=[asked(name=None, topic_id=topic_id)]), 12).topics[0]
    assert by_id.error_code == codes.UNKNOWN_TOPIC_ID.code


def test_topics_are_made_by_who_may_create_some_or_this_one() -> None:
    broker = InProcess()
    broker.cluster.authorizer.deny("create", "cluster", None, None)
    broker.cluster.authorizer.deny("create", "topic", "closed", None)
    made = CreateTopicsRequest.CreatableTopic
    request = CreateTopicsRequest(
        topics=[made(name=name, num_partitions=1, replication_factor=1) for name in ("closed", "open")]
    )
    assert [row.error_code for row in broker.ask(request, 7).topics] == [REFUSED, 0]
    asked = MetadataRequest.MetadataRequestTopic(name="closed")
    assert broker.ask(MetadataRequest(topics=[asked]), 12).topics[0].error_code == REFUSED


def test_a_topic_tells_what_may_be_done_with_it() -> None:
    broker = denying("write")
    asked = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name="orders")], include_topic_authorized_operations=True
    )
    operations = broker.ask(asked, 12).topics[0].topic_authorized_operations
    assert operations & 1 << READ
    assert not operations & 1 << WRITE
    asked.include_topic_authorized_operations = False
    assert broker.ask(asked, 12).topics[0].topic_authorized_operations == -(2**31)


def test_a_broker_denies_and_permits() -> None:
    with Broker(topics=["orders"]) as broker, Client(broker) as client:
        broker.deny("write", "topic", "orders", principal="User:ANONYMOUS")
        assert client.ask(produce(batch(b"a")), 9).responses[0].partition_responses[0].error_code == REFUSED
        broker.permit("write", "topic", "orders", principal="User:ANONYMOUS")
        assert client.ask(produce(batch(b"a")), 9).responses[0].partition_responses[0].error_code == 0
    with Broker(topics=["orders"], authorizer=True) as broker, Client(broker) as client:
        assert client.ask(produce(batch(b"a")), 9).responses[0].partition_responses[0].error_code == REFUSED
    with Broker(topics=["orders"], authorizer=True, super_users=["User:ANONYMOUS"]) as broker, Client(broker) as client:
        assert client.ask(produce(batch(b"a")), 9).responses[0].partition_responses[0].error_code == 0
