"""Transactions that a producer leaves open, and that others end, in virtual time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kwire.engine.admin.a26_end_txn import End, EndTransactions
from kwire.engine.admin.a65_describe_transactions import ONGOING, FindTransactions
from kwire.engine.admin.a66_list_transactions import ListTransactions, TransactionFilters
from kwire.engine.admin.transaction_results import TransactionDescription
from kwire.engine.calls.fan_out import AdminApi, FanOutCall
from kwire.engine.calls.lookup import TRANSACTION
from kwire.engine.transactions import states
from kwire.engine.transactions.prepared import PreparedTransaction
from kwire.errors import KafkaError, TransactionError, TransactionStateError
from tests.engine.transactions.world import TransactionalProducer, TransactionWorld
from tests.thorough import THOROUGH

SEEDS = range(30 if THOROUGH else 6)
VERSIONS = pytest.mark.parametrize("version", [1, 2])


def ask(world: TransactionWorld, api: AdminApi[Any, Any]) -> Any:
    client = world.client()
    call = FanOutCall(client.core, api, deadline=world.now + 300, now=world.now)
    world.run(lambda: call.done)
    world.remove(client)
    return call.value()


def end(world: TransactionWorld, *transactions: PreparedTransaction, commit: bool = True) -> list[End]:
    return list(ask(world, EndTransactions(transactions, commit=commit)).values())


def describe(world: TransactionWorld, *names: str) -> list[TransactionDescription | None]:
    return list(ask(world, FindTransactions(names)).values())


def list_open(world: TransactionWorld) -> list[str]:
    return [row.transactional_id for row in ask(world, ListTransactions(TransactionFilters(states=[ONGOING])))]


def detach(producer: TransactionalProducer, *values: bytes, name: str | None = None) -> PreparedTransaction:
    if producer.state == states.UNINITIALIZED:
        producer.init(transactional_id=name)
    producer.begin()
    producer.send_all(*values)
    found = producer.wait(producer.manager.detach(producer.now))
    assert isinstance(found, PreparedTransaction)
    return found


@VERSIONS
@pytest.mark.parametrize("commit", [True, False])
def test_it_is_ended_by_another_client_when_its_producer_is_gone(version: int, commit: bool) -> None:
    world = TransactionWorld(version)
    producer = world.producer()
    found = detach(producer, b"1", b"2", b"3")
    assert found == PreparedTransaction("tx", found.producer_id, found.producer_epoch, version)
    assert producer.state == states.UNINITIALIZED
    world.remove(producer)
    world.run(world.now + 30.0)
    assert world.committed() == []
    assert end(world, found, commit=commit) == [End(None)]
    assert sorted(world.committed()) == ([b"1", b"2", b"3"] if commit else [])


@VERSIONS
@pytest.mark.parametrize("commit", [True, False])
def test_an_end_may_be_repeated_but_not_turned_round(version: int, commit: bool) -> None:
    world = TransactionWorld(version)
    found = detach(world.producer(), b"1")
    assert [end(world, found, commit=commit) for _ in range(3)] == [[End(None)]] * 3
    (other,) = end(world, found, commit=not commit)
    assert other.error is not None
    assert world.committed() == ([b"1"] if commit else [])


@VERSIONS
def test_nothing_was_written(version: int) -> None:
    producer = TransactionWorld(version).producer()
    producer.init()
    producer.begin()
    assert producer.wait(producer.manager.detach(producer.now)) is None
    assert producer.state == states.UNINITIALIZED


@VERSIONS
def test_one_producer_writes_under_many_names(version: int) -> None:
    """Their transactions are open side by side, and each is ended by itself."""
    world = TransactionWorld(version)
    producer = world.producer()
    found = [detach(producer, b"%d" % number, name=f"tx-{number}") for number in range(6)]
    assert list_open(world) == [f"tx-{number}" for number in range(6)]
    assert end(world, *found[::2]) == [End(None)] * 3
    assert end(world, *found[1::2], commit=False) == [End(None)] * 3
    assert sorted(world.committed()) == [b"0", b"2", b"4"]
    assert list_open(world) == []
    producer.init(transactional_id="tx")
    producer.transact(b"plain")
    assert sorted(world.committed()) == [b"0", b"2", b"4", b"plain"]


@VERSIONS
def test_the_same_name_again_is_another_transaction(version: int) -> None:
    world = TransactionWorld(version)
    producer = world.producer()
    first = detach(producer, b"1")
    assert end(world, first) == [End(None)]
    second = detach(producer, b"2")
    assert (first.producer_id, first.producer_epoch) != (second.producer_id, second.producer_epoch)
    (refused,) = end(world, first, commit=False)
    assert refused.error is not None
    assert end(world, second) == [End(None)]
    assert sorted(world.committed()) == [b"1", b"2"]


@VERSIONS
def test_a_name_that_is_taken_again_aborts_what_was_left_open(version: int) -> None:
    world = TransactionWorld(version)
    first = detach(world.producer(), b"1")
    second = detach(world.producer(), b"2")
    (refused,) = end(world, first)
    assert refused.error is not None
    assert refused.error.code in (47, 48, 90)
    assert end(world, second) == [End(None)]
    assert world.committed() == [b"2"]


@VERSIONS
def test_one_that_timed_out_is_told_as_lost(version: int) -> None:
    world = TransactionWorld(version)
    found = detach(world.producer(transaction_timeout_ms=1000), b"1")
    world.run(world.now + 60.0)
    (refused,) = end(world, found)
    assert refused.error is not None
    assert refused.error.code in (47, 48, 90)
    assert "'tx'" in str(refused.error)
    assert world.committed() == []


@VERSIONS
def test_a_record_that_fails_makes_it_abortable(version: int) -> None:
    world = TransactionWorld(version)
    producer = world.producer()
    producer.init()
    producer.begin()
    producer.send("t", b"1")
    world.faults.error("Produce", 10)
    with pytest.raises(TransactionError, match="MESSAGE_TOO_LARGE"):
        producer.wait(producer.manager.detach(producer.now))
    producer.abort()
    assert producer.state == states.READY
    producer.transact(b"2")
    assert world.committed() == [b"2"]


@VERSIONS
def test_what_is_open_is_described(version: int) -> None:
    world = TransactionWorld(version)
    found = detach(world.producer(transaction_timeout_ms=5000), b"1")
    described, unknown = describe(world, "tx", "another")
    assert unknown is None
    assert described is not None
    assert described[:4] == ("Ongoing", found.producer_id, found.producer_epoch, 5000)
    assert world.wall_clock() - 1000 < described.started <= world.wall_clock()


def test_no_other_verb_fits_while_it_is_detached() -> None:
    world = TransactionWorld()
    producer = world.producer()
    producer.init()
    producer.begin()
    producer.send("t", b"1")
    outcome = producer.manager.detach(producer.now)
    with pytest.raises(TransactionStateError, match="detached"):
        producer.begin()
    assert isinstance(producer.wait(outcome), PreparedTransaction)
    with pytest.raises(KafkaError, match="init_transactions"):
        producer.commit()


@VERSIONS
def test_closing_while_it_is_detached_aborts_it(version: int) -> None:
    world = TransactionWorld(version)
    producer = world.producer()
    producer.init()
    producer.begin()
    producer.send("t", b"1")
    outcome = producer.manager.detach(producer.now)
    closing = producer.sender.close("closed", producer.now)
    world.run(closing.is_done)
    assert outcome.done
    assert list_open(world) == []
    assert world.committed() == []


@VERSIONS
@pytest.mark.parametrize("seed", SEEDS)
def test_ends_hold_whatever_breaks(version: int, seed: int) -> None:
    """Nodes die, coordinators move and answers are lost, while transactions are written, left, and ended by others."""
    rng = random.Random(seed)
    world = TransactionWorld(version, seed=seed, transaction_state_log_num_partitions=5)
    world.disturb(every=0.7, loss=0.02, keys=[(TRANSACTION, f"tx-{number}") for number in range(3)])
    producer, wanted, left = world.producer(), list[bytes](), list[tuple[PreparedTransaction, list[bytes]]]()
    for number in range(30):
        values = [b"%d-%d" % (number, each) for each in range(rng.randrange(1, 5))]
        left.append((detach(producer, *values, name=f"tx-{number % 3}"), values))
        if rng.random() < 0.1:
            world.remove(producer)
            producer = world.producer()
        if len(left) == 3:
            for found, values in rng.sample(left, 3):
                commit = rng.random() < 0.7
                for _ in range(rng.choice([1, 1, 2])):
                    assert end(world, found, commit=commit) == [End(None)]
                wanted += values if commit else []
            left.clear()
    world.calm()
    assert sorted(world.committed()) == sorted(wanted)
