"""Questions about ACLs, quotas and SCRAM passwords, for real Kafka and the embedded broker; see admin_questions.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kwire import protocol
from kwire.protocol import (
    AlterClientQuotasRequest,
    AlterReplicaLogDirsRequest,
    AlterUserScramCredentialsRequest,
    CreateAclsRequest,
    CreateDelegationTokenRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    DescribeClientQuotasRequest,
    DescribeDelegationTokenRequest,
    DescribeLogDirsRequest,
    DescribeUserScramCredentialsRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)

Named = tuple[str, Callable[[int], protocol.Request]]
ANY, LITERAL, TOPIC, READ, ALLOW = 1, 3, 2, 3, 3


def by_key() -> dict[int, list[Named]]:
    return {
        29: [("ACLs", describe_acls())],
        30: [("an ACL", create_acl()), *((f"an ACL with {each}", create_acl(**each)) for each in ODD_ACLS)],
        31: [("ACLs to delete", delete_acls())],
        34: [("replicas to move to a missing directory", move_replicas)],
        35: [("the log directories without partitions", lambda version: DescribeLogDirsRequest(topics=[]))],
        49: alter_quotas(),
        48: describe_quotas(),
        51: alter_passwords(),
        50: describe_passwords(),
        **of_tokens(),
    }


ODD_ACLS: list[dict[str, Any]] = [{"principal": "bob"}, {"resource_name": ""}, {"host": ""}]


def acl_filter(**given: Any) -> dict[str, Any]:
    return {
        "resource_type_filter": ANY, "resource_name_filter": None, "principal_filter": None, "host_filter": None,
        "operation": ANY, "permission_type": ANY, **given,
    }  # fmt: skip


def describe_acls(**given: Any) -> Callable[[int], protocol.Request]:
    return lambda version: DescribeAclsRequest(pattern_type_filter=ANY if version else LITERAL, **acl_filter(**given))


def delete_acls(**given: Any) -> Callable[[int], protocol.Request]:
    wanted = DeleteAclsRequest.DeleteAclsFilter
    return lambda version: DeleteAclsRequest(
        filters=[wanted(pattern_type_filter=ANY if version else LITERAL, **acl_filter(**given))]
    )


def create_acl(**given: Any) -> Callable[[int], protocol.Request]:
    fields = {
        "resource_type": TOPIC, "resource_name": "t", "resource_pattern_type": LITERAL, "principal": "User:bob",
        "host": "*", "operation": READ, "permission_type": ALLOW, **given,
    }  # fmt: skip
    return lambda version: CreateAclsRequest(creations=[CreateAclsRequest.AclCreation(**fields)])


def move_replicas(version: int) -> protocol.Request:
    made = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    topic = made.AlterReplicaLogDirTopic(name="is-not-there", partitions=[0])
    return AlterReplicaLogDirsRequest(dirs=[made(path="/is-not-there", topics=[topic])])


def alter_quotas() -> list[Named]:
    entry = AlterClientQuotasRequest.EntryData

    def request(
        entity: Sequence[tuple[str, str | None]], key: str = "producer_byte_rate", value: float = 1000.0, **more: Any
    ) -> Callable[[int], protocol.Request]:
        of = [entry.EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
        return lambda version: AlterClientQuotasRequest(
            entries=[entry(entity=of, ops=[entry.OpData(key=key, value=value, **more)])]
        )

    user = [("user", "u")]
    return [
        ("a quota of a user", request(user)),
        ("a quota of a user and client", request([("client-id", "c"), *user])),
        ("a quota of all clients", request([("client-id", None)], "consumer_byte_rate", 2e9)),
        ("a quota of nobody", request([])),
        ("a quota of an unknown type", request([("bogus", "x")])),
        ("a quota of no name", request([("user", "")])),
        ("an unknown quota", request(user, "no_such")),
        ("a negative quota", request(user, value=-1.0)),
        ("half a byte", request(user, value=1.5)),
        ("a quota to remove that is not there", request([("user", "z")], remove=True)),
    ]


def describe_quotas() -> list[Named]:
    part = DescribeClientQuotasRequest.ComponentData

    def request(components: Sequence[tuple[str, int, str | None]], strict: bool) -> Callable[[int], protocol.Request]:
        asked = [part(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
        return lambda version: DescribeClientQuotasRequest(components=asked, strict=strict)

    chosen: list[list[tuple[str, int, str | None]]] = [
        [("user", 0, "u")], [("client-id", 1, None)], [("user", 2, None), ("client-id", 2, None)], [("user", 0, "z")],
        [("bogus", 2, None)], [("user", 0, "u"), ("user", 0, "u")], [("user", 7, None)],
    ]  # fmt: skip
    return [
        (f"quotas of {each}, strict {strict}", request(each, strict)) for each in chosen for strict in (True, False)
    ]


def of_tokens() -> dict[int, list[Named]]:
    """Nobody has logged in, so that all are refused."""
    created, described = CreateDelegationTokenRequest, DescribeDelegationTokenRequest
    renewers = [created.CreatableRenewers(principal_type="User", principal_name="bob")]
    return {
        38: [("a token", lambda version: created(renewers=renewers, max_lifetime_ms=-1))],
        39: [("a token", lambda version: RenewDelegationTokenRequest(hmac=b"h", renew_period_ms=-1))],
        40: [("a token", lambda version: ExpireDelegationTokenRequest(hmac=b"h", expiry_time_period_ms=-1))],
        41: [("tokens", lambda version: described(owners=None)), ("no tokens", lambda version: described(owners=[]))],
    }


def alter_passwords() -> list[Named]:
    made = AlterUserScramCredentialsRequest

    def request(
        new: Sequence[tuple[str, int, int]] = (), gone: Sequence[tuple[str, int]] = ()
    ) -> Callable[[int], protocol.Request]:
        given = [
            made.ScramCredentialUpsertion(
                name=name, mechanism=mechanism, iterations=count, salt=b"salt", salted_password=b"x" * 32
            )
            for name, mechanism, count in new
        ]
        removed = [made.ScramCredentialDeletion(name=name, mechanism=mechanism) for name, mechanism in gone]
        return lambda version: made(upsertions=given, deletions=removed)

    return [
        ("a password", request([("bob", 1, 4096)])),
        ("another password of the same user", request([("bob", 2, 8192)])),
        ("a password of another user", request([("cy", 1, 4096)])),
        ("too few iterations", request([("bob", 1, 10)])),
        ("too many iterations", request([("bob", 1, 99_999)])),
        ("an unknown mechanism", request([("bob", 3, 4096)])),
        ("a user without a name", request([("", 1, 4096)])),
        ("a password given twice", request([("bob", 1, 4096), ("bob", 1, 4096)])),
        ("a missing password to remove", request(gone=[("nobody", 1)])),
        ("a password to remove", request(gone=[("cy", 1)])),
    ]


def describe_passwords() -> list[Named]:
    made = DescribeUserScramCredentialsRequest

    def request(users: list[str] | None) -> Callable[[int], protocol.Request]:
        asked = None if users is None else [made.UserName(name=name) for name in users]
        return lambda version: made(users=asked)

    chosen = (["bob"], ["nobody"], ["bob", "bob"])
    return [(f"the passwords of {users}", request(users)) for users in chosen]
