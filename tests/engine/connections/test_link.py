"""One connection to a broker: what waits for it, and what a suspended one keeps."""

from __future__ import annotations

from kwire import protocol
from kwire.engine.common.addresses import Address
from kwire.engine.common.request import ANY
from kwire.engine.connections.link import Link
from kwire.schema.api_keys import METADATA
from tests.engine.world import Broker, Outcome, World

A = Address("a", 1)


def ask(world: World) -> Outcome:
    return world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]))


def connected(world: World) -> Link:
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    [node] = world.core._nodes.values()
    link: Link = node.links[0]
    return link


def test_what_is_asked_of_a_suspended_link_waits_until_it_resumes() -> None:
    broker = Broker()
    world = World({A: broker})
    link = connected(world)
    before = len(broker.requests)
    link.suspend()
    outcomes = [ask(world), ask(world)]
    world.run(world.now + 1)
    assert len(broker.requests) == before
    assert link.waiting == 2
    assert broker.connections == 1
    link.resume(world.now)
    world.run(lambda: all(outcome.ended for outcome in outcomes))
    assert [outcome.error for outcome in outcomes] == [None, None]


def test_what_was_written_before_is_answered_while_a_link_is_suspended() -> None:
    world = World({A: Broker()})
    link = connected(world)
    outcome = ask(world)
    link.suspend()
    world.run(lambda: outcome.ended)
    assert outcome.error is None


def test_a_connection_that_ends_while_suspended_is_made_anew() -> None:
    broker = Broker()
    world = World({A: broker})
    link = connected(world)
    link.suspend()
    outcome = ask(world)
    world.lose_all(A)
    world.run(lambda: outcome.ended)
    assert outcome.error is None
    assert broker.connections == 2
