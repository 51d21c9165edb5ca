"""Idempotence and what brokers offer: a verdict holds for its connection, not for the producer's life."""

from __future__ import annotations

import pytest

from kwire import errors, protocol
from kwire.engine.common.addresses import Address
from kwire.engine.producer.idempotence import Idempotence
from kwire.schema.api_keys import API_VERSIONS, INIT_PRODUCER_ID
from tests.engine.moves import MadeMoves
from tests.engine.produce_world import Leader, ProducerWorld
from tests.engine.world import SILENCE, Answer

A = Address("a", 1)


class Upgraded(Leader):
    """Looks like 0.9 until `upgrade`."""

    def __init__(self) -> None:
        super().__init__("0.9.0.1")

    def upgrade(self) -> None:
        self.versions = protocol.versions_of("4.4.0")

    def answer(self, frame: bytes, now: float) -> Answer:
        if API_VERSIONS not in self.versions and int.from_bytes(frame[4:6], "big") == API_VERSIONS:
            return SILENCE
        return super().answer(frame, now)


def sequences(world: ProducerWorld) -> list[int]:
    return [header.base_sequence for _, _, header in world.leader.appended_batches]


def questions(world: ProducerWorld) -> int:
    return sum(key == INIT_PRODUCER_ID for key, _, _ in world.leader.requests)


def test_after_an_old_broker_a_connection_to_a_new_one_brings_idempotence_back() -> None:
    leader = Upgraded()
    world = ProducerWorld(leader, linger_ms=0)
    world.complete(world.send(b"0"))
    assert sequences(world) == [-1]
    assert len(world.warnings) == 1
    leader.upgrade()
    world.lose_all(A)
    for number in range(1, 4):
        assert world.complete(world.send(b"%d" % number)) == [number]
    assert sequences(world) == [-1, 0, 1, 2]
    assert questions(world) == 1
    assert len(world.warnings) == 1


def test_a_producer_that_demands_idempotence_recovers_when_its_broker_is_upgraded() -> None:
    leader = Upgraded()
    world = ProducerWorld(leader, linger_ms=0, enable_idempotence=True)
    refused = world.send(b"v")
    world.run(refused.done)
    assert isinstance(refused.exception(), errors.broker.UnsupportedVersionError)
    leader.upgrade()
    world.lose_all(A)
    world.run(world.now + 1)
    assert world.complete(world.send(b"v")) == [0]
    assert sequences(world) == [0]


def test_a_broker_that_is_upgraded_gets_sequences_from_then_on() -> None:
    world = ProducerWorld(Leader("0.10.2.2"), linger_ms=0)
    world.complete(*[world.send(b"v") for _ in range(3)])
    world.leader.versions = protocol.versions_of("4.4.0")
    world.lose_all(A)
    world.complete(world.send(b"v"))
    world.complete(world.send(b"v"))
    assert sequences(world)[-2:] == [0, 1]
    assert len(world.warnings) == 1


def test_a_broker_that_is_old_is_not_asked_again() -> None:
    world = ProducerWorld(Leader("0.10.2.2"), linger_ms=0)
    for _ in range(5):
        world.complete(world.send(b"v"))
        world.lose_all(A)
    assert questions(world) == 0
    assert len(world.warnings) == 1


@pytest.mark.parametrize("code", [31, 35, 53])
def test_a_broker_that_refuses_is_not_asked_again(code: int) -> None:
    world = ProducerWorld(linger_ms=0)
    world.leader.init_errors = [code] * 100
    for _ in range(5):
        world.complete(world.send(b"v"))
        world.lose_all(A)
    assert questions(world) == 1
    assert len(world.warnings) == 1
    assert sequences(world) == [-1] * 5


def test_a_broker_that_has_no_id_yet_is_not_asked_at_every_send() -> None:
    world = ProducerWorld(linger_ms=0)
    world.leader.init_errors = [14] * 1000
    begun = world.now
    deliveries = []
    for number in range(500):
        deliveries.append(world.send(b"%d" % number))
        world.run(begun + 0.01 * (number + 1))
    assert 5 <= questions(world) <= 12, "each wait is longer than the one before, up to a second"
    world.leader.init_errors.clear()
    world.complete(*deliveries)
    assert world.leader.values() == [b"%d" % number for number in range(500)]


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, -1), (-1, 0), (7, -1)])
@pytest.mark.parametrize("demanded", [None, True])
def test_a_producer_id_that_is_none_is_asked_for_again(demanded: bool | None, producer_id: int, epoch: int) -> None:
    """Records with it would be plain ones, and nobody would know."""
    world = ProducerWorld(linger_ms=0, enable_idempotence=demanded)
    honest = world.leader.handlers[INIT_PRODUCER_ID]
    lie = protocol.InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch)
    world.leader.handlers[INIT_PRODUCER_ID] = lambda message, version, now: lie
    delivery = world.send(b"v")
    world.run(world.now + 5)
    assert f"producer id {producer_id}, epoch {epoch}" in str(world.sender.identity.last_error)
    world.leader.handlers[INIT_PRODUCER_ID] = honest
    world.complete(delivery)
    assert sequences(world) == [0]


def test_in_a_cluster_of_old_and_new_brokers_the_new_ones_get_sequences() -> None:
    old, new = Leader("0.10.2.2", 0, Address("a", 1)), Leader("4.4.0", 1, Address("b", 1))
    world = ProducerWorld(old, new, topics={"t": [0, 1]}, linger_ms=0)
    new.refuses = "starting"
    world.complete(world.send(b"v", partition=0))
    new.refuses = ""
    world.complete(*[world.send(b"v", partition=partition) for partition in (0, 1, 0, 1)])
    assert {header.base_sequence for _, _, header in old.appended_batches} == {-1}
    assert new.appended_batches
    assert all(header.base_sequence >= 0 for _, _, header in new.appended_batches)


def test_where_there_is_no_higher_epoch_another_id_is_asked_for() -> None:
    world = ProducerWorld(linger_ms=0)
    world.complete(world.send(b"0"))
    identity, [queue] = world.sender.identity, world.accumulator.topics["t"].queues[:1]
    identity.epoch = 2**15 - 1
    queue.sequences.renew(queue, identity.producer_id, identity.epoch)
    assert not identity.renew(queue, world.now)
    before = identity.producer_id
    world.complete(world.send(b"1"))
    assert identity.producer_id > before
    assert questions(world) == 2


def test_each_move_of_the_table_was_made_and_no_other(moves: MadeMoves) -> None:
    assert moves.are_all_of(Idempotence)
