"""Each edge of the table of states, where the cluster's transaction.version is 1 and where it is 2."""

from __future__ import annotations

import pytest

from kwire import protocol
from kwire.engine.calls.lookup import TRANSACTION
from kwire.engine.groups.tenure import ConsumerGroupMetadata
from kwire.engine.transactions import requests, states
from kwire.engine.transactions.identity import TransactionalIdentity
from kwire.engine.transactions.manager import TransactionManager
from kwire.engine.transactions.outcome import Outcome
from kwire.errors import (
    BrokerError,
    KafkaError,
    ProducerFencedError,
    TransactionAbortedError,
    TransactionError,
    TransactionStateError,
)
from kwire.errors.wording import spelled
from kwire.testing.records.producer_state import ProducerStates
from tests.engine.moves import MadeMoves
from tests.engine.transactions.world import NOBODY, TransactionalProducer, TransactionWorld

VERSIONS = pytest.mark.parametrize("version", [1, 2])


def ready(version: int, **given: object) -> tuple[TransactionWorld, TransactionalProducer]:
    world = TransactionWorld(version, release="4.4.0")
    producer = world.producer(**given)
    producer.init()
    return world, producer


def error_of(outcome: Outcome, producer: TransactionalProducer) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        producer.wait(outcome)
    return caught.value


# -- beginning ---------------------------------------------------------------------------------------------------------


@VERSIONS
def test_init_makes_it_ready(version: int) -> None:
    _, producer = ready(version)
    assert producer.state == states.READY
    assert producer.manager.is_v2 == (version == 2)


@pytest.mark.parametrize("code", [53, 31, 35])
def test_init_that_is_not_allowed_may_be_tried_again(code: int) -> None:
    world = TransactionWorld()
    producer = world.producer()
    world.faults.error("InitProducerId", code)
    error = error_of(producer.manager.initialise(producer.now), producer)
    assert isinstance(error, BrokerError)
    assert error.code == code
    assert producer.state == states.UNINITIALIZED
    producer.init()
    assert producer.state == states.READY


@pytest.mark.parametrize("code", [47, 90])
def test_init_that_is_fenced_is_the_end(code: int) -> None:
    world = TransactionWorld()
    producer = world.producer()
    world.faults.error("InitProducerId", code)
    assert isinstance(error_of(producer.manager.initialise(producer.now), producer), ProducerFencedError)
    assert producer.state == states.FATAL


def test_a_time_out_above_the_brokers_limit_is_the_end() -> None:
    world = TransactionWorld()
    producer = world.producer(transaction_timeout_ms=901_000)
    error = error_of(producer.manager.initialise(producer.now), producer)
    assert "INVALID_TRANSACTION_TIMEOUT" in str(error)
    assert producer.state == states.FATAL


@pytest.mark.parametrize("release", ["0.10.2.2", "0.10.0.1", "0.9.0.1"])
def test_a_cluster_from_before_transactions_says_so(release: str) -> None:
    world = TransactionWorld(release=release)
    producer = world.producer()
    error = error_of(producer.manager.initialise(producer.now), producer)
    assert "transactions need Kafka 0.11 or newer" in str(error)
    assert producer.state == states.UNINITIALIZED


def test_init_waits_for_brokers_that_are_not_there_yet() -> None:
    world = TransactionWorld()
    for node in (1, 2, 3):
        world.kill(node)
    producer = world.producer()
    outcome = producer.manager.initialise(producer.now)
    world.run(world.now + 5)
    assert not outcome.done
    assert producer.manager.why_waiting.startswith("no broker is connected: ")
    world.calm()
    producer.wait(outcome)
    assert producer.state == states.READY


@VERSIONS
def test_init_aborts_what_another_producer_has_left_open(version: int) -> None:
    world, first = ready(version)
    first.begin()
    first.complete(first.send_all(b"left"))
    world.remove(first)
    second = world.producer()
    second.init()
    second.transact(b"new")
    assert world.committed() == [b"new"]


@VERSIONS
def test_init_again_is_another_epoch_and_fences_who_came_meanwhile(version: int) -> None:
    world, first = ready(version)
    first.transact(b"1")
    with pytest.raises(TransactionStateError):
        first.manager.initialise(first.now)
    second = world.producer()
    second.init()
    second.begin()
    second.complete(second.send_all(b"never"))
    first.init(again=True)
    assert first.state == states.READY
    first.transact(b"2")
    assert isinstance(error_of(second.manager.commit(second.now), second), ProducerFencedError)
    assert world.committed() == [b"1", b"2"]


# -- committing --------------------------------------------------------------------------------------------------------


@VERSIONS
def test_commit(version: int) -> None:
    world, producer = ready(version)
    producer.begin()
    assert producer.state == states.OPEN
    deliveries = producer.send_all(b"a", b"b", b"c")
    outcome = producer.manager.commit(producer.now)
    assert producer.state == states.COMMITTING
    producer.wait(outcome)
    assert producer.state == states.READY
    assert all(delivery.done() for delivery in deliveries)
    assert sorted(world.committed()) == [b"a", b"b", b"c"]


def test_every_commit_raises_the_epoch_in_version_2_and_none_in_version_1() -> None:
    for version, wanted in ((1, 0), (2, 5)):
        _, producer = ready(version)
        for number in range(5):
            producer.transact(b"%d" % number)
        assert producer.epoch == wanted


@VERSIONS
@pytest.mark.parametrize("verb", ["commit", "abort"])
def test_a_transaction_without_records_asks_nothing(version: int, verb: str) -> None:
    world, producer = ready(version)
    world.faults.error("EndTxn", 48, times=None)
    epoch = producer.epoch
    producer.begin()
    getattr(producer, verb)()
    assert (producer.state, producer.epoch) == (states.READY, epoch)


@VERSIONS
def test_a_transaction_whose_records_never_left_is_aborted_without_asking(version: int) -> None:
    world, producer = ready(version, linger_ms=1000)
    producer.transact(b"first")
    world.faults.error("EndTxn", 48, times=None)
    producer.begin()
    delivery = producer.send("t", b"unsent")
    producer.abort()
    assert isinstance(delivery.exception(), TransactionAbortedError)
    assert producer.state == states.READY
    assert world.written() == [b"first"]


def test_a_record_dropped_before_its_topic_is_known_is_named_without_a_partition() -> None:
    _, producer = ready(2)
    producer.begin()
    delivery = producer.send("new", b"unsent")
    producer.abort()
    assert str(delivery.exception()) == "new: not sent: its transaction was aborted"


def test_a_commit_goes_on_after_a_call_that_did_not_wait() -> None:
    world, producer = ready(2)
    producer.begin()
    producer.send("t", b"v")
    world.faults.error("EndTxn", 14, times=5)
    first = producer.manager.commit(producer.now)
    assert producer.manager.commit(producer.now) is first
    with pytest.raises(TransactionStateError, match="commit_transaction\\(\\) is not done yet"):
        producer.manager.abort(producer.now)
    producer.wait(first)
    assert world.committed() == [b"v"]


@VERSIONS
@pytest.mark.parametrize("api", ["EndTxn", "AddPartitionsToTxn", "InitProducerId", "Produce", "TxnOffsetCommit"])
@pytest.mark.parametrize("does", [False, True])
def test_an_answer_that_is_lost_is_asked_for_again(version: int, api: str, does: bool) -> None:
    world = TransactionWorld(version, topics={"t": 1, "in": 1})
    producer = world.producer()
    if api == "InitProducerId":
        world.faults.close(api, after_effect=does)
    producer.init()
    world.faults.close(api, after_effect=does)
    for number in range(3):
        producer.begin()
        producer.send("t", b"%d" % number)
        producer.send_offsets({("in", 0): number}, NOBODY)
        producer.commit()
    assert world.committed() == [b"0", b"1", b"2"]


@VERSIONS
@pytest.mark.parametrize("verb", ["commit", "abort", "begin_and_send", "init"])
def test_the_next_coordinator_is_asked_while_the_last_one_hangs(version: int, verb: str) -> None:
    """Its connection stays open, and the metadata goes on naming it; a request has 30 s."""
    world = TransactionWorld(version, transaction_state_log_num_partitions=5)
    producer = world.producer()
    producer.init()
    hanging = world.cluster.coordinators.leader(TRANSACTION, "tx")
    assert hanging is not None
    other = next(node for node in world.cluster.nodes.ids if node != hanging)
    for partition in world.cluster.topics["t"].partitions:
        world.cluster.move_leader(partition, other)
    producer.transact(b"before")
    if verb in ("commit", "abort"):
        producer.begin()
        producer.complete(producer.send_all(b"v"))
    world.hang(hanging, 1000.0)
    world.move_coordinator(TRANSACTION, "tx", other)
    begun = world.now
    if verb == "begin_and_send":
        producer.begin()
        producer.complete(producer.send_all(b"v"))
    elif verb == "init":
        producer.init(again=True)
    else:
        getattr(producer, verb)()
    assert world.now - begun < 5


@VERSIONS
def test_offsets_of_more_groups_than_are_remembered_are_committed(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MAX_GROUPS", 2)
    world, producer = ready(version)
    components = len(producer.core.recovered)
    for name in ("a", "b", "c", "a", "c", "d"):
        producer.begin()
        producer.send_offsets({("t", 0): 7}, ConsumerGroupMetadata.outside(name))
        producer.commit()
    assert [world.cluster.groups.offsets.find(name, "t", 0).offset for name in "abcd"] == [7] * 4  # type: ignore[union-attr]
    assert len(producer.core.recovered) <= components + 2


@VERSIONS
def test_a_record_that_fails_makes_the_commit_fail(version: int) -> None:
    world, producer = ready(version)
    producer.begin()
    outcomes = producer.send_all(b"a", partition=0)
    world.faults.error("Produce", 87)
    outcomes += producer.send_all(b"b", partition=1)
    outcome = producer.manager.commit(producer.now)
    error = error_of(outcome, producer)
    assert isinstance(error, TransactionError)
    assert error.abortable
    assert "INVALID_RECORD" in str(error)
    assert producer.state == states.ABORTABLE
    producer.abort()
    assert producer.state == states.READY
    producer.transact(b"c")
    assert world.committed() == [b"c"]


def test_with_version_1_the_epoch_is_raised_after_a_batch_that_failed() -> None:
    world, producer = ready(1)
    producer.begin()
    world.faults.error("Produce", 87)
    producer.send("t", b"v")
    world.run(world.now + 1)
    assert producer.state == states.ABORTABLE
    outcome = producer.manager.abort(producer.now)
    producer.run(lambda: producer.state == states.BUMPING)
    producer.wait(outcome)
    assert (producer.state, producer.epoch) == (states.READY, 1)
    producer.transact(b"w")
    assert world.committed() == [b"w"]


@pytest.mark.parametrize(
    ("is_written", "code", "named"),
    [
        (True, 29, "TOPIC_AUTHORIZATION_FAILED"),
        (False, -1, "UNKNOWN_SERVER_ERROR"),
        (False, 45, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (False, 46, "DUPLICATE_SEQUENCE_NUMBER"),
        (False, 59, "UNKNOWN_PRODUCER_ID"),  # without a word of records that are gone
    ],
)
def test_before_kafka_2_5_a_sequence_that_the_log_may_know_is_not_given_again(
    is_written: bool, code: int, named: str
) -> None:
    """The leader would take the next transaction's record for a repetition, and drop it as if it were written."""
    world = TransactionWorld(1, release="2.3.1")
    producer = world.producer()
    producer.init()
    producer.begin()
    if is_written:
        world.faults.close("Produce", after_effect=True)
    world.faults.error("Produce", code)
    producer.send("t", b"written", partition=0)
    assert named in str(error_of(producer.manager.commit(producer.now), producer))
    assert "not known whether a batch was written" in str(error_of(producer.manager.abort(producer.now), producer))
    assert (producer.state, world.committed()) == (states.FATAL, [])


def test_before_kafka_2_5_a_log_that_has_lost_its_records_is_written_to_from_sequence_0_on() -> None:
    """With its records a leader from before 2.4 forgets their producer."""
    world = TransactionWorld(1, release="2.3.1", topics={"t": 1})
    producer = world.producer()
    producer.init()
    producer.transact(b"one", b"two")
    log = world.cluster.topics["t"].partitions[0]
    log.delete_before(log.log.end_offset)
    log.producers = ProducerStates()
    producer.begin()
    producer.send_all(b"refused")
    assert "UNKNOWN_PRODUCER_ID" in str(error_of(producer.manager.commit(producer.now), producer))
    producer.abort()
    producer.transact(b"three")
    assert world.committed() == [b"three"]


def test_before_kafka_2_5_a_batch_that_is_written_twice_keeps_its_sequence() -> None:
    world = TransactionWorld(1, release="2.3.1")
    producer = world.producer()
    producer.init()
    producer.begin()
    world.faults.close("Produce", after_effect=True)
    world.faults.error("Produce", 46)
    producer.complete([producer.send("t", b"written", partition=0)])
    world.faults.error("Produce", 29)
    producer.send("t", b"refused", partition=0)
    error_of(producer.manager.commit(producer.now), producer)
    producer.abort()
    producer.transact(b"next", partition=0)
    assert world.committed() == [b"next"]


def test_the_next_transaction_is_of_version_2_once_the_cluster_is() -> None:
    world, producer = ready(1)
    producer.transact(b"one")
    world.finalize(2)
    for address in world.addresses.values():
        producer.lose_all(address)
    producer.transact(b"two")
    assert producer.manager.is_v2
    assert (producer.state, producer.epoch) == (states.READY, 1)
    producer.transact(b"three")
    assert producer.epoch == 2
    assert sorted(world.committed()) == [b"one", b"three", b"two"]


# -- aborting ----------------------------------------------------------------------------------------------------------


@VERSIONS
def test_abort(version: int) -> None:
    world, producer = ready(version)
    producer.begin()
    producer.complete(producer.send_all(b"a", partition=0))
    outcome = producer.manager.abort(producer.now)
    assert producer.state == states.ABORTING
    producer.wait(outcome)
    assert producer.state == states.READY
    producer.transact(b"b")
    assert world.committed() == [b"b"]
    assert sorted(world.written()) == [b"a", b"b"]


@VERSIONS
def test_an_aborted_record_is_not_an_error_of_flush(version: int) -> None:
    _, producer = ready(version, linger_ms=10_000)
    producer.begin()
    delivery = producer.send("t", b"v")
    producer.abort()
    flush = producer.sender.flush(producer.now)
    assert flush.error(0) is None
    assert isinstance(delivery.exception(), TransactionAbortedError)


@VERSIONS
def test_an_abort_waits_for_what_is_in_flight(version: int) -> None:
    world, producer = ready(version)
    producer.transact(b"known", partition=0)
    world.faults.delay("Produce", 2.0)
    producer.begin()
    delivery = producer.send("t", b"late", partition=0)
    world.run(world.now + 0.5)
    producer.abort()
    assert delivery.result().offset >= 0
    assert world.committed() == [b"known"]


@pytest.mark.parametrize(("version", "release"), [(1, "3.5.2"), (1, "4.4.0"), (2, "4.4.0")])
def test_a_batch_that_ran_out_of_time_is_not_appended_to_the_next_transaction(version: int, release: str) -> None:
    """Before Kafka 3.6 a leader does not ask whether a batch is late for its transaction."""
    world = TransactionWorld(version, release=release)
    producer = world.producer(delivery_timeout_ms=500)
    producer.init()
    producer.begin()
    world.faults.delay("Produce", 2.0)
    producer.send("t", b"late", partition=0)
    assert "not delivered within" in str(error_of(producer.manager.commit(producer.now), producer))
    producer.abort()
    world.run(world.now + 3)
    producer.transact(b"next", partition=0)
    assert world.committed() == [b"next"]


@VERSIONS
def test_an_abort_that_fails_is_the_end(version: int) -> None:
    world, producer = ready(version)
    producer.begin()
    producer.complete(producer.send_all(b"v"))
    world.faults.error("EndTxn", 120)
    error = error_of(producer.manager.abort(producer.now), producer)
    assert isinstance(error, TransactionError)
    assert not error.abortable
    assert producer.state == states.FATAL


@VERSIONS
def test_a_fence_that_comes_after_a_failure_is_the_end(version: int) -> None:
    """A batch failed; then the answer comes to what was asked before."""
    world, producer = ready(version)
    producer.begin()
    producer.complete(producer.send_all(b"first", partition=0))
    world.faults.delay("TxnOffsetCommit", 0.5)
    world.faults.error("TxnOffsetCommit", 90)
    producer.offsets({("t", 0): 7}, NOBODY)
    world.run(world.now + 0.2)
    world.faults.error("Produce", 87)
    producer.send("t", b"second", partition=0)
    world.run(world.now + 0.1)
    assert producer.state == states.ABORTABLE
    world.run(world.now + 1)
    assert producer.state == states.FATAL


def test_a_fence_while_the_epoch_is_raised_is_the_end() -> None:
    world, producer = ready(1)
    producer.begin()
    world.faults.error("Produce", 87)
    producer.send("t", b"v")
    world.run(world.now + 1)
    world.faults.error("InitProducerId", 90)
    assert isinstance(error_of(producer.manager.abort(producer.now), producer), ProducerFencedError)
    assert producer.state == states.FATAL


# -- being fenced ------------------------------------------------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize("sends", [False, True])
def test_a_newer_producer_fences_this_one(version: int, sends: bool) -> None:
    world, old = ready(version)
    old.begin()
    old.complete(old.send_all(b"old", partition=0))
    new = world.producer()
    new.init()
    if sends:
        old.send("t", b"more", partition=0)
    error = error_of(old.manager.commit(old.now), old)
    if isinstance(error, TransactionError):
        assert error.abortable
        error = error_of(old.manager.abort(old.now), old)
    assert isinstance(error, ProducerFencedError)
    assert old.state == states.FATAL
    with pytest.raises(ProducerFencedError):
        old.begin()
    with pytest.raises(ProducerFencedError):
        old.send("t", b"never")
    new.transact(b"new")
    assert world.committed() == [b"new"]


@VERSIONS
@pytest.mark.parametrize("ends", ["commit", "abort", "offsets"])
def test_a_fence_while_the_coordinator_aborts_for_it_is_told_as_one(version: int, ends: str) -> None:
    """The other one's InitProducerId is answered after the abort; the end of this one comes before that."""
    world, old = ready(version)
    old.begin()
    old.complete(old.send_all(b"old", partition=0))
    new = world.producer()
    starting = new.manager.initialise(new.now)
    world.run(lambda: world.cluster.transactions.find("tx").state != "Ongoing")  # type: ignore[union-attr]
    end = {
        "commit": lambda: old.manager.commit(old.now),
        "abort": lambda: old.manager.abort(old.now),
        "offsets": lambda: old.offsets({("t", 0): 1}, NOBODY),
    }[ends]
    outcome = end()
    world.run(lambda: outcome.done and starting.done)
    if ends == "abort" and outcome.error is None:
        with pytest.raises((TransactionError, ProducerFencedError)):
            old.transact(b"more")
    else:
        assert isinstance(outcome.error, ProducerFencedError)
        assert "another producer has taken the transactional id" in str(outcome.error)
        assert "transaction_timeout_ms" not in str(outcome.error)
        assert old.state == states.FATAL
    new.transact(b"new")
    assert world.committed() == [b"new"]


@VERSIONS
def test_a_fence_after_the_time_out_names_both_causes(version: int) -> None:
    world, producer = ready(version, transaction_timeout_ms=1000)
    producer.begin()
    producer.complete(producer.send_all(b"v", partition=0))
    world.run(world.now + 30)
    error = error_of(producer.offsets({("t", 0): 1}, NOBODY), producer)
    assert isinstance(error, ProducerFencedError)
    assert "open for 30." in str(error)
    assert "transaction_timeout_ms=1000; or another producer has taken the transactional id" in str(error)


def timed_out(version: int) -> tuple[TransactionWorld, TransactionalProducer]:
    world, producer = ready(version, transaction_timeout_ms=1000)
    producer.begin()
    producer.complete(producer.send_all(b"v", partition=0))
    world.run(world.now + 30)
    return world, producer


def test_a_transaction_that_timed_out_is_fenced_with_version_1() -> None:
    world, producer = timed_out(1)
    assert isinstance(error_of(producer.manager.commit(producer.now), producer), ProducerFencedError)
    assert world.committed() == []


def test_the_commit_of_a_transaction_that_timed_out_is_the_end_with_version_2() -> None:
    world, producer = timed_out(2)
    error = error_of(producer.manager.commit(producer.now), producer)
    assert "INVALID_TXN_STATE" in str(error)
    assert "kafka.transaction_timeout_ms=1000" in spelled(str(error), "kafka.{}".format)
    assert producer.state == states.FATAL
    refused = error_of_call(producer)
    assert isinstance(refused, TransactionError)
    assert "kafka.transaction_timeout_ms=1000" in spelled(str(refused), "kafka.{}".format)
    assert world.committed() == []


def test_a_transaction_that_timed_out_can_be_aborted_with_version_2() -> None:
    world, producer = timed_out(2)
    producer.send("t", b"late", partition=0)
    error = error_of(producer.manager.commit(producer.now), producer)
    assert "INVALID_PRODUCER_EPOCH" in str(error)
    producer.abort()
    producer.transact(b"next")
    assert world.committed() == [b"next"]


def test_two_errors_that_end_the_producer_end_it_once() -> None:
    """A leader says that it is fenced while partitions are asked for; then the coordinator says so, too."""
    world, producer = ready(1)
    producer.begin()
    producer.complete(producer.send_all(b"first", partition=0))
    world.faults.delay("AddPartitionsToTxn", 0.5)
    producer.send("t", b"second", partition=1)
    world.run(world.now + 0.1)
    world.faults.error("Produce", 90)
    world.faults.error("AddPartitionsToTxn", 90)
    producer.send("t", b"third", partition=0)
    world.run(world.now + 2)
    assert producer.state == states.FATAL
    assert isinstance(error_of_call(producer), ProducerFencedError)


def error_of_call(producer: TransactionalProducer) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        producer.commit()
    return caught.value


# -- offsets -----------------------------------------------------------------------------------------------------------


@VERSIONS
def test_offsets_are_held_until_the_commit(version: int) -> None:
    world, producer = ready(version)
    producer.begin()
    producer.send_offsets({("t", 0): 7}, NOBODY)
    stored = world.cluster.groups.offsets
    assert stored.find("g", "t", 0) is None
    producer.commit()
    held = stored.find("g", "t", 0)
    assert held is not None
    assert held.offset == 7


@VERSIONS
def test_offsets_of_an_aborted_transaction_are_dropped(version: int) -> None:
    world, producer = ready(version)
    producer.begin()
    producer.send_offsets({("t", 0): 7}, NOBODY)
    producer.abort()
    assert world.cluster.groups.offsets.find("g", "t", 0) is None


@VERSIONS
@pytest.mark.parametrize("code", [22, 25, 30, 82, 120])
def test_a_consumer_that_lost_its_partitions_makes_the_transaction_abortable(version: int, code: int) -> None:
    world, producer = ready(version)
    producer.begin()
    world.faults.error("TxnOffsetCommit", code)
    error = error_of(producer.offsets({("t", 0): 7}, NOBODY), producer)
    assert isinstance(error, TransactionError)
    assert error.abortable
    producer.abort()
    producer.transact(b"v")
    assert world.committed() == [b"v"]


@VERSIONS
def test_no_offsets_ask_nothing(version: int) -> None:
    _, producer = ready(version)
    producer.begin()
    producer.send_offsets({}, NOBODY)
    producer.commit()
    assert producer.state == states.READY


# -- two-phase commit --------------------------------------------------------------------------------------------------


def test_two_phase_commit_where_it_is_not_offered() -> None:
    world = TransactionWorld()
    producer = world.producer(transaction_two_phase_commit_enable=True)
    error = error_of(producer.manager.initialise(producer.now), producer)
    assert "KIP-939" in str(error)
    assert producer.state == states.UNINITIALIZED


def ready_for_two_phases() -> tuple[TransactionWorld, TransactionalProducer]:
    """The broker, which offers no two-phase commit, does not know."""
    world, plain = ready(2)
    world.remove(plain)
    producer = world.producer(transaction_two_phase_commit_enable=True)
    outcome = producer.manager.initialise(producer.now)
    producer.manager._requests.recover(producer.now)
    identity = plain.manager.identity
    answer = protocol.InitProducerIdResponse(producer_id=identity.producer_id, producer_epoch=identity.epoch)
    producer.manager.on_id(answer, 6, producer.now)
    outcome.value()
    producer.manager._choose_version(True)
    return world, producer


def prepared() -> tuple[TransactionWorld, TransactionalProducer]:
    world, producer = ready_for_two_phases()
    producer.begin()
    producer.send("t", b"v")
    outcome = producer.manager.prepare(producer.now)
    assert producer.state == states.PREPARING
    assert producer.wait(outcome) == (producer.manager.identity.producer_id, producer.epoch)
    assert producer.state == states.PREPARED
    return world, producer


@pytest.mark.parametrize("verb", ["commit", "abort"])
def test_a_prepared_transaction_is_committed_or_aborted(verb: str) -> None:
    world, producer = prepared()
    with pytest.raises(TransactionStateError, match="is prepared"):
        producer.send("t", b"more")
    getattr(producer, verb)()
    assert producer.state == states.READY
    assert world.committed() == ([b"v"] if verb == "commit" else [])


def test_a_prepared_transaction_outlives_its_producer() -> None:
    world, producer = prepared()
    producer.sender.close("closed", producer.now)
    world.run(world.now + 1)
    assert producer.state == states.PREPARED


def test_a_batch_that_fails_cannot_be_prepared() -> None:
    world, producer = ready_for_two_phases()
    producer.begin()
    world.faults.error("Produce", 87)
    producer.send("t", b"v")
    error = error_of(producer.manager.prepare(producer.now), producer)
    assert isinstance(error, TransactionError)
    assert producer.state == states.ABORTABLE


def test_a_fence_while_it_is_prepared_is_the_end() -> None:
    world, producer = ready_for_two_phases()
    producer.begin()
    world.faults.error("Produce", 90)
    producer.send("t", b"v")
    assert isinstance(error_of(producer.manager.prepare(producer.now), producer), ProducerFencedError)
    assert producer.state == states.FATAL


def test_a_prepared_transaction_is_found_by_the_next_producer() -> None:
    world = TransactionWorld()
    producer = world.producer()
    outcome = producer.manager.initialise(producer.now, keep_prepared=True)
    answer = protocol.InitProducerIdResponse(
        producer_id=7, producer_epoch=3, ongoing_txn_producer_id=7, ongoing_txn_producer_epoch=2
    )
    producer.manager._requests.recover(producer.now)
    producer.manager.on_id(answer, 6, producer.now)
    assert outcome.value() == (7, 2)
    assert producer.state == states.PREPARED


# -- detaching ---------------------------------------------------------------------------------------------------------


@VERSIONS
def test_a_transaction_is_left_open_when_all_is_delivered(version: int) -> None:
    world, producer = ready(version)
    producer.begin()
    producer.send("t", b"v")
    outcome = producer.manager.detach(producer.now)
    assert producer.state == states.DETACHING
    producer.wait(outcome)
    assert producer.state == states.UNINITIALIZED
    assert (world.written(), world.committed()) == ([b"v"], [])


@VERSIONS
@pytest.mark.parametrize(("code", "then"), [(87, states.ABORTABLE), (90, states.FATAL)])
def test_a_batch_that_fails_cannot_be_left_open(version: int, code: int, then: str) -> None:
    world, producer = ready(version)
    producer.begin()
    world.faults.error("Produce", code)
    producer.send("t", b"v")
    assert isinstance(error_of(producer.manager.detach(producer.now), producer), (TransactionError, BrokerError))
    assert producer.state == then


# -- what does not fit -------------------------------------------------------------------------------------------------


def test_calls_that_do_not_fit_change_nothing() -> None:
    world = TransactionWorld()
    producer = world.producer()
    with pytest.raises(TransactionStateError, match="init_transactions"):
        producer.begin()
    with pytest.raises(TransactionStateError, match="init_transactions"):
        producer.send("t", b"v")
    producer.init()
    for call in (producer.commit, producer.abort, producer.init):
        with pytest.raises(TransactionStateError):
            call()
    with pytest.raises(TransactionStateError, match="begin_transaction"):
        producer.send("t", b"v")
    producer.begin()
    with pytest.raises(TransactionStateError, match="a transaction is open"):
        producer.begin()
    producer.send("t", b"v")
    producer.commit()
    with pytest.raises(TransactionStateError):
        producer.send_offsets({("t", 0): 1}, NOBODY)
    assert world.committed() == [b"v"]


# -- closing -----------------------------------------------------------------------------------------------------------


@VERSIONS
def test_closing_aborts_what_is_open(version: int) -> None:
    world, producer = ready(version)
    producer.begin()
    producer.complete(producer.send_all(b"v"))
    closing = producer.sender.close("closed", producer.now)
    producer.run(closing.is_done)
    assert closing.finish("closed") is None
    assert world.cluster.transactions is not None
    again = world.producer("other")
    again.init()
    again.transact(b"w")
    assert world.committed() == [b"w"]


def test_closing_does_not_wait_for_ever_for_a_coordinator_that_is_gone() -> None:
    world, producer = ready(2, max_block_ms=3000)
    producer.begin()
    producer.complete(producer.send_all(b"v"))
    for node in (1, 2, 3):
        world.kill(node)
    began = world.now
    closing = producer.sender.close("closed", producer.now)
    producer.run(closing.is_done)
    assert world.now - began < 4


# -- interrupted steps -------------------------------------------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize("moment", range(12))
def test_after_an_interrupted_step_the_transaction_goes_on(version: int, moment: int) -> None:
    world, producer = ready(version)
    producer.transact(b"before", partition=0)
    producer.begin()
    producer.send_all(b"a", b"b", partition=0)
    outcome = producer.manager.commit(producer.now)
    for _ in range(moment):
        if producer.core.get_timer() or world.agenda:
            world.run(min(world.next_moment(), world.now + 1))
    for address in world.addresses.values():
        for connection in [each for each in producer.served if each.address == address]:
            producer.served.pop(connection).close()
    producer.open.clear()
    producer.core.recover(producer.now)
    producer.wait(outcome)
    assert world.committed() == [b"before", b"a", b"b"]


# -- all of them -------------------------------------------------------------------------------------------------------


def test_each_move_of_the_table_was_made_and_no_other(moves: MadeMoves) -> None:
    assert moves.are_all_of(TransactionManager)
    assert moves.are_all_of(TransactionalIdentity)
