"""Sessions that end, in virtual time: renewed in time, with requests held and none lost."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.common.request import ANY
from kwire.engine.connections.session import MIN_BETWEEN_S
from kwire.schema.api_keys import METADATA
from tests.engine.connections.sasl.broker import (
    ALICE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SECRET,
    TOKEN,
    A,
    B,
    C,
    Door,
    SaslBroker,
    settings,
)
from tests.engine.consumer.test_fetcher import T0, LogBroker, Reading
from tests.engine.produce_world import Leader, ProducerWorld
from tests.engine.world import Outcome, World

PLACES = ((0, A), (1, B), (2, C))


class SaslLeader(SaslBroker, Leader):
    """A leader that takes the records of users only."""


class SaslLog(SaslBroker, LogBroker):
    """A log that users may read."""


def options(mechanism: str = "PLAIN", **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": mechanism}
    if mechanism != "OAUTHBEARER":
        given |= {"sasl_username": ALICE, "sasl_password": SECRET}
    return given | more


def leader(lifetime: float, mechanism: str = "PLAIN") -> SaslLeader:
    made = SaslLeader(mechanisms=(mechanism,))
    made.lifetime = lifetime
    return made


def traffic(world: ProducerWorld, seconds: float, every: float = 0.05) -> list[bytes]:
    """Sends a record every so often; the values, all of which were delivered."""
    end, values, deliveries = world.now + seconds, [], []
    while world.now < end:
        values.append(b"%d" % len(values))
        deliveries.append(world.send(values[-1]))
        world.run(world.now + every)
    world.complete(*deliveries)
    return values


def least_gap(moments: list[float]) -> float:
    return min(after - before for before, after in itertools.pairwise(moments))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_sessions_of_three_seconds_are_renewed_under_traffic(mechanism: str) -> None:
    broker = leader(3.0, mechanism)
    world = ProducerWorld(broker, **options(mechanism))
    values = traffic(world, 30)
    assert broker.values() == values
    assert (broker.connections, broker.killed, broker.refused) == (1, 0, [])
    assert 10 <= len(broker.logins) <= 13
    assert 3.0 * 0.85 <= least_gap(broker.logins) < 3.0


@pytest.mark.parametrize("lifetime", [0.05, 0.5, 0.999, 1.0, 1.2])
def test_a_session_shorter_than_a_second_makes_requests_wait(lifetime: float) -> None:
    broker = leader(lifetime)
    world = ProducerWorld(broker, **options())
    values = traffic(world, 12)
    assert broker.values() == values
    assert (broker.connections, broker.killed) == (1, 0)
    assert least_gap(broker.logins) >= 1.0


def test_a_session_without_an_end_is_not_renewed() -> None:
    broker = leader(0.0)
    world = ProducerWorld(broker, **options())
    traffic(world, 5)
    world.run(world.now + 3600)
    assert len(broker.logins) == 1


def ask(world: World) -> Outcome:
    return world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]))


@pytest.mark.parametrize("jump", [2.9, 3.0, 3600.0])
def test_after_a_while_in_which_nobody_drove_the_login_comes_first(jump: float) -> None:
    broker = SaslBroker()
    broker.lifetime = 3.0
    world = World({A: broker}, settings())
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    world.now += jump
    outcomes = [ask(world) for _ in range(3)]
    world.run(lambda: all(outcome.ended for outcome in outcomes))
    assert [outcome.error for outcome in outcomes] == [None] * 3
    assert (len(broker.logins), broker.killed, broker.connections) == (2, 0, 1)


@pytest.mark.parametrize("key", [SASL_HANDSHAKE, SASL_AUTHENTICATE])
def test_a_connection_that_ends_while_it_is_renewed_is_made_again(key: int) -> None:
    broker = leader(3.0)
    world = ProducerWorld(broker, **options())
    values = traffic(world, 1)
    broker.hangs_up_at = key
    world.at(world.now + 3.0, lambda: setattr(broker, "hangs_up_at", None))
    values += traffic(world, 6)
    assert broker.values() == values
    assert broker.killed == 0
    assert broker.connections > 1


@pytest.mark.parametrize("key", [SASL_HANDSHAKE, SASL_AUTHENTICATE])
def test_a_renewal_that_hangs_ends_the_connection(key: int) -> None:
    broker = leader(3.0)
    world = ProducerWorld(broker, **options())
    traffic(world, 1)
    broker.silent_at = key
    world.at(world.now + 5, lambda: setattr(broker, "silent_at", None))
    delivery = world.send(b"x")
    world.run(world.now + 2.5)
    late = world.send(b"y")
    world.complete(delivery, late)
    assert broker.connections == 2
    assert broker.values()[-2:] == [b"x", b"y"]


def test_a_refused_renewal_ends_the_connection_and_what_waits() -> None:
    broker = leader(3.0)
    world = ProducerWorld(broker, **options())
    traffic(world, 1)
    broker.users = {}
    world.run(world.now + 2.0)
    delivery = world.send(b"x")
    begin = world.now
    world.run(delivery.done)
    assert world.now - begin < 2
    with pytest.raises(errors.AuthError, match="Invalid username or password"):
        delivery.result()


def test_a_fetch_that_the_broker_holds_is_answered_before_the_renewal() -> None:
    broker = SaslLog()
    broker.lifetime = 3.0
    broker.long_poll = True
    reading = Reading(broker, **options(), fetch_max_wait_ms=2_000)
    reading.assign(T0)
    world = reading.world
    for number in range(8):
        world.run(world.now + 1.7)
        broker.append(0, [b"%d" % number])
        assert reading.take() == {T0: [b"%d" % number]}
    assert broker.killed == 0
    assert broker.connections == 2


class Tokens:
    """A source of numbered tokens that live for so long; the broker ends a session with its token."""

    def __init__(self, broker: SaslLeader, lifetime: float, cap: float) -> None:
        self.lifetime = lifetime
        self.made = 0
        self.world: Any = None
        self.ends: dict[str, float] = {}
        self.cap = cap
        self.broker = broker
        broker.log_in = self.log_in  # type: ignore[method-assign]

    def __call__(self) -> tuple[str, float]:
        self.made += 1
        text = f"token-{self.made}"
        self.ends[text] = self.world.now + self.lifetime
        self.broker.good_tokens.add(text)
        return text, self.lifetime

    def log_in(self, door: Door, now: float) -> float:
        rest = self.ends[self.broker.bearers[-1][0]] - now
        assert rest > 0, "a token that has ended"
        self.broker.lifetime = min(rest, self.cap)
        return SaslBroker.log_in(self.broker, door, now)


@pytest.mark.parametrize(("lifetime", "cap"), [(4.0, 3.0), (4.0, 60.0), (3600.0, 3.0), (2.0, 3.0), (1.0, 60.0)])
def test_a_token_is_renewed_early_enough(lifetime: float, cap: float) -> None:
    broker = leader(0.0, "OAUTHBEARER")
    tokens = Tokens(broker, lifetime, cap)
    world = ProducerWorld(broker, **options("OAUTHBEARER", sasl_oauth_token=tokens))
    tokens.world = world
    values = traffic(world, 30)
    assert broker.values() == values
    assert (broker.connections, broker.killed, broker.refused) == (1, 0, [])
    assert least_gap(broker.logins) >= 1.0
    if lifetime == 3600.0:
        assert tokens.made == 1
    elif lifetime == 4.0 and cap == 3.0:
        assert tokens.made == len(broker.logins)


def test_a_token_that_comes_late_holds_requests_and_loses_none() -> None:
    broker = leader(0.0, "OAUTHBEARER")
    tokens = Tokens(broker, 4.0, 60.0)
    world = ProducerWorld(broker, **options("OAUTHBEARER", sasl_oauth_token=tokens))
    tokens.world = world
    values = traffic(world, 1)
    world.apart = 2.5
    values += traffic(world, 20)
    assert broker.values() == [b"%d" % number for number in range(20)] + values[20:]
    assert broker.killed == 0


def test_a_connection_lost_while_its_token_is_fetched_is_made_again() -> None:
    broker = leader(0.0, "OAUTHBEARER")
    tokens = Tokens(broker, 4.0, 60.0)
    world = ProducerWorld(broker, **options("OAUTHBEARER", sasl_oauth_token=tokens))
    tokens.world = world
    traffic(world, 1)
    world.apart = 2.0
    world.at(world.now + 3.0, lambda: world.lose_all(broker.brokers[0]))
    traffic(world, 8)
    assert broker.connections == 2


def test_a_token_that_is_revoked_is_replaced_and_nobody_hears_of_it() -> None:
    broker = leader(3.0, "OAUTHBEARER")
    numbers = itertools.count()
    given = options("OAUTHBEARER", sasl_oauth_token=lambda: (f"token-{next(numbers)}", 3600.0))
    broker.good_tokens = {"token-0"}
    world = ProducerWorld(broker, **given)
    values = traffic(world, 1)
    broker.good_tokens = {"token-1"}
    values += traffic(world, 5)
    assert broker.values() == values
    assert len(broker.refused) == 1
    broker.good_tokens = set()
    delivery = world.send(b"x")
    world.run(world.now + 3)
    late = world.send(b"x")
    world.run(late.done)
    assert delivery.exception() is None
    assert isinstance(late.exception(), errors.AuthError)


def test_connections_that_log_in_at_once_share_one_token() -> None:
    brokers = [SaslLeader(node_id=number, address=address, mechanisms=("OAUTHBEARER",)) for number, address in PLACES]
    calls: list[float] = []

    def fetch() -> tuple[str, float]:
        calls.append(world.now)
        return TOKEN, 60.0

    given = options("OAUTHBEARER", sasl_oauth_token=fetch)
    world = ProducerWorld(*brokers, topics={"t": [0, 1, 2]}, **given)
    world.apart = 0.4
    world.complete(*(world.send(b"x", partition=number) for number in range(3)))
    world.apart = 2.0
    world.run(world.now + 55)
    for _, address in PLACES:
        world.lose_all(address)
    world.complete(*(world.send(b"x", partition=number) for number in range(3)))
    assert len(calls) == 2


def test_a_renewal_that_is_taken_for_a_request_is_no_refusal() -> None:
    broker = leader(3.0)
    world = ProducerWorld(broker, **options())
    traffic(world, 1)
    for door in broker.doors.values():
        door.logged_in_at = world.now + 5
    values = traffic(world, 5)
    assert broker.values()[-len(values) :] == values
    assert broker.connections == 2


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_or_doubled_whatever_ends_a_session(seed: int) -> None:
    chance = random.Random(seed)
    broker = leader(chance.uniform(0.3, 3.0), "SCRAM-SHA-256")
    broker.iterations = chance.choice([4096, 20_001])
    world = ProducerWorld(broker, **options("SCRAM-SHA-256"))

    def disturb() -> None:
        world.apart = chance.choice([0.001, 0.3])
        broker.hangs_up_at = chance.choice([None, None, SASL_HANDSHAKE, SASL_AUTHENTICATE])
        broker.script.append(chance.choice([None, "unseen", "unheard"]))
        if chance.random() < 0.3:
            world.lose_all(A)
        world.at(world.now + chance.uniform(0.05, 0.4), lambda: setattr(broker, "hangs_up_at", None))
        world.at(world.now + chance.uniform(0.5, 2.0), disturb)

    world.at(world.now + 0.5, disturb)
    values = traffic(world, 15)
    assert broker.values() == values
    assert broker.killed == 0
    assert broker.refused == []


def test_no_renewal_is_begun_before_a_second_has_passed() -> None:
    assert MIN_BETWEEN_S > 1.0
