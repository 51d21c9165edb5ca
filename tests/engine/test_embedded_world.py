"""The engine's producer and fetcher on an embedded cluster in virtual time, in order and in trouble."""

from __future__ import annotations

import pytest

from kwire.engine.common.addresses import TopicPartition
from tests.engine.embedded_clients import EmbeddedProducer, EmbeddedReader
from tests.engine.embedded_world import EmbeddedWorld

SEEDS = 6


def test_what_is_sent_is_read() -> None:
    world = EmbeddedWorld(topics={"t": 3})
    producer, reader = EmbeddedProducer(world), EmbeddedReader(world, "t")
    sent = [b"%d" % n for n in range(100)]
    producer.complete(producer.send("t", value, partition=n % 3) for n, value in enumerate(sent))
    while len(reader.values()) < 100:
        reader.poll()
    assert reader.read[TopicPartition("t", 1)] == sent[1::3]


def test_a_fetch_that_waits_is_answered_by_what_is_sent() -> None:
    world = EmbeddedWorld(topics={"t": 1})
    producer, reader = EmbeddedProducer(world), EmbeddedReader(world, "t", fetch_max_wait_ms=100_000)
    assert reader.poll() == 0
    before = world.now
    producer.complete([producer.send("t", b"v")])
    reader.poll()
    assert reader.values() == [b"v"]
    assert world.now < before + 1


def test_the_same_seed_plays_the_same() -> None:
    def play() -> list[tuple[float, str]]:
        world = EmbeddedWorld(topics={"t": 6}, seed=3)
        EmbeddedReader(world, "t")
        world.disturb()
        world.run(world.now + 30.0)
        return world.happened

    assert play() == play() != []


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_record_comes_once_and_in_order_while_nodes_die(seed: int) -> None:
    world = EmbeddedWorld(topics={"t": 6}, seed=seed)
    producer, reader = EmbeddedProducer(world, linger_ms=5), EmbeddedReader(world, "t")
    world.disturb(loss=0.05)
    deliveries = []
    for n in range(1000):
        deliveries.append(producer.send("t", b"%d" % n, partition=n % 6))
        if n % 10 == 0:
            reader.poll(0.1)
    world.calm()
    producer.complete(deliveries)
    while len(reader.values()) < 1000:
        assert reader.poll() or world.now < 2000, f"{len(reader.values())} came; {world.happened[-20:]}"
    for index in range(6):
        assert reader.read[TopicPartition("t", index)] == [b"%d" % n for n in range(index, 1000, 6)]
