"""A leader dies, and another one is elected whenever it pleases: records go to it soon after, and looks for it end."""

from __future__ import annotations

import pytest

from kwire._codec import Delivery
from kwire.engine.common.addresses import Address
from kwire.engine.connections.node import ELECTION_WITHIN_S
from kwire.engine.metadata.refresh import ELECTION_LOOK_S
from tests.engine.produce_world import Leader, ProducerWorld

METADATA = 3
LONGEST_LOOK_S = 0.3


def a_world() -> ProducerWorld:
    """Broker 0 leads the one partition; broker 1 has the same log."""
    leaders = [Leader(node_id=node_id, address=Address(name, 1)) for node_id, name in enumerate("ab")]
    leaders[1].logs, leaders[1].state = leaders[0].logs, leaders[0].state
    world = ProducerWorld(*leaders)
    world.complete(world.send(b"first"))
    return world


def die(world: ProducerWorld) -> Delivery:
    """Broker 0 is gone; a record that waits for the next leader."""
    world.leaders[0].refuses = "refused"
    world.lose_all(Address("a", 1))
    return world.send(b"second")


def looks(world: ProducerWorld) -> int:
    return sum(key == METADATA for key, _, _ in world.leaders[1].requests)


@pytest.mark.parametrize("elected_after", [0.5, 1.0, 1.6, 2.1, 2.6, 3.0, 4.9])
def test_records_go_to_a_new_leader_soon_after_its_election(elected_after: float) -> None:
    world = a_world()
    delivery = die(world)
    world.run(elected := world.now + elected_after)
    assert not delivery.done()
    for leader in world.leaders:
        leader.topics = {"t": [1]}
    assert world.complete(delivery) == [1]
    assert world.now - elected < LONGEST_LOOK_S


def test_looks_for_a_new_leader_are_as_rare_as_other_questions_once_none_was_elected_in_time() -> None:
    world = a_world()
    die(world)
    world.run(world.now + ELECTION_WITHIN_S)
    assert ELECTION_WITHIN_S / LONGEST_LOOK_S < looks(world) < ELECTION_WITHIN_S / ELECTION_LOOK_S
    before = looks(world)
    world.run(world.now + ELECTION_WITHIN_S)
    assert looks(world) - before <= ELECTION_WITHIN_S * 1.1
