"""Delegation tokens on the embedded broker: they log in as their owner until they expire, and only some see them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import kwire
from kwire import Admin, errors
from kwire.testing import Broker, Clock

HOUR, DAY = 3_600_000, 86_400_000
ALICE, BOB = "User:alice", "User:bob"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def broker(clock: Clock) -> Iterator[Broker]:
    with Broker(
        users={"alice": "a", "bob": "b"},
        mechanisms=["SCRAM-SHA-256", "PLAIN"],
        topics=["t"],
        authorizer=True,
        super_users=[ALICE],
        allow_everyone_if_no_acl_found=True,
        delegation_token_secret_key="key of the broker",
        clock=clock,
    ) as made:
        yield made


def login(user: str, password: str, **more: Any) -> dict[str, Any]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_username": user,
        "sasl_password": password,
        **more,
    }


@pytest.fixture
def alice(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap_servers, **login("alice", "a")) as admin:
        yield admin


@pytest.fixture
def bob(broker: Broker) -> Iterator[Admin]:
    with Admin(broker.bootstrap_servers, **login("bob", "b")) as admin:
        yield admin


def by_token(broker: Broker, token: Any) -> Admin:
    return Admin(
        broker.bootstrap_servers,
        **login(token.token_id, token.hmac, sasl_scram_token_auth=True),
        default_api_timeout_ms=5000,
    )


def test_a_token_logs_in_as_its_owner_until_it_is_expired(broker: Broker, alice: Admin) -> None:
    token = alice.create_delegation_token(max_lifetime_ms=2 * DAY, renewers=[BOB])
    assert (token.owner, token.requester, token.renewers) == (ALICE, ALICE, (BOB,))
    assert token.expiry_timestamp - token.issue_timestamp == DAY
    assert token.max_timestamp - token.issue_timestamp == 2 * DAY
    with by_token(broker, token) as other:
        assert other.list_topics() == ["t"]
        with pytest.raises(errors.broker.DelegationTokenRequestNotAllowedError, match="not with a token"):
            other.create_delegation_token()
    assert alice.describe_delegation_token() == [token]
    assert alice.expire_delegation_token(token) <= token.expiry_timestamp
    assert alice.describe_delegation_token() == []
    with by_token(broker, token) as other, pytest.raises(errors.AuthError):
        other.list_topics()


def test_a_token_is_renewed_within_its_lifetime(clock: Clock, broker: Broker, alice: Admin, bob: Admin) -> None:
    token = alice.create_delegation_token(max_lifetime_ms=2 * DAY, renewers=[BOB])
    assert bob.renew_delegation_token(token.hmac, renew_time_period_ms=9 * DAY) == token.max_timestamp
    assert alice.expire_delegation_token(token, expiry_time_period_ms=HOUR) < token.expiry_timestamp
    clock.advance(HOUR / 1000 + 1)
    with pytest.raises(errors.broker.DelegationTokenExpiredError):
        alice.renew_delegation_token(token)
    with by_token(broker, token) as other, pytest.raises(errors.AuthError):
        other.list_topics()


def test_only_those_concerned_see_and_change_a_token(alice: Admin, bob: Admin) -> None:
    hers = alice.create_delegation_token()
    his = alice.create_delegation_token(owner=BOB)
    assert (his.owner, his.requester) == (BOB, ALICE)
    assert alice.describe_delegation_token([BOB]) == [his]
    assert alice.describe_delegation_token(["User:carol"]) == []
    assert his in bob.describe_delegation_token()
    with pytest.raises(errors.broker.DelegationTokenOwnerMismatchError):
        bob.renew_delegation_token(hers)
    with pytest.raises(errors.broker.DelegationTokenNotFoundError):
        alice.renew_delegation_token(b"nobody's")
    with pytest.raises(errors.broker.InvalidPrincipalTypeError):
        alice.create_delegation_token(renewers=["Group:all"])


def test_without_a_login_or_a_key_there_are_no_tokens(broker: Broker) -> None:
    with Broker(delegation_token_secret_key="key") as plain, Admin(plain.bootstrap_servers) as admin:
        with pytest.raises(errors.broker.DelegationTokenRequestNotAllowedError):
            admin.create_delegation_token()
    with Broker(users={"alice": "a"}) as without, Admin(without.bootstrap_servers, **without.client_settings) as admin:
        for call in (admin.create_delegation_token, admin.describe_delegation_token):
            with pytest.raises(errors.broker.DelegationTokenAuthDisabledError, match=r"delegation\.token\.secret\.key"):
                call()


def test_older_brokers_know_no_other_owner() -> None:
    options: dict[str, Any] = {"users": {"alice": "a"}, "delegation_token_secret_key": "key"}
    with Broker(release="2.8.2", **options) as old, Admin(old.bootstrap_servers, **old.client_settings) as admin:
        token = admin.create_delegation_token()
        assert (token.owner, token.requester) == (ALICE, "")
        assert admin.describe_delegation_token() == [token]
        with pytest.raises(errors.BrokerError, match=r"needs Kafka 3\.3"):
            admin.create_delegation_token(owner=BOB)


def test_coroutines_do_the_same(broker: Broker) -> None:
    async def work() -> None:
        async with kwire.aio.Admin(broker.bootstrap_servers, **login("bob", "b")) as admin:
            token = await admin.create_delegation_token()
            assert await admin.describe_delegation_token([BOB]) == [token]
            assert await admin.renew_delegation_token(token, renew_time_period_ms=HOUR) < token.expiry_timestamp
            await admin.expire_delegation_token(token)
            assert await admin.describe_delegation_token() == []

    asyncio.run(work())
