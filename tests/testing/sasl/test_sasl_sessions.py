"""Logins in virtual time: what may be asked when, how each release refuses, and re-authentication."""

from __future__ import annotations

import random
import struct
from contextlib import suppress
from typing import Any

import pytest

from kwire import protocol
from kwire.errors import broker as codes
from kwire.protocol import (
    ApiVersionsRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from kwire.testing.requests import CloseConnectionError
from kwire.testing.sasl import Accounts
from kwire.testing.sasl.oauthbearer import unsecured_token
from tests.testing.frames import corpus, damage
from tests.testing.in_process import InProcess, Waiting
from tests.testing.sasl.scram_client import ScramClient

DAY = 1_700_000_000.0
ALL = "SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN", "OAUTHBEARER"
ALL_TOPICS = MetadataRequest(topics=None)
GOOD, WRONG = b"\0alice\0secret", b"\0alice\0wrong"
VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")


def broker_of(release: str = "4.4.0", *, max_reauth_ms: int = 0) -> InProcess:
    accounts = Accounts({"alice": "secret", "bob": "word"}, ALL, max_reauth_ms=max_reauth_ms)
    broker = InProcess(release, accounts)
    accounts.clock = lambda: DAY + broker.now
    return broker


def handshake(broker: InProcess, mechanism: str = "PLAIN", version: int = 1) -> Any:
    return broker.ask(SaslHandshakeRequest(mechanism=mechanism), version)


def authenticate(broker: InProcess, token: bytes, version: int = 2) -> Any:
    return broker.ask(SaslAuthenticateRequest(auth_bytes=token), version)


def log_in(broker: InProcess, token: bytes = GOOD, mechanism: str = "PLAIN") -> Any:
    assert handshake(broker, mechanism).error_code == 0
    return authenticate(broker, token)


def refused(broker: InProcess, waiting: Waiting) -> Any:
    """The response that comes after the pause, before the connection closes."""
    assert waiting.answer is None, "the refusal is not told at once"
    broker.now += 0.1
    waiting.step()
    assert waiting.answer is not None
    assert waiting.answer.close_reason
    return waiting.response


def test_a_login_in_kafkas_order() -> None:
    broker = broker_of()
    assert broker.ask(VERSIONS, 4).error_code == 0
    assert list(handshake(broker).mechanisms) == list(ALL)
    answer = authenticate(broker, GOOD)
    assert (answer.error_code, answer.auth_bytes, answer.session_lifetime_ms) == (0, b"", 0)
    assert not broker.ask(ALL_TOPICS, 9).topics
    assert broker.ask(VERSIONS, 4).error_code == 0


@pytest.mark.parametrize(("mechanism", "hash_name"), [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")])
def test_a_login_in_two_steps(mechanism: str, hash_name: str) -> None:
    broker, client = broker_of(), ScramClient(hash_name, "alice", "secret")
    first = log_in(broker, client.first, mechanism)
    assert authenticate(broker, client.final(bytes(first.auth_bytes))).auth_bytes == client.expected
    assert not broker.ask(ALL_TOPICS, 9).topics


def test_each_connection_has_to_log_in() -> None:
    broker = broker_of()
    log_in(broker)
    broker.reconnect()
    with pytest.raises(CloseConnectionError, match="before the login"):
        broker.ask(ALL_TOPICS, 9)


def test_other_requests_before_a_login_close() -> None:
    for request, version in [(ALL_TOPICS, 9), (SaslAuthenticateRequest(auth_bytes=GOOD), 2)]:
        with pytest.raises(CloseConnectionError, match="before the login: ApiVersions or SaslHandshake is expected"):
            broker_of().ask(request, version)
    with pytest.raises(CloseConnectionError, match="API key 25"):
        broker_of().raw(b"GET / HTTP/1.1\r\n\r\n".replace(b"GE", struct.pack(">h", 25)))


def test_api_versions_may_be_asked_once_and_in_a_version_that_is_not_there() -> None:
    broker = broker_of()
    assert broker.raw(struct.pack(">hhih", 18, 99, 77, -1) + b"\0").parts
    assert broker.ask(ApiVersionsRequest(), 0).error_code == 0
    with pytest.raises(CloseConnectionError, match="SaslHandshake is expected"):
        broker.ask(ApiVersionsRequest(), 0)


def test_before_1_0_api_versions_may_be_asked_again() -> None:
    broker = broker_of("0.11.0.3")
    for _ in range(2):
        assert broker.ask(ApiVersionsRequest(), 0).error_code == 0


def test_another_request_within_a_login_is_refused_and_closes() -> None:
    broker = broker_of()
    handshake(broker)
    answer = refused(broker, broker.begin(VERSIONS, 4))
    assert answer.error_code == codes.ILLEGAL_SASL_STATE.code


def test_an_unknown_mechanism_is_refused_with_the_known_ones() -> None:
    broker = broker_of()
    answer = refused(broker, broker.begin(SaslHandshakeRequest(mechanism="GSSAPI"), 1))
    assert answer.error_code == codes.UNSUPPORTED_SASL_MECHANISM.code
    assert list(answer.mechanisms) == list(ALL)


def test_a_refused_password_says_so_later() -> None:
    broker = broker_of()
    handshake(broker)
    answer = refused(broker, broker.begin(SaslAuthenticateRequest(auth_bytes=WRONG), 2))
    assert answer.error_code == codes.SASL_AUTHENTICATION_FAILED.code
    assert "invalid username or password" in answer.error_message


def test_a_refused_scram_login_tells_no_more_than_the_mechanism() -> None:
    broker = broker_of()
    handshake(broker, "SCRAM-SHA-256")
    answer = refused(broker, broker.begin(SaslAuthenticateRequest(auth_bytes=b"n,,n=carol,r=abc"), 2))
    assert answer.error_code == codes.SASL_AUTHENTICATION_FAILED.code
    assert "SCRAM-SHA-256" in answer.error_message
    assert "carol" not in answer.error_message


def test_before_2_1_a_refusal_is_told_at_once() -> None:
    broker = broker_of("1.1.1")
    handshake(broker)
    waiting = broker.begin(SaslAuthenticateRequest(auth_bytes=WRONG), 0)
    assert waiting.answer is not None
    assert waiting.answer.close_reason
    assert waiting.response.error_code == codes.SASL_AUTHENTICATION_FAILED.code


@pytest.mark.parametrize("release", ["0.10.0.1", "0.11.0.3", "4.4.0"])
def test_handshake_0_is_followed_by_bare_tokens(release: str) -> None:
    broker = broker_of(release)
    handshake(broker, version=0)
    assert b"".join(broker.raw(GOOD).parts) == struct.pack(">i", 0)
    assert not broker.ask(ALL_TOPICS, 1).topics


def test_bare_tokens_of_scram() -> None:
    broker, client = broker_of("0.10.2.2"), ScramClient("sha256", "alice", "secret")
    handshake(broker, "SCRAM-SHA-256", 0)
    first = b"".join(broker.raw(client.first).parts)
    final = b"".join(broker.raw(client.final(first[4:])).parts)
    assert final == struct.pack(">i", len(client.expected)) + client.expected


def test_a_refused_bare_token_closes() -> None:
    broker = broker_of("0.10.2.2")
    handshake(broker, version=0)
    with pytest.raises(CloseConnectionError, match="invalid username or password"):
        broker.raw(WRONG)


def test_after_a_login_without_an_end_another_is_refused_and_nothing_closes() -> None:
    broker = broker_of()
    log_in(broker)
    answer = handshake(broker)
    assert (answer.error_code, list(answer.mechanisms)) == (codes.ILLEGAL_SASL_STATE.code, [])
    assert authenticate(broker, GOOD).error_code == codes.ILLEGAL_SASL_STATE.code
    assert not broker.ask(ALL_TOPICS, 9).topics


def test_without_accounts_a_login_is_refused_and_nothing_closes() -> None:
    broker = InProcess()
    assert handshake(broker).error_code == codes.ILLEGAL_SASL_STATE.code
    assert authenticate(broker, GOOD).error_code == codes.ILLEGAL_SASL_STATE.code
    assert not broker.ask(ALL_TOPICS, 9).topics


# Re-authentication


def test_a_session_ends_unless_the_client_logs_in_again() -> None:
    broker = broker_of(max_reauth_ms=3000)
    assert log_in(broker).session_lifetime_ms == 3000
    for _ in range(3):
        broker.now += 2.9
        assert not broker.ask(ALL_TOPICS, 9).topics
        assert log_in(broker).session_lifetime_ms == 3000
    broker.now += 3
    with pytest.raises(CloseConnectionError, match="the session of 'alice' has ended"):
        broker.ask(ALL_TOPICS, 9)


def test_after_the_end_of_its_session_a_client_may_still_log_in() -> None:
    broker = broker_of(max_reauth_ms=3000)
    log_in(broker)
    broker.now += 5
    assert log_in(broker).session_lifetime_ms == 3000
    assert not broker.ask(ALL_TOPICS, 9).topics


def test_a_second_re_authentication_within_a_second_is_refused_and_nothing_closes() -> None:
    broker = broker_of(max_reauth_ms=3000)
    log_in(broker)
    log_in(broker)
    broker.now += 0.9
    answer = handshake(broker)
    assert (answer.error_code, list(answer.mechanisms)) == (codes.ILLEGAL_SASL_STATE.code, [])
    assert not broker.ask(ALL_TOPICS, 9).topics
    broker.now += 0.1
    assert log_in(broker).error_code == 0


def test_a_re_authentication_as_another_is_refused() -> None:
    broker = broker_of(max_reauth_ms=3000)
    log_in(broker)
    assert handshake(broker).error_code == 0
    answer = refused(broker, broker.begin(SaslAuthenticateRequest(auth_bytes=b"\0bob\0word"), 2))
    assert answer.error_code == codes.SASL_AUTHENTICATION_FAILED.code


def test_a_re_authentication_by_another_mechanism_closes_without_a_word() -> None:
    broker = broker_of(max_reauth_ms=3000)
    log_in(broker)
    assert handshake(broker, "SCRAM-SHA-256").error_code == 0
    with pytest.raises(CloseConnectionError, match="'SCRAM-SHA-256' after a login by 'PLAIN'"):
        authenticate(broker, b"n,,n=alice,r=abc")


def test_a_re_authentication_by_an_unknown_mechanism_closes_without_a_word() -> None:
    broker = broker_of(max_reauth_ms=3000)
    log_in(broker)
    with pytest.raises(CloseConnectionError, match="'GSSAPI' is not offered"):
        handshake(broker, "GSSAPI")


def test_a_re_authentication_with_a_wrong_password_closes() -> None:
    broker = broker_of(max_reauth_ms=3000)
    log_in(broker)
    handshake(broker)
    answer = refused(broker, broker.begin(SaslAuthenticateRequest(auth_bytes=WRONG), 2))
    assert answer.error_code == codes.SASL_AUTHENTICATION_FAILED.code


@pytest.mark.parametrize(("max_reauth_ms", "lifetime_ms"), [(3000, 3000), (90_000, 60_000), (0, 60_000)])
def test_a_session_is_no_longer_than_its_token(max_reauth_ms: int, lifetime_ms: int) -> None:
    broker = broker_of(max_reauth_ms=max_reauth_ms)
    token = f"n,,\x01auth=Bearer {unsecured_token('alice', DAY, 60)}\x01\x01".encode()
    assert log_in(broker, token, "OAUTHBEARER").session_lifetime_ms == lifetime_ms


def test_before_3_3_a_token_ends_no_session_by_itself() -> None:
    token = f"n,,\x01auth=Bearer {unsecured_token('alice', DAY, 60)}\x01\x01".encode()
    for max_reauth_ms, lifetime_ms in [(0, 0), (90_000, 60_000)]:
        broker = broker_of("3.2.0", max_reauth_ms=max_reauth_ms)
        assert log_in(broker, token, "OAUTHBEARER").session_lifetime_ms == lifetime_ms


@pytest.mark.parametrize(("release", "ends"), [("2.4.1", False), ("2.8.2", True)])
def test_before_2_5_a_login_with_bare_tokens_has_no_end(release: str, ends: bool) -> None:
    broker = broker_of(release, max_reauth_ms=3000)
    handshake(broker, version=0)
    broker.raw(GOOD)
    broker.now += 4
    if ends:
        with pytest.raises(CloseConnectionError, match="has ended"):
            broker.ask(ALL_TOPICS, 1)
    else:
        assert not broker.ask(ALL_TOPICS, 1).topics


def test_a_login_that_a_fault_refuses_closes_as_any_other() -> None:
    broker = broker_of()
    broker.faults.error("SaslAuthenticate", codes.SASL_AUTHENTICATION_FAILED)
    handshake(broker)
    answer = refused(broker, broker.begin(SaslAuthenticateRequest(auth_bytes=GOOD), 2))
    assert answer.error_code == codes.SASL_AUTHENTICATION_FAILED.code


@pytest.mark.parametrize("release", ["0.10.2.2", "1.1.1", "4.4.0"])
def test_damaged_logins_let_nobody_in(release: str) -> None:
    """Frames in any order, damaged or not: topics are only shown after a login with the password."""
    rng = random.Random(release)
    newest = protocol.versions_of(release).get(36, (0, -1))[1]
    by_plain, token = SaslHandshakeRequest(mechanism="PLAIN"), SaslAuthenticateRequest(auth_bytes=GOOD)
    logins = [(encoded(by_plain, 0), GOOD)]
    if newest >= 0:
        logins.append((encoded(by_plain, 1), encoded(token, newest)))
    frames = [frame for login in logins for frame in login] + corpus(release)
    shown = 0
    for _ in range(1500):
        broker = broker_of(release)
        broker.cluster.create_topic("orders", 1)
        sent = [bytearray(frame) for frame in rng.choice(logins)] if rng.random() < 0.3 else []
        sent += [bytearray(rng.choice(frames)) for _ in range(rng.randrange(3))]
        for frame in sent:
            if rng.random() < 0.5:
                damage(frame, rng)
        with suppress(CloseConnectionError):
            for frame in [*sent, encoded(ALL_TOPICS, 1)]:
                answer = broker.raw(bytes(frame))
                if answer.close_reason:
                    raise CloseConnectionError
            response: Any = protocol.decode_response(b"".join(map(bytes, answer.parts)), 3, 1)[1]
            assert "orders" in [topic.name for topic in response.topics]
            assert any(GOOD in frame for frame in sent)
            shown += 1
    assert shown > 20


def encoded(request: protocol.Request, version: int) -> bytes:
    """A frame without its size."""
    return protocol.encode_request(request, version, correlation_id=5)[4:]
