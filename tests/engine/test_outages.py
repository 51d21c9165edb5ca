"""An outage is told of when it begins and when it is over, once each, with the broker and the reason."""

from __future__ import annotations

import pytest

from kwire import protocol
from kwire.engine.common.addresses import Address
from kwire.engine.common.request import ANY
from kwire.engine.settings.clients import ClientSettings
from kwire.schema.api_keys import METADATA
from tests.engine.world import SILENCE, Answer, Broker, Outcome, World

A, B = Address("a", 1), Address("b", 2)


def ask(world: World, target: int = ANY) -> Outcome:
    return world.ask(target, METADATA, lambda version: protocol.MetadataRequest(topics=[]))


def connected_world(broker: Broker | None = None) -> World:
    world = World({A: broker or Broker()}, ClientSettings(bootstrap_servers="a:1", request_timeout_ms=2000))
    world.core.cluster.track(["t"], world.now)
    world.run(lambda: world.core.cluster.generation > 0)
    return world


def texts(world: World) -> list[str]:
    return [text for _, text in world.warned]


def test_an_outage_is_told_of_once_and_again_at_its_end() -> None:
    world = connected_world()
    peer = world.peers[A]
    peer.refuses = "Connection refused"
    world.lose_all(A)
    world.run(world.now + 20)
    [text] = texts(world)
    assert "broker 0 (a:1) cannot be reached" in text
    assert "Connection refused" in text
    assert "about every 1 s" in text
    peer.refuses = ""
    world.run(world.now + 5)
    assert len(texts(world)) == 2
    assert "broker 0 (a:1) can be reached again, after 2" in texts(world)[1]


def test_a_connection_that_is_made_anew_at_once_is_no_outage() -> None:
    world = connected_world()
    for _ in range(5):
        world.lose_all(A)
        world.run(world.now + 3)
    assert texts(world) == []


class Stops(Broker):
    stopped = False

    def answer(self, frame: bytes, now: float) -> Answer:
        return SILENCE if self.stopped else super().answer(frame, now)


def test_a_request_that_times_out_is_an_outage() -> None:
    broker = Stops()
    world = connected_world(broker)
    broker.stopped = True
    begun = world.now
    ask(world)
    world.run(world.now + 60)
    [(when, text)] = world.warned
    assert when - begun == pytest.approx(2.0, abs=0.01)
    assert "broker 0 (a:1) does not answer (2.0 s so far): did not answer Metadata within 2000 ms" in text
    broker.stopped = False
    world.run(world.now + 60)
    [_, (_, over)] = world.warned
    assert "broker 0 (a:1) can be reached again, after" in over


def test_before_the_first_contact_all_addresses_are_named_once() -> None:
    first, second = Broker(), Broker()
    first.refuses = second.refuses = "Connection refused"
    world = World({A: first, B: second})
    world.core.cluster.track(["t"], world.now)
    world.run(world.now + 30)
    [text] = texts(world)
    assert "the cluster cannot be reached" in text
    assert "a:1: Connection refused" in text
    assert "b:2: Connection refused" in text
    first.refuses = ""
    world.run(world.now + 3)
    assert "the cluster can be reached now, after 3" in texts(world)[1]


def test_a_second_address_that_works_is_no_outage() -> None:
    first = Broker()
    first.refuses = "Connection refused"
    world = World({A: first, B: Broker(address=B)})
    world.core.cluster.track(["t"], world.now)
    world.run(world.now + 30)
    assert texts(world) == []


def test_an_address_that_lets_a_client_wait_is_told_of_before_the_attempt_ends() -> None:
    dropping, mute = Broker(), Stops()
    dropping.unreachable, mute.stopped = True, True
    world = World({A: dropping, B: mute})
    begun = world.now
    world.core.cluster.track(["t"], world.now)
    world.run(world.now + 8)
    [(when, text)] = world.warned
    assert when - begun < 4
    assert "the cluster cannot be reached (3." in text
    assert "a:1: no connection yet" in text
    assert "b:2: connected, but neither ApiVersions nor Metadata was answered yet" in text
    mute.stopped = False
    mute.brokers = {0: B}
    world.run(world.now + 30)
    assert "the cluster can be reached now" in texts(world)[1]


@pytest.mark.parametrize("refuses", ["Connection refused", ""])
def test_an_advertised_address_that_cannot_be_reached_is_told_of_with_where_it_comes_from(refuses: str) -> None:
    bootstrap, advertised = Broker(), Broker()
    bootstrap.brokers = {0: B}
    bootstrap.topics = {"t": [0]}
    advertised.refuses, advertised.unreachable = refuses, not refuses
    world = World({A: bootstrap, B: advertised}, ClientSettings(bootstrap_servers="a:1"))
    begun = world.now
    world.core.cluster.track(["t"], world.now)
    world.run(lambda: world.core.cluster.generation > 0)
    ask(world, 0)
    world.run(world.now + 60)
    [(when, text)] = world.warned
    assert when - begun < 4
    assert "broker 0 (b:2) cannot be reached" in text
    assert (refuses or "no connection yet") in text
    assert "the cluster gave this address to its clients (advertised.listeners)" in text


def test_why_nothing_is_connected() -> None:
    first, second = Broker(), Broker()
    first.refuses, second.unreachable = "Connection refused", True
    world = World({A: first, B: second})
    world.core.cluster.track(["t"], world.now)
    world.run(world.now + 2)
    text = world.core.why_not_connected(world.now)
    assert "a:1: Connection refused" in text
    assert "b:2: being connected" in text
    world.run(world.now + 3)
    assert "b:2: no connection yet" in world.core.why_not_connected(world.now)


def test_while_a_broker_is_connected_nothing_is_wrong() -> None:
    world = connected_world()
    assert world.core.why_not_connected(world.now) == ""
    assert world.core.connect_error() is None
