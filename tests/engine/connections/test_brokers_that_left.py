"""Brokers that come and go, as where addresses change with each deployment: nothing of those that left is kept."""

from __future__ import annotations

import gc
from collections import Counter

from kwire.engine.common.addresses import Address
from kwire.engine.connections.link import Link
from kwire.engine.connections.node import Node
from kwire.engine.connections.versions import Versions
from tests.engine.produce_world import Leader, ProducerWorld


def live() -> dict[int, Node | Link | Versions]:
    gc.collect()
    return {id(each): each for each in gc.get_objects() if isinstance(each, Node | Link | Versions)}


def test_brokers_that_left_leave_nothing_behind() -> None:
    others = live()  # held, so that none of ours gets the identity of one that has gone meanwhile
    places = {number: Address("broker", 9000 + number) for number in range(20)}
    leaders = [Leader(node_id=number, address=place) for number, place in places.items()]
    world = ProducerWorld(*leaders, topics={"t": [0]}, linger_ms=0)
    for number in range(19):
        for leader in leaders:
            leader.brokers = {each: places[each] for each in (number, number + 1)}
            leader.topics = {"t": [number]}
        world.core.cluster.refresh(world.now)
        world.run(world.now + 1)
        world.complete(world.send(b"%d" % number))
    world.run(world.now + 300)
    world.inbox.clear()
    world.busy_until.clear()
    assert sorted(world.core.cluster.brokers) == [18, 19]
    kept = Counter(type(each) for identity, each in live().items() if identity not in others)
    assert kept == Counter({Node: len(world.core._nodes), Link: len(world.core._nodes), Versions: 2})
