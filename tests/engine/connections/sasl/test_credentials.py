"""Users and passwords of a callable, in virtual time: changed while a client lives, wrong, or nothing of the kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kwire import errors
from kwire.engine.connections.sasl.credentials import PATIENCE_S
from tests.engine.connections.sasl.broker import ALICE, SECRET, A, B, SaslBroker, settings
from tests.engine.connections.sasl.test_login import ended, error_of, retried
from tests.engine.connections.sasl.test_session import SaslLeader, leader, traffic
from tests.engine.produce_world import ProducerWorld
from tests.engine.world import Broker, World

NEW = "another-secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
Source = Callable[[], Any]


def world_of(broker: Broker, source: Source, mechanism: str = "PLAIN") -> World:
    return World({A: broker}, settings(mechanism, sasl_username=None, sasl_password=None, sasl_credentials=source))


def producer_of(broker: SaslLeader, source: Source, mechanism: str = "PLAIN", **more: Any) -> ProducerWorld:
    own = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism, "sasl_credentials": source}
    return ProducerWorld(broker, **own, **more)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_password_changes_under_traffic(mechanism: str) -> None:
    broker = leader(3.0, mechanism)
    passwords = [SECRET]
    world = producer_of(broker, lambda: (ALICE, passwords[-1]), mechanism)
    values = traffic(world, 5)
    broker.users = {ALICE: NEW}
    passwords.append(NEW)
    values += traffic(world, 10)
    assert broker.values() == values
    assert (broker.connections, broker.killed, broker.refused) == (1, 0, [])


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("first", ["the broker", "the callable"])
def test_neither_broker_nor_callable_needs_to_change_first(first: str, mechanism: str) -> None:
    broker = leader(3.0, mechanism)
    passwords = [SECRET]
    world = producer_of(broker, lambda: (ALICE, passwords[-1]), mechanism)
    values = traffic(world, 1)

    def change_the_broker() -> None:
        broker.users = {ALICE: NEW}

    changes = [change_the_broker, lambda: passwords.append(NEW)]
    for delay, change in zip((0, 60), changes if first == "the broker" else reversed(changes), strict=True):
        world.at(world.now + delay, change)
    values += traffic(world, 63)
    assert len(broker.refused) > 1
    assert broker.values() == values
    assert broker.killed == 0


@pytest.mark.parametrize("release", ["4.4.0", "1.1.1", "0.10.2.2"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_refusal_at_the_first_login_is_told_soon(mechanism: str, release: str) -> None:
    broker = SaslBroker(release, mechanisms=MECHANISMS)
    world = world_of(broker, lambda: (ALICE, NEW), mechanism)
    begin = world.now
    error = retried(world).error
    assert world.now - begin < 2.5
    assert isinstance(error, errors.AuthError), repr(error)
    assert NEW not in f"{error} {error!r} {world.warned}"
    broker.users = {ALICE: NEW}
    world.run(world.now + 2)
    assert retried(world).error is None


def test_what_goes_on_to_be_refused_is_told_after_a_while() -> None:
    broker = leader(3.0)
    world = producer_of(broker, lambda: (ALICE, SECRET), delivery_timeout_ms=1_000_000)
    traffic(world, 1)
    broker.users = {}
    world.run(world.now + 3)
    begin = world.now
    delivery = world.send(b"x")
    world.run(delivery.done)
    assert PATIENCE_S - 5 < world.now - begin < PATIENCE_S + 15
    with pytest.raises(errors.AuthError, match="Invalid username or password"):
        delivery.result()
    assert 10 < len(broker.refused) < 500
    assert "sasl_credentials returned, which is asked again" in str(world.warned)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, r"it is not \(user, password\)"),
        ("alice:hush", r"it is not \(user, password\)"),
        ((ALICE, "hush", "more"), r"it is not \(user, password\)"),
        ((ALICE, b"hush"), "not two strings"),
        ((ALICE, "hush\udcff"), "not two strings"),
        ((ALICE, ""), "one of them is empty"),
        (("", "hush"), "one of them is empty"),
    ],
)
def test_what_is_no_user_and_password_is_told_and_not_shown(returned: object, words: str) -> None:
    error = error_of(world_of(SaslBroker(), lambda: returned))
    assert isinstance(error, errors.AuthError)
    with pytest.raises(errors.AuthError, match=f"sasl_credentials.*{words}"):
        raise error
    assert "hush" not in f"{error!r} {error.__cause__!r}"


@pytest.mark.parametrize(
    ("raised", "kind"), [(OSError("no route"), errors.ConnectError), (LookupError("no such secret"), errors.AuthError)]
)
def test_what_the_callable_raises_is_told(raised: Exception, kind: type[Exception]) -> None:
    def source() -> None:
        raise raised

    error = error_of(world_of(SaslBroker(), source))
    assert isinstance(error, kind)
    assert str(raised) in str(error)
    assert "the user and password of sasl_credentials" in str(error)


def test_logins_at_the_same_time_share_a_call_and_later_ones_do_not() -> None:
    begun: list[float] = []
    brokers = {address: SaslBroker() for address in (A, B)}
    own = {"sasl_username": None, "sasl_password": None, "sasl_credentials": lambda: (ALICE, SECRET)}
    world = World(brokers, settings("PLAIN", (A, B), **own))
    run_apart = world.core.run_apart
    world.core.run_apart = lambda *call: (begun.append(world.now), run_apart(*call))[1]
    world.apart = 2.0
    assert ended(world).error is None
    world.run(world.now + 5)
    assert len(begun) == 1
    assert sum(len(broker.logins) for broker in brokers.values()) == 2
    world.lose_all(A)
    world.lose_all(B)
    assert ended(world).error is None
    assert len(begun) > 1
