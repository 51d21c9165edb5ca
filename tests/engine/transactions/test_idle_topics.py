"""Topics that a transactional producer has not written to for long: dropped once their sequences are of no use."""

from __future__ import annotations

import pytest

from tests.engine.transactions.world import TransactionalProducer, TransactionWorld

IDLE_S = 5


def begun(version: int) -> tuple[TransactionWorld, TransactionalProducer]:
    world = TransactionWorld(version, topics={"t": 1, "u": 1})
    producer = world.producer(metadata_max_idle_ms=IDLE_S * 1000)
    producer.init()
    return world, producer


def idle(world: TransactionWorld, producer: TransactionalProducer) -> None:
    for number in range(3 * IDLE_S):
        producer.transact(b"%d" % number)
        world.run(world.now + 1)


@pytest.mark.parametrize("version", [1, 2])
def test_a_topic_is_dropped_when_the_coordinator_has_given_another_epoch(version: int) -> None:
    """Which it does for each transaction from transaction.version 2 on."""
    world, producer = begun(version)
    producer.transact(b"before", topic="u")
    idle(world, producer)
    assert ("u" in producer.accumulator.topics) == (version == 1)
    producer.transact(b"after", topic="u")
    assert world.committed("u") == [b"before", b"after"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_topic_is_kept_by_the_transaction_that_wrote_to_it(version: int) -> None:
    world, producer = begun(version)
    producer.begin()
    producer.complete(producer.send_all(b"first", topic="u"))
    world.run(world.now + 3 * IDLE_S)
    assert "u" in producer.accumulator.topics
    producer.complete(producer.send_all(b"second", topic="u"))
    producer.commit()
    assert world.committed("u") == [b"first", b"second"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_topic_that_this_transaction_has_not_written_to_may_come_back_in_it(version: int) -> None:
    world, producer = begun(version)
    producer.transact(b"before", topic="u")
    producer.begin()
    for number in range(3 * IDLE_S):
        producer.complete(producer.send_all(b"%d" % number))
        world.run(world.now + 1)
    producer.complete(producer.send_all(b"late", topic="u"))
    producer.commit()
    assert world.committed("u") == [b"before", b"late"]
