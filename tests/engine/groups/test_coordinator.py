"""The coordinator of a group in virtual time: how it is found, lost, found again, and who hears when it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kwire import errors, protocol
from kwire.engine.calls.lookup import GROUP, TRANSACTION
from kwire.engine.common.addresses import Address
from kwire.engine.groups.coordinator import Coordinator
from kwire.engine.metadata.refresh import ELECTION_LOOK_S
from kwire.engine.settings.clients import ConsumerSettings
from kwire.errors import ConnectError
from kwire.schema.api_keys import FIND_COORDINATOR, HEARTBEAT
from kwire.schema.error_codes import COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
from tests.engine.world import HANG_UP, SILENCE, Broker, Outcome, World

A, B = Address("a", 1), Address("b", 2)
GROUP_AUTHORIZATION_FAILED = 30


class Kafka:
    """Two brokers, one of which coordinates; FindCoordinator answers with the codes of `refusals` first."""

    def __init__(self, release: str = "4.4.0", kind: int = GROUP) -> None:
        self.coordinator = 1
        self.refusals: list[int] = []
        self.heartbeat_code = 0
        self.found: list[tuple[int, Any]] = []
        self.beaten: list[int] = []
        self.brokers = [Broker(release, node) for node in range(2)]
        for node, broker in enumerate(self.brokers):
            broker.brokers = {0: A, 1: B}
            broker.handlers |= {FIND_COORDINATOR: self.find(node), HEARTBEAT: self.heartbeat(node)}
        places = dict(zip((A, B), self.brokers, strict=True))
        self.world = World(places, ConsumerSettings(bootstrap_servers="a:1"))
        self.coordinator_of = Coordinator(self.world.core, kind, "g")

    def find(self, node: int) -> Callable[[Any, int, float], Any]:
        def answer(message: Any, version: int, now: float) -> Any:
            self.found.append((version, message))
            code = self.refusals.pop(0) if self.refusals else 0
            row = {"node_id": self.coordinator, "host": "ab"[self.coordinator], "port": self.coordinator + 1}
            if version < 4:
                return protocol.FindCoordinatorResponse(error_code=code, **row)
            made = protocol.FindCoordinatorResponse.Coordinator
            return protocol.FindCoordinatorResponse(coordinators=[made(key="g", error_code=code, **row)])

        return answer

    def heartbeat(self, node: int) -> Callable[[Any, int, float], Any]:
        def answer(message: Any, version: int, now: float) -> Any:
            self.beaten.append(node)
            code = self.heartbeat_code if node == self.coordinator else NOT_COORDINATOR
            return protocol.HeartbeatResponse(error_code=code)

        return answer

    def start(self) -> Outcome:
        outcome = Outcome()
        message = protocol.HeartbeatRequest(group_id="g")
        outcome.request = self.coordinator_of.request(HEARTBEAT, message, outcome.answer, outcome.fail, self.world.now)
        return outcome

    def beat(self) -> Outcome:
        outcome = self.start()
        self.world.run(lambda: outcome.ended)
        return outcome


def test_requests_wait_for_one_look_up() -> None:
    kafka = Kafka()
    both = [kafka.start(), kafka.start()]
    kafka.world.run(lambda: all(outcome.ended for outcome in both))
    assert [outcome.response.error_code for outcome in both] == [0, 0]
    assert kafka.beaten == [1, 1]
    assert len(kafka.found) == 1
    assert kafka.coordinator_of.node == 1


def test_a_known_coordinator_is_not_looked_up_again() -> None:
    kafka = Kafka()
    assert kafka.beat().error is None
    assert kafka.beat().error is None
    assert len(kafka.found) == 1


def test_the_request_names_the_kind_and_the_key() -> None:
    for release, kind in (("4.4.0", TRANSACTION), ("0.11.0.3", TRANSACTION), ("0.10.2.2", GROUP)):
        kafka = Kafka(release, kind)
        kafka.beat()
        [(version, message)] = kafka.found
        keys = message.coordinator_keys if version >= 4 else [message.key]
        assert list(keys) == ["g"]
        assert message.key_type == kind


def test_the_look_up_is_repeated_while_its_error_may_pass() -> None:
    kafka = Kafka()
    kafka.refusals = [COORDINATOR_NOT_AVAILABLE, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE]
    assert kafka.beat().error is None
    assert len(kafka.found) == 4


def test_an_error_that_will_not_pass_fails_what_waits_but_not_what_comes_later() -> None:
    kafka = Kafka()
    kafka.refusals = [GROUP_AUTHORIZATION_FAILED]
    both = [kafka.start(), kafka.start()]
    kafka.world.run(lambda: all(outcome.ended for outcome in both))
    assert all(isinstance(outcome.error, errors.broker.GroupAuthorizationFailedError) for outcome in both)
    assert "'g'" in str(both[0].error)
    assert kafka.beat().error is None


def test_a_coordinator_that_moved_is_looked_up_at_the_next_request() -> None:
    kafka = Kafka()
    kafka.beat()
    kafka.coordinator = 0
    assert kafka.beat().response.error_code == NOT_COORDINATOR
    error = errors.broker.error_for(NOT_COORDINATOR, "Heartbeat")
    assert kafka.coordinator_of.is_lost(error, kafka.world.now)
    assert kafka.coordinator_of.node is None
    assert kafka.beat().response.error_code == 0
    assert kafka.beaten == [1, 1, 0]


def test_a_lost_connection_loses_the_coordinator_and_a_refused_request_does_not() -> None:
    kafka = Kafka()
    kafka.beat()
    coordinator = kafka.coordinator_of
    for code in (COORDINATOR_LOAD_IN_PROGRESS, GROUP_AUTHORIZATION_FAILED):
        assert not coordinator.is_lost(errors.broker.error_for(code), kafka.world.now)
    assert coordinator.node == 1
    kafka.brokers[1].handlers[HEARTBEAT] = lambda message, version, now: kafka.world.lose_all(B)
    error = kafka.beat().error
    assert isinstance(error, ConnectError)
    assert coordinator.is_lost(error, kafka.world.now)
    assert coordinator.node is None


def test_a_coordinator_that_the_metadata_does_not_list_is_reached() -> None:
    kafka = Kafka()
    for broker in kafka.brokers:
        broker.brokers = {0: A}
    assert kafka.beat().error is None


def test_a_silent_broker_does_not_hold_up_the_look_up() -> None:
    kafka = Kafka()
    kafka.beat()
    kafka.coordinator_of.is_lost(ConnectError("reset"), kafka.world.now)
    kafka.brokers[0].answer = lambda frame, now: SILENCE  # type: ignore[method-assign]
    assert kafka.beat().error is None


def test_a_cancelled_request_is_not_sent() -> None:
    kafka = Kafka()
    cancelled, other = kafka.start(), kafka.start()
    cancelled.request.cancel()
    kafka.world.run(lambda: other.ended)
    assert cancelled.calls == 0
    assert kafka.beaten == [1]


def test_a_cut_step_forgets_what_waits_and_asks_again_for_what_comes() -> None:
    kafka = Kafka()
    kafka.refusals = [COORDINATOR_NOT_AVAILABLE] * 3
    lost = kafka.start()
    kafka.world.run(kafka.world.now + 0.05)
    kafka.world.core.recover(kafka.world.now)
    kafka.world.open.clear()
    assert kafka.beat().error is None
    assert lost.calls == 0


def test_close_ends_the_look_up() -> None:
    kafka = Kafka()
    outcome = kafka.start()
    kafka.coordinator_of.close()
    kafka.world.run(kafka.world.now + 5)
    assert outcome.calls == 0
    assert kafka.beaten == []


def test_requests_to_a_coordinator_have_a_connection_of_their_own() -> None:
    kafka = Kafka()
    kafka.coordinator = 0
    kafka.beat()
    assert kafka.brokers[0].connections == 2


def test_it_is_named_in_words() -> None:
    kafka = Kafka()
    assert kafka.coordinator_of.who == "any broker"
    assert kafka.coordinator_of.what == "group 'g'"
    kafka.beat()
    assert "broker 1 (b:2)" in kafka.coordinator_of.who


@pytest.mark.parametrize("elected_after", [0.3, 1.0, 2.0, 3.7])
def test_another_coordinator_is_found_soon_after_its_election(elected_after: float) -> None:
    kafka = Kafka()
    kafka.beat()
    kafka.brokers[1].refuses = "refused"
    kafka.world.lose_all(B)
    elected = kafka.world.now + elected_after
    kafka.world.at(elected, lambda: setattr(kafka, "coordinator", 0))
    while (beat := kafka.beat()).error is not None:
        assert kafka.coordinator_of.is_lost(beat.error, kafka.world.now)
    assert kafka.world.now - elected < 0.2
    assert len(kafka.found) < 10 + 1.1 * elected_after / ELECTION_LOOK_S


def test_a_coordinator_that_comes_back_is_found_again() -> None:
    kafka = Kafka()
    kafka.beat()
    kafka.brokers[1].refuses = "refused"
    kafka.world.lose_all(B)
    kafka.world.at(back := kafka.world.now + 3.0, lambda: setattr(kafka.brokers[1], "refuses", ""))
    while (beat := kafka.beat()).error is not None:
        assert kafka.coordinator_of.is_lost(beat.error, kafka.world.now)
    assert kafka.beaten == [1, 1]
    assert kafka.world.now - back < 1.5


def test_hang_up_in_the_look_up_is_survived() -> None:
    kafka = Kafka()
    answer = kafka.brokers[0].answer
    hung_up: list[bytes] = []

    def once(frame: bytes, now: float) -> Any:
        if frame[4:6] == b"\0\x0a" and not hung_up:
            hung_up.append(frame)
            return HANG_UP
        return answer(frame, now)

    kafka.brokers[0].answer = once  # type: ignore[method-assign]
    assert kafka.beat().error is None
    assert len(hung_up) == 1
