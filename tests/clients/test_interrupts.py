"""An interrupt at every moment within the calls of the clients: nothing lost, nothing doubled, the next call works."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import Admin, Consumer, KafkaError, Producer, TopicPartition, records
from kwire.errors import TransactionStateError
from kwire.producer import Delivery
from kwire.testing import Broker
from tests.interrupts import Cut, Interruptions
from tests.thorough import THOROUGH
from tests.timing import PATIENT

pytestmark = pytest.mark.filterwarnings(  # of a socket that was cut before anybody had it
    "ignore::pytest.PytestUnraisableExceptionWarning"
)
T0 = TopicPartition("t", 0)
AT_ONCE: dict[str, Any] = {
    "reconnect_backoff_ms": 0,
    "reconnect_backoff_max_ms": 0,
    "retry_backoff_ms": 1,
    "retry_backoff_max_ms": 1,
}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as running:
        yield running


def each_moment(stride: int) -> Iterator[Interruptions]:
    """One interruption after the other, `stride` moments further each time (five times as close when thorough); ends
    behind the first that did not happen."""
    at = 1
    if THOROUGH:
        stride = -(-stride // 5)
    while True:
        interruption = Interruptions(at)
        yield interruption
        if not interruption.happened:
            return
        at += stride


def come_to_their_end(deliveries: list[Delivery], seconds: float = PATIENT) -> None:
    """Waits without a call that drives: what was cut must not need its thread's help to go on."""
    give_up = time.monotonic() + seconds
    while not all(delivery.done() for delivery in deliveries):
        assert time.monotonic() < give_up, [delivery for delivery in deliveries if not delivery.done()]
        time.sleep(0.001)


def stacks(threads: set[threading.Thread]) -> str:
    frames = sys._current_frames()
    return "\n".join(
        f"{thread}: {''.join(traceback.format_stack(frames[thread.ident])) if thread.ident in frames else 'no frame'}"
        for thread in threads
    )


def numbers(broker: Broker) -> list[int]:
    return [int(value or b"") for value in broker.values("t")]


def test_a_poll_cut_anywhere_gives_each_record_once(broker: Broker) -> None:
    stride = 3 if THOROUGH else 11
    expected = [b"%d" % number for number in range(100 if THOROUGH else 75)]
    got: list[bytes | None] = []
    places: set[str] = set()
    at, rounds = 1, 0
    for number in range(len(expected) // 25):
        broker.append("t", expected[number * 25 : number * 25 + 25])
    with Consumer(
        broker.bootstrap_servers, auto_offset_reset="earliest", max_partition_fetch_bytes=1, **AT_ONCE
    ) as consumer:
        consumer.assign([T0])
        while len(got) < len(expected):
            handed = None
            interruption = Interruptions(at)
            try:
                with interruption:
                    handed = consumer.poll(timeout=PATIENT, max_records=20)
            except Cut:
                places.add(interruption.place)
            if handed is not None:
                got += handed.values()
            if interruption.happened:
                at += stride
            else:
                rounds += 1
                at = 1 + rounds % stride
            assert got == expected[: len(got)], interruption.place
    assert len(places) > 50


def test_a_loop_cut_anywhere_and_left_now_and_then_gives_each_record_once(broker: Broker) -> None:
    stride = 5 if THOROUGH else 11
    expected = [b"%d" % number for number in range(50)]
    got: list[bytes | None] = []
    places: set[str] = set()
    at, rounds = 1, 0
    for first in range(0, len(expected), 25):
        broker.append("t", records.encode(expected[first : first + 25]))
    with Consumer(
        broker.bootstrap_servers, auto_offset_reset="earliest", max_partition_fetch_bytes=1, **AT_ONCE
    ) as consumer:
        consumer.assign([T0])
        loop = iter(consumer)
        while len(got) < len(expected):
            record = None
            interruption = Interruptions(at)
            try:
                with interruption:
                    record = next(loop)
            except Cut:
                places.add(interruption.place)
            if record is not None:
                got.append(record.value)
            if interruption.happened:
                at += stride
            else:
                rounds += 1
                at = 1 + rounds % stride
            if interruption.happened or rounds % 3 == 0:
                loop = iter(consumer)
            assert got == expected[: len(got)], interruption.place
    assert len(places) > 50


@pytest.mark.parametrize("work", ["send", "result", "flush"])
def test_a_producer_cut_anywhere_delivers_each_record_once_and_by_itself(broker: Broker, work: str) -> None:
    taken: list[tuple[int, Delivery]] = []
    with Producer(broker.bootstrap_servers, linger_ms=0 if work == "send" else 1, **AT_ONCE) as producer:
        producer.send("t", b"0").result(PATIENT)
        for number, interruption in enumerate(each_moment(3), 1):
            delivery = None if work == "send" else producer.send("t", b"%d" % number)
            try:
                with interruption:
                    if delivery is None:
                        delivery = producer.send("t", b"%d" % number)
                    elif work == "result":
                        delivery.result(PATIENT)
                    else:
                        producer.flush(PATIENT)
            except Cut:
                pass
            if delivery is not None:
                taken.append((number, delivery))
                come_to_their_end([delivery])
        producer.flush(PATIENT)
        assert all(delivery.exception(0) is None for _, delivery in taken)
    log = numbers(broker)
    assert log == sorted(set(log)), "doubled, or out of order"
    assert {number for number, _ in taken} <= set(log), "lost"


def test_the_first_send_of_a_producer_cut_anywhere_does_not_stop_the_second(broker: Broker) -> None:
    certain: set[int] = set()
    for number, interruption in enumerate(each_moment(23)):
        with Producer(broker.bootstrap_servers, linger_ms=1, **AT_ONCE) as producer:
            deliveries = []
            try:
                with interruption:
                    deliveries.append(producer.send("t", b"%d" % (2 * number)))
                    deliveries[0].result(PATIENT)
            except Cut:
                pass
            deliveries.append(producer.send("t", b"%d" % (2 * number + 1)))
            come_to_their_end(deliveries)
            assert [delivery.exception(0) for delivery in deliveries] == [None] * len(deliveries)
            certain |= {2 * number + 1, *([2 * number] if len(deliveries) > 1 else [])}
    log = numbers(broker)
    assert log == sorted(set(log))
    assert certain <= set(log)


def test_a_close_cut_anywhere_is_finished_by_the_next(broker: Broker) -> None:
    others = set(threading.enumerate())
    delivered = set()
    for number, interruption in enumerate(each_moment(7)):
        producer = Producer(broker.bootstrap_servers, linger_ms=1, **AT_ONCE)
        delivery = producer.send("t", b"%d" % number)
        try:
            with interruption:
                producer.close()
        except Cut:
            pass
        producer.close()
        assert delivery.done(), interruption.place
        if delivery.exception(0) is None:
            delivered.add(number)
        with pytest.raises(KafkaError, match="closed"):
            producer.send("t", b"v")
        assert not producer._reactor.has_resources
        assert not producer._reactor.snapshot().sockets
    give_up = time.monotonic() + PATIENT
    while left := {thread for thread in threading.enumerate() if thread.name == "kwire-producer"} - others:
        assert time.monotonic() < give_up, stacks(left)
        time.sleep(0.001)
    log = numbers(broker)
    assert len(log) == len(set(log))
    assert delivered <= set(log)


def consumer_calls(consumer: Consumer) -> None:
    consumer.assign([T0])
    assert consumer.position(T0, timeout=PATIENT) == 0
    assert consumer.end_offsets([T0], timeout=PATIENT) == {T0: 0}
    assert consumer.partitions_for("t", timeout=PATIENT) == [T0]
    consumer.seek_to_end()
    consumer.pause([T0])
    consumer.resume([T0])


def admin_calls(admin: Admin) -> None:
    assert admin.list_topics(timeout=PATIENT) == ["t"]
    assert admin.list_offsets({T0: "latest"}, timeout=PATIENT)[T0] is not None


@pytest.mark.parametrize(("client", "calls"), [(Consumer, consumer_calls), (Admin, admin_calls)])
def test_questions_cut_anywhere_can_be_asked_again(
    broker: Broker, client: Callable[..., Any], calls: Callable[[Any], None]
) -> None:
    more = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 5} if client is Consumer else {}
    for interruption in each_moment(37):
        with client(broker.bootstrap_servers, **AT_ONCE, **more) as asked:
            try:
                with interruption:
                    calls(asked)
            except Cut:
                pass
            if isinstance(asked, Consumer):
                asked.assign([T0])
                asked.seek(T0, "earliest")
            calls(asked)


@pytest.mark.parametrize("client", [Consumer, Admin])
def test_a_close_of_a_client_without_a_thread_cut_anywhere_is_finished_by_the_next(
    broker: Broker, client: Callable[..., Any]
) -> None:
    for interruption in each_moment(5):
        asked = client(broker.bootstrap_servers)
        (consumer_calls if isinstance(asked, Consumer) else admin_calls)(asked)
        try:
            with interruption:
                asked.close()
        except Cut:
            pass
        asked.close()
        assert not asked._reactor.has_resources
        assert not asked._reactor.snapshot().sockets


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_cut_anywhere_is_decided_by_the_same_call(version: int) -> None:
    """Cut at its begin, at a send, or at its end: the call is made again, and each record is committed once."""
    committed: list[int] = []
    with Broker(topics={"t": 1}, features={"transaction.version": version}) as broker:
        with Producer(broker.bootstrap_servers, transactional_id="tx", linger_ms=0, **AT_ONCE) as producer:
            producer.init_transactions()
            for interruption in each_moment(9):
                number = len(committed)
                try:
                    with interruption:
                        producer.begin_transaction()
                        producer.send("t", b"%d" % number)
                        producer.commit_transaction()
                except Cut:
                    finish(producer, number)
                committed.append(number)
        with Consumer(
            broker.bootstrap_servers, auto_offset_reset="earliest", isolation_level="read_committed"
        ) as consumer:
            consumer.assign([T0])
            got: list[int] = []
            while len(got) < len(committed):
                got += [int(value or b"") for value in consumer.poll(timeout=PATIENT).values()]
    assert got == committed


def finish(producer: Producer, number: int) -> None:
    """Does what was cut again, as far as it was not done."""
    manager = producer._sender.transactions
    assert manager is not None
    if manager.state == "ready" and not producer._accumulator.records_sent > number:
        producer.begin_transaction()
    if manager.state == "open" and producer._accumulator.records_sent == number:
        producer.send("t", b"%d" % number)
    try:
        producer.commit_transaction()
    except TransactionStateError:
        assert manager.state == "ready"
