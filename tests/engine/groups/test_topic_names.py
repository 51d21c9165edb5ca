"""The names of topic ids, asked of brokers one of which may hang."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kwire import protocol
from kwire.engine.common.addresses import Address
from kwire.engine.groups.topic_names import TopicNames
from kwire.engine.metadata.refresh import HEDGE_AFTER_S
from tests.engine.world import Broker, World

A, B = Address("a", 1), Address("b", 2)
ID = UUID(int=7)


class Naming(Broker):
    """Knows one topic by its id, unless it hangs at that question."""

    hangs = False

    def metadata(self, message: Any, version: int, now: float) -> Any:
        response = super().metadata(message, version, now)
        if any(row.name is None for row in message.topics or ()):
            row = protocol.MetadataResponse.MetadataResponseTopic
            response.topics = [row(name="t", topic_id=ID)]
            return None if self.hangs else response
        return response


def test_another_broker_is_asked_when_the_first_hangs() -> None:
    brokers = [Naming("4.4.0", number, address) for number, address in enumerate((A, B))]
    for broker in brokers:
        broker.brokers, broker.topics = {0: A, 1: B}, {"u": [0]}
    world = World(dict(zip((A, B), brokers, strict=True)))
    world.core.cluster.track(["u"], world.now)
    world.run(lambda: len(world.core.cluster.brokers) == 2)
    asked = next(broker for broker in brokers if broker.requests)
    asked.hangs = True
    found: list[float] = []
    names = TopicNames(world.core, found.append)
    begun = world.now
    names.find([ID], begun)
    world.run(lambda: bool(found))
    assert names.name(ID) == "t"
    assert HEDGE_AFTER_S <= found[0] - begun < HEDGE_AFTER_S + 1
