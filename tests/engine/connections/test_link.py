"""One connection to a broker: what waits for it, and what a suspended one keeps."""

from __future__ import annotations

import pytest

from kwire import protocol
from kwire.engine.common.addresses import Address
from kwire.engine.common.request import ANY
from kwire.engine.connections.connection import Connection
from kwire.engine.connections.link import BACKING_OFF, IDLE, NEGOTIATING, READY, RENEWING, Link
from kwire.engine.settings.clients import ClientSettings
from kwire.schema.api_keys import METADATA
from tests.engine.moves import MadeMoves
from tests.engine.world import Broker, MuteBroker, Outcome, World

FOR_EVER = 0
A, B = Address("a", 1), Address("b", 1)


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
    assert (link.state, link.waiting) == (RENEWING, 2)
    assert broker.connections == 1
    link._session.begin(FOR_EVER, world.now)
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


def test_a_connection_that_ends_is_made_anew_after_a_wait() -> None:
    broker = Broker()
    world = World({A: broker})
    link = connected(world)
    world.lose_all(A)
    assert link.state == BACKING_OFF
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    assert outcome.error is None
    assert broker.connections == 2


def test_an_attempt_that_fails_is_made_again_after_a_wait() -> None:
    broker = Broker()
    world = World({A: broker})
    broker.refuses = "refused"
    outcome = ask(world)
    [node] = world.core._nodes.values()
    assert node.links[0].state == NEGOTIATING
    world.run(lambda: node.links[0].state == BACKING_OFF)
    broker.refuses = ""
    again = ask(world)
    assert node.links[0].state == BACKING_OFF
    world.run(lambda: again.ended)
    assert (outcome.ended, again.error, node.links[0].state) == (True, None, READY)


@pytest.mark.parametrize("state", [NEGOTIATING, BACKING_OFF])
def test_a_broker_that_moves_is_connected_to_at_its_new_address(state: str) -> None:
    old, new = Broker(), Broker(address=B)
    old.unreachable, old.refuses = state == NEGOTIATING, "refused"
    world = World({A: old, B: new}, ClientSettings(bootstrap_servers="a:1"))
    ask(world)
    [node] = world.core._nodes.values()
    world.run(lambda: node.links[0].state == state)
    node.move(B, world.now)
    assert node.links[0].state == IDLE
    world.core.cluster.refresh(world.now)
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    assert outcome.error is None
    assert (old.connections, new.connections) == (0, 1)


@pytest.mark.parametrize("state", [READY, RENEWING])
def test_after_a_cut_step_a_link_begins_anew(state: str) -> None:
    broker = Broker()
    world = World({A: broker})
    link = connected(world)
    if state == RENEWING:
        link.suspend()
    world.open.clear()
    world.core.recover(world.now)
    assert (link.state, link.connection) == (IDLE, None)
    outcome = ask(world)
    world.run(lambda: outcome.ended)
    assert outcome.error is None
    assert broker.connections == 2


def test_a_link_to_a_broker_that_was_taken_for_old_changes_to_a_better_connection() -> None:
    broker = MuteBroker()
    world = World({A: broker})
    link = connected(world)
    first = link.connection
    broker.become("3.9.2")
    world.run(lambda: link.connection is not first)
    assert link.state == READY
    assert link.versions is not None
    assert not link.versions.before_0_10


def test_each_move_of_the_table_was_made_and_no_other(moves: MadeMoves) -> None:
    assert moves.are_all_of(Link)
    assert moves.are_all_of(Connection)
