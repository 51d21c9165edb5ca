"""`kwire.Producer` with a transactional_id, over real sockets to the embedded broker."""

# ruff: noqa: PT012 - a transaction is a block

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kwire import Consumer, OffsetAndMetadata, Producer, TopicPartition, errors
from kwire.engine.groups.tenure import ConsumerGroupMetadata
from kwire.errors import (
    ConfigError,
    DeliveryError,
    KafkaTimeoutError,
    ProducerFencedError,
    TransactionAbortedError,
    TransactionError,
    TransactionStateError,
)
from kwire.testing import Broker
from tests.timing import PATIENT

GROUP = ConsumerGroupMetadata.outside("g")


@pytest.fixture(params=[1, 2])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(topics={"t": 2, "in": 1}, features={"transaction.version": request.param}) as running:
        yield running


def made(broker: Broker, **given: Any) -> Producer:
    return Producer(broker.bootstrap_servers, transactional_id="tx", **given)


def committed(broker: Broker, count: int) -> list[bytes | None]:
    """What a reader of committed records gets: `count` of them, and no more."""
    found: list[bytes | None] = []
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest", isolation_level="read_committed") as consumer:
        consumer.assign([("t", 0), ("t", 1)])
        until = time.monotonic() + PATIENT
        while len(found) < count and time.monotonic() < until:
            found += consumer.poll(timeout=0.2).values()
        found += consumer.poll(timeout=0.2).values()
    return sorted(found, key=lambda value: value or b"")


def test_a_block_commits(broker: Broker) -> None:
    with made(broker) as producer:
        for number in range(3):
            with producer.transaction():
                delivery = producer.send("t", b"%d" % number)
            assert delivery.result(0).offset >= 0
    assert committed(broker, 3) == [b"0", b"1", b"2"]


def test_a_block_that_raises_aborts_and_raises_the_same(broker: Broker) -> None:
    with made(broker) as producer:
        with pytest.raises(ZeroDivisionError):
            with producer.transaction():
                producer.send("t", b"gone")
                producer.flush()
                lost = producer.send("t", b"never sent")
                raise ZeroDivisionError
        assert lost.done()
        with producer.transaction():
            producer.send("t", b"kept")
    assert committed(broker, 1) == [b"kept"]


def test_ctrl_c_in_a_block_aborts(broker: Broker) -> None:
    with made(broker) as producer:
        with pytest.raises(KeyboardInterrupt):
            with producer.transaction():
                producer.send("t", b"gone").result()
                raise KeyboardInterrupt
        with producer.transaction():
            producer.send("t", b"kept")
    assert committed(broker, 1) == [b"kept"]


def test_javas_names(broker: Broker) -> None:
    with made(broker) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_many("t", [b"a", b"b"])
        producer.commit_transaction()
        producer.begin_transaction()
        unsent = producer.send("t", b"c")
        producer.abort_transaction()
        error = unsent.exception(timeout=PATIENT)
        assert error is None or isinstance(error, TransactionAbortedError)
        producer.flush()
    assert committed(broker, 2) == [b"a", b"b"]


def test_offsets_in_a_transaction(broker: Broker) -> None:
    with made(broker) as producer:
        with producer.transaction():
            producer.send("t", b"v")
            producer.send_offsets_to_transaction({("in", 0): 7}, GROUP)
    assert committed(broker, 1) == [b"v"]
    with pytest.raises(ConfigError, match="group_metadata"):
        with made(broker) as producer, producer.transaction():
            producer.send_offsets_to_transaction({("in", 0): 8}, "g")


def test_offsets_of_what_a_poll_returned(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as plain:
        plain.send_many("in", [b"1", b"2", b"3"])
    with Consumer(
        broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest", enable_auto_commit=False
    ) as consumer:
        consumer.assign([("in", 0)])
        with made(broker) as producer:
            records = consumer.poll(timeout=PATIENT)
            with producer.transaction():
                producer.send_many("t", records.values())
                producer.send_offsets_to_transaction(records, consumer.group_metadata())
            with pytest.raises(ZeroDivisionError), producer.transaction():
                producer.send_offsets_to_transaction({("in", 0): 0}, consumer.group_metadata())
                raise ZeroDivisionError
        assert consumer.committed([("in", 0)])[TopicPartition("in", 0)] == OffsetAndMetadata(len(records))


def test_a_record_that_fails_makes_the_block_fail_and_the_next_one_works(broker: Broker) -> None:
    with made(broker) as producer:
        producer.init_transactions()
        with pytest.raises(TransactionError, match="INVALID_RECORD") as caught:
            with producer.transaction():
                broker.faults.error("Produce", errors.broker.InvalidRecordError)
                producer.send("t", b"bad")
        assert caught.value.abortable
        with producer.transaction():
            producer.send("t", b"good")
    assert committed(broker, 1) == [b"good"]


def test_flush_within_a_transaction_reports_what_failed(broker: Broker) -> None:
    with made(broker) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        broker.faults.error("Produce", errors.broker.InvalidRecordError)
        producer.send("t", b"bad")
        with pytest.raises(DeliveryError, match="INVALID_RECORD"):
            producer.flush()
        with pytest.raises(TransactionError, match="must be aborted"):
            producer.send("t", b"more")
        producer.abort_transaction()


def test_a_second_producer_fences_the_first(broker: Broker) -> None:
    with made(broker) as first, made(broker) as second:
        first.init_transactions()
        first.begin_transaction()
        first.send("t", b"old")
        first.flush()
        with second.transaction():
            second.send("t", b"new")
        with pytest.raises(ProducerFencedError):
            first.commit_transaction()
        with pytest.raises(ProducerFencedError):
            first.begin_transaction()
        with pytest.raises(errors.broker.ProducerFencedError):
            first.send("t", b"never")
    assert committed(broker, 1) == [b"new"]


def test_a_fenced_block_raises_that_it_is_fenced(broker: Broker) -> None:
    with made(broker) as first, made(broker) as second:
        first.init_transactions()
        with pytest.raises(ProducerFencedError):
            with first.transaction():
                first.send("t", b"old").result()
                second.init_transactions()
                first.send("t", b"more")
    assert committed(broker, 0) == []


def end_the_delay(broker: Broker) -> None:
    """Of a request that waits for 60 seconds to pass."""
    broker.wait_for_waiting(timeout=PATIENT)
    broker.clock.advance(60)


def test_a_call_that_ran_out_of_time_is_waited_for_by_the_same_call(broker: Broker) -> None:
    with made(broker) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("t", b"v").result()
        broker.faults.delay("EndTxn", 60)
        with pytest.raises(KafkaTimeoutError, match="call it again"):
            producer.commit_transaction(timeout=0.05)
        with pytest.raises(TransactionStateError, match="commit_transaction"):
            producer.abort_transaction()
        end_the_delay(broker)
        producer.commit_transaction()
    assert committed(broker, 1) == [b"v"]


def test_a_call_that_ran_out_of_time_tells_how_it_ended(broker: Broker) -> None:
    with made(broker) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("t", b"v").result()
        broker.faults.delay("EndTxn", 60)
        with pytest.raises(KafkaTimeoutError):
            producer.commit_transaction(timeout=0.05)
        end_the_delay(broker)
        time.sleep(0.2)
        producer.commit_transaction()
        with pytest.raises(TransactionStateError, match="no transaction is open"):
            producer.commit_transaction()
    assert committed(broker, 1) == [b"v"]


def test_records_are_taken_within_a_transaction_only(broker: Broker) -> None:
    with made(broker) as producer:
        with pytest.raises(TransactionStateError, match="init_transactions"):
            producer.send("t", b"v")
        producer.init_transactions()
        for call in (lambda: producer.send("t", b"v"), lambda: producer.send_many("t", [b"v"])):
            with pytest.raises(TransactionStateError, match="begin_transaction"):
                call()


def test_a_plain_producer_says_what_it_lacks(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        for call in (producer.init_transactions, producer.begin_transaction, producer.commit_transaction):
            with pytest.raises(ConfigError, match="transactional_id"):
                call()
        with pytest.raises(ConfigError, match="transactional_id"), producer.transaction():
            pass


def test_closing_aborts_what_is_open(broker: Broker) -> None:
    producer = made(broker)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("t", b"open").result()
    producer.close()
    with pytest.raises(errors.ClientClosedError):
        producer.begin_transaction()
    with made(broker) as another, another.transaction():
        another.send("t", b"next")
    assert committed(broker, 1) == [b"next"]


def test_a_thread_that_sends_while_another_commits_is_in_the_transaction_or_refused(broker: Broker) -> None:
    taken: list[bytes] = []
    with made(broker, linger_ms=1) as producer:
        producer.init_transactions()
        for turn in range(20):
            producer.begin_transaction()
            stop = threading.Event()

            def send(turn: int = turn, stop: threading.Event = stop) -> None:
                for number in range(100_000):
                    value = b"%d-%d" % (turn, number)
                    try:
                        producer.send("t", value)
                    except TransactionStateError:
                        return
                    taken.append(value)

            thread = threading.Thread(target=send)
            thread.start()
            time.sleep(0.002)
            producer.commit_transaction()
            thread.join()
    assert committed(broker, len(taken)) == sorted(taken)


def test_it_pickles_as_its_configuration(broker: Broker) -> None:
    with made(broker) as producer, pickle.loads(pickle.dumps(producer)) as copy:
        with copy.transaction():
            copy.send("t", b"v")
    assert committed(broker, 1) == [b"v"]


def test_a_killed_producer_leaves_nothing(broker: Broker) -> None:
    program = textwrap.dedent(
        f"""
        import os, signal
        from kwire import Producer
        producer = Producer({broker.bootstrap_servers!r}, transactional_id="tx")
        with producer.transaction():
            producer.send("t", b"kept")
        producer.begin_transaction()
        producer.send("t", b"gone").result()
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    ended = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert ended.returncode == -9
    with made(broker) as producer, producer.transaction():
        producer.send("t", b"next")
    assert committed(broker, 2) == [b"kept", b"next"]


@pytest.mark.parametrize("release", ["0.10.2.2", "0.9.0.1"])
def test_a_broker_from_before_transactions(release: str) -> None:
    with Broker(release=release) as broker, made(broker) as producer:
        with pytest.raises(errors.broker.UnsupportedVersionError, match=r"transactions need Kafka 0\.11") as raised:
            producer.init_transactions(timeout=PATIENT)
        assert str(raised.value).count("UNSUPPORTED_VERSION") == 1


@pytest.mark.parametrize("release", ["0.11.0.3", "1.1.1", "2.3.1", "2.5.1", "3.9.2", "4.0.0"])
def test_every_release_with_transactions(release: str) -> None:
    with Broker(release=release, topics={"t": 2, "in": 1}) as broker:
        with made(broker) as producer:
            with producer.transaction():
                producer.send("t", b"a")
                producer.send_offsets_to_transaction({("in", 0): 1}, GROUP)
            with pytest.raises(ZeroDivisionError), producer.transaction():
                producer.send("t", b"b").result()
                raise ZeroDivisionError
            with producer.transaction():
                producer.send("t", b"c")
        assert committed(broker, 2) == [b"a", b"c"]


def test_a_member_is_not_told_to_a_coordinator_that_is_too_old(caplog: pytest.LogCaptureFixture) -> None:
    member = SimpleNamespace(group_id="g", generation_id=-1, member_id="m", group_instance_id=None)
    with Broker(release="2.3.1", topics={"t": 1, "in": 1}) as broker, made(broker) as producer:
        for offset in range(3):
            with producer.transaction():
                producer.send_offsets_to_transaction({("in", 0): offset}, member)
    assert [row.message for row in caplog.records if "before Kafka 2.5" in row.message] != []
    assert len([row for row in caplog.records if "before Kafka 2.5" in row.message]) == 1


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_offsets_of_a_group_with_members_may_come_from_who_names_none(broker: Broker, protocol: str) -> None:
    given: dict[str, Any] = {"group_id": "g", "group_protocol": protocol, "enable_auto_commit": False}
    with made(broker) as producer, Consumer(broker.bootstrap_servers, **given) as consumer:
        consumer.subscribe(["in"])
        until = time.monotonic() + PATIENT
        while not consumer.assignment() and time.monotonic() < until:
            consumer.poll(0.1)
        with producer.transaction():
            producer.send_offsets_to_transaction({("in", 0): 7}, GROUP)
        assert consumer.committed([("in", 0)]) == {TopicPartition("in", 0): OffsetAndMetadata(7)}
