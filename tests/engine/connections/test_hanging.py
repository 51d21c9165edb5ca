"""A broker that hangs: its place in the cluster is looked up long before its requests time out."""

from __future__ import annotations

from typing import Any

from kwire import protocol
from kwire.engine.common.addresses import Address
from kwire.engine.common.request import ANY, Purpose
from kwire.engine.connections.link import HANGS_AFTER_S
from kwire.engine.settings.clients import ClientSettings, ConsumerSettings
from kwire.schema.api_keys import FETCH, HEARTBEAT, METADATA
from tests.engine.produce_world import Leader, ProducerWorld
from tests.engine.world import SILENCE, Answer, Broker, World

A, B = Address("a", 1), Address("b", 1)


class Mute(Broker):
    """Answers nothing but what a connection begins with."""

    def answer(self, frame: bytes, now: float) -> Answer:
        return super().answer(frame, now) if frame[4:6] in (b"\0\x12", b"\0\x03") else SILENCE


def asked_within(seconds: float, settings: ClientSettings, api_key: int, message: Any, **more: Any) -> int:
    """How often metadata is asked for while a broker does not answer that."""
    broker = Mute()
    world = World({A: broker}, settings)
    world.core.cluster.refresh(world.now)
    world.run(lambda: world.core.cluster.generation > 0)
    world.ask(0, api_key, message, **more)
    before = broker.requests.copy()
    world.run(world.now + seconds)
    return sum(key == METADATA for key, _, _ in broker.requests[len(before) :])


def test_metadata_is_asked_for_ever_more_seldom_while_a_broker_hangs() -> None:
    settings = ClientSettings(bootstrap_servers="a:1")
    message = protocol.HeartbeatRequest(group_id="g")
    assert asked_within(3 * HANGS_AFTER_S + 0.5, settings, HEARTBEAT, message, purpose=Purpose.COORDINATOR) == 3
    assert asked_within(29.5, settings, HEARTBEAT, message, purpose=Purpose.COORDINATOR) == 6


def test_what_a_coordinator_or_a_leader_holds_back_is_no_sign_that_it_hangs() -> None:
    settings = ConsumerSettings(bootstrap_servers="a:1", fetch_max_wait_ms=20_000)
    held = {"timeout": 300.0, "purpose": Purpose.COORDINATOR}
    assert asked_within(200.0, settings, HEARTBEAT, protocol.HeartbeatRequest(group_id="g"), **held) == 0
    assert asked_within(20.0, settings, FETCH, protocol.FetchRequest(max_wait_ms=20_000), purpose=Purpose.FETCH) == 0


def test_records_go_to_the_next_leader_once_the_one_that_hangs_has_left_the_cluster() -> None:
    first, second = Leader(node_id=0, address=A), Leader(node_id=1, address=B)
    world = ProducerWorld(first, second)
    world.complete(world.send(b"before"))
    first.answer = lambda frame, now: SILENCE  # type: ignore[method-assign]

    def leave() -> None:
        second.brokers = {1: B}
        second.topics = {"t": [1]}

    world.at(world.now + 9.1, leave)
    begun = world.now
    world.complete(world.send(b"after"))
    assert second.values() == [b"after"]
    assert world.now - begun < 1.5 * 9 + 1


def test_a_question_apart_from_data_goes_to_the_broker_that_answered_last() -> None:
    hung, answering = Mute(), Mute(node_id=1, address=B)
    for broker in (hung, answering):
        broker.brokers = {0: A, 1: B}
    world = World({A: hung, B: answering}, ClientSettings(bootstrap_servers="a:1"))
    world.core.cluster.refresh(world.now)
    world.run(lambda: world.core.cluster.generation > 0)
    heartbeat = protocol.HeartbeatRequest(group_id="g")
    world.ask(0, HEARTBEAT, heartbeat)
    world.run(world.now + 0.1)
    hung.paused_until = world.now + 1000
    told = world.ask(1, METADATA, protocol.MetadataRequest())
    world.run(lambda: told.calls > 0)
    for _ in range(3):
        world.ask(1, HEARTBEAT, heartbeat)
    begun = world.now
    asked = world.ask(ANY, METADATA, protocol.MetadataRequest(), purpose=Purpose.METADATA)
    world.run(lambda: asked.calls > 0 or world.now - begun > 1)
    assert asked.error is None
    assert asked.calls == 1
