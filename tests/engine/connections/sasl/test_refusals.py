"""What an AuthError does to those who wait, in virtual time: soon told, no retry storm, and others go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kwire import errors
from kwire.engine.admin.a03_metadata import DescribeTopics
from kwire.engine.calls.fan_out import FanOutCall
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.connections.connection import Connection
from kwire.engine.consumer.polling import Polling
from tests.engine.connections.sasl.broker import ALICE, SECRET, SaslBroker, settings
from tests.engine.connections.sasl.test_session import SaslLeader, SaslLog, options
from tests.engine.consumer.test_fetcher import T0, T1, Reading
from tests.engine.produce_world import ProducerWorld
from tests.engine.world import HANG_UP, SILENCE, Address, Answer, Broker, World

A, B, C = Address("a", 1), Address("b", 1), Address("c", 1)
WRONG: dict[str, str] = {ALICE: "another"}


def producer(*leaders: SaslLeader, **more: Any) -> ProducerWorld:
    return ProducerWorld(*leaders, **options(**more))


def refused(world: World, done: Callable[[], bool], within: float = 5.0) -> float:
    """Seconds until something is done, in virtual time."""
    begin = world.now
    world.run(done)
    assert world.now - begin < within
    return world.now - begin


def call(world: World, seconds: float = 60.0) -> FanOutCall[Any, Any]:
    return FanOutCall(world.core, DescribeTopics(["t"]), deadline=world.now + seconds, now=world.now)


def test_records_fail_soon_whether_their_topic_is_known_or_not() -> None:
    broker = SaslLeader()
    world = producer(broker)
    known = world.send(b"x")
    world.complete(known)
    world.lose_all(A)
    broker.users = WRONG
    for topic in ("t", "unheard-of", "t", "t"):
        delivery = world.send(b"y", topic=topic)
        refused(world, delivery.done)
        with pytest.raises(errors.AuthError, match="Invalid username or password"):
            delivery.result()


def test_a_broker_that_refuses_is_asked_less_and_less_often() -> None:
    broker = SaslLeader()
    broker.users = WRONG
    world = producer(broker)
    end = world.now + 120
    while world.now < end:
        delivery = world.send(b"y")
        world.run(delivery.done)
        assert isinstance(delivery.exception(), errors.AuthError)
        world.run(world.now + 0.2)
    gaps = [later - sooner for sooner, later in zip(broker.refused, broker.refused[1:], strict=False)]
    assert 6 <= len(broker.refused) <= 9
    assert 0.8 <= gaps[0] <= 1.5
    assert 20 <= max(gaps) <= 40
    assert len(world.warned) == 1
    [(_, text)] = world.warned
    assert text.startswith("the broker at a:1 cannot be used: SaslAuthenticate (PLAIN): Authentication")
    assert text.endswith("; it is retried when it is needed, after about 1 s at first, later after up to 30 s")


@pytest.mark.parametrize(
    ("longest", "waits"),
    [(5_000, "after about 5 s at first, later after up to 30 s"), (40_000, "after about 40 s each time")],
)
def test_the_warning_has_the_waits_that_the_settings_make(longest: int, waits: str) -> None:
    broker = SaslLeader()
    broker.users = WRONG
    world = producer(broker, reconnect_backoff_max_ms=longest)
    delivery = world.send(b"y")
    refused(world, delivery.done)
    [(_, text)] = world.warned
    assert text.endswith(f"it is retried when it is needed, {waits}")


def test_who_is_let_in_again_goes_on() -> None:
    broker = SaslLeader()
    broker.users = WRONG
    world = producer(broker)
    delivery = world.send(b"y")
    refused(world, delivery.done)
    broker.users = {ALICE: SECRET}
    world.run(world.now + 2)
    assert world.complete(world.send(b"z")) == [0]
    assert "can be reached now, after" in world.warned[-1][1]


def three(topics: dict[str, list[int]]) -> tuple[ProducerWorld, list[SaslLeader]]:
    leaders = [SaslLeader(node_id=number, address=address) for number, address in enumerate((A, B, C))]
    return ProducerWorld(*leaders, topics=topics, **options()), leaders


def test_others_go_on_where_one_broker_of_three_refuses() -> None:
    world, leaders = three({"t": [0, 1, 2]})
    leaders[1].users = WRONG
    waiting = world.send(b"1", partition=1)
    for number in range(50):
        world.complete(world.send(b"%d" % number, partition=number % 2 * 2))
        world.run(world.now + 0.5)
    assert not waiting.done()
    assert len(world.warned) == 1
    assert "b:1) cannot be used" in world.warned[0][1] or "b:1 cannot be used" in world.warned[0][1]
    assert len(leaders[1].refused) < 9
    leaders[1].users = {ALICE: SECRET}
    world.complete(waiting)


def test_a_record_for_a_broker_that_refuses_ends_in_time_with_the_reason() -> None:
    world, leaders = three({"t": [0, 1, 2]})
    leaders[1].users = WRONG
    waiting = world.send(b"1", partition=1)
    world.run(waiting.done)
    with pytest.raises(errors.KafkaTimeoutError, match="Invalid username or password"):
        waiting.result()


def test_three_brokers_that_refuse_are_all_tried_and_told_soon() -> None:
    world, leaders = three({"t": [0]})
    for leader in leaders:
        leader.users = WRONG
    delivery = world.send(b"1")
    refused(world, delivery.done, within=2)
    assert isinstance(delivery.exception(), errors.AuthError)
    assert all(leader.refused for leader in leaders)


def test_a_broker_that_hangs_does_not_delay_the_news_for_long() -> None:
    hangs = SaslBroker()
    hangs.unreachable = True
    refuses = SaslBroker()
    refuses.users = WRONG
    world = World({A: hangs, B: refuses}, settings(addresses=(A, B)))
    asked = call(world)
    assert refused(world, lambda: asked.done) < 3
    assert isinstance(asked.error, errors.AuthError)


def test_a_broker_that_cannot_be_reached_beside_one_that_refuses_is_no_way_out() -> None:
    away = SaslBroker()
    away.refuses = "connection refused"
    refuses = SaslBroker()
    refuses.users = WRONG
    world = World({A: away, B: refuses}, settings(addresses=(A, B)))
    asked = call(world)
    refused(world, lambda: asked.done, within=1)
    assert isinstance(asked.error, errors.AuthError)


def test_a_call_is_refused_soon_and_the_next_one_asks_again_after_a_second() -> None:
    broker = SaslBroker()
    broker.topics = {"t": [0]}
    broker.users = WRONG
    world = World({A: broker}, settings())
    for _ in range(20):
        asked = call(world)
        refused(world, lambda: asked.done, within=2)  # noqa: B023
        assert isinstance(asked.error, errors.AuthError)
        world.run(world.now + 0.1)
    seconds = broker.refused[-1] - broker.refused[0]
    assert len(broker.refused) <= seconds + 2
    broker.users = {ALICE: SECRET}
    world.run(world.now + 1.1)
    asked = call(world)
    refused(world, lambda: asked.done)
    assert asked.error is None


def test_a_call_that_nobody_drove_meanwhile_asks_again() -> None:
    broker = SaslBroker()
    broker.topics = {"t": [0]}
    broker.users = WRONG
    world = World({A: broker}, settings())
    asked = call(world)
    refused(world, lambda: asked.done)
    broker.users = {ALICE: SECRET}
    world.now += 1.5
    asked = call(world)
    refused(world, lambda: asked.done)
    assert asked.error is None


class Polled(Reading):
    """A consumer's poll without its front."""

    def __init__(self, broker: SaslLog, others: dict[Address, Any] | None = None, **more: Any) -> None:
        super().__init__(broker, others, **options(), **more)
        self.polling = Polling(self.world.core, self.settings, self.fetcher)

    def poll(self, timeout: float = 60.0) -> dict[TopicPartition, list[bytes | None]]:
        world = self.world
        self.polling.begin(world.now)
        over: list[bool] = []
        world.at(world.now + timeout, lambda: over.append(True))
        world.run(lambda: self.polling.ready() or bool(over))
        found = {tp: part.values() for tp, part in self.polling.take(None, world.now)}
        self.fetcher.hand_out.arrived = True
        return found


def test_a_poll_is_refused_soon_and_once_for_each_attempt() -> None:
    broker = SaslLog()
    broker.users = WRONG
    reading = Polled(broker)
    reading.assign(T0)
    world = reading.world
    begin, raised = world.now, []
    while world.now < begin + 60:
        try:
            assert reading.poll(1.0) == {}
        except errors.AuthError as error:
            raised.append((world.now, error))
    assert raised[0][0] - begin < 1
    assert 5 <= len(raised) <= 8
    assert abs(len(raised) - len(broker.refused)) <= 1
    broker.users = {ALICE: SECRET}
    broker.append(0, [b"x"])
    while not (found := reading.poll(5.0)):
        assert world.now < begin + 120
    assert found == {T0: [b"x"]}


def two_logs() -> tuple[Polled, SaslLog, SaslLog]:
    logs = [SaslLog(node_id=number, address=address) for number, address in enumerate((A, B))]
    for log in logs:
        log.brokers = {0: A, 1: B}
        log.topics = {"t": [0, 1]}
        log.long_poll = True
    logs[1].users = WRONG
    return Polled(logs[0], {B: logs[1]}), logs[0], logs[1]


def test_a_poll_goes_on_while_another_leader_has_records() -> None:
    reading, good, bad = two_logs()
    reading.assign(T0, T1)
    for number in range(20):
        good.append(0, [b"%d" % number])
        assert reading.poll(5.0) == {T0: [b"%d" % number]}
        reading.world.run(reading.world.now + 1)
    assert reading.poll(3.0) == {}
    assert bad.refused
    assert len(reading.world.warned) == 1


def test_a_poll_is_refused_where_every_leader_that_it_reads_from_refuses() -> None:
    reading, good, _ = two_logs()
    good.append(0, [b"x"])
    reading.assign(T0)
    assert reading.poll() == {T0: [b"x"]}
    reading.assign(T1)
    with pytest.raises(errors.AuthError, match="Invalid username"):
        reading.poll()


def test_a_position_is_refused_soon_each_time() -> None:
    reading, _, _ = two_logs()
    reading.assign(T0, T1)
    world, polling = reading.world, reading.polling
    for _ in range(3):
        polling.look_up(T1, world.now)
        refused(world, lambda: polling.has_position(T1))
        with pytest.raises(errors.AuthError, match="Invalid username"):
            polling.position(T1)


def test_a_fetch_connection_that_is_refused_beside_a_good_one_is_told() -> None:
    broker = SaslLog()
    broker.append(0, [b"x"])
    reading = Polled(broker)
    reading.assign(T0)
    assert reading.poll() == {T0: [b"x"]}
    broker.users = WRONG
    for connection in list(reading.world.open):
        if broker.fetches and connection.in_flight:
            reading.world.lose(connection, "reset")
    with pytest.raises(errors.AuthError):
        reading.poll(5.0)


def test_a_producer_without_sasl_is_told_of_the_listener() -> None:
    broker = SaslLeader()
    world = ProducerWorld(broker)
    delivery = world.send(b"x")
    refused(world, delivery.done)
    with pytest.raises(errors.AuthError, match="requires a login"):
        delivery.result()
    connections = broker.connections
    world.run(world.now + 30)
    assert broker.connections - connections < 8
    assert len(world.warned) == 1


def test_a_call_without_sasl_is_told_of_the_listener() -> None:
    world = World({A: SaslBroker()})
    asked = call(world)
    assert refused(world, lambda: asked.done) < 2.5
    assert isinstance(asked.error, errors.AuthError)
    assert len(world.warned) == 1


def test_a_driver_that_tells_of_a_refused_certificate_ends_what_waits() -> None:
    world = ProducerWorld()
    world.leader.refuses = "x"
    refusal = errors.AuthError(step="TLS handshake", reason="certificate has expired")

    def connect(connection: Any) -> None:
        world.at(world.now + 0.01, lambda: world.core.connection_lost(connection, refusal, world.now))

    world.connect = connect  # type: ignore[method-assign]
    delivery = world.send(b"x")
    refused(world, delivery.done, within=1)
    with pytest.raises(errors.AuthError) as raised:
        delivery.result()
    assert str(raised.value) == "the broker at a:1, TLS handshake: certificate has expired"


class DiesAtFirst(SaslBroker):
    """Answers nothing but ApiVersions; `heard` has what it would answer, and when."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[float, Connection]] = []

    def answer_on(self, connection: Connection, frame: bytes, now: float) -> Answer:
        if frame[4:6] == b"\0\x12":
            return self.answer(frame, now)
        self.heard.append((now, connection))
        return SILENCE


def test_connections_that_die_a_while_after_their_first_request_are_no_refusal() -> None:
    broker = DiesAtFirst()
    world = World({A: broker})
    asked = call(world, seconds=10.0)
    while not asked.done:
        world.run(world.now + 0.1)
        for moment, connection in list(broker.heard):
            if moment + 1.2 <= world.now:
                broker.heard.remove((moment, connection))
                world.lose(connection, "reset")
    assert broker.connections > 3
    assert isinstance(asked.error, errors.ConnectError)


class HangsUpAtTimes(Broker):
    """Closes the connection at its next request after ApiVersions, once each time that it is to."""

    is_to_hang_up = False

    def answer(self, frame: bytes, now: float) -> Answer:
        if self.is_to_hang_up and frame[4:6] != b"\0\x12":
            self.is_to_hang_up = False
            return HANG_UP
        return super().answer(frame, now)


def test_two_connections_that_end_at_their_first_request_are_no_refusal_however_far_apart() -> None:
    broker = HangsUpAtTimes()
    world = World({A: broker})
    for seconds in (0.01, 60.0):
        broker.is_to_hang_up = True
        asked = call(world, seconds)
        world.run(world.now + 10)
        assert not broker.is_to_hang_up
    assert isinstance(asked.error, errors.UnknownTopicError)
    assert world.warned == []
