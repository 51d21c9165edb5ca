"""The waits of a producer in virtual time: what ends them, what they raise, and what a cut leaves behind."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from kwire import errors
from kwire._codec import Delivery
from kwire.engine.common.waits import Turn, Until
from kwire.engine.producer import waits
from kwire.engine.producer.flushing import MAX_DRAIN_S
from kwire.engine.producer.sender import CLOSED_TOO_EARLY
from tests.engine.produce_world import Leader, ProducerWorld
from tests.engine.waiting import Cut, WorldDoor, cut_at_each_step


class Waiting:
    """A producer in virtual time, its door, and what it has sent."""

    def __init__(self, **options: Any) -> None:
        self.leader = Leader()
        self.world = ProducerWorld(self.leader, **{"linger_ms": 1000, **options})
        self.sender = self.world.sender
        self.door = WorldDoor(self.world)

    def send(self, *values: bytes) -> list[Delivery]:
        return [self.world.send(value) for value in values]

    def close(self, timeout: float = inf, **more: Any) -> None:
        self.door.run(waits.close(self.door, self.sender, self.world.now + timeout), **more)

    def mute(self) -> None:
        self.leader.handlers[0] = lambda message, version, now: None


def test_a_flush_sends_what_lingers_and_waits_for_it() -> None:
    it = Waiting()
    began = it.world.now
    deliveries = it.send(b"a", b"b")
    it.door.run(waits.flush(it.door, it.sender, None))
    assert [delivery.result().offset for delivery in deliveries] == [0, 1]
    assert it.world.now - began < 0.5


def test_a_flush_raises_what_failed_and_which_is_late() -> None:
    it = Waiting()
    it.leader.script = [10]
    it.send(b"too large")
    with pytest.raises(errors.DeliveryError, match="1 record in 1 batch could not be delivered"):
        it.door.run(waits.flush(it.door, it.sender, None))
    it.mute()
    it.send(b"late")
    with pytest.raises(errors.KafkaTimeoutError, match=r"flush: 1 of 1 batch not delivered within 0\.5 s"):
        it.door.run(waits.flush(it.door, it.sender, 0.5))


def test_a_flush_whose_producer_is_closed_meanwhile_says_what_failed() -> None:
    it = Waiting()
    it.mute()
    it.send(b"v")

    def close() -> None:
        it.door.closed = True
        it.world.core.close(it.world.now)

    it.world.at(it.world.now + 1, close)
    with pytest.raises(errors.DeliveryError, match=CLOSED_TOO_EARLY):
        it.door.run(waits.flush(it.door, it.sender, None))


def test_a_flush_cut_at_each_step_cancels_no_record() -> None:
    it = Waiting()
    deliveries = it.send(b"a", b"b")
    cut_at_each_step(it.door, lambda: waits.flush(it.door, it.sender, None))
    assert it.world.complete(*deliveries) == [0, 1]


def test_a_close_delivers_everything_and_takes_no_more() -> None:
    it = Waiting()
    deliveries = it.send(b"a", b"b")
    it.close()
    assert [delivery.result().offset for delivery in deliveries] == [0, 1]
    with pytest.raises(errors.ClientClosedError, match="the producer is closed"):
        it.send(b"c")
    with pytest.raises(errors.ClientClosedError, match="the producer is closed"):
        it.world.accumulator.check_open()


def test_a_close_fails_what_is_not_delivered_in_time() -> None:
    it = Waiting()
    it.mute()
    [delivery] = it.send(b"v")
    began = it.world.now
    with pytest.raises(errors.DeliveryError, match=CLOSED_TOO_EARLY):
        it.close(2.0)
    assert it.world.now - began == pytest.approx(2.0)
    assert CLOSED_TOO_EARLY in str(delivery.exception())


def test_a_close_gives_brokers_so_long_to_read_what_has_no_acknowledgement() -> None:
    it = Waiting(acks=0)
    it.world.complete(*it.send(b"a"))
    it.leader.handlers[3] = lambda message, version, now: None
    began = it.world.now
    it.close()
    assert it.world.now - began == pytest.approx(MAX_DRAIN_S)
    assert it.leader.values() == [b"a"]


def test_a_close_that_is_cut_leaves_what_goes_on_and_the_next_one_ends_it() -> None:
    it = Waiting()
    deliveries = it.send(b"a", b"b")
    with pytest.raises(Cut):
        it.close(cut_at=1)
    [unfinished] = it.door.going_on
    assert not unfinished.is_done()
    assert unfinished.loss() == "2 records undelivered"
    it.close()
    assert unfinished.is_done()
    assert unfinished.loss() == ""
    assert [delivery.result().offset for delivery in deliveries] == [0, 1]


def test_the_end_of_the_core_fails_what_no_close_has_waited_for() -> None:
    it = Waiting()
    deliveries = it.send(b"a", b"b")
    it.world.core.close(it.world.now)
    for delivery in deliveries:
        assert CLOSED_TOO_EARLY in str(delivery.exception())
    with pytest.raises(errors.ClientClosedError, match="the producer is closed"):
        it.send(b"c")


def test_a_drain_waits_for_room_and_only_lets_others_in_where_there_is_some() -> None:
    it = Waiting()

    def has_room() -> bool:
        return it.world.accumulator.is_empty

    it.door.run(waits.drain(it.door, it.sender, has_room))
    it.send(b"a")
    it.door.run(waits.drain(it.door, it.sender, has_room))
    assert [type(step) for step in it.door.steps] == [Turn, Until]
    assert it.leader.values() == [b"a"]
