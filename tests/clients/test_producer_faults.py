"""A producer over real sockets against a broker that misbehaves at random: nothing is doubled, reordered or lost."""

from __future__ import annotations

import random
import time

import pytest

from kwire import Producer, testing
from kwire._codec import Delivery
from kwire.errors import KafkaError
from tests.thorough import THOROUGH

PARTITIONS = 3


def misbehave(broker: testing.Broker, rng: random.Random) -> None:
    chance = rng.random()
    if chance < 0.3:
        broker.faults.error("Produce", rng.choice((3, 5, 6, 7, 19)))
    elif chance < 0.6:
        broker.faults.close("Produce", after_effect=rng.random() < 0.6)
    elif chance < 0.7:
        broker.faults.mute("Produce", after_effect=rng.random() < 0.6)
    elif chance < 0.8:
        broker.faults.delay("Produce", rng.random() * 0.4)
    elif chance < 0.9:
        broker.faults.truncate("Produce", rng.randrange(1, 20))
    elif chance < 0.95:
        broker.close_connections()


@pytest.mark.parametrize("seed", range(60 if THOROUGH else 6))
def test_faults_of_the_broker_do_not_double_reorder_or_lose_records(seed: int) -> None:
    rng = random.Random(seed)
    sent: list[list[tuple[bytes, Delivery]]] = [[] for _ in range(PARTITIONS)]
    with testing.Broker(topics={"t": PARTITIONS}) as broker:
        producer = Producer(
            broker.bootstrap_servers,
            linger_ms=rng.choice((0, 2)),
            batch_size=rng.choice((0, 200)),
            max_request_size=rng.choice((600, 1_000_000)),
            request_timeout_ms=rng.choice((200, 400)),
            delivery_timeout_ms=rng.choice((300, 700, 60_000)),
            retries=rng.choice((2, 2**31 - 1, 2**31 - 1)),
            retry_backoff_ms=rng.choice((1, 20)),
            retry_backoff_max_ms=50,
        )
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            for _ in range(rng.choice((1, 3, 20))):
                partition = rng.randrange(PARTITIONS)
                value = b"%d" % len(sent[partition])
                sent[partition].append((value, producer.send("t", value, partition=partition)))
            if rng.random() < 0.3:
                misbehave(broker, rng)
            time.sleep(rng.choice((0.0, 0.001, 0.01)))
        broker.faults.clear()
        try:
            producer.close(30)
        except KafkaError:
            pass
        for partition, row in enumerate(sent):
            check(broker, partition, row)


def check(broker: testing.Broker, partition: int, row: list[tuple[bytes, Delivery]]) -> None:
    found = broker.values("t", partition=partition)
    numbers = [int(value) for value in found if value is not None]
    assert len(set(numbers)) == len(numbers), f"doubled: {numbers}"
    assert numbers == sorted(numbers)
    for value, delivery in row:
        if delivery.exception() is None:
            offset = delivery.result().offset
            assert value in found if offset < 0 else found[offset] == value
