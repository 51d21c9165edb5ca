"""Calls about delegation tokens, in virtual time: what is sent by version, what comes back, and what is never shown."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.admin import access_calls
from kwire.engine.admin.access_results import DelegationToken
from kwire.engine.admin.calls import Question
from kwire.engine.common.secret import Secret
from kwire.schema.api_keys import (
    CREATE_DELEGATION_TOKEN,
    DESCRIBE_DELEGATION_TOKEN,
    EXPIRE_DELEGATION_TOKEN,
    RENEW_DELEGATION_TOKEN,
)
from kwire.schema.error_codes import (
    DELEGATION_TOKEN_AUTH_DISABLED,
    DELEGATION_TOKEN_NOT_FOUND,
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
)
from tests.engine.admin.access_world import AccessWorld

HMAC = b"the-hmac-of-a-token"
IN_TEXT = b64encode(HMAC).decode()
TOKEN = DelegationToken("id", Secret(IN_TEXT), "User:alice", "User:bob", 1, 2, 3, ("User:carol", "User:dave"))


class Kafka(AccessWorld):
    """A broker that has one token, or the same error for all."""

    def __init__(self, release: str = "4.4.0", code: int = 0) -> None:
        self.code = code
        answers = {
            CREATE_DELEGATION_TOKEN: self.created,
            RENEW_DELEGATION_TOKEN: self.expiring(protocol.RenewDelegationTokenResponse),
            EXPIRE_DELEGATION_TOKEN: self.expiring(protocol.ExpireDelegationTokenResponse),
            DESCRIBE_DELEGATION_TOKEN: self.described,
        }
        super().__init__(release, answers)

    def created(self, message: Any, version: int) -> Any:
        made = protocol.CreateDelegationTokenResponse
        row = self.row(version)
        return made(error_code=self.code, issue_timestamp_ms=1, expiry_timestamp_ms=2, max_timestamp_ms=3, **row)

    def described(self, message: Any, version: int) -> Any:
        made = protocol.DescribeDelegationTokenResponse
        token = made.DescribedDelegationToken
        renewer = token.DescribedDelegationTokenRenewer
        renewers = [renewer(principal_type="User", principal_name=name) for name in ("carol", "dave")]
        rows = [
            token(
                issue_timestamp=1,
                expiry_timestamp=2,
                max_timestamp=3,
                renewers=renewers,
                **self.row(version) | {"token_id": name},
            )
            for name in ("other", "id")
        ]
        return made(error_code=self.code, tokens=rows)

    def expiring(self, made: Any) -> Any:
        return lambda message, version: made(error_code=self.code, expiry_timestamp_ms=77)

    @staticmethod
    def row(version: int) -> dict[str, Any]:
        row = {"token_id": "id", "hmac": HMAC, "principal_type": "User", "principal_name": "alice"}
        if version < 3:
            return row
        return row | {"token_requester_principal_type": "User", "token_requester_principal_name": "bob"}


def create(**given: Any) -> Question[DelegationToken]:
    return access_calls.create_delegation_token(**{"owner": None, "renewers": (), "max_lifetime_ms": -1, **given})


def test_a_token_is_created_for_oneself_or_for_another() -> None:
    kafka = Kafka()
    renewers = ["User:carol", "User:dave", "User:carol"]
    assert kafka.ask(create(owner="User:alice", renewers=renewers, max_lifetime_ms=5)) == TOKEN
    assert kafka.ask(create()) == TOKEN._replace(renewers=())
    first, second = kafka.asked
    assert (first.owner_principal_type, first.owner_principal_name, first.max_lifetime_ms) == ("User", "alice", 5)
    assert [row.principal_name for row in first.renewers] == ["carol", "dave"]
    assert (second.owner_principal_type, second.owner_principal_name, second.max_lifetime_ms) == (None, None, -1)


def test_a_broker_from_before_other_owners_creates_tokens_of_who_asks() -> None:
    kafka = Kafka("2.8.2")
    assert kafka.ask(create()) == TOKEN._replace(renewers=(), requester="")
    with pytest.raises(errors.broker.UnsupportedVersionError, match=r"another owner needs Kafka 3\.3 or newer"):
        kafka.ask(create(owner="User:alice"))


def test_tokens_are_described_by_their_ids() -> None:
    kafka = Kafka()
    assert kafka.ask(access_calls.describe_delegation_token(None)) == [TOKEN, TOKEN._replace(token_id="other")]
    kafka.ask(access_calls.describe_delegation_token(["User:a:b"]))
    every, some = kafka.asked
    assert every.owners is None
    assert [(row.principal_type, row.principal_name) for row in some.owners] == [("User", "a:b")]
    assert access_calls.describe_delegation_token([]).api is None


@pytest.mark.parametrize("token", [TOKEN, TOKEN.hmac, IN_TEXT, HMAC], ids=["token", "secret", "base64", "bytes"])
def test_a_token_is_renewed_and_expired_by_itself_or_its_hmac(token: Any) -> None:
    kafka = Kafka()
    assert kafka.ask(access_calls.renew_delegation_token(token, renew_time_period_ms=9)) == 77
    assert kafka.ask(access_calls.expire_delegation_token(token, expiry_time_period_ms=-1)) == 77
    renewal, expiry = kafka.asked
    assert (renewal.hmac, renewal.renew_period_ms) == (HMAC, 9)
    assert (expiry.hmac, expiry.expiry_time_period_ms) == (HMAC, -1)


EVERY_CALL = [
    create(),
    access_calls.renew_delegation_token(HMAC, renew_time_period_ms=-1),
    access_calls.expire_delegation_token(HMAC, expiry_time_period_ms=-1),
    access_calls.describe_delegation_token(None),
]


@pytest.mark.parametrize("question", EVERY_CALL, ids=["create", "renew", "expire", "describe"])
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (DELEGATION_TOKEN_AUTH_DISABLED, r"have no delegation\.token\.secret\.key"),
        (DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, "log in by SASL or with a certificate"),
        (DELEGATION_TOKEN_NOT_FOUND, "DelegationToken: DELEGATION_TOKEN_NOT_FOUND"),
    ],
)
def test_a_refusal_says_what_it_takes(question: Question[Any], code: int, words: str) -> None:
    with pytest.raises(errors.BrokerError, match=words) as e:
        Kafka(code=code).ask(question)
    assert e.value.code == code


@pytest.mark.parametrize("question", EVERY_CALL, ids=["create", "renew", "expire", "describe"])
def test_a_broker_from_before_tokens_says_what_it_takes(question: Question[Any]) -> None:
    with pytest.raises(errors.broker.UnsupportedVersionError, match=r"needs Kafka 1\.1 or newer"):
        Kafka("0.11.0.3").ask(question)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"owner": "alice"}, "'alice' is not a principal: expected a type and a name"),
        ({"renewers": "User:alice"}, "expected an iterable of principals"),
        ({"renewers": ["User:"]}, "'User:' is not a principal"),
        ({"max_lifetime_ms": -2}, "max_lifetime_ms=-2"),
        ({"max_lifetime_ms": 1.5}, r"max_lifetime_ms=1\.5"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(given: Any, words: str) -> None:
    with pytest.raises(errors.ConfigError, match=words):
        create(**given)


@pytest.mark.parametrize("wrong", [IN_TEXT + "?", "", b"", None, 5])
def test_what_is_no_hmac_is_refused_without_being_shown(wrong: Any) -> None:
    with pytest.raises(errors.ConfigError, match="hmac: expected a DelegationToken, its hmac in base64") as e:
        access_calls.renew_delegation_token(wrong, renew_time_period_ms=-1)
    assert IN_TEXT not in str(e.value)


def test_a_token_does_not_show_its_hmac() -> None:
    for shown in (repr(TOKEN), str(TOKEN), f"{TOKEN}", str(TOKEN.hmac)):
        assert IN_TEXT not in shown
    assert TOKEN.hmac.reveal() == IN_TEXT
