"""Which versions a connection comes to speak, against brokers of every kind, in virtual time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.common.addresses import Address
from kwire.engine.common.request import ANY
from kwire.engine.connections.negotiation import LATE_S, LOOK_AGAIN_AFTER_S, SECOND_FLOW_AFTER_S
from kwire.schema.api_keys import API_VERSIONS, METADATA, PRODUCE
from tests.engine.world import SILENCE as NO_ANSWER
from tests.engine.world import Answer, Broker, ClosingBroker, MuteBroker, Outcome, World

A = Address("a", 1)


def ask_metadata(world: World) -> Outcome:
    return world.ask(ANY, METADATA, lambda version: protocol.MetadataRequest(topics=[]))


def agreed(world: World) -> Any:
    [node] = world.core._nodes.values()
    assert node.versions is not None
    return node.versions


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2", "2.4.1", "1.1.1", "0.10.2.2", "0.10.0.1"])
def test_the_newest_common_version_is_spoken(release: str) -> None:
    world = World({A: Broker(release)})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert outcome.version == min(13, protocol.versions_of(release)[METADATA][1])
    assert world.peers[A].connections == 1
    assert outcome.ended_at - 1000 < 0.01


class RefusesOddly(Broker):
    """Error 35 with a compact count and without tags: a body in no version (librdkafka's mock cluster)."""

    def unknown_version(self, correlation_id: int) -> Answer:
        body = correlation_id.to_bytes(4, "big") + b"\0\x23\x09\0\0"
        return [len(body).to_bytes(4, "big") + body]


class AnswersOddly(Broker):
    """Error 0 and a body that is no version 3."""

    def unknown_version(self, correlation_id: int) -> Answer:
        body = correlation_id.to_bytes(4, "big") + b"\0\0\0\0\0\x01\0"
        return [len(body).to_bytes(4, "big") + body]


@pytest.mark.parametrize("kind", [RefusesOddly, AnswersOddly])
def test_a_refusal_counts_whatever_its_body_holds(kind: type[Broker]) -> None:
    broker = kind("0.10.2.2")
    world = World({A: broker})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert outcome.version == 2
    assert [version for key, version, _ in broker.requests if key == API_VERSIONS] == [0]


def test_a_refusal_that_names_its_newest_version_is_believed() -> None:
    class Names(Broker):
        def unknown_version(self, correlation_id: int) -> Answer:
            row = protocol.ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=4)
            refusal = protocol.ApiVersionsResponse(error_code=35, api_keys=[row])
            return [protocol.encode_response(refusal, 0, correlation_id=correlation_id)]

    broker = Names("4.3.1")
    world = World({A: broker})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert [version for key, version, _ in broker.requests if key == API_VERSIONS] == [4]


def test_a_broker_that_closes_is_old_once_it_answers_metadata() -> None:
    world = World({A: ClosingBroker()})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert outcome.version == 0
    assert agreed(world).before_0_10
    assert outcome.ended_at - 1000 < 0.05


def test_a_silent_broker_is_old_once_it_answers_metadata() -> None:
    world = World({A: MuteBroker()})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert outcome.version == 0
    assert agreed(world).before_0_10
    assert SECOND_FLOW_AFTER_S <= outcome.ended_at - 1000 < SECOND_FLOW_AFTER_S + 0.1


def test_an_old_broker_is_asked_metadata_first_the_next_time() -> None:
    broker = MuteBroker()
    world = World({A: broker})
    first = ask_metadata(world)
    world.run(lambda: first.ended)
    world.lose_all(A)
    begun, before = world.now, broker.asked_versions
    second = ask_metadata(world)
    world.run(lambda: second.ended)
    assert agreed(world).before_0_10
    assert second.ended_at - begun < 0.1
    assert broker.asked_versions == before, "0.9 is confused by a key that it does not know"


def test_a_pause_does_not_make_a_new_broker_old() -> None:
    broker = Broker("4.4.0")
    broker.paused_until = 1001.0
    world = World({A: broker})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert outcome.version == 13
    assert not agreed(world).before_0_10


class SlowToSay(Broker):
    """Answers all but ApiVersions at once; the first `slow` of those after `delay` seconds each, None: never."""

    def __init__(self, delay: float | None, slow: int) -> None:
        super().__init__("3.9.2")
        self.delay = delay
        self.slow = slow

    def answer(self, frame: bytes, now: float) -> Answer:
        if frame[4:6] == b"\0\x12" and self.slow:
            self.slow -= 1
            if self.delay is None:
                return NO_ANSWER
            self.holds = self.delay
        return super().answer(frame, now)


def world_of_slow(delay: float | None, slow: int = 1) -> World:
    return World({A: SlowToSay(delay, slow)})


@pytest.mark.parametrize("delay", [0.4, 0.6, 0.7, 1.0, 2.0, 5.0, 9.0, 10.0, 30.0, None])
def test_a_first_connection_that_is_slow_does_not_make_a_broker_old(delay: float | None) -> None:
    world = world_of_slow(delay)
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert (outcome.error, outcome.version) == (None, 12)
    assert outcome.ended_at - 1000 < 0.5, "another connection says it"
    world.run(world.now + 2 * LOOK_AGAIN_AFTER_S)
    assert not agreed(world).before_0_10
    assert len(world.open) == 1


@pytest.mark.parametrize("slow", [2, 3, 10])
def test_api_versions_that_is_never_answered_is_no_proof_of_age(slow: int) -> None:
    world = world_of_slow(None, slow)
    versions = []
    while not versions or versions[-1] < 0:
        outcome = ask_metadata(world)
        world.run(lambda: outcome.ended)  # noqa: B023 - run at once
        versions.append(outcome.version)
        assert not any(node.versions and node.versions.before_0_10 for node in world.core._nodes.values())
        if outcome.error is not None:
            assert "ApiVersions was not answered within 10000 ms" in str(outcome.error)
    assert versions[-1] == 12


class LosesSegments(Broker):
    """Each answer is late by some retransmissions."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__("3.9.2")
        self.rng = rng

    def answer(self, frame: bytes, now: float) -> Answer:
        self.holds = self.rng.choice([0.0, 0.2, 0.6, 1.4, 3.0, 12.0])
        return super().answer(frame, now)


@pytest.mark.parametrize("seed", range(100))
def test_segments_that_are_lost_do_not_make_a_broker_old(seed: int) -> None:
    world = World({A: LosesSegments(random.Random(seed))})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert outcome.version in (12, -1)
    world.run(world.now + 30)
    assert not any(node.versions and node.versions.before_0_10 for node in world.core._nodes.values())


def test_a_broker_that_is_taken_for_old_is_looked_at_again() -> None:
    broker = MuteBroker()
    world = World({A: broker})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert agreed(world).before_0_10
    broker.become("3.9.2")
    world.run(world.now + LOOK_AGAIN_AFTER_S + 1)
    assert not agreed(world).before_0_10
    later = ask_metadata(world)
    world.run(lambda: later.ended)
    assert later.version == 12
    assert len(world.open) == 1


def test_looking_again_leaves_an_old_broker_as_it_was() -> None:
    broker = MuteBroker()
    world = World({A: broker})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    before = broker.connections
    world.run(world.now + 5.5 * LOOK_AGAIN_AFTER_S)
    assert agreed(world).before_0_10
    assert broker.connections == before + 5
    assert len(world.open) == 1
    assert broker.asked_versions == 1


def test_api_versions_without_an_answer_is_given_up_in_the_end() -> None:
    world = World({A: MuteBroker()})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert len(world.open) == 2
    world.run(world.now + LATE_S + 1)
    assert len(world.open) == 1


def test_a_late_answer_wins() -> None:
    broker = MuteBroker()
    world = World({A: broker})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    [asked] = [each for each in world.open if each.number == 1]
    response = Broker("3.9.2").api_versions(None, 3, 0.0)
    world.receive(asked, protocol.encode_response(response, 4, correlation_id=0))
    assert not agreed(world).before_0_10
    world.play_events()
    assert len(world.open) == 1


def test_a_broker_that_closes_once_because_it_restarts_is_not_old() -> None:
    class Restarts(Broker):
        asked = 0

        def answer(self, frame: bytes, now: float) -> Answer:
            if frame[4:6] == b"\0\x12":
                self.asked += 1
                if self.asked == 1:
                    return None
            return super().answer(frame, now)

    world = World({A: Restarts("4.4.0")})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert outcome.version == 13


def test_a_listener_that_answers_nothing_fails_in_time_and_says_so() -> None:
    class Nothing(Broker):
        def answer(self, frame: bytes, now: float) -> Answer:
            return NO_ANSWER

    world = World({A: Nothing()})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert isinstance(outcome.error, errors.ConnectError)
    assert "neither ApiVersions nor Metadata was answered within 10000 ms" in outcome.error.causes["a:1"]
    assert 10 <= outcome.ended_at - 1000 < 10.5


def test_a_listener_for_tls_fails_and_says_what_it_may_be() -> None:
    class Tls(Broker):
        def answer(self, frame: bytes, now: float) -> Answer:
            return None

    world = World({A: Tls()})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert isinstance(outcome.error, errors.ConnectError)
    assert "TLS" in outcome.error.causes["a:1"]


def test_an_alert_of_tls_is_not_a_frame() -> None:
    class Alert(Broker):
        def answer(self, frame: bytes, now: float) -> Answer:
            return [b"\x15\x03\x03\x00\x02\x02\x46"]

    world = World({A: Alert()})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert isinstance(outcome.error, errors.AuthError)
    assert outcome.error.step == "ApiVersions"


def test_produce_has_a_floor_of_three_where_fetch_begins_at_four() -> None:
    broker = Broker("4.4.0")
    broker.versions = {**broker.versions, PRODUCE: (0, 13)}
    world = World({A: broker})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert agreed(world).newest_common(PRODUCE, 0, 2) is None
    assert agreed(world).newest_common(PRODUCE, 0, 13) == 13


def test_waits_are_what_the_text_says() -> None:
    assert 0 < SECOND_FLOW_AFTER_S < 1.0
    assert LATE_S < LOOK_AGAIN_AFTER_S


class DropsAll(Broker):
    """A new broker whose connections are all cut whenever ApiVersions is asked, the first `times` times."""

    def __init__(self, worlds: list[World], times: int) -> None:
        super().__init__("4.4.0")
        self.worlds = worlds
        self.times = times

    def answer(self, frame: bytes, now: float) -> Answer:
        if frame[4:6] == b"\0\x12" and self.times:
            self.times -= 1
            self.worlds[0].lose_all(A)
            return NO_ANSWER
        return super().answer(frame, now)


@pytest.mark.parametrize("times", [1, 2, 3, 4, 5])
def test_connections_that_are_cut_do_not_make_a_broker_old(times: int) -> None:
    worlds: list[World] = []
    world = World({A: DropsAll(worlds, times)})
    worlds.append(world)
    versions = []
    while not versions or versions[-1] < 0:
        outcome = ask_metadata(world)
        world.run(lambda: outcome.ended)  # noqa: B023 - run at once
        versions.append(outcome.version)
    assert versions[-1] == 13
    assert len(versions) <= times + 1
    assert not agreed(world).before_0_10


def test_a_controller_is_told_from_a_broker() -> None:
    controller = Broker()
    del controller.versions[METADATA]
    world = World({A: controller})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert isinstance(outcome.error, errors.AuthError)
    assert "a:1, ApiVersions: a controller of KRaft answers at this port" in str(outcome.error)
    assert outcome.ended_at - 1000 < 1
    [(_, warned)] = world.warned
    assert "a controller of KRaft answers at this port" in warned


class WebServer(Broker):
    def answer(self, frame: bytes, now: float) -> Answer:
        return [b"HTTP/1.1 400 Bad Request\r\n\r\n"]


def test_bytes_of_another_protocol_are_no_reason_to_ask_for_tls_or_sasl() -> None:
    world = World({A: WebServer()})
    outcome = ask_metadata(world)
    world.run(lambda: outcome.ended)
    assert str(outcome.error).endswith("a web server answers at this port, not a Kafka broker")
