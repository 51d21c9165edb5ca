"""What a broker chooses as text stands in errors and warnings without line breaks and control characters."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors
from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.settings.clients import ProducerSettings
from kwire.errors.broker import MAX_CONTEXT, error_for
from tests.engine.produce_world import Leader, ProducerWorld
from tests.engine.world import Broker, World

FORGED = "x\r\n2026-01-01 CRITICAL all is lost\x1b[2J\0\u2028\x85"
A = Address("a", 1)


def is_one_line(text: str) -> bool:
    return text.isprintable() and "CRITICAL all is lost" in text


@pytest.mark.parametrize(
    "text",
    [
        str(Address(FORGED, 9092)),
        str(TopicPartition(FORGED, 3)),
        str(error_for(42, FORGED)),
        str(error_for(999, FORGED)),
        str(errors.ConnectError("no broker", {str(Address(FORGED, 1)): "refused"})),
    ],
)
def test_texts_are_one_line(text: str) -> None:
    assert is_one_line(text)


def test_the_words_of_a_broker_are_cut() -> None:
    assert len(error_for(42, "x" * 1_000_000).context) == MAX_CONTEXT + len("...")
    assert len(str(Address("x" * 1_000_000, 1))) < 400


def test_a_host_of_the_metadata_forges_no_line() -> None:
    broker = Broker()
    forged = Address(FORGED, 9092)
    broker.brokers[1] = forged
    gone = Broker()
    gone.refuses = "connection refused"
    world = World({A: broker, forged: gone}, ProducerSettings(bootstrap_servers=[tuple(A)]))
    world.core.cluster.refresh(world.now)
    world.run(world.now + 1)
    broker.refuses = "connection refused"
    world.lose_all(A)
    outcome = world.ask(1, 3, lambda version: None, deadline=world.now + 20)
    world.run(lambda: outcome.ended)
    assert is_one_line(str(outcome.error))
    world.run(world.now + 60)
    assert all(text.isprintable() for _, text in world.warned)


def test_the_message_of_a_refused_record_forges_no_line() -> None:
    class Refusing(Leader):
        def append(self, topic: str, part: Any, fault: Any) -> Any:
            row = super().append(topic, part, 87)
            row.error_message = FORGED
            return row

    world = ProducerWorld(Refusing(), linger_ms=0)
    delivery = world.send(b"v")
    world.run(delivery.done)
    assert is_one_line(str(delivery.exception()))
