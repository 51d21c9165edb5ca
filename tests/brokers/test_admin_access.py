"""ACLs, quotas, SCRAM users and delegation tokens that Admin sets on real Kafka, as Apache's own Admin sees them."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

import kwire
from kwire import Admin, errors
from kwire.admin import AclBinding, AclFilter
from tests.brokers import Cluster, find_release
from tests.brokers.listeners import USERS, Listener
from tests.brokers.maven import resolve_release
from tests.brokers.plugin import ClusterOf, SecureClusterOf
from tests.brokers.processes import dying_with_parent
from tests.oracle.compiling import program

_WITHIN_S = 60.0
_AUTHORIZERS = {
    "1.1.1": "kafka.security.auth.SimpleAclAuthorizer",
    "2.8.2": "kafka.security.authorizer.AclAuthorizer",
    "3.9.2": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "4.4.0": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
}
_READS_ALL = "3.9.2"
"""The release whose client sees every broker here."""

READ = AclBinding("topic", "orders", "literal", "User:bob", "*", "read", "allow")
PREFIXED = AclBinding("group", "ord", "prefixed", "User:eve", "10.0.0.1", "all", "deny")
BOB, ALL_USERS, CLIENT = ("user", "bob"), ("user", None), ("client-id", "c")
S256, S512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


@pytest.fixture(scope="module", params=list(_AUTHORIZERS))
def guarded(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A broker with an authorizer, on which everybody may do everything; one at a time."""
    overrides = {"authorizer.class.name": _AUTHORIZERS[request.param], "super.users": "User:ANONYMOUS"}
    with Cluster(request.param, overrides=overrides) as cluster:
        yield cluster


@pytest.fixture
def admin(guarded: Cluster) -> Iterator[Admin]:
    with Admin(guarded.bootstrap_servers) as made:
        yield made


def seen_by_java(kind: str, **settings: str) -> list[tuple[str, ...]]:
    """What Apache's Admin sees, as `java_any/Access.java` writes it."""
    dotted = [f"{name.replace('_', '.')}={value}" for name, value in settings.items()]
    command = [*program("Access", resolve_release(find_release(_READS_ALL))), kind, *dotted]
    run = subprocess.run(dying_with_parent(command), capture_output=True, text=True, timeout=_WITHIN_S, check=False)
    assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
    return [tuple(line.split("\t")) for line in run.stdout.splitlines() if "\t" in line]


def wait_for(condition: Callable[[], bool]) -> None:
    """Brokers apply what the controller has written a little later."""
    deadline = time.monotonic() + _WITHIN_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.timeout(300)
@pytest.mark.kafka
def test_acls_are_those_that_java_sees(guarded: Cluster, admin: Admin) -> None:
    has_patterns = guarded.release.number >= (2, 0)
    acls = [PREFIXED, READ] if has_patterns else [READ]
    admin.create_acls(acls)
    wait_for(lambda: admin.describe_acls() == acls)
    assert seen_by_java("acls", bootstrap_servers=guarded.bootstrap_servers) == acls
    if has_patterns:
        assert admin.describe_acls({"name": "ord-1", "pattern_type": "match"}) == [PREFIXED]
    else:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"needs Kafka 2\.0 or newer"):
            admin.create_acls([PREFIXED])
    assert admin.delete_acls([{"principal": "User:bob"}, AclFilter("cluster")]) == {
        AclFilter(principal="User:bob"): (READ,),
        AclFilter("cluster"): (),
    }
    wait_for(lambda: READ not in admin.describe_acls())
    assert READ not in seen_by_java("acls", bootstrap_servers=guarded.bootstrap_servers)
    odd = READ._replace(resource_type="cluster")
    if guarded.release.number >= (2, 0):
        with pytest.raises(errors.BrokerError, match="on literal cluster 'orders'") as e:
            admin.create_acls([odd, READ])
        assert list(e.value.failures) == [odd]
        wait_for(lambda: READ in admin.describe_acls())
    admin.delete_acls([AclFilter()])


@pytest.mark.timeout(300)
@pytest.mark.kafka
def test_quotas_are_those_that_java_sees(guarded: Cluster, admin: Admin) -> None:
    if guarded.release.number < (2, 6):
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"needs Kafka 2\.6 or newer"):
            admin.describe_client_quotas()
        return
    quotas = {
        (BOB, CLIENT): {"producer_byte_rate": 1e6},
        (ALL_USERS,): {"consumer_byte_rate": 2048.0, "request_percentage": 12.5},
    }
    admin.alter_client_quotas(quotas, validate_only=True)
    assert admin.describe_client_quotas() == {}
    admin.alter_client_quotas(quotas)
    wait_for(lambda: admin.describe_client_quotas() == quotas)
    assert seen_by_java("quotas", bootstrap_servers=guarded.bootstrap_servers) == [
        ("<default>", "-", "consumer_byte_rate", "2048.0"),
        ("<default>", "-", "request_percentage", "12.5"),
        ("bob", "c", "producer_byte_rate", "1000000.0"),
    ]
    assert admin.describe_client_quotas([BOB, "client-id"]) == {(BOB, CLIENT): {"producer_byte_rate": 1e6}}
    with pytest.raises(errors.broker.InvalidRequestError) as e:
        admin.alter_client_quotas({BOB: {"no_such_rate": 1}, CLIENT: {"producer_byte_rate": 7}})
    assert list(e.value.failures) == [(BOB,)]
    admin.alter_client_quotas({entity: dict.fromkeys(limits) for entity, limits in quotas.items()})
    wait_for(lambda: admin.describe_client_quotas() == {(CLIENT,): {"producer_byte_rate": 7.0}})
    admin.alter_client_quotas({CLIENT: {"producer_byte_rate": None}})


@pytest.mark.timeout(300)
@pytest.mark.kafka
def test_scram_users_are_those_that_java_sees(guarded: Cluster, admin: Admin) -> None:
    if guarded.release.number < (2, 7):
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"needs Kafka 2\.7 or newer"):
            admin.describe_user_scram_credentials()
        return
    admin.alter_user_scram_credentials(
        {"bob": {S256: "a-word", S512: {"password": "a-word", "iterations": 4096}}, "eve": {S256: "a-word"}}
    )
    wait_for(lambda: admin.describe_user_scram_credentials().keys() == {"bob", "eve"})
    assert admin.describe_user_scram_credentials(["bob"]) == {"bob": {S256: 8192, S512: 4096}}
    assert seen_by_java("scram", bootstrap_servers=guarded.bootstrap_servers) == [
        ("bob", S256, "8192"),
        ("bob", S512, "4096"),
        ("eve", S256, "8192"),
    ]
    with pytest.raises(errors.broker.ResourceNotFoundError) as e:
        admin.alter_user_scram_credentials({"eve": {S256: None}, "mallory": {S256: None}})
    assert list(e.value.failures) == [("mallory", S256)]
    with pytest.raises(errors.broker.ResourceNotFoundError) as e:
        admin.describe_user_scram_credentials(["mallory"])
    assert list(e.value.failures) == ["mallory"]
    admin.alter_user_scram_credentials({"bob": {S256: None, S512: None}})
    wait_for(lambda: admin.describe_user_scram_credentials() == {})


@pytest.mark.timeout(300)
def test_a_release_from_before_access_over_the_wire_says_what_it_takes(kafka_cluster: ClusterOf) -> None:
    with Admin(kafka_cluster("0.10.2.2").bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"needs Kafka 0\.11 or newer"):
            admin.create_acls([READ])
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"needs Kafka 1\.1 or newer"):
            admin.describe_delegation_token()


def login(listener: Listener, user: str, password: str, **more: object) -> dict[str, object]:
    return {
        "bootstrap_servers": listener.address,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": S256,
        "sasl_username": user,
        "sasl_password": password,
        **more,
    }


@pytest.mark.timeout(300)
@pytest.mark.parametrize("release", ["4.4.0", "3.9.2"])
def test_tokens_log_in_and_are_those_that_java_sees(secure_kafka: SecureClusterOf, release: str) -> None:
    cluster = secure_kafka(release)
    listener = cluster.listeners["SASL_PLAINTEXT"]
    alice = login(listener, "alice", USERS["alice"])
    with Admin(**alice) as admin:  # type: ignore[arg-type]
        token = admin.create_delegation_token(max_lifetime_ms=600_000, renewers=["User:admin"])
        assert (token.owner, token.requester, token.renewers) == ("User:alice", "User:alice", ("User:admin",))
        assert token.max_timestamp - token.issue_timestamp == 600_000
        wait_for(lambda: token in admin.describe_delegation_token(["User:alice"]))
        java = {name: str(value) for name, value in alice.items() if name in ("bootstrap_servers", "security_protocol")}
        jaas = "org.apache.kafka.common.security.scram.ScramLoginModule required"
        of_java = java | {
            "sasl_mechanism": S256,
            "sasl_jaas_config": f'{jaas} username="alice" password="{USERS["alice"]}";',
        }
        times = (str(token.expiry_timestamp), str(token.max_timestamp))
        row = (token.token_id, token.hmac.reveal(), "User:alice", "User:admin", *times)
        assert seen_by_java("tokens", **of_java) == [row]
        with Admin(**login(listener, token.token_id, token.hmac, sasl_scram_token_auth=True)) as other:  # type: ignore[arg-type]
            assert other.list_topics() is not None
            with pytest.raises(errors.broker.DelegationTokenRequestNotAllowedError, match="not with a token"):
                other.create_delegation_token()
        renewed = admin.renew_delegation_token(token, renew_time_period_ms=60_000)
        assert token.issue_timestamp < renewed < token.max_timestamp
        wait_for(lambda: [each.expiry_timestamp for each in admin.describe_delegation_token()] == [renewed])
        asyncio.run(expire(alice, token.hmac))
        wait_for(lambda: admin.describe_delegation_token() == [])
        assert seen_by_java("tokens", **of_java) == []
        with pytest.raises(errors.broker.DelegationTokenNotFoundError):
            admin.renew_delegation_token(token.hmac)
    with Admin(cluster.bootstrap_servers) as nobody:
        with pytest.raises(errors.broker.DelegationTokenRequestNotAllowedError, match="log in by SASL"):
            nobody.create_delegation_token()


async def expire(settings: dict[str, object], hmac: str) -> None:
    async with kwire.aio.Admin(**settings) as admin:  # type: ignore[arg-type]
        assert await admin.expire_delegation_token(hmac) > 0
