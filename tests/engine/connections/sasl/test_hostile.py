"""Logins at brokers that answer wrongly: any code, any bytes, any moment."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from kwire import errors, protocol
from kwire.engine.common.request import ANY
from kwire.engine.connections.connection import Connection
from kwire.schema.api_keys import METADATA
from tests.each import each
from tests.engine.connections.sasl.broker import (
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SECRET,
    TOKEN,
    A,
    SaslBroker,
    settings,
)
from tests.engine.world import HANG_UP, Answer, Outcome, World

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
BOTH = [SASL_HANDSHAKE, SASL_AUTHENTICATE]
CODES = [code for code in range(-1, 137) if code != 0]


class Hostile(SaslBroker):
    """Answers `key` by a script: frames without their sizes, or None to hang up; then as it should."""

    def __init__(self, key: int, *script: bytes | None, release: str = "4.4.0") -> None:
        super().__init__(release, mechanisms=MECHANISMS)
        self.key = key
        self.script = list(script)

    def answer_on(self, connection: Connection, frame: bytes, now: float) -> Answer:
        door = self.doors.get(connection)
        bare = door is not None and door.state == "tokens"
        if self.script and (bare if self.key < 0 else not bare and int.from_bytes(frame[4:6], "big") == self.key):
            said = self.script.pop(0)
            if said is None:
                return HANG_UP
            body = said if bare else frame[8:12] + said
            return [len(body).to_bytes(4, "big") + body]
        return super().answer_on(connection, frame, now)


def world_of(mechanism: str, broker: SaslBroker) -> World:
    more = {"sasl_oauth_token": lambda: (TOKEN, 60.0)} if mechanism == "OAUTHBEARER" else {}
    return World({A: broker}, settings(mechanism, **more))


def ask(world: World) -> Outcome:
    outcome = world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]))
    world.run(lambda: outcome.ended)
    return outcome


def body_of(response: Any, version: int) -> bytes:
    """A response without its size and correlation id."""
    return protocol.encode_response(response, version, correlation_id=0)[8:]


@pytest.mark.parametrize("key", BOTH)
@each("code", CODES)
def test_every_error_code_ends_the_login_as_it_says(key: int, code: int) -> None:
    made = protocol.SaslHandshakeResponse if key == SASL_HANDSHAKE else protocol.SaslAuthenticateResponse
    version = 1 if key == SASL_HANDSHAKE else 2
    broker = Hostile(key, body_of(made(error_code=code), version))
    outcome = ask(world_of("PLAIN", broker))
    retriable = errors.broker.error_for(code, "").retriable
    assert isinstance(outcome.error, errors.ConnectError if retriable else errors.AuthError), outcome.error
    assert len(str(outcome.error)) < 600


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("key", BOTH)
@pytest.mark.parametrize("before", [0, 1])
def test_a_connection_lost_at_any_step_is_made_again(mechanism: str, key: int, before: int) -> None:
    broker = Hostile(key, None)
    if before:
        broker.script.clear()
    world = world_of(mechanism, broker)
    outcome = ask(world)
    assert isinstance(outcome.error, errors.ConnectError | None)
    assert ask(world).error is None


RAW = st.binary(max_size=200)


@hypothesis_settings(max_examples=150)
@given(mechanism=st.sampled_from(MECHANISMS), key=st.sampled_from(BOTH), said=RAW)
def test_any_answer_to_a_request_ends_in_an_auth_error_or_is_one(mechanism: str, key: int, said: bytes) -> None:
    broker = Hostile(key, said)
    outcome = ask(world_of(mechanism, broker))
    assert isinstance(outcome.error, errors.AuthError | errors.ConnectError | None), outcome.error
    shown = f"{outcome.error!r} {outcome.error}"
    assert SECRET not in shown
    assert len(shown) < 3000


@hypothesis_settings(max_examples=150)
@given(mechanism=st.sampled_from(MECHANISMS), first=RAW, second=RAW)
def test_any_token_of_the_broker_ends_in_an_auth_error(mechanism: str, first: bytes, second: bytes) -> None:
    answers = [body_of(protocol.SaslAuthenticateResponse(auth_bytes=said), 2) for said in (first, second)]
    broker = Hostile(SASL_AUTHENTICATE, *answers)
    outcome = ask(world_of(mechanism, broker))
    if mechanism == "PLAIN" or (mechanism == "OAUTHBEARER" and not first):
        assert isinstance(outcome.error, errors.ConnectError), "the broker does not know that it let us in"
    else:
        assert isinstance(outcome.error, errors.AuthError)
        assert SECRET not in str(outcome.error)


@hypothesis_settings(max_examples=100)
@given(mechanism=st.sampled_from(MECHANISMS[1:]), first=RAW, second=RAW)
def test_any_bare_token_of_the_broker_ends_in_an_auth_error(mechanism: str, first: bytes, second: bytes) -> None:
    broker = Hostile(-1, first, second, release="0.10.2.2")
    outcome = ask(world_of(mechanism, broker))
    if mechanism == "OAUTHBEARER" and not first:
        return
    assert isinstance(outcome.error, errors.AuthError)
    assert outcome.error.step == f"the tokens of {mechanism}"


def test_a_login_that_is_quoted_back_is_not_shown() -> None:
    words = f"user alice with password {SECRET} is not known"
    refusal = protocol.SaslAuthenticateResponse(error_code=58, error_message=words)
    outcome = ask(world_of("PLAIN", Hostile(SASL_AUTHENTICATE, body_of(refusal, 2))))
    assert "with password [hidden] is not known" in str(outcome.error)


def test_a_negative_session_has_no_end() -> None:
    answer = protocol.SaslAuthenticateResponse(session_lifetime_ms=-5)
    broker = Hostile(SASL_AUTHENTICATE, body_of(answer, 2))
    world = world_of("PLAIN", broker)
    ask(world)
    world.run(world.now + 5)
    assert broker.script == []


def test_a_token_of_an_unheard_of_size_is_not_looked_at() -> None:
    answer = protocol.SaslAuthenticateResponse(auth_bytes=b"," * 600_000)
    outcome = ask(world_of("SCRAM-SHA-256", Hostile(SASL_AUTHENTICATE, body_of(answer, 2))))
    assert "has 600000 bytes" in str(outcome.error)


def test_a_source_of_tokens_that_cannot_be_reached_may_be_later() -> None:
    def fetch() -> tuple[str, float]:
        raise OSError("cannot reach idp.example")

    world = World({A: SaslBroker(mechanisms=MECHANISMS)}, settings("OAUTHBEARER", sasl_oauth_token=fetch))
    error = ask(world).error
    assert isinstance(error, errors.ConnectError)
    assert "the token of sasl_oauth_token could not be obtained: OSError: cannot reach idp.example" in str(error)
