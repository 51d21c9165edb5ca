"""A poll and a position as waits, in virtual time: what they yield, when they end, and what a cut leaves behind."""

from __future__ import annotations

import pytest

from kwire import errors
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.waits import Turn, Until
from kwire.engine.consumer import waits
from kwire.engine.consumer.polling import LOOK_EVERY_S
from tests.engine.consumer.test_fetcher import T0, LogBroker
from tests.engine.consumer.test_subscription import TOPIC_AUTHORIZATION_FAILED, Polls
from tests.engine.waiting import Cut, WorldDoor, cut_at_each_step


class Waiting(Polls):
    """A fetcher with its polls, and a door."""

    def __init__(self, broker: LogBroker | None = None) -> None:
        super().__init__(broker or LogBroker(), default_api_timeout_ms=20_000)
        self.broker = self.reading.broker
        self.reading.assign(T0)
        self.door = WorldDoor(self.world)

    def values(self, timeout: float | None, *, cut_at: int = 0) -> list[bytes | None]:
        wait = waits.poll(self.door, self.polling, None, timeout, None)
        got: list[bytes | None] = self.door.run(wait, cut_at=cut_at).values()
        self.fetcher.hand_out.arrived = True
        return got


def test_records_at_hand_are_returned_after_one_look_at_the_sockets() -> None:
    it = Waiting()
    it.broker.append(0, [b"a", b"b"])
    it.polling.begin(it.world.now)
    it.world.run(it.polling.ready)
    assert it.values(5.0) == [b"a", b"b"]
    assert [type(step) for step in it.door.steps] == [Turn]


def test_a_poll_waits_for_records_and_looks_on_meanwhile() -> None:
    it = Waiting()
    it.world.at(it.world.now + 3.3, lambda: it.broker.append(0, [b"late"]))
    begun = it.world.now
    assert it.values(None) == [b"late"]
    assert 3.3 <= it.world.now - begun < 5
    first, *others = it.door.steps
    assert isinstance(first, Turn)
    assert len(others) >= 4
    assert all(isinstance(step, Until) and step.seconds == LOOK_EVERY_S for step in others)


@pytest.mark.parametrize("timeout", [0.0, 0.4, 2.5])
def test_a_poll_ends_when_its_time_is_over(timeout: float) -> None:
    it = Waiting()
    begun = it.world.now
    assert it.values(timeout) == []
    assert it.world.now - begun == pytest.approx(timeout)


def test_what_makes_waiting_useless_is_raised_while_a_poll_waits() -> None:
    it = Waiting(LogBroker())
    it.subscription.subscribe(["missing"], it.world.now)
    with pytest.raises(errors.UnknownTopicError):
        it.values(None)
    it.broker.errors["t"] = TOPIC_AUTHORIZATION_FAILED
    it.subscription.subscribe(["t"], it.world.now)
    with pytest.raises(errors.BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        it.values(None)


def test_a_poll_cut_at_each_step_loses_nothing() -> None:
    it = Waiting()
    it.world.at(it.world.now + 4, lambda: it.broker.append(0, [b"late"]))
    records = cut_at_each_step(it.door, lambda: waits.poll(it.door, it.polling, None, 60.0, None))
    assert records.values() == [b"late"]


def test_a_closed_client_is_told_by_a_poll_that_waits() -> None:
    it = Waiting()

    def close() -> None:
        it.door.closed = True

    it.world.at(it.world.now + 2, close)
    with pytest.raises(errors.ClientClosedError):
        it.values(60.0)


def test_a_position_is_looked_up() -> None:
    it = Waiting()
    it.broker.append(0, [b"a"])
    assert it.door.run(waits.position(it.door, it.polling, T0, 5.0)) == 0
    with pytest.raises(errors.KafkaError, match="not assigned"):
        it.door.run(waits.position(it.door, it.polling, TopicPartition("t", 1), 5.0))


def test_a_position_that_is_not_known_in_time() -> None:
    it = Waiting()
    with pytest.raises(Cut):
        it.door.run(waits.position(it.door, it.polling, T0, 5.0), cut_at=1)
    with pytest.raises(errors.KafkaError, match="the position of t-0 was not known within 0 s"):
        it.door.run(waits.position(it.door, it.polling, T0, 0.0))
