"""The metadata cache: what is asked at each version, when it is asked again, and what an answer changes."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import protocol
from kwire.engine.common.addresses import Address
from kwire.engine.metadata.metadata import metadata_request
from kwire.engine.settings.clients import ConsumerSettings, ProducerSettings
from kwire.schema.api_keys import METADATA
from kwire.schema.error_codes import LEADER_NOT_AVAILABLE
from tests.engine.world import Answer, Broker, ClosingBroker, World

A, B = Address("a", 1), Address("b", 2)


def asked(broker: Broker) -> list[tuple[float, Any]]:
    return [(version, message) for key, version, message in broker.requests if key == METADATA]


def test_a_topic_that_is_being_created_is_asked_for_until_it_has_leaders() -> None:
    broker = Broker("4.4.0")
    world = World({A: broker})
    world.core.cluster.track(["t"], world.now)
    world.at(1000.5, lambda: broker.topics.update(t=[-1, 0]))
    world.at(1001.0, lambda: broker.topics.update(t=[0, 0]))
    world.run(lambda: world.core.cluster.leader("t", 0) == 0)
    assert world.now < 1002.3
    settled = len(asked(broker))
    world.run(1100.0)
    assert len(asked(broker)) == settled


def test_a_match_that_is_being_created_is_asked_for_until_it_is_there() -> None:
    broker = Broker("4.4.0")
    broker.topics, broker.errors = {"t": []}, {"t": LEADER_NOT_AVAILABLE}
    world = World({A: broker})
    cluster = world.core.cluster
    cluster.follow(lambda name, is_internal: True, world.now, owner=world)
    world.at(1000.5, lambda: broker.errors.clear() or broker.topics.update(t=[0]))  # type: ignore[func-returns-value]
    world.run(lambda: cluster.followed(owner=world) == ["t"])
    assert world.now < 1002.3


def test_a_topic_that_is_shown_without_partitions_is_asked_for_until_it_has_some() -> None:
    broker = Broker("4.4.0")
    broker.topics = {"t": []}
    world = World({A: broker})
    world.core.cluster.track(["t"], world.now)
    world.at(1000.5, lambda: broker.topics.update(t=[0]))
    world.run(lambda: world.core.cluster.leader("t", 0) == 0)
    assert world.now < 1002.3


def test_old_metadata_is_asked_for_again() -> None:
    broker = Broker("4.4.0")
    broker.topics = {"t": [0]}
    settings = ProducerSettings(bootstrap_servers="a:1", metadata_max_age_ms=5000)
    world = World({A: broker}, settings)
    world.core.cluster.track(["t"], world.now)
    world.run(1001.0)
    before = len(asked(broker))
    world.run(1016.0)
    assert len(asked(broker)) == before + 3


def test_a_lost_connection_asks_again() -> None:
    broker = Broker("4.4.0")
    broker.topics = {"t": [0]}
    world = World({A: broker})
    world.core.cluster.track(["t"], world.now)
    world.run(1001.0)
    before = len(asked(broker))
    world.lose_all(A)
    world.run(1002.0)
    assert len(asked(broker)) == before + 1


def test_stale_metadata_is_asked_for_once_however_often_it_is_said() -> None:
    broker = Broker("4.4.0")
    broker.topics = {"t": [0]}
    world = World({A: broker})
    world.core.cluster.track(["t"], world.now)
    world.run(1001.0)
    before = len(asked(broker))
    for _ in range(100):
        world.core.cluster.refresh(world.now)
    world.run(1002.0)
    assert len(asked(broker)) == before + 2  # the one under way may be older than the last wish


def test_a_leader_that_moves_is_found_at_its_new_address() -> None:
    first, second = Broker("4.4.0", 0, A), Broker("4.4.0", 0, A)
    first.topics = second.topics = {"t": [0]}
    world = World({A: first, B: second}, ProducerSettings(bootstrap_servers="a:1"))
    world.core.cluster.track(["t"], world.now)
    world.run(1001.0)
    first.brokers = second.brokers = {0: B}
    world.core.cluster.refresh(world.now)
    world.run(1002.0)
    outcome = world.ask(0, METADATA, metadata_request(4, [], allow_auto_create=True))
    world.run(lambda: outcome.ended)
    assert outcome.error is None
    assert second.connections == 1


def test_an_older_leader_epoch_is_not_believed() -> None:
    broker = Broker("4.4.0")
    broker.topics = {"t": [0]}
    epochs = [5]
    row = protocol.MetadataResponse.MetadataResponseTopic

    def topic(name: str) -> Any:
        return row(
            name=name,
            partitions=[
                row.MetadataResponsePartition(partition_index=0, leader_id=epochs[0] % 2, leader_epoch=epochs[0])
            ],
        )

    broker.topic = topic  # type: ignore[method-assign]
    broker.brokers = {0: A, 1: B}
    world = World({A: broker, B: Broker("4.4.0", 1, B)}, ProducerSettings(bootstrap_servers="a:1"))
    cluster = world.core.cluster
    cluster.track(["t"], world.now)
    world.run(1001.0)
    epochs[0] = 4
    cluster.refresh(world.now)
    world.run(1002.0)
    assert (cluster.leader("t", 0), cluster.leader_epoch("t", 0)) == (1, 5)
    assert cluster.update_leader("t", 0, 0, 6)
    assert not cluster.update_leader("t", 0, 1, 6)
    assert cluster.leader("t", 0) == 0


def test_a_release_that_lists_no_broker_yet_stays_reachable() -> None:
    """0.8.0 and 0.8.1 list only brokers that a partition names."""

    class Lists(ClosingBroker):
        def metadata(self, message: Any, version: int, now: float) -> Any:
            response = super().metadata(message, version, now)
            if not self.topics:
                response.brokers = []
            return response

    broker = Lists()
    world = World({A: broker})
    world.core.cluster.track(["t"], world.now)
    world.at(1001.0, lambda: broker.topics.update(t=[0]))
    world.run(lambda: world.core.cluster.leader("t", 0) == 0)
    assert world.now < 1003


def test_a_missing_topic_does_not_flood_the_broker() -> None:
    broker = Broker("4.4.0")
    world = World({A: broker}, ConsumerSettings(bootstrap_servers="a:1"))
    world.core.cluster.track(["missing"], world.now)
    world.run(1030.0)
    assert 10 < len(asked(broker)) < 45
    info = world.core.cluster.topic("missing")
    assert info is not None
    assert info.error == 3


@pytest.mark.parametrize("answer", [None, []])
def test_failures_are_kept_for_messages(answer: Answer) -> None:
    class Fails(Broker):
        def answer(self, frame: bytes, now: float) -> Answer:
            return answer

    world = World({A: Fails()})
    world.core.cluster.track(["t"], world.now)
    world.run(1015.0)
    assert world.core.cluster.failure is not None
    assert "a:1" in str(world.core.cluster.failure)


def test_a_broker_that_hangs_is_not_waited_for_while_another_answers() -> None:
    brokers = {0: A, 1: B}
    hung, healthy = Broker(), Broker(node_id=1, address=B)
    for broker in (hung, healthy):
        broker.brokers = brokers
        broker.topics = {"t": [1]}
    world = World({A: hung, B: healthy})
    world.core.cluster.track(["t"], world.now)
    world.run(lambda: world.core.cluster.leader("t", 0) == 1)
    world.run(world.now + 1)
    for broker in (hung, healthy):
        broker.topics = {"t": [0]}
    hung.paused_until = world.now + 1000
    world.core.cluster.refresh(world.now)
    begun = world.now
    world.run(lambda: world.core.cluster.leader("t", 0) == 0)
    assert world.now - begun < 3
