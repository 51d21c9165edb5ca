"""Logins in virtual time: each mechanism, each version of the exchange, and each way in which it can end."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.calls.calls import Call
from kwire.engine.common.request import ANY
from kwire.engine.connections.flows import LONG_CALL_S, MAX_CALLS
from kwire.schema.api_keys import METADATA
from tests.engine.connections.sasl.broker import (
    ALICE,
    API_VERSIONS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SECRET,
    TOKEN,
    A,
    B,
    SaslBroker,
    settings,
)
from tests.engine.world import Broker, Outcome, World

SCRAMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAMS, "OAUTHBEARER")
RELEASES = ("4.4.0", "3.9.2", "2.4.1", "1.1.1", "0.10.2.2")


def credentials(mechanism: str) -> dict[str, Any]:
    return {"sasl_oauth_token": lambda: (TOKEN, 3600.0)} if mechanism == "OAUTHBEARER" else {}


def world_of(mechanism: str, broker: Broker, **more: Any) -> World:
    return World({A: broker}, settings(mechanism, **(credentials(mechanism) | more)))


def ask(world: World) -> Outcome:
    return world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]))


def retried(world: World) -> Outcome:
    """A request that is sent again after a lost connection, as components do."""
    outcome = ended(world)
    give_up = world.now + 3
    while isinstance(outcome.error, errors.ConnectError) and world.now < give_up:
        outcome = ended(world)
    return outcome


def ended(world: World) -> Outcome:
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    return outcome


def error_of(world: World, within: float = 5.0) -> errors.KafkaError:
    """The error in which a request ends."""
    begin = world.now
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    assert world.now - begin < within
    assert isinstance(outcome.error, errors.KafkaError)
    return outcome.error


def refusal_of(world: World) -> errors.AuthError:
    begin = world.now
    error = retried(world).error
    assert world.now - begin < 2.5
    assert isinstance(error, errors.AuthError), repr(error)
    assert SECRET not in f"{error} {error!r} {error.args} {world.warned}"
    return error


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_client_logs_in_before_its_first_request(mechanism: str, release: str) -> None:
    broker = SaslBroker(release, mechanisms=MECHANISMS)
    world = world_of(mechanism, broker)
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    assert outcome.error is None
    assert (broker.connections, len(broker.logins), broker.refused) == (1, 1, [])
    [door] = broker.doors.values()
    assert door.version == (0 if release == "0.10.2.2" else 1)


@pytest.mark.parametrize("mechanism", SCRAMS)
@pytest.mark.parametrize("user", ["alice", "a,l=i,ce", "älïce", "愛麗絲"])
def test_any_user_and_password_pass_through_scram(mechanism: str, user: str) -> None:
    broker = SaslBroker(mechanisms=SCRAMS)
    broker.users = {user: "p=,\N{SNOWMAN} ﬁ"}
    world = world_of(mechanism, broker, sasl_username=user, sasl_password="p=,\N{SNOWMAN} ﬁ")
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    assert outcome.error is None


def test_a_delegation_token_says_so() -> None:
    broker = SaslBroker(mechanisms=SCRAMS)
    broker.users = {}
    world = world_of("SCRAM-SHA-256", broker, sasl_scram_token_auth=True)
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    assert outcome.error is None


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAMS])
def test_a_wrong_password_is_told_soon(mechanism: str, release: str) -> None:
    broker = SaslBroker(release, mechanisms=MECHANISMS)
    broker.users = {ALICE: "another"}
    error = refusal_of(world_of(mechanism, broker))
    assert error.broker == "the broker at a:1"
    if release == "0.10.2.2":
        assert error.step == f"the tokens of {mechanism}"
        assert "closes the connection here, again and again" in error.reason
    else:
        assert error.step == f"SaslAuthenticate ({mechanism})"
        assert error.reason.startswith("Authentication failed")


@pytest.mark.parametrize("release", RELEASES)
def test_a_refused_token_is_told_with_the_words_of_the_broker(release: str) -> None:
    broker = SaslBroker(release, mechanisms=MECHANISMS)
    broker.good_tokens = set()
    error = refusal_of(world_of("OAUTHBEARER", broker))
    assert "invalid_token" in error.reason
    assert TOKEN not in f"{error!r}"


def test_a_mechanism_that_the_broker_has_not_is_told_with_those_that_it_has() -> None:
    error = refusal_of(world_of("PLAIN", SaslBroker(mechanisms=("SCRAM-SHA-256", "GSSAPI"))))
    assert error.step == "SaslHandshake"
    assert error.reason == "the broker does not offer PLAIN; it offers: SCRAM-SHA-256, GSSAPI"


class WithoutSasl(Broker):
    """A PLAINTEXT listener."""

    def __init__(self, release: str = "4.4.0") -> None:
        super().__init__(release)
        self.handlers[SASL_HANDSHAKE] = lambda *_: protocol.SaslHandshakeResponse(error_code=34)


def test_a_listener_without_sasl_is_told() -> None:
    error = refusal_of(world_of("PLAIN", WithoutSasl()))
    assert error.step == "SaslHandshake"
    assert "expects no login here" in error.reason
    assert "security_protocol='SASL_PLAINTEXT'" in error.reason


def test_a_broker_that_offers_no_handshake_is_told() -> None:
    broker = SaslBroker()
    broker.versions = {API_VERSIONS: (0, 3), METADATA: (0, 9)}
    assert "offers no login" in refusal_of(world_of("PLAIN", broker)).reason


def test_a_client_without_sasl_at_a_listener_with_it_is_told() -> None:
    broker = SaslBroker()
    world = World({A: broker})
    error = refusal_of(world)
    assert "behaves that requires a login (SASL), and security_protocol='PLAINTEXT'" in error.reason


@pytest.mark.parametrize("key", [SASL_HANDSHAKE, SASL_AUTHENTICATE])
def test_a_broker_that_hangs_is_told_with_the_step(key: int) -> None:
    broker = SaslBroker()
    broker.silent_at = key
    error = error_of(world_of("PLAIN", broker), within=11)
    step = {SASL_HANDSHAKE: "SaslHandshake", SASL_AUTHENTICATE: r"SaslAuthenticate (PLAIN)"}[key]
    assert f"connected, but {step} did not end within 10000 ms" in str(error)


def test_bare_tokens_that_are_not_answered_are_told() -> None:
    broker = SaslBroker("0.10.2.2")
    broker.silent_at = "token"
    assert "connected, but the tokens of PLAIN did not end" in str(error_of(world_of("PLAIN", broker), within=11))


@pytest.mark.parametrize("key", [SASL_HANDSHAKE, SASL_AUTHENTICATE])
def test_a_connection_that_ends_in_a_login_that_has_words_is_made_again(key: int) -> None:
    broker = SaslBroker()
    broker.hangs_up_at = key
    world = world_of("PLAIN", broker)
    error = retried(world).error
    assert isinstance(error, errors.ConnectError)
    step = {SASL_HANDSHAKE: "SaslHandshake", SASL_AUTHENTICATE: "SaslAuthenticate (PLAIN)"}[key]
    assert f"the broker closed the connection (during {step})" in str(error)
    broker.hangs_up_at = None
    assert ended(world).error is None


def test_a_connection_that_ends_once_at_a_bare_token_is_made_again() -> None:
    broker = SaslBroker("0.10.2.2")
    broker.hangs_up_at = "token"
    world = world_of("PLAIN", broker)
    assert isinstance(ended(world).error, errors.ConnectError)
    broker.hangs_up_at = None
    assert ended(world).error is None


def test_what_runs_apart_counts_in_the_time_for_a_login() -> None:
    broker = SaslBroker(mechanisms=SCRAMS)
    broker.iterations = 30_000
    world = world_of("SCRAM-SHA-256", broker)
    world.apart = 20.0
    assert "computing 30000 iterations of SCRAM did not end within" in str(error_of(world, within=11))


def test_the_second_login_computes_nothing_anew() -> None:
    broker = SaslBroker(mechanisms=SCRAMS)
    broker.iterations = 30_000
    world = world_of("SCRAM-SHA-256", broker)
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    world.lose_all(A)
    world.apart = 20.0
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    assert outcome.error is None
    assert len(broker.logins) == 2


def test_a_token_that_comes_late_is_that_of_the_next_attempt() -> None:
    calls: list[float] = []

    def fetch() -> tuple[str, float]:
        calls.append(world.now)
        return TOKEN, 3600.0

    world = world_of("OAUTHBEARER", SaslBroker(mechanisms=("OAUTHBEARER",)), sasl_oauth_token=fetch)
    world.apart = 20.0
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    assert "the token of sasl_oauth_token did not end within" in str(outcome.error)
    begin = world.now
    assert retried(world).error is None
    assert world.now < begin + 11
    assert len(calls) == 1


def test_a_token_that_nothing_waits_for_any_more_is_kept() -> None:
    world = world_of("OAUTHBEARER", SaslBroker(mechanisms=("OAUTHBEARER",)))
    world.apart = 20.0
    ended(world)
    world.run(world.now + 30)
    world.apart = 1000.0
    assert ended(world).error is None


def test_logins_at_the_same_time_share_a_call() -> None:
    begun: list[float] = []
    brokers = {address: SaslBroker(mechanisms=("OAUTHBEARER",)) for address in (A, B)}
    world = World(brokers, settings("OAUTHBEARER", (A, B), sasl_oauth_token=lambda: (TOKEN, 3600.0)))
    run_apart = world.core.run_apart
    world.core.run_apart = lambda *call: (begun.append(world.now), run_apart(*call))[1]
    world.apart = 2.0
    assert ended(world).error is None
    world.run(world.now + 5)
    assert len(begun) == 1
    assert sum(len(broker.logins) for broker in brokers.values()) == 2


def test_calls_that_never_end_are_few() -> None:
    begun: list[float] = []
    world = world_of("OAUTHBEARER", SaslBroker(mechanisms=("OAUTHBEARER",)))
    world.core.run_apart = lambda *call: begun.append(world.now)
    for _ in range(200):
        ended(world)
        world.run(world.now + 5)
    assert len(begun) == MAX_CALLS
    assert all(after - before >= LONG_CALL_S for before, after in pairwise(begun))


def test_a_call_that_runs_out_of_time_says_what_the_login_is_at() -> None:
    world = world_of("OAUTHBEARER", SaslBroker(mechanisms=("OAUTHBEARER",)))
    world.apart = 20.0
    call = Call(world.core, "a call", world.now + 1)
    ask(world)
    world.run(lambda: call.done)
    step = "being connected, at the token of sasl_oauth_token"
    assert step in str(call.error)
    assert step in world.core.cluster.why_no_leader("t", 0)
