"""Assignments that are large, and brokers that all fail: the work grows with the partitions, not with their square."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.engine.common.addresses import Address, TopicPartition
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.groups.assigned import AssignedPartitions, Missing
from kwire.engine.settings.clients import ConsumerSettings
from tests.engine.consumer.test_fetcher import LogBroker
from tests.engine.world import Broker, Peer, World

A = Address("a", 1)


def reader(world: World) -> Fetcher:
    settings = world.core.settings
    assert isinstance(settings, ConsumerSettings)
    return Fetcher(world.core, settings)


def count_looks(fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The moments at which all partitions are looked at."""
    looks: list[float] = []
    pump = fetcher.positions.pump

    def counted(now: float) -> bool:
        looks.append(now)
        return pump(now)

    monkeypatch.setattr(fetcher.positions, "pump", counted)
    return looks


class Told:
    """A member that is told what is missing."""

    def __init__(self) -> None:
        self.fault: Exception | None = None
        self.warned: list[str] = []

    def warn(self, text: str) -> None:
        self.warned.append(text)


def test_partitions_that_the_topic_does_not_have_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = LogBroker()
    broker.long_poll = True
    broker.topics = {"t": [0]}
    settings = ConsumerSettings(bootstrap_servers="a:1", auto_offset_reset="earliest", group_id="g")
    world = World({A: broker}, settings)
    fetcher = reader(world)
    told: Any = Told()
    assigned = AssignedPartitions(world.core, fetcher.subscription, Missing(settings, told))
    world.core.cluster.listeners.append(assigned.on_metadata)
    fetcher.subscription.subscribe(["t"], world.now)
    world.run(world.now + 1)
    looks = count_looks(fetcher, monkeypatch)
    wanted = [TopicPartition("t", number) for number in range(5000)]
    fetcher.subscription.assign_by_group(wanted, world.now)
    fetcher.subscription.release(wanted, world.now)
    broker.append(0, [b"v"])
    world.run(world.now + 10)
    assert len(looks) < 10 / (5000 * 10e-6)
    assert fetcher.subscription.states[wanted[0]].holds_records
    assert len(told.warned) == 1
    assert "t-5 and 4994 more" in told.warned[0]


class Unreachable(Peer):
    """An address that refuses every connection."""

    refuses = "connection refused"


def test_leaders_that_all_fail_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 1000
    broker = Broker()
    peers: dict[Address, Peer] = {A: broker}
    for node in range(1, count + 1):
        address = Address(f"no-{node}", 1)
        broker.brokers[node] = address
        peers[address] = Unreachable()
    broker.topics = {"t": list(range(1, count + 1))}
    world = World(peers, ConsumerSettings(bootstrap_servers="a:1", auto_offset_reset="earliest"))
    fetcher = reader(world)
    looks = count_looks(fetcher, monkeypatch)
    fetcher.subscription.subscribe(["t"], world.now)
    world.run(world.now + 3)
    assert 3 < len(looks) < 3 / (count * 10e-6)
