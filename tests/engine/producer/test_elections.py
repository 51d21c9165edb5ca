"""A leader dies, and another one is elected whenever it pleases: records go to it soon after, and looks for it end."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kwire._codec import Delivery
from kwire.engine.common.addresses import Address
from kwire.engine.common.outage import ELECTION_WITHIN_S
from kwire.engine.common.pace import BURST, EVERY_S
from kwire.engine.common.request import Purpose
from kwire.engine.metadata.refresh import ELECTION_LOOK_S
from tests.engine.produce_world import Leader, ProducerWorld

METADATA = 3
LONGEST_LOOK_S = 0.2
NOT_LEADER = 6


def a_world() -> ProducerWorld:
    """Broker 0 leads the one partition; broker 1 has the same log."""
    leaders = [Leader(node_id=node_id, address=Address(name, 1)) for node_id, name in enumerate("ab")]
    leaders[1].logs, leaders[1].state = leaders[0].logs, leaders[0].state
    world = ProducerWorld(*leaders)
    world.complete(world.send(b"first"))
    return world


def a_world_with_two_leaders() -> ProducerWorld:
    """Each broker leads the partition of its number, and has been written to."""
    world = a_world()
    for leader in world.leaders:
        leader.topics = {"t": [0, 1]}
    world.core.cluster.refresh(world.now)
    world.complete(world.send(b"0", partition=0), world.send(b"1", partition=1))
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


def test_a_connection_that_its_broker_closed_long_ago_is_no_outage() -> None:
    world = a_world()
    world.lose_all(Address("a", 1), "closed as idle")
    world.run(world.now + 1000.0)
    delivery = die(world)
    world.run(elected := world.now + 4.9)
    [(_, warning)] = world.warned
    assert "broker 0 (a:1) cannot be reached (0.0 s so far)" in warning
    for leader in world.leaders:
        leader.topics = {"t": [1]}
    world.complete(delivery)
    assert world.now - elected < LONGEST_LOOK_S


def test_looks_for_a_new_leader_are_as_rare_as_other_questions_once_none_was_elected_in_time() -> None:
    world = a_world()
    die(world)
    world.run(world.now + ELECTION_WITHIN_S)
    assert ELECTION_WITHIN_S / LONGEST_LOOK_S < looks(world) < ELECTION_WITHIN_S / ELECTION_LOOK_S
    before = looks(world)
    world.run(world.now + ELECTION_WITHIN_S)
    assert looks(world) - before <= ELECTION_WITHIN_S * 1.1


@pytest.mark.parametrize("elected_after", [1.0, 2.1, 4.9])
def test_a_leader_is_looked_for_apart_while_answers_to_writes_are_held_back(elected_after: float) -> None:
    """What the other broker leads waits for the replica that died, and with it all that comes after."""
    world = a_world_with_two_leaders()
    other = world.leaders[1]
    elected = world.now + elected_after
    other.script = [None]
    other.holds = elected_after + 1.0
    held = world.send(b"held", partition=1)
    world.run(world.now + 0.01)
    die(world)
    world.run(elected)
    for leader in world.leaders:
        leader.topics = {"t": [1, 1]}
    world.run(lambda: world.core.cluster.leader("t", 0) == 1)
    assert world.now - elected < LONGEST_LOOK_S
    assert not held.done()
    world.run(held.done)
    world.run(world.now + 1.0)
    assert world.core.connection_life(1, Purpose.METADATA) == 0
    assert len(world.open) == 1


def test_a_connection_apart_that_is_not_ready_when_the_election_ends_is_not_kept() -> None:
    world = a_world_with_two_leaders()
    other = world.leaders[1]
    other.holds = 1.0
    world.send(b"held", partition=1)
    world.run(world.now + 0.3)
    die(world)
    other.latency = 1.0  # of the new connection
    world.run(world.now + 0.5)
    for leader in world.leaders:
        leader.topics = {"t": [1, 1]}
    world.run(world.now + 10.0)
    assert world.core.cluster.leader("t", 0) == 1
    assert world.core.connection_life(1, Purpose.METADATA) == 0
    assert len(world.open) == 1


def test_no_connection_more_is_made_where_metadata_need_not_wait() -> None:
    world = a_world()
    before = world.leaders[1].connections
    die(world)
    world.run(world.now + 5.0)
    assert world.leaders[1].connections == max(before, 1)


def test_a_partition_without_a_leader_is_looked_at_as_often() -> None:
    world = a_world()
    delivery = die(world)
    world.leaders[1].topics = {"t": [-1]}
    world.leaders[1].brokers = {1: Address("b", 1)}
    world.run(elected := world.now + 4.9)
    world.leaders[1].topics = {"t": [1]}
    world.complete(delivery)
    assert world.now - elected < LONGEST_LOOK_S


def test_waits_begin_anew_at_a_leader_that_does_not_know_of_it_yet() -> None:
    world = a_world()
    world.leaders[0].script = [NOT_LEADER] * 4
    delivery = world.send(b"second")
    world.run(lambda: len(world.leaders[0].produced()) == 5 - 1)
    for leader in world.leaders:
        leader.topics = {"t": [1]}
    world.leaders[0].script = [NOT_LEADER] * 100
    world.leaders[1].script = [NOT_LEADER]
    world.run(lambda: len(world.leaders[1].produced()) == 1)
    first = world.now
    assert world.complete(delivery) == [1]
    assert world.now - first < LONGEST_LOOK_S


def names(other: int, epochs: list[int], message: Any, version: int, now: float, *, answer: Any) -> Any:
    response = answer(message, version, now)
    for topic in response.responses:
        for part in topic.partition_responses:
            epochs[0] += 1
            part.current_leader = type(part).LeaderIdAndEpoch(leader_id=other, leader_epoch=epochs[0])
    return response


def test_a_leader_that_an_answer_names_is_sent_to_at_once_but_two_that_name_each_other_are_not() -> None:
    world = a_world()
    epochs = [0]
    for leader in world.leaders:
        leader.handlers[0] = partial(names, 1 - leader.node_id, epochs, answer=leader.produce)
    world.leaders[0].script = [NOT_LEADER]
    begun = world.now
    assert world.complete(world.send(b"second")) == [1]
    assert world.now - begun < world.core.retry_backoff.first / 2
    for leader in world.leaders:
        leader.script = [NOT_LEADER] * 1000
    before = sum(len(leader.produced()) for leader in world.leaders)
    world.send(b"third")
    world.run(world.now + 10.0)
    assert sum(len(leader.produced()) for leader in world.leaders) - before < BURST + 1.1 * 10.0 / EVERY_S
