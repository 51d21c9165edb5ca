"""What follows a transaction's end: markers that are written later, and a next transaction that comes before them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kwire.engine.common.retry import concurrent_wait
from kwire.engine.transactions.completion import HELD_S, Completion
from kwire.schema.api_keys import ADD_PARTITIONS_TO_TXN, DESCRIBE_TRANSACTIONS, PRODUCE
from kwire.schema.error_codes import NOT_COORDINATOR, TRANSACTIONAL_ID_AUTHORIZATION_FAILED
from tests.engine.transactions.world import NOBODY, TransactionalProducer, TransactionWorld


class Lagging(TransactionWorld):
    """A cluster whose markers are written `markers_after_s` after the answer to EndTxn; how often each API is asked."""

    def __init__(self, version: int = 2, *, markers_after_s: float = 0.015) -> None:
        super().__init__(version, topics={"t": 3, "in": 1})
        self.cluster.transactions.markers_after_s = markers_after_s
        self.ready = self.producer()
        self.ready.init()

    def asked(self, key: int) -> int:
        seen = [apis.seen for apis in self.apis.values()]
        return sum(count for counts in seen for (api_key, _), count in counts.items() if api_key == key)

    def asks_held_batches(self) -> TransactionalProducer:
        """The producer, once it asks before it sends."""
        for number in range(2):
            self.ready.transact(b"%d" % number)
        assert self.asked(DESCRIBE_TRANSACTIONS) == 0
        return self.ready

    def has_learned(self) -> TransactionalProducer:
        """The producer, once it knows when the markers are written."""
        producer = self.asks_held_batches()
        for number in range(60):
            producer.transact(b"%d" % number)
        return producer

    def duration(self, producer: TransactionalProducer) -> float:
        began = self.now
        producer.transact(b"another")
        return self.now - began


def test_a_batch_that_was_held_makes_the_next_ones_wait_for_the_markers() -> None:
    world = Lagging()
    producer = world.ready
    producer.transact(b"first")
    held = world.duration(producer)
    waited = [world.duration(producer) for _ in range(10)]
    assert held >= HELD_S
    assert world.asked(DESCRIBE_TRANSACTIONS) >= 10
    assert world.asked(PRODUCE) == 12
    assert sum(waited) / len(waited) < held
    assert len(world.committed()) == 12


def test_most_transactions_cost_one_question_once_it_is_known_when_the_markers_are_written() -> None:
    world = Lagging()
    producer = world.has_learned()
    asked = world.asked(DESCRIBE_TRANSACTIONS)
    durations = [world.duration(producer) for _ in range(60)]
    assert world.asked(DESCRIBE_TRANSACTIONS) - asked < 1.6 * 60
    assert sum(durations) / 60 < 0.015 + HELD_S
    assert world.asked(PRODUCE) == 122


def test_markers_that_come_sooner_again_are_looked_for_sooner() -> None:
    world = Lagging()
    producer = world.has_learned()
    late = world.duration(producer)
    world.cluster.transactions.markers_after_s = 0.0
    soon = [world.duration(producer) for _ in range(100)][-1]
    asked = world.asked(DESCRIBE_TRANSACTIONS)
    producer.transact(b"another")
    assert soon < late
    assert world.asked(DESCRIBE_TRANSACTIONS) == asked


def test_a_transaction_aborted_before_the_first_look_asks_nothing() -> None:
    world = Lagging()
    producer = world.has_learned()
    asked = world.asked(DESCRIBE_TRANSACTIONS)
    producer.begin()
    producer.send_all(b"dropped")
    producer.abort()
    assert world.asked(DESCRIBE_TRANSACTIONS) == asked
    producer.transact(b"kept")
    assert b"dropped" not in world.written()


def test_no_batch_is_sent_before_the_answer_that_the_markers_are_written() -> None:
    world = Lagging(markers_after_s=0.05)
    producer = world.asks_held_batches()
    producer.begin()
    producer.send_all(b"late")
    outcome = producer.manager.commit(producer.now)
    world.run(world.now + 0.03)
    assert world.asked(PRODUCE) == 2
    assert "the transaction before: CONCURRENT_TRANSACTIONS" in producer.manager.why_waiting
    producer.wait(outcome)
    assert world.asked(PRODUCE) == 3


def test_a_producer_that_pauses_between_transactions_asks_nothing() -> None:
    world = Lagging()
    for number in range(5):
        world.ready.transact(b"%d" % number)
        world.run(world.now + 0.2)
    assert world.asked(DESCRIBE_TRANSACTIONS) == 0


def test_looks_in_vain_end_when_they_have_cost_as_much_as_one_batch_that_is_kept() -> None:
    world = Lagging()
    producer = world.asks_held_batches()
    world.run(world.now + 0.05)
    world.cluster.transactions.markers_after_s = 0.0
    for number in range(40):
        producer.transact(b"%d" % number)
    least, most = HELD_S / 0.010, HELD_S / 0.001 + 1  # an answer takes 1 to 10 ms here
    assert least <= world.asked(DESCRIBE_TRANSACTIONS) <= most
    asked = world.asked(DESCRIBE_TRANSACTIONS)
    producer.transact(b"another")
    assert world.asked(DESCRIBE_TRANSACTIONS) == asked


def test_one_who_may_not_ask_sends_at_once_and_does_not_ask_again() -> None:
    world = Lagging()
    producer = world.asks_held_batches()
    world.faults.error("DescribeTransactions", TRANSACTIONAL_ID_AUTHORIZATION_FAILED, times=None)
    for number in range(5):
        producer.transact(b"%d" % number)
    assert world.asked(DESCRIBE_TRANSACTIONS) == 1
    assert len(world.committed()) == 7


def test_a_question_whose_answer_is_lost_holds_nothing_up() -> None:
    world = Lagging()
    producer = world.asks_held_batches()
    world.faults.close("DescribeTransactions")
    producer.transact(b"more")
    assert len(world.committed()) == 3


@pytest.mark.parametrize("fault", ["a lost connection", "a coordinator that moves", "a coordinator that is silent"])
def test_what_passes_costs_one_question_and_the_next_ones_are_asked(fault: str) -> None:
    world = Lagging(markers_after_s=0.05)
    producer = world.asks_held_batches()
    if fault == "a lost connection":
        world.faults.close("DescribeTransactions")
    elif fault == "a coordinator that moves":
        world.faults.error("DescribeTransactions", NOT_COORDINATOR)
    else:
        world.faults.mute("DescribeTransactions")
    producer.transact(b"unasked")
    asked = world.asked(DESCRIBE_TRANSACTIONS)
    for _ in range(3):
        producer.transact(b"more")
    assert world.asked(DESCRIBE_TRANSACTIONS) > asked


def test_a_coordinator_that_does_not_answer_the_question_holds_nothing_up() -> None:
    world = Lagging()
    producer = world.asks_held_batches()
    producer.begin()
    world.faults.mute("DescribeTransactions")
    began = world.now
    producer.complete(producer.send_all(b"more"))
    assert world.now - began < 0.2
    assert world.written()[-1] == b"more"


@pytest.mark.parametrize("pause", [0.0, 0.004, 0.012, 0.03])
def test_a_transaction_aborted_before_the_answer_is_not_sent(pause: float) -> None:
    world = Lagging(markers_after_s=0.05)
    producer = world.asks_held_batches()
    producer.begin()
    producer.send_all(b"dropped")
    world.run(world.now + pause)
    producer.abort()
    producer.transact(b"kept")
    assert world.committed() == [b"0", b"1", b"kept"]
    assert b"dropped" not in world.written()


def test_offsets_that_come_first_wait_for_the_markers_too() -> None:
    world = Lagging()
    producer = world.asks_held_batches()
    producer.begin()
    producer.send_offsets({("in", 0): 5}, NOBODY)
    producer.commit()
    assert world.asked(DESCRIBE_TRANSACTIONS) > 0
    assert len(world.committed()) == 2


def test_a_step_cut_while_the_markers_are_awaited_sends_at_once() -> None:
    world = Lagging(markers_after_s=0.05)
    producer = world.asks_held_batches()
    producer.begin()
    producer.send_all(b"more")
    world.run(world.now + 0.01)
    producer.core.recover(producer.now)
    producer.commit()
    assert len(world.committed()) == 3


def test_a_new_partition_is_blocked_no_longer_once_the_markers_are_written() -> None:
    world = Lagging()
    producer = world.asks_held_batches()
    producer.begin()
    producer.send_all(b"one", partition=0)
    producer.complete(producer.send_all(b"two", topic="in"))
    producer.commit()
    assert world.committed("in") == [b"two"]


def test_below_version_2_partitions_are_asked_for_again_soon_and_then_later() -> None:
    world = Lagging(1, markers_after_s=0.03)
    world.ready.transact(b"first")
    before = world.asked(ADD_PARTITIONS_TO_TXN)
    world.ready.transact(b"second")
    assert 3 <= world.asked(ADD_PARTITIONS_TO_TXN) - before <= 10
    assert len(world.committed()) == 2


def test_waits_for_another_transaction_grow_from_nothing_to_fifty_milliseconds() -> None:
    waits = [concurrent_wait(tries) for tries in range(1, 40)]
    assert waits[:8] == [0.0, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032]
    assert all(one <= two for one, two in pairwise(waits))
    assert waits[-1] == 0.05


@pytest.mark.parametrize("answer_s", [0.0, 0.05])
def test_only_what_takes_longer_than_an_answer_to_endtxn_was_kept(answer_s: float) -> None:
    for kept_s, expected in ((0.0, False), (HELD_S / 2, False), (HELD_S, True)):
        completion, now = Completion(), 10.0
        completion.ended(0.0, 0.0, now)
        sent_at = now
        now += answer_s + kept_s + 0.001
        completion.end_asked(now)
        completion.ended(sent_at, now, now + answer_s)
        assert completion.begin(now + answer_s) == expected


def test_a_cluster_that_answers_slowly_is_asked_once() -> None:
    completion = Completion()
    completion.ended(0.0, 0.0, 1.0)
    completion.end_asked(1.05)
    completion.ended(1.0, 1.05, 1.06)
    assert completion.begin(1.06)
    completion.asked(1.06)
    assert not completion.is_pending("CompleteCommit", 1.06 + HELD_S)
    assert not completion.begin(1.09)
