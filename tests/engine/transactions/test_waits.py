"""The calls of a transactional producer as waits, in virtual time: results, errors, time-outs and cuts."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import errors
from kwire.engine.common.waits import Wait
from kwire.engine.settings.clients import ProducerSettings
from kwire.engine.transactions.waits import Transactions
from tests.engine.transactions.world import TransactionWorld
from tests.engine.waiting import WorldDoor, cut_at_each_step


class Calling:
    """A transactional producer in virtual time, with its calls and a door."""

    def __init__(self, **options: Any) -> None:
        self.world = TransactionWorld()
        self.producer = self.world.producer(**options)
        self.door = WorldDoor(self.producer)
        settings = self.producer.core.settings
        assert isinstance(settings, ProducerSettings)
        self.calls = Transactions(self.door, self.producer.manager, self.producer.accumulator, settings)

    def run(self, wait: Wait[Any]) -> Any:
        return self.door.run(wait)

    def begin(self) -> None:
        self.run(self.calls.initialise(keep_prepared=False, timeout=None))
        self.run(self.calls.begin())


def test_a_block_initialises_begins_and_commits() -> None:
    it = Calling()
    it.run(it.calls.enter())
    it.producer.send("t", b"v")
    it.run(it.calls.leave(None))
    assert it.world.committed() == [b"v"]


def test_a_block_that_raises_aborts() -> None:
    it = Calling()
    it.run(it.calls.enter())
    it.producer.send("t", b"v")
    it.run(it.calls.leave(ZeroDivisionError()))
    assert it.world.committed() == []
    it.run(it.calls.enter())


def test_calls_cut_at_each_step_are_waited_for_by_the_same_call() -> None:
    it = Calling()
    cut_at_each_step(it.door, lambda: it.calls.initialise(keep_prepared=False, timeout=None))
    it.run(it.calls.begin())
    it.producer.send("t", b"v")
    cut_at_each_step(it.door, lambda: it.calls.commit(None))
    assert it.world.committed() == [b"v"]


@pytest.mark.parametrize("timeout", [None, 2.5])
def test_a_call_that_takes_too_long_says_what_it_waits_for_and_goes_on(timeout: float | None) -> None:
    it = Calling(max_block_ms=1500)
    it.begin()
    it.producer.send("t", b"v")
    it.world.faults.mute("EndTxn", times=1)
    began = it.producer.now
    patience = timeout or 1.5
    with pytest.raises(errors.KafkaTimeoutError, match=f"commit_transaction: not done within {patience:g} s"):
        it.run(it.calls.commit(timeout))
    assert it.producer.now - began == pytest.approx(patience, abs=0.1)
    it.run(it.calls.commit(60.0))
    assert it.world.committed() == [b"v"]


def test_a_call_that_waits_ends_with_its_client() -> None:
    it = Calling()
    it.begin()
    it.producer.send("t", b"v")
    it.world.faults.mute("EndTxn", times=None)

    def close() -> None:
        it.door.closed = True
        it.producer.core.close(it.producer.now)

    it.producer.at(it.producer.now + 1, close)
    with pytest.raises(errors.KafkaError, match="the client was closed"):
        it.run(it.calls.commit(60.0))
    for late in (it.calls.begin(), it.calls.commit(None)):
        with pytest.raises(errors.ClientClosedError, match="the producer is closed"):
            it.run(late)
