"""Admin on access, on the embedded broker: ACLs, quotas and passwords hold from when they are set to their removal."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import kwire
from kwire import Admin, Producer, errors
from kwire.admin import AclBinding, AclFilter
from kwire.testing import Broker

READ = AclBinding("topic", "orders", "literal", "User:bob", "*", "read", "allow")
WRITE_TO_ALL_OF_ORD = AclBinding("topic", "ord", "prefixed", "User:bob", "10.0.0.1", "write", "deny")
OF_A_TRANSACTION = AclBinding("transactional_id", "tx", "literal", "User:eve", "*", "two_phase_commit", "allow")
ACLS = [WRITE_TO_ALL_OF_ORD, READ, OF_A_TRANSACTION]


@pytest.fixture(params=[1, 3], ids=["one node", "three nodes"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(nodes=request.param, authorizer=True, allow_everyone_if_no_acl_found=True, topics=["orders"]) as broker:
        yield broker


@pytest.fixture
def admin(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap_servers) as made:
        yield made


def test_acls_are_added_found_and_removed(admin: Admin) -> None:
    admin.create_acls([READ, WRITE_TO_ALL_OF_ORD._asdict(), tuple(OF_A_TRANSACTION)])
    assert admin.describe_acls() == ACLS
    assert admin.describe_acls({"name": "orders", "pattern_type": "MATCH"}) == [WRITE_TO_ALL_OF_ORD, READ]
    assert admin.describe_acls({"name": "orders"}) == [READ]
    assert admin.describe_acls(("topic", None, "prefixed", None, None, "ANY", None)) == [WRITE_TO_ALL_OF_ORD]
    assert admin.describe_acls(AclFilter(principal="User:nobody")) == []
    deleted = admin.delete_acls([{"principal": "User:bob"}, AclFilter("group")])
    assert deleted == {AclFilter(principal="User:bob"): (WRITE_TO_ALL_OF_ORD, READ), AclFilter("group"): ()}
    assert admin.describe_acls() == [OF_A_TRANSACTION]


def test_an_acl_holds_until_it_is_removed(broker: Broker, admin: Admin) -> None:
    nobody_writes = READ._replace(principal="User:ANONYMOUS", operation="write", permission_type="deny")
    with Producer(broker.bootstrap_servers, enable_idempotence=False) as producer:
        producer.send("orders", b"before").result(10)
        admin.create_acls([nobody_writes])
        with pytest.raises(errors.broker.TopicAuthorizationFailedError):
            producer.send("orders", b"refused").result(10)
        admin.delete_acls([nobody_writes])
        producer.send("orders", b"after").result(10)


def test_an_acl_that_is_there_is_no_error(admin: Admin) -> None:
    admin.create_acls([READ, READ])
    admin.create_acls([READ])
    assert admin.describe_acls() == [READ]


def test_of_several_acls_that_fail_each_is_named_and_the_rest_is_added(admin: Admin) -> None:
    odd, odder = READ._replace(resource_type="cluster", name="a"), READ._replace(resource_type="cluster", name="b")
    with pytest.raises(errors.broker.InvalidRequestError, match="read on literal cluster 'a' from") as e:
        admin.create_acls([odd, READ, odder])
    assert list(e.value.failures) == [odd, odder]
    assert admin.describe_acls() == [READ]


def test_a_broker_without_an_authorizer_says_so() -> None:
    with Broker() as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.SecurityDisabledError, match=r"authorizer\.class\.name"):
            admin.describe_acls()
        with pytest.raises(errors.broker.SecurityDisabledError) as e:
            admin.create_acls([READ])
        assert list(e.value.failures) == [READ]
        with pytest.raises(errors.broker.SecurityDisabledError) as e:
            admin.delete_acls([READ])
        assert list(e.value.failures) == [AclFilter(*READ)]


def test_who_may_not_see_or_change_access_is_told(broker: Broker, admin: Admin) -> None:
    broker.deny("describe", "cluster")
    broker.deny("alter", "cluster")
    for refused in (
        admin.describe_acls,
        lambda: admin.create_acls([READ]),
        lambda: admin.delete_acls([READ]),
    ):
        with pytest.raises(errors.broker.ClusterAuthorizationFailedError):
            refused()


def test_a_broker_from_before_pattern_types_has_literal_names_alone() -> None:
    with Broker(release="1.1.1", authorizer=True, super_users=["User:ANONYMOUS"]) as broker:
        with Admin(broker.bootstrap_servers) as admin:
            admin.create_acls([READ])
            assert admin.describe_acls() == admin.describe_acls(READ) == [READ]
            with pytest.raises(errors.broker.UnsupportedVersionError, match=r"'prefixed' needs Kafka 2\.0 or newer"):
                admin.create_acls([WRITE_TO_ALL_OF_ORD])
            with pytest.raises(errors.broker.UnsupportedVersionError, match=r"'match' needs Kafka 2\.0 or newer"):
                admin.describe_acls({"name": "orders", "pattern_type": "match"})
            with pytest.raises(errors.broker.UnsupportedVersionError, match=r"'user' needs Kafka 3\.3 or newer"):
                admin.delete_acls([{"resource_type": "user"}])
            assert admin.delete_acls([AclFilter(*READ)]) == {AclFilter(*READ): (READ,)}


def test_a_broker_from_before_acls_says_what_it_takes() -> None:
    with Broker(release="0.10.2.2") as broker, Admin(broker.bootstrap_servers) as admin:
        for name, refused in {
            "DescribeAcls": admin.describe_acls,
            "CreateAcls": lambda: admin.create_acls([READ]),
            "DeleteAcls": lambda: admin.delete_acls([READ]),
        }.items():
            with pytest.raises(errors.broker.UnsupportedVersionError) as e:
                refused()
            assert f"{name}: " in str(e.value)
            assert "it needs Kafka 0.11 or newer (before, kafka-acls.sh" in str(e.value)


@pytest.mark.parametrize(
    ("acl", "words"),
    [
        (READ[:6], r"expected \(resource_type, name, pattern_type, principal"),
        (READ._replace(operation="eat"), "operation='eat'; there are all, read,"),
        (READ._replace(operation="any"), "operation is missing; only a filter"),
        (READ._replace(pattern_type="match"), "'match' is for filters"),
        (READ._replace(principal="bob"), "'bob' has no type, as in 'User:bob'"),
        (READ._replace(host=""), "host='', expected a str"),
        ({**READ._asdict(), "topic": "t"}, "there is no 'topic' but resource_type, name"),
        ({"resource_type": "topic"}, "name is missing"),
        ("read", "'read' is not an ACL"),
    ],
)
def test_what_is_no_acl_is_refused_before_anything_is_sent(acl: Any, words: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError, match=words):
        admin.create_acls([READ, acl])


def test_no_acl_asks_nothing_and_an_empty_filter_deletes_nothing() -> None:
    with Admin("127.0.0.1:1") as admin:
        admin.create_acls([])
        assert admin.delete_acls([]) == {}
        with pytest.raises(errors.ConfigError, match=r"would delete every ACL; give AclFilter\(\)"):
            admin.delete_acls([{}])
        for alone in (READ, READ._asdict(), "ab", 5):
            with pytest.raises(errors.ConfigError, match="expected an iterable"):
                admin.create_acls(alone)  # type: ignore[arg-type]


def test_acls_on_asyncio(broker: Broker) -> None:
    async def work() -> None:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            await admin.create_acls([READ])
            assert await admin.describe_acls({"operation": "read"}) == [READ]
            assert await admin.delete_acls([AclFilter()]) == {AclFilter(): (READ,)}
            with pytest.raises(errors.ConfigError):
                await admin.delete_acls([{}])

    asyncio.run(work())


BOB, ALL_USERS, CLIENT = ("user", "bob"), ("user", None), ("client-id", "c")
QUOTAS: dict[Any, dict[str, float | None]] = {
    (BOB,): {"producer_byte_rate": 1e6, "consumer_byte_rate": 2048},
    (CLIENT, BOB): {"request_percentage": 12.5},
    ALL_USERS: {"producer_byte_rate": 5},
    ("ip", "127.0.0.1"): {"connection_creation_rate": 10},
}


def test_quotas_are_set_found_and_removed(admin: Admin) -> None:
    admin.alter_client_quotas(QUOTAS)
    of_bob = {(BOB,): QUOTAS[BOB,], (BOB, CLIENT): QUOTAS[CLIENT, BOB]}
    of_all = {(ALL_USERS,): QUOTAS[ALL_USERS]}
    assert admin.describe_client_quotas() == {**of_bob, **of_all, (("ip", "127.0.0.1"),): QUOTAS["ip", "127.0.0.1"]}
    assert admin.describe_client_quotas([BOB]) == of_bob
    assert admin.describe_client_quotas([BOB], strict=True) == {(BOB,): QUOTAS[BOB,]}
    assert admin.describe_client_quotas(["user"]) == {**of_bob, **of_all}
    assert admin.describe_client_quotas([ALL_USERS]) == of_all
    assert admin.describe_client_quotas([{"entity_type": "user", "match": None}]) == of_all
    assert admin.describe_client_quotas([{"entity_type": "client_id"}, "user"]) == {(BOB, CLIENT): QUOTAS[CLIENT, BOB]}
    admin.alter_client_quotas({BOB: {"producer_byte_rate": None}, ALL_USERS: {"producer_byte_rate": None}})
    assert admin.describe_client_quotas(["user"], strict=True) == {(BOB,): {"consumer_byte_rate": 2048}}


def test_quotas_that_are_only_validated_do_not_hold(admin: Admin) -> None:
    admin.alter_client_quotas(QUOTAS, validate_only=True)
    assert admin.describe_client_quotas() == {}
    with pytest.raises(errors.broker.InvalidRequestError):
        admin.alter_client_quotas({BOB: {"producer_byte_rate": -1}}, validate_only=True)


def test_of_several_quotas_that_fail_each_is_named_and_the_rest_is_set(admin: Admin) -> None:
    with pytest.raises(errors.broker.InvalidRequestError, match=r"AlterClientQuotas of \(\('user', 'bob'\),\): ") as e:
        admin.alter_client_quotas(
            {BOB: {"no_such_rate": 1}, ALL_USERS: {"producer_byte_rate": 5}, CLIENT: {"producer_byte_rate": 0.5}}
        )
    assert list(e.value.failures) == [(BOB,), (CLIENT,)]
    assert admin.describe_client_quotas() == {(ALL_USERS,): {"producer_byte_rate": 5}}


def test_who_may_not_see_or_set_quotas_is_told(broker: Broker, admin: Admin) -> None:
    broker.deny("describe_configs", "cluster")
    broker.deny("alter_configs", "cluster")
    with pytest.raises(errors.broker.ClusterAuthorizationFailedError):
        admin.describe_client_quotas()
    with pytest.raises(errors.broker.ClusterAuthorizationFailedError):
        admin.alter_client_quotas(QUOTAS)


def test_a_broker_from_before_requests_about_quotas_says_what_it_takes() -> None:
    with Broker(release="2.4.1") as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"Kafka 2\.6 or newer \(before, kafka-configs"):
            admin.describe_client_quotas()
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"AlterClientQuotas: .* needs Kafka 2\.6"):
            admin.alter_client_quotas(QUOTAS)


@pytest.mark.parametrize(
    ("alterations", "words"),
    [
        ({"user": {}}, "'user' is not an entity"),
        ({(): {}}, "expected each type once"),
        ({(BOB, ALL_USERS): {}}, "expected each type once"),
        ({(BOB, CLIENT): {}, (CLIENT, BOB): {}}, "is there twice"),
        ({("group", "g"): {}}, "'group' is not a type of entity; there are user, client-id, ip"),
        ({("user", ""): {}}, "'' is not the name of an entity"),
        ({(BOB, "ip"): {}}, r"'ip' is not \(type, name\)"),
        ({BOB: 5}, "5 is not a mapping"),
        ({BOB: {"producer_byte_rate": True}}, "True; expected a number"),
        ({BOB: {"producer_byte_rate": float("nan")}}, "nan; expected a number"),
        ([BOB], "expected a mapping"),
    ],
)
def test_what_is_no_quota_is_refused_before_anything_is_sent(alterations: Any, words: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError, match=words):
        admin.alter_client_quotas(alterations)


@pytest.mark.parametrize(
    "components", ["user", ["users"], [BOB, "user"], [{"match": "bob"}], [{"entity_type": "user", "name": "bob"}], [5]]
)
def test_what_finds_no_quota_is_refused_before_anything_is_sent(components: Any) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError):
        admin.describe_client_quotas(components)


def test_quotas_on_asyncio(broker: Broker) -> None:
    async def work() -> None:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            await admin.alter_client_quotas({})
            await admin.alter_client_quotas({BOB: {"producer_byte_rate": 1}}, validate_only=True)
            await admin.alter_client_quotas({BOB: {"producer_byte_rate": 2}})
            assert await admin.describe_client_quotas([BOB]) == {(BOB,): {"producer_byte_rate": 2}}

    asyncio.run(work())


WORD, NEW_WORD = "a-word-of-bob", "another-word-of-bob"
S256, S512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


@pytest.fixture
def with_users() -> Iterator[Broker]:
    with Broker(users={"alice": "a-word-of-alice"}, mechanisms=[S256, S512]) as broker:
        yield broker


@pytest.fixture
def admin_with_users(with_users: Broker) -> Iterator[Admin]:
    with Admin(with_users.bootstrap_servers, **with_users.client_settings) as made:
        yield made


def log_in(broker: Broker, mechanism: str, password: str) -> None:
    login = {"sasl_mechanism": mechanism, "sasl_username": "bob", "sasl_password": password}
    with Admin(broker.bootstrap_servers, **{**broker.client_settings, **login}) as admin:
        admin.list_topics(timeout=5)


def test_passwords_are_set_and_log_in_until_they_are_removed(with_users: Broker, admin_with_users: Admin) -> None:
    admin = admin_with_users
    admin.alter_user_scram_credentials(
        {"bob": {S256: WORD, "scram_sha_512": {"password": NEW_WORD, "iterations": 4096}}}
    )
    assert admin.describe_user_scram_credentials(["bob"]) == {"bob": {S256: 8192, S512: 4096}}
    log_in(with_users, S256, WORD)
    log_in(with_users, S512, NEW_WORD)
    with pytest.raises(errors.AuthError):
        log_in(with_users, S256, NEW_WORD)
    admin.alter_user_scram_credentials({"bob": {S256: None}, "carol": {S256: {"password": "c", "salt": b"s"}}})
    with pytest.raises(errors.AuthError):
        log_in(with_users, S256, WORD)
    assert admin.describe_user_scram_credentials()["bob"] == {S512: 4096}
    assert sorted(admin.describe_user_scram_credentials()) == ["alice", "bob", "carol"]


def test_of_several_users_that_fail_each_is_named_and_the_rest_is_changed(admin_with_users: Admin) -> None:
    admin = admin_with_users
    with pytest.raises(errors.broker.ResourceNotFoundError, match="AlterUserScramCredentials of 'eve'") as e:
        admin.alter_user_scram_credentials({"eve": {S256: None}, "bob": {S256: WORD}, "mallory": {S512: None}})
    assert list(e.value.failures) == [("eve", S256), ("mallory", S512)]
    assert admin.describe_user_scram_credentials("bob") == {"bob": {S256: 8192}}
    with pytest.raises(errors.broker.ResourceNotFoundError, match="DescribeUserScramCredentials of 'eve'") as e:
        admin.describe_user_scram_credentials(["eve", "bob", "mallory"])
    assert list(e.value.failures) == ["eve", "mallory"]


def test_who_may_not_see_or_set_passwords_is_told(broker: Broker, admin: Admin) -> None:
    broker.deny("describe", "cluster")
    broker.deny("alter", "cluster")
    for users in (None, ["bob"]):
        with pytest.raises(errors.broker.ClusterAuthorizationFailedError):
            admin.describe_user_scram_credentials(users)
    with pytest.raises(errors.broker.ClusterAuthorizationFailedError):
        admin.alter_user_scram_credentials({"bob": {S256: WORD}})


def test_a_broker_from_before_requests_about_passwords_says_what_it_takes() -> None:
    with Broker(release="2.4.1") as broker, Admin(broker.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"needs Kafka 2\.7 or newer, with KRaft 3\.5"):
            admin.describe_user_scram_credentials()
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"AlterUserScramCredentials: .* Kafka 2\.7"):
            admin.alter_user_scram_credentials({"bob": {S256: WORD}})


@pytest.mark.parametrize(
    ("alterations", "words"),
    [
        ([WORD], "alterations: expected a mapping"),
        ({"": {S256: WORD}}, "'' is not a user"),
        ({"bob": WORD}, "'bob': expected a mapping"),
        ({"bob": {WORD: S256}}, "expected mechanisms, of SCRAM-SHA-256, SCRAM-SHA-512"),
        ({"bob": {S256: WORD, "scram_sha_256": WORD}}, "SCRAM-SHA-256 is there twice"),
        ({"bob": {S256: ""}}, "expected a password as str"),
        ({"bob": {S256: WORD.encode()}}, "expected a password as str"),
        ({"bob": {S256: {"iterations": 5000}}}, "expected a password as str"),
        ({"bob": {S256: {"password": WORD, "iterations": 4095}}}, "iterations=4095; from 4096 to 16384"),
        ({"bob": {S256: {"password": WORD, "iterations": 10**9}}}, "from 4096 to 16384"),
        ({"bob": {S256: {"password": WORD, "iterations": True}}}, "iterations=True"),
        ({"bob": {S256: {"password": WORD, "salt": "s"}}}, "salt is a str"),
        ({"bob": {S256: {"password": "w", "pepper": WORD}}}, "none of password, iterations, salt"),
    ],
)
def test_what_is_no_password_is_refused_without_being_shown(alterations: Any, words: str) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(errors.ConfigError, match=words) as e:
        admin.alter_user_scram_credentials(alterations)
    assert WORD not in str(e.value)


def test_what_names_no_users_is_refused_without_being_shown() -> None:
    with (
        Admin("127.0.0.1:1") as admin,
        pytest.raises(errors.ConfigError, match="users=<dict>: expected an iterable") as e,
    ):
        admin.describe_user_scram_credentials({"bob": {S256: WORD}})
    assert WORD not in str(e.value)


def test_passwords_on_asyncio(with_users: Broker) -> None:
    async def work() -> None:
        async with kwire.aio.Admin(with_users.bootstrap_servers, **with_users.client_settings) as admin:
            await admin.alter_user_scram_credentials({})
            await admin.alter_user_scram_credentials({"bob": {S512: WORD}})
            assert await admin.describe_user_scram_credentials(["bob"]) == {"bob": {S512: 8192}}
            assert await admin.describe_user_scram_credentials([]) == {}

    asyncio.run(work())
    log_in(with_users, S512, WORD)


def test_a_broker_without_tokens_says_what_it_takes() -> None:
    with Broker(release="1.0.2") as broker, Admin(broker.bootstrap_servers) as admin:
        check_that_tokens_are_missing(admin)


def check_that_tokens_are_missing(admin: Admin) -> None:
    for name, refused in {
        "CreateDelegationToken": admin.create_delegation_token,
        "RenewDelegationToken": lambda: admin.renew_delegation_token(b"hmac"),
        "ExpireDelegationToken": lambda: admin.expire_delegation_token("aG1hYw=="),
        "DescribeDelegationToken": admin.describe_delegation_token,
    }.items():
        with pytest.raises(errors.broker.UnsupportedVersionError, match=rf"{name}: .*; it needs Kafka 1\.1 or newer"):
            refused()
    assert admin.describe_delegation_token([]) == []


def test_tokens_on_asyncio_are_refused_as_with_threads(broker: Broker) -> None:
    async def work() -> None:
        async with kwire.aio.Admin(broker.bootstrap_servers) as admin:
            with pytest.raises(errors.broker.DelegationTokenRequestNotAllowedError):
                await admin.create_delegation_token()
            with pytest.raises(errors.ConfigError, match="expected a DelegationToken"):
                await admin.renew_delegation_token("?")

    asyncio.run(work())
