"""The core's contract towards components: each request ends once, in order, in time, and says why it failed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kwire import errors, protocol
from kwire._codec import KnownAnswer
from kwire.engine.common.addresses import Address
from kwire.engine.common.request import ANY, CONTROLLER
from kwire.engine.connections.brokers import NEXT_BROKER_AFTER_S
from kwire.engine.connections.connection import CONNECT
from kwire.engine.settings.clients import ProducerSettings
from kwire.schema.api_keys import CREATE_TOPICS, LIST_OFFSETS, METADATA, OFFSET_COMMIT, PRODUCE
from tests.engine.world import SILENCE, Answer, Broker, MuteBroker, Peer, World

A, B, C = Address("a", 1), Address("b", 2), Address("c", 3)


class Refusing(Peer):
    def __init__(self, reason: str = "Connection refused") -> None:
        super().__init__()
        self.refuses = reason


class Blackhole(Peer):
    unreachable = True


def metadata(version: int) -> Any:
    return protocol.MetadataRequest(topics=[])


def two_brokers(release: str = "4.4.0") -> tuple[World, Broker, Broker]:
    first, second = Broker(release, 0, A), Broker(release, 1, B)
    for broker in (first, second):
        broker.brokers = {0: A, 1: B}
        broker.topics = {"t": [0, 1]}
    return World({A: first, B: second}), first, second


def test_requests_are_pipelined_and_answered_in_order() -> None:
    world, _, _ = two_brokers()
    world.core.cluster.track(["t"], world.now)
    world.run(lambda: world.core.cluster.topic("t") is not None)
    order: list[int] = []
    for number in range(20):
        world.core.request(
            0,
            METADATA,
            metadata,
            lambda *_, number=number: order.append(number),
            lambda *_: order.append(-1),
            world.now,
        )
    world.run(lambda: len(order) == 20)
    assert order == list(range(20))


class Repeating(Broker):
    """Answers OffsetCommit with the same bytes whatever the version."""

    said = bytes.fromhex("00000001 0000 00000000")

    def answer(self, frame: bytes, now: float) -> Answer:
        header = protocol.decode_request_header(frame[4:])
        if header.request_api_key != OFFSET_COMMIT:
            return super().answer(frame, now)
        answer = header.correlation_id.to_bytes(4, "big") + self.said
        return [len(answer).to_bytes(4, "big") + answer]


def test_an_answer_is_known_by_all_its_bytes_and_its_version() -> None:
    broker, known = Repeating("2.0.1"), KnownAnswer()
    world = World({broker.brokers[0]: broker})

    def asked(version: int) -> Any:
        request = protocol.OffsetCommitRequest(group_id="g")
        outcome = world.ask(ANY, OFFSET_COMMIT, request, versions=[version], known=known)
        world.run(lambda: outcome.ended)
        assert outcome.error is None
        return outcome.response

    first = asked(2)
    assert [topic.name for topic in first.topics] == [""]
    assert asked(2) is first
    other = asked(3)
    assert (other.throttle_time_ms, list(other.topics)) == (1, [])
    assert asked(2) == first
    for place in (0, 1, 2, 3, 8, 9):
        broker.said = bytes(10)[:place] + b"\1" + bytes(10)[place + 1 :]
        assert asked(3).throttle_time_ms == int.from_bytes(broker.said[:4], "big")
    broker.said = bytes(4)
    assert not asked(2).topics


def test_what_cannot_be_read_is_no_known_answer() -> None:
    broker, known = Repeating("2.0.1"), KnownAnswer()
    world = World({broker.brokers[0]: broker})
    for _ in range(3):
        broker.said = b"\0\0"
        outcome = world.ask(ANY, OFFSET_COMMIT, protocol.OffsetCommitRequest(group_id="g"), versions=[3], known=known)
        world.run(lambda ended=outcome: ended.ended)
        assert isinstance(outcome.error, errors.CodecError)


def test_all_bootstrap_addresses_are_tried_and_each_names_its_cause() -> None:
    world = World({A: Refusing(), B: Refusing("No route to host"), C: Refusing("name not known")})
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    assert isinstance(outcome.error, errors.ConnectError)
    assert outcome.error.causes == {"a:1": "Connection refused", "b:2": "No route to host", "c:3": "name not known"}
    assert "no broker could be reached" in str(outcome.error)
    assert "a:1: Connection refused" in str(outcome.error)


@pytest.mark.parametrize("dead", [Refusing, Blackhole])
def test_a_dead_bootstrap_address_costs_little(dead: type[Peer]) -> None:
    world = World({A: dead(), B: Broker("4.4.0", 0, B)}, rng=0.0)
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    assert outcome.error is None
    assert outcome.ended_at - 1000 < 0.5


def test_a_broker_that_comes_later_is_found() -> None:
    broker = Broker("4.4.0")
    broker.refuses = "Connection refused"
    broker.topics = {"t": [0]}
    world = World({A: broker})
    world.core.cluster.track(["t"], world.now)
    world.at(1005.0, lambda: setattr(broker, "refuses", ""))
    world.run(lambda: world.core.cluster.topic("t") is not None)
    assert world.now < 1007.5
    assert len([event for event in world.events if event[1] == CONNECT]) < 30


def test_the_bootstrap_connection_is_kept_when_it_is_that_of_a_broker() -> None:
    world, first, _ = two_brokers()
    world.core.cluster.track(["t"], world.now)
    world.run(lambda: world.core.cluster.topic("t") is not None)
    outcome = world.ask(0, METADATA, metadata)
    world.run(lambda: outcome.ended)
    assert first.connections == 1


def test_a_foreign_correlation_id_closes_the_connection() -> None:
    class Foreign(Broker):
        def answer(self, frame: bytes, now: float) -> Answer:
            answer = super().answer(frame, now)
            if frame[4:6] == b"\0\x03" and len(self.requests) > 2 and answer:
                return [answer[0][:4] + b"\0\0\0\x63" + answer[0][8:]]
            return answer

    broker = Foreign("4.4.0")
    world = World({A: broker})
    first = world.ask(ANY, METADATA, metadata)
    world.run(lambda: first.ended)
    second, third = world.ask(ANY, METADATA, metadata), world.ask(ANY, METADATA, metadata)
    world.run(lambda: second.ended and third.ended)
    for outcome in (second, third):
        assert isinstance(outcome.error, errors.ConnectError)
        assert isinstance(outcome.error.__cause__, errors.FrameError)
        assert "correlation id 99" in outcome.error.causes["a:1"]
    assert not world.open


def test_an_answer_nobody_asked_for_closes_the_connection() -> None:
    world = World({A: Broker("4.4.0")})
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    [connection] = world.open
    world.receive(connection, b"\0\0\0\x04\0\0\0\x09")
    world.play_events()
    assert not world.open


def test_a_size_that_lies_closes_the_connection() -> None:
    world = World({A: Broker("4.4.0")})
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    [connection] = world.open
    waits = world.ask(ANY, METADATA, metadata)
    world.receive(connection, b"\x7f\xff\xff\xff")
    assert isinstance(waits.error, errors.FrameError)


@pytest.mark.parametrize("limit", [1000, 2**31 - 1])
@pytest.mark.parametrize("record", ["15 03 03 00 02 02 0a", "16 03 01 00 7a 02 00 00 76"])
def test_a_listener_that_answers_with_tls_is_recognized(record: str, limit: int) -> None:
    """Its first bytes claim a frame of 350 MB; where that is allowed, it takes the end of the connection to know."""

    class Secure(Broker):
        def answer(self, frame: bytes, now: float) -> Answer:
            [connection] = world.open
            world.at(now + 0.001, lambda: world.lose(connection, "the broker closed the connection"))
            return [bytes.fromhex(record)]

    settings = ProducerSettings(bootstrap_servers="a:1", receive_message_max_bytes=limit)
    world = World({A: Secure("4.4.0")}, settings)
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    assert isinstance(outcome.error, errors.AuthError)
    assert "the broker speaks TLS on this port: is security_protocol=SSL" in str(outcome.error)


def test_an_answer_that_cannot_be_decoded_fails_its_request_alone() -> None:
    class Truncates(Broker):
        def answer(self, frame: bytes, now: float) -> Answer:
            answer = super().answer(frame, now)
            if frame[4:6] == b"\0\x03" and answer:
                body = answer[0][4:8] + answer[0][8:12]
                return [len(body).to_bytes(4, "big") + body]
            return answer

    world = World({A: Truncates("4.4.0")})
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    assert isinstance(outcome.error, errors.CodecError)
    assert "Metadata v13 response of a:1" in str(outcome.error)
    assert len(world.open) == 1


class Forgetful(Broker):
    """Never answers Metadata."""

    def metadata(self, message: Any, version: int, now: float) -> Any:
        return None


def test_a_request_unanswered_for_its_timeout_takes_the_connection_with_it() -> None:
    world = World({A: Forgetful("4.4.0")})
    first = world.ask(ANY, METADATA, metadata)
    second = world.ask(ANY, METADATA, metadata)
    world.run(lambda: first.ended and second.ended)
    assert isinstance(first.error, errors.ConnectError)
    assert "did not answer Metadata within 30000 ms" in str(first.error)
    assert 30 <= first.ended_at - 1000 < 30.1
    assert isinstance(second.error, errors.ConnectError)


def test_a_request_is_given_up_in_its_own_time_after_one_that_had_longer() -> None:
    class AnswersOnce(Broker):
        def metadata(self, message: Any, version: int, now: float) -> Any:
            answers.append(now)
            return super().metadata(message, version, now) if len(answers) == 1 else None

    answers: list[float] = []
    world = World({A: AnswersOnce("4.4.0")})
    patient = world.ask(ANY, METADATA, metadata, timeout=300.0)
    world.run(lambda: patient.ended)
    assert patient.error is None
    begun = world.now
    outcome = world.ask(ANY, METADATA, metadata, timeout=5.0)
    world.run(lambda: outcome.ended)
    assert "did not answer Metadata within 5000 ms" in str(outcome.error)
    assert 5 <= outcome.ended_at - begun < 5.1


def test_a_lost_connection_fails_what_was_written_and_is_made_anew() -> None:
    world = World({A: Forgetful("4.4.0")})
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(1001.0)
    world.lose_all(A, "Connection reset by peer")
    assert isinstance(outcome.error, errors.ConnectError)
    assert outcome.error.causes == {"a:1": "Connection reset by peer"}
    again = world.ask(ANY, METADATA, metadata)
    world.run(lambda: again.request.version >= 0)
    assert world.now - 1001 < 0.2


def test_reconnects_wait_longer_and_longer() -> None:
    broker = Refusing()
    world = World({A: broker})
    world.core.cluster.track(["t"], world.now)
    world.run(1020.0)
    moments = [moment for moment, kind, _ in world.events if kind == CONNECT]
    waits = [later - earlier for earlier, later in pairwise(moments)]
    assert waits[0] < waits[2] < waits[4]
    assert max(waits) <= 2.5
    assert len(moments) < 40


def test_a_request_without_an_answer_is_done_once_written() -> None:
    world = World({A: Broker("4.4.0")})
    broker = world.peers[A]
    assert isinstance(broker, Broker)
    broker.handlers[PRODUCE] = lambda message, version, now: None
    outcome = world.ask(ANY, PRODUCE, protocol.ProduceRequest(acks=0), expect_response=False)
    world.run(lambda: outcome.ended)
    assert outcome.error is None
    assert outcome.response is None


def test_a_version_that_the_broker_lacks_is_named() -> None:
    world = World({A: MuteBroker()})
    outcome = world.ask(CONTROLLER, CREATE_TOPICS, protocol.CreateTopicsRequest())
    world.run(lambda: outcome.ended)
    assert isinstance(outcome.error, errors.BrokerError)
    assert outcome.error.code == 35
    assert "CreateTopics" in str(outcome.error)
    assert "before Kafka 0.10" in str(outcome.error)


def test_a_range_of_versions_can_be_narrowed() -> None:
    world = World({A: Broker("4.4.0")})
    outcome = world.ask(ANY, METADATA, metadata, versions=range(4, 8))
    world.run(lambda: outcome.ended)
    assert outcome.version == 7


def test_a_broker_that_is_not_in_the_metadata_fails_at_once() -> None:
    world, _, _ = two_brokers()
    outcome = world.ask(7, METADATA, metadata)
    assert isinstance(outcome.error, errors.ConnectError)
    assert "broker 7" in str(outcome.error)


def test_what_a_builder_raises_is_the_outcome() -> None:
    def build(version: int) -> Any:
        raise errors.CodecError("too old", "headers")

    world = World({A: Broker("4.4.0")})
    outcome = world.ask(ANY, METADATA, build)
    world.run(lambda: outcome.ended)
    assert isinstance(outcome.error, errors.CodecError)


def test_a_cancelled_request_is_never_heard_of() -> None:
    world = World({A: Broker("4.4.0")})
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(1000.0025)
    outcome.request.cancel()
    world.run(1040.0)
    assert not outcome.ended
    assert len(world.open) == 1


def test_recover_ends_everything_and_goes_on() -> None:
    world = World({A: Forgetful("4.4.0")})
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(1001.0)
    queued = world.ask(0, LIST_OFFSETS, protocol.ListOffsetsRequest())
    world.core.dirty = True
    world.open.clear()
    world.core.recover(world.now)
    world.play_events()
    assert isinstance(outcome.error, errors.ConnectError)
    assert queued.calls == 1
    assert not world.core.dirty
    again = world.ask(ANY, METADATA, metadata)
    world.run(lambda: again.request.version >= 0)


def test_close_ends_everything() -> None:
    world = World({A: Forgetful("4.4.0")})
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(1001.0)
    world.core.close(world.now)
    world.play_events()
    assert "closed" in str(outcome.error)
    assert not world.open
    late = world.ask(ANY, METADATA, metadata)
    assert "closed" in str(late.error)
    assert world.core.get_timer() is None


def test_writes_and_reads_survive_any_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World({A: Broker("4.4.0")})
    original = World.receive

    def bytewise(self: World, connection: Any, data: bytes) -> None:
        for index in range(len(data)):
            original(self, connection, data[index : index + 1])

    monkeypatch.setattr(World, "receive", bytewise)
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    assert outcome.version == 13


def test_a_partial_write_goes_on_where_it_stopped() -> None:
    world = World({A: Broker("4.4.0")})
    first = world.ask(ANY, METADATA, metadata)
    world.run(lambda: first.ended)
    [connection] = world.open
    world.core.request(0, METADATA, metadata, lambda *_: None, lambda *_: None, world.now)
    whole = b"".join(connection.data_to_send())
    taken = b""
    while parts := connection.data_to_send():
        taken += bytes(parts[0][:3])
        connection.sent(min(3, len(parts[0])), world.now)
    assert taken == whole
    assert SILENCE == []


def test_settings_reach_the_wire() -> None:
    broker = Broker("4.4.0")
    seen: list[str | None] = []
    original = broker.answer

    def answer(frame: bytes, now: float) -> Answer:
        seen.append(protocol.decode_request_header(frame[4:]).client_id)
        return original(frame, now)

    broker.answer = answer  # type: ignore[method-assign]
    world = World({A: broker}, ProducerSettings(bootstrap_servers="a:1", client_id="me"))
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    assert set(seen) == {"me"}


def test_a_broker_is_named_with_its_address_and_without_its_state() -> None:
    world = World({A: Broker("4.4.0")}, ProducerSettings(bootstrap_servers="a:1"))
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    world.core.update_brokers({3: A}, complete=False, now=world.now)
    assert world.core.name_node(3) == "broker 3 (a:1)"
    assert world.core.describe_node(3).startswith("broker 3 (a:1): ")
    assert world.core.name_node(9) == "broker 9"


def test_requests_made_out_of_an_error_while_recovering_are_left_to_recovery() -> None:
    """Else more requests would be under way than their component counts, which begins anew behind the errors."""
    world = World({A: Forgetful("4.4.0")})
    core = world.core
    asked = []

    def ask_again(error: Exception, now: float) -> None:
        asked.append(core.request(ANY, METADATA, metadata, lambda *_: None, lambda *_: None, now))

    core.request(ANY, METADATA, metadata, lambda *_: None, ask_again, world.now)
    core.dirty = True
    core.recover(world.now)
    assert [request.done for request in asked] == [True]
    assert not core.request(ANY, METADATA, metadata, lambda *_: None, lambda *_: None, world.now).done


def test_of_two_idle_brokers_the_one_heard_from_last_is_asked() -> None:
    """A broker that hangs is silent: metadata is not asked of it while another one answers."""
    world, first, second = two_brokers()
    world.core.cluster.track(["t"], world.now)
    world.run(lambda: world.core.cluster.topic("t") is not None)
    for node_id in (0, 1, 0, 1):
        world.run(world.now + 1)
        outcome = world.ask(node_id, METADATA, metadata)
        world.run(lambda: outcome.ended)  # noqa: B023 - run at once
    before = len(second.requests)
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    assert len(second.requests) == before + 1
    outcome = world.ask(0, METADATA, metadata)
    world.run(lambda: outcome.ended)
    before = len(first.requests)
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    assert len(first.requests) == before + 1


def test_what_waits_for_any_broker_goes_to_one_that_answers_again() -> None:
    """The other one cannot be reached, and an attempt to connect takes much longer until it says so."""
    first = Broker("4.4.0", 0, A)
    first.brokers = {0: A, 1: B}
    world = World({A: first, B: Blackhole()}, ProducerSettings(bootstrap_servers=[tuple(A)]))
    world.core.cluster.track(["t"], world.now)
    world.run(lambda: len(world.core.cluster.brokers) == 2)
    world.core.cluster.stop()
    first.holds = 3.0
    held = world.ask(0, METADATA, metadata)
    world.run(world.now + 1.1)
    outcome = world.ask(ANY, METADATA, metadata)
    world.run(lambda: outcome.ended)
    assert outcome.error is None
    assert 0 < outcome.ended_at - held.ended_at < NEXT_BROKER_AFTER_S + 0.1
