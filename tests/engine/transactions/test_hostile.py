"""Brokers that answer what no broker should: the producer says so, asks no more than it has to, and commits no half."""

from __future__ import annotations

from typing import Any

import pytest

from kwire import protocol
from kwire.engine.connections.versions import BEFORE_0_10
from kwire.engine.transactions import states
from kwire.engine.transactions.outcome import Outcome
from kwire.engine.transactions.requests import TransactionRequests
from kwire.errors import KafkaError, ProducerFencedError, TransactionError
from kwire.schema.api_keys import FIND_COORDINATOR, INIT_PRODUCER_ID
from kwire.schema.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR,
    PRODUCER_FENCED,
    TRANSACTION_ABORTABLE,
    UNKNOWN_PRODUCER_ID,
)
from tests.engine.transactions.world import TransactionalProducer, TransactionWorld

VERSIONS = pytest.mark.parametrize("version", [1, 2])


def opened(version: int) -> tuple[TransactionWorld, TransactionalProducer]:
    """A transaction with a record that was delivered."""
    world = TransactionWorld(version)
    producer = world.producer()
    producer.init()
    producer.begin()
    producer.complete(producer.send_all(b"v"))
    return world, producer


def error_of(outcome: Outcome, producer: TransactionalProducer) -> KafkaError:
    producer.run(lambda: outcome.done)
    assert outcome.error is not None
    return outcome.error


def test_a_coordinator_that_cannot_be_asked_for_says_nothing_of_two_phases() -> None:
    """The API that is missing is known by its key, not by a text, in which a transactional id may stand."""
    producer = TransactionWorld().producer(transaction_two_phase_commit_enable=True)
    call = producer.manager.initialise(producer.now)
    why = BEFORE_0_10.why_not(FIND_COORDINATOR, "FindCoordinator", 1, 6, "the broker for InitProducerId")
    producer.manager.on_failure(INIT_PRODUCER_ID, why, producer.now)
    text = str(error_of(call, producer))
    assert "transactions need Kafka 0.11 or newer" in text
    assert "two-phase" not in text


def ends_asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What each EndTxn asks for from now on, "commit" or "abort", as it is sent."""
    asked: list[str] = []
    ask_end = TransactionRequests.ask_end

    def counted(requests: TransactionRequests, now: float, *, commits: bool, is_v2: bool) -> None:
        asked.append("commit" if commits else "abort")
        ask_end(requests, now, commits=commits, is_v2=is_v2)

    monkeypatch.setattr(TransactionRequests, "ask_end", counted)
    return asked


@VERSIONS
def test_an_abort_that_the_coordinator_does_not_know_the_producer_of_is_the_end(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, producer = opened(version)
    asked = ends_asked(monkeypatch)
    world.faults.error("EndTxn", UNKNOWN_PRODUCER_ID, times=None)
    outcome = producer.manager.abort(producer.now)
    world.run(world.now + 5)
    assert (producer.state, asked) == (states.FATAL, ["abort"])
    assert "UNKNOWN_PRODUCER_ID" in str(outcome.error)


@VERSIONS
@pytest.mark.parametrize("verb", ["commit", "abort"])
def test_fencing_after_a_lost_answer_leaves_a_commit_open_and_an_abort_not(version: int, verb: str) -> None:
    world, producer = opened(version)
    world.faults.close("EndTxn")
    world.faults.error("EndTxn", PRODUCER_FENCED)
    error = error_of(getattr(producer.manager, verb)(producer.now), producer)
    assert isinstance(error, ProducerFencedError)
    assert bool(getattr(error, "__notes__", None)) == (verb == "commit")


@VERSIONS
@pytest.mark.parametrize(("code", "is_open"), [(NOT_COORDINATOR, False), (COORDINATOR_NOT_AVAILABLE, True)])
@pytest.mark.parametrize("then", [PRODUCER_FENCED, TRANSACTION_ABORTABLE])
def test_a_commit_that_may_be_in_the_coordinators_log_is_not_said_to_be_none(
    version: int, code: int, is_open: bool, then: int
) -> None:
    """The answer to a repeated one would have it aborted: the caller must not be told that nothing was committed."""
    world, producer = opened(version)
    world.faults.error("EndTxn", code)
    world.faults.error("EndTxn", then)
    error = error_of(producer.manager.commit(producer.now), producer)
    assert bool(getattr(error, "__notes__", None)) == is_open
    assert (producer.state == states.ABORTABLE) == (then == TRANSACTION_ABORTABLE and not is_open)


@VERSIONS
@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, -1), (-1, 0), (7, -1)])
def test_a_producer_id_that_is_none_is_the_end(
    version: int, producer_id: int, epoch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records with it would be outside of the transaction, and seen though it is aborted."""
    on_id = TransactionRequests._on_id

    def damaged(
        requests: TransactionRequests, coordinator: Any, response: protocol.InitProducerIdResponse, *rest: Any
    ) -> None:
        response.producer_id, response.producer_epoch = producer_id, epoch
        on_id(requests, coordinator, response, *rest)

    monkeypatch.setattr(TransactionRequests, "_on_id", damaged)
    producer = TransactionWorld(version).producer()
    error = error_of(producer.manager.initialise(producer.now), producer)
    assert isinstance(error, TransactionError)
    assert f"producer id {producer_id}, epoch {epoch}" in str(error)
    assert producer.state == states.FATAL


def test_a_transaction_begun_right_after_a_cut_end_is_told_to_the_coordinator(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was left of the last one's end is done before anything of the next."""
    world, producer = opened(2)
    manager = producer.manager
    begin_anew, cuts = manager._begin_anew, [True]

    def cut() -> None:
        if cuts.pop() if cuts else False:
            raise KeyboardInterrupt
        begin_anew()

    monkeypatch.setattr(manager, "_begin_anew", cut)
    outcome = manager.commit(producer.now)
    with pytest.raises(KeyboardInterrupt):
        producer.run(lambda: outcome.done)
    producer.core.recover(producer.now)
    assert outcome.done
    producer.begin()
    producer.send("t", b"next", partition=0)
    producer.commit()
    assert sorted(world.committed()) == [b"next", b"v"]


@VERSIONS
def test_an_end_that_loads_for_long_is_asked_with_pauses(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world, producer = opened(version)
    asked = ends_asked(monkeypatch)
    world.faults.error("EndTxn", COORDINATOR_LOAD_IN_PROGRESS, times=None)
    producer.manager.commit(producer.now)
    world.run(world.now + 30)
    assert len(asked) < 60
    world.faults.clear()
    producer.commit()
    assert world.committed() == [b"v"]
