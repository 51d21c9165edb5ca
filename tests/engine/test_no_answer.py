"""A broker that has not answered yet is no broker without the topic: the error says what is under way, and where.

"Does not exist" is said only where a broker has answered so, with the name of that broker.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kwire import errors
from kwire.engine.admin.a03_metadata import DescribeTopics
from kwire.engine.calls.calls import Call
from kwire.engine.calls.fan_out import FanOutCall
from kwire.engine.calls.offsets import PartitionsLookup
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.fetcher import Fetcher
from kwire.engine.consumer.polling import Polling
from kwire.engine.core import Core
from kwire.engine.producer.sender import Sender
from kwire.engine.settings.clients import ConsumerSettings, ProducerSettings
from kwire.fronts.producer import new_accumulator
from tests.engine.connections.sasl.broker import SASL_AUTHENTICATE, SASL_HANDSHAKE, A, B, SaslBroker
from tests.engine.produce_world import Sending
from tests.engine.world import SILENCE, Answer, Broker, Peer, World

METADATA, API_VERSIONS, FIND_COORDINATOR = 3, 18, 10
SASL = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": "alice",
    "sasl_password": "alice-secret",
}


class SilentAt(SaslBroker):
    """Has the topic, and answers everything but one API."""

    def __init__(self, key: int) -> None:
        super().__init__()
        self.topics = {"t": [0]}
        self.silent_at = key

    def answer_on(self, connection: Any, frame: bytes, now: float) -> Answer:
        if int.from_bytes(frame[4:6], "big") == self.silent_at:
            return SILENCE
        return super().answer_on(connection, frame, now)


class SilentPlainly(Broker):
    """The same without a login."""

    def __init__(self, key: int) -> None:
        super().__init__()
        self.topics = {"t": [0]}
        self.silent_at = key

    def answer(self, frame: bytes, now: float) -> Answer:
        return SILENCE if int.from_bytes(frame[4:6], "big") == self.silent_at else super().answer(frame, now)


class Mute(Peer):
    """A listener that accepts and says nothing."""

    def answer(self, frame: bytes, now: float) -> Answer:
        return SILENCE


def send(world: World) -> Exception:
    settings = world.core.settings
    assert isinstance(settings, ProducerSettings)
    accumulator = new_accumulator(settings, 5, world.core.after_step)
    sender = Sender(world.core, settings, accumulator, lambda text: None)
    accumulator.on_attention = lambda: sender.pump(world.now)
    accumulator.set_clock(world.now, 0)
    producer = Sending()
    producer._accumulator = accumulator
    delivery = producer.send("t", b"v")
    world.run(delivery.done)
    error = delivery.exception()
    assert isinstance(error, Exception)
    return error


def call(begin: Callable[..., Call], world: World) -> Exception:
    asked = begin(world.core, now=world.now, deadline=world.now + 2)
    world.run(lambda: asked.done)
    assert asked.error is not None
    return asked.error


def describe(core: Core, now: float, deadline: float) -> Call:
    return FanOutCall(core, DescribeTopics(["t"]), deadline=deadline, now=now)


def reader_of(world: World) -> tuple[Fetcher, Polling]:
    settings = ConsumerSettings(
        bootstrap_servers=world.core.settings.bootstrap_servers,
        auto_offset_reset="earliest",
        default_api_timeout_ms=2000,
    )
    fetcher = Fetcher(world.core, settings)
    return fetcher, Polling(world.core, settings, fetcher)


def poll(world: World, read: Callable[[Fetcher, float], None]) -> Exception:
    fetcher, polling = reader_of(world)
    read(fetcher, world.now)
    for _ in range(10):
        try:
            polling.begin(world.now)
            world.run(world.now + 1.0)
            polling.take(None, world.now)
        except errors.KafkaError as error:
            return error
    raise AssertionError("the polls told nothing")


def poll_subscribed(world: World) -> Exception:
    return poll(world, lambda fetcher, now: fetcher.subscription.subscribe(["t"], now))


def poll_assigned(world: World) -> Exception:
    return poll(world, lambda fetcher, now: fetcher.subscription.assign([TopicPartition("t", 0)], now))


def position(world: World) -> Exception:
    fetcher, polling = reader_of(world)
    tp = TopicPartition("t", 0)
    fetcher.subscription.assign([tp], world.now)
    polling.look_up(tp, world.now)
    world.run(world.now + 2)
    assert not polling.has_position(tp)
    return polling.no_position(tp, 2)


CALLS: dict[str, Callable[[World], Exception]] = {
    "send": send,
    "describe_topics": partial(call, describe),
    "partitions_for": partial(call, partial(PartitionsLookup, topic="t")),
    "poll, subscribed": poll_subscribed,
    "poll, assigned": poll_assigned,
    "position": position,
}


def world_of(peer: Peer, **given: Any) -> World:
    return World(
        {A: peer}, ProducerSettings(bootstrap_servers=[tuple(A)], max_block_ms=2000, enable_idempotence=False, **given)
    )


@pytest.mark.parametrize("ask", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    ("peer", "given", "step"),
    [
        (Mute, {}, "being connected, at ApiVersions"),
        (partial(SilentAt, SASL_HANDSHAKE), SASL, "being connected, at SaslHandshake"),
        (partial(SilentAt, SASL_AUTHENTICATE), SASL, "being connected, at SaslAuthenticate (PLAIN)"),
        (partial(SilentAt, METADATA), SASL, "Metadata has not been answered yet"),
        (partial(SilentPlainly, METADATA), {}, "Metadata has not been answered yet"),
    ],
    ids=["mute", "SaslHandshake", "SaslAuthenticate", "Metadata after a login", "Metadata"],
)
def test_a_broker_that_is_slow_is_told_with_what_it_has_not_answered(
    peer: Callable[[], Peer], given: dict[str, Any], step: str, ask: Callable[[World], Exception]
) -> None:
    error = ask(world_of(peer(), **given))
    assert isinstance(error, errors.ConnectError | errors.KafkaTimeoutError)
    assert step in str(error)
    assert "a:1" in str(error)
    assert "exist" not in str(error)


@pytest.mark.parametrize("ask", [send, CALLS["describe_topics"], poll_subscribed, poll_assigned])
def test_a_topic_is_said_to_be_missing_by_the_broker_that_has_answered(ask: Callable[[World], Exception]) -> None:
    answering = Broker()
    answering.brokers[1] = B
    peers: dict[Any, Peer] = {A: answering, B: Mute()}
    error = ask(
        World(peers, ProducerSettings(bootstrap_servers=[tuple(A)], max_block_ms=2000, enable_idempotence=False))
    )
    assert type(error) is errors.UnknownTopicError
    assert "asked: a:1" in str(error)
    assert "b:1" not in str(error)


def test_an_error_of_the_whole_answer_is_not_about_the_topic() -> None:
    broker = Broker()
    broker.handlers[METADATA] = lambda message, version, now: _refusing(broker, message, version, now)
    error = send(world_of(broker))
    assert type(error) is errors.KafkaTimeoutError
    assert "UNKNOWN_SERVER_ERROR" in str(error)


def _refusing(broker: Broker, message: Any, version: int, now: float) -> Any:
    response = broker.metadata(message, version, now)
    response.error_code = -1
    return response
