"""Workers on the embedded broker: order, retries, dead letters, rebalances and stops, on threads and on asyncio."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import KafkaError, Worker, aio, errors
from kwire.testing import Broker
from kwire.worker import threads
from tests.timing import PATIENT
from tests.worker.running import QUICK, Running, both, committed, dead, wait_until


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"orders": 3, "orders.dead": 1, "orders.retry": 1}) as running:
        yield running


@both
@pytest.mark.parametrize("order", ["partition", "key"])
def test_order_is_kept_while_handlers_run_side_by_side(kind: str, order: str, broker: Broker) -> None:
    for partition in range(3):
        rows = [(b"%d" % number, b"key-%d" % (number % 4)) for number in range(40)]
        broker.append("orders", rows, partition=partition)
    handled: list[tuple[int, bytes, int]] = []
    busy: set[tuple[int, bytes]] = set()
    most = 0

    def handle(record: Any) -> None:
        nonlocal most
        lane = (record.partition, record.key if order == "key" else b"")
        assert lane not in busy
        busy.add(lane)
        most = max(most, len(busy))
        time.sleep(0.002)
        handled.append((*lane, int(record.value)))
        busy.remove(lane)

    worker = Running(kind, broker, handle, order=order)
    wait_until(lambda: len(handled) == 120)
    worker.stop()
    for lane in {row[:2] for row in handled}:
        numbers = [row[2] for row in handled if row[:2] == lane]
        assert numbers == sorted(numbers)
    assert most > (3 if order == "key" else 1)
    assert committed(broker) == [40, 40, 40]


@both
def test_a_failed_record_is_tried_again_and_then_goes_to_the_dead_letters(kind: str, broker: Broker) -> None:
    broker.append("orders", [b"good", b"bad", b"later"], partition=0)
    calls: list[bytes] = []

    def handle(record: Any) -> None:
        calls.append(record.value)
        if record.value == b"bad" or calls.count(b"good") == 1:
            raise ValueError("no such customer")

    worker = Running(kind, broker, handle, retries=2, dead_letter_topic="orders.dead")
    wait_until(lambda: b"later" in calls)
    worker.stop()
    assert calls == [b"good", b"good", b"bad", b"bad", b"bad", b"later"]
    ((value, headers),) = dead(broker)
    assert value == b"bad"
    assert int(headers.pop("kwire.original.timestamp")) > 0
    assert headers == {
        "kwire.original.topic": "orders",
        "kwire.original.partition": "0",
        "kwire.original.offset": "1",
        "kwire.group": "g",
        "kwire.attempt": "3",
        "kwire.reason": "handler",
        "kwire.error.type": "builtins.ValueError",
        "kwire.error.message": "no such customer",
    }
    assert committed(broker)[0] == 3


@both
def test_a_record_in_a_retry_topic_waits_until_it_is_due(kind: str, broker: Broker) -> None:
    broker.append("orders", [b"bad", b"good"], partition=0)
    calls: list[tuple[str, bytes, float]] = []

    def handle(record: Any) -> None:
        calls.append((record.topic, record.value, time.monotonic()))
        if record.value == b"bad":
            raise ValueError

    topics = {"retry_topics": {"orders.retry": 0.5}, "dead_letter_topic": "orders.dead"}
    worker = Running(kind, broker, handle, retries=0, **topics)
    wait_until(lambda: dead(broker))
    worker.stop()
    assert [call[:2] for call in calls] == [("orders", b"bad"), ("orders", b"good"), ("orders.retry", b"bad")]
    assert calls[2][2] - calls[0][2] >= 0.49
    ((_, headers),) = dead(broker)
    assert (headers["kwire.original.topic"], headers["kwire.attempt"]) == ("orders", "2")
    assert "kwire.due" not in headers


@both
def test_what_cannot_be_deserialized_goes_to_the_dead_letters_as_it_came(kind: str, broker: Broker) -> None:
    broker.append("orders", [b"1", b"{", b"2"], partition=0)
    values: list[int] = []
    worker = Running(
        kind, broker, lambda record: values.append(record.value), value_deserializer=json.loads,
        dead_letter_topic="orders.dead",
    )  # fmt: skip
    wait_until(lambda: values == [1, 2])
    worker.stop()
    ((value, headers),) = dead(broker)
    assert (value, headers["kwire.reason"], headers["kwire.attempt"]) == (b"{", "deserialization", "0")


@both
def test_without_dead_letters_run_ends_with_the_handlers_error_and_nothing_is_skipped(
    kind: str, broker: Broker
) -> None:
    broker.append("orders", [b"good", b"bad", b"later"], partition=0)

    def handle(record: Any) -> None:
        if record.value == b"bad":
            raise ValueError("no such customer")

    with pytest.raises(ValueError, match="no such customer") as caught:
        Running(kind, broker, handle, retries=1).join()
    assert "orders-0 at offset 1" in caught.value.__notes__[0]
    assert committed(broker)[0] == 1


@both
@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt])
def test_a_handler_that_ends_the_program_ends_run(kind: str, ending: type[BaseException], broker: Broker) -> None:
    broker.append("orders", [b"good", b"bad"], partition=0)

    def handle(record: Any) -> None:
        if record.value == b"bad":
            raise ending

    with pytest.raises(ending):
        Running(kind, broker, handle, dead_letter_topic="orders.dead").join()
    assert committed(broker)[0] == 1


@both
def test_batches_are_of_one_partition_and_in_order(kind: str, broker: Broker) -> None:
    for partition in range(3):
        broker.append("orders", [b"%d" % number for number in range(25)], partition=partition)
    batches: list[list[tuple[int, int]]] = []
    worker = Running(
        kind, broker, lambda given: batches.append([(one.partition, one.offset) for one in given]), batch=10
    )
    wait_until(lambda: sum(map(len, batches)) == 75)
    worker.stop()
    assert all(len({partition for partition, _ in batch}) == 1 and len(batch) <= 10 for batch in batches)
    assert max(map(len, batches)) == 10
    for partition in range(3):
        assert [at for batch in batches for of, at in batch if of == partition] == list(range(25))


@both
def test_a_handler_slower_than_the_poll_interval_keeps_its_partitions(kind: str, broker: Broker) -> None:
    broker.append("orders", [b"%d" % number for number in range(4)], partition=0)
    calls: list[bytes] = []

    def handle(record: Any) -> None:
        calls.append(record.value)
        if record.value == b"0":
            time.sleep(1.5)

    worker = Running(kind, broker, handle, max_poll_interval_ms=500, max_in_hand=1)
    wait_until(lambda: len(calls) == 4)
    worker.stop()
    assert calls == [b"0", b"1", b"2", b"3"]


@both
def test_when_partitions_move_what_is_being_handled_is_done_first(kind: str, broker: Broker) -> None:
    for partition in range(3):
        broker.append("orders", [b"%d" % number for number in range(60)], partition=partition)
    handled: list[tuple[int, int]] = []

    def handle(record: Any) -> None:
        time.sleep(0.01)
        handled.append((record.partition, record.offset))

    one = Running(kind, broker, handle)
    wait_until(lambda: len(handled) > 10)
    other = Running(kind, broker, handle)
    wait_until(lambda: len(set(handled)) == 180)
    one.stop()
    other.stop()
    assert len(handled) == 180, "a record was handled twice"
    assert committed(broker) == [60, 60, 60]


@both
def test_a_stop_finishes_what_is_being_handled_and_commits_it(kind: str, broker: Broker) -> None:
    broker.append("orders", [b"%d" % number for number in range(10)], partition=0)
    calls: list[bytes] = []

    def handle(record: Any) -> None:
        calls.append(record.value)
        time.sleep(0.3)

    worker = Running(kind, broker, handle)
    wait_until(lambda: calls)
    worker.stop()
    assert committed(broker)[0] == len(calls) < 10


def test_a_stop_waits_for_handlers_no_longer_than_its_limit(broker: Broker) -> None:
    broker.append("orders", [b"stuck"], partition=0)
    begun, end = threading.Event(), threading.Event()

    def handle(record: Any) -> None:
        begun.set()
        end.wait()

    worker = Running("threads", broker, handle, stop_timeout=0.2)
    assert begun.wait(PATIENT)
    worker.stop()
    end.set()
    assert committed(broker)[0] is None


def test_a_second_run_is_refused_and_leaves_the_first_alone(broker: Broker) -> None:
    calls: list[bytes] = []
    worker = Worker(broker.bootstrap_servers, "orders", handler=lambda record: calls.append(record.value), **QUICK)
    running = threading.Thread(target=worker.run, daemon=True)
    running.start()
    broker.append("orders", [b"one"], partition=0)
    wait_until(lambda: calls == [b"one"])
    with pytest.raises(errors.ConfigError, match="run\\(\\) was called before"):
        worker.run()
    broker.append("orders", [b"two"], partition=0)
    wait_until(lambda: calls == [b"one", b"two"])
    worker.stop()
    running.join(PATIENT)
    assert not running.is_alive()
    assert committed(broker)[0] == 2


def test_threads_end_where_not_all_of_them_can_be_started(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(threading.Thread):
        def start(self) -> None:
            if self.name == "kwire-worker-2":
                raise RuntimeError("can't start new thread")
            super().start()
            started.append(self)

    started: list[threading.Thread] = []
    monkeypatch.setattr(threads.threading, "Thread", Refused)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        Worker(broker.bootstrap_servers, "orders", handler=print, **QUICK).run()
    assert started
    for each in started:
        each.join(PATIENT)
        assert not each.is_alive()


def test_a_handler_that_cancels_the_task_it_runs_in_ends_run(broker: Broker) -> None:
    async def handle(record: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def main() -> None:
        worker = aio.Worker(broker.bootstrap_servers, "orders", handler=handle, **QUICK)
        await asyncio.wait_for(worker.run(), PATIENT / 4)

    broker.append("orders", [b"%d" % number for number in range(3)], partition=0)
    with pytest.raises(RuntimeError, match="its task was cancelled"):
        asyncio.run(main())


@both
def test_an_error_without_a_text_goes_to_the_dead_letters_too(kind: str, broker: Broker) -> None:
    class UnspeakableError(Exception):
        def __str__(self) -> str:
            raise LookupError("no text")

    def handle(record: Any) -> None:
        calls.append(record.value)
        if record.value == b"bad":
            raise UnspeakableError

    calls: list[bytes] = []
    broker.append("orders", [b"bad", b"later"], partition=0)
    worker = Running(kind, broker, handle, retries=0, dead_letter_topic="orders.dead")
    wait_until(lambda: b"later" in calls or worker.error)
    worker.stop()
    ((value, headers),) = dead(broker)
    assert value == b"bad"
    assert "UnspeakableError" in headers["kwire.error.type"]


@both
def test_a_last_commit_that_is_refused_does_not_hide_the_handlers_error(kind: str, broker: Broker) -> None:
    def handle(record: Any) -> None:
        if record.value == b"bad":
            broker.deny("read", "group", "g")
            raise ValueError("no such customer")

    broker.append("orders", [b"good", b"bad"], partition=0)
    with pytest.raises(ValueError, match="no such customer"):
        Running(kind, broker, handle, retries=0, commit_interval=3600).join()


def test_an_interrupt_where_a_loop_runs_already_stops_the_worker(broker: Broker, ctrl_c: int) -> None:
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    begun = threading.Event()

    def handle(record: Any) -> None:
        begun.set()

    async def main() -> None:
        worker = Worker(broker.bootstrap_servers, "orders", handler=handle, signals=False, **QUICK)
        late = threading.Timer(PATIENT, worker.stop, (0.0,))
        late.start()
        try:
            worker.run()
        finally:
            in_time.append(late.is_alive())
            late.cancel()

    def interrupt() -> None:
        begun.wait(PATIENT)
        time.sleep(0.1)
        signal.pthread_kill(main_thread, ctrl_c)

    in_time: list[bool] = []
    broker.append("orders", [b"one"], partition=0)
    threading.Thread(target=interrupt, daemon=True).start()
    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(main())
    finally:
        loop.close()
    assert in_time == [True]
    assert committed(broker)[0] == 1


def test_sigterm_ends_run_and_the_former_handler_is_back(broker: Broker) -> None:
    broker.append("orders", [b"one"], partition=0)
    before = signal.getsignal(signal.SIGTERM)
    handle = lambda record: os.kill(os.getpid(), signal.SIGTERM)  # noqa: E731
    Worker(broker.bootstrap_servers, "orders", handler=handle, **QUICK).run()
    assert signal.getsignal(signal.SIGTERM) is before
    assert committed(broker)[0] == 1


@both
def test_a_refusal_of_the_broker_ends_run_with_it(kind: str) -> None:
    with Broker(topics={"orders": 1}) as broker:
        broker.deny("read", "group", "g")
        with pytest.raises(errors.BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
            Running(kind, broker, print).join()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"group_id": None}, "group_id"),
        ({"enable_auto_commit": True}, "enable_auto_commit"),
        ({"order": "topic"}, "order='topic'"),
        ({"concurrency": 0}, "concurrency=0"),
        ({"dead_letter_topic": "orders"}, "'orders' is among the topics"),
        ({"retry_topics": {"d": 1.0}, "dead_letter_topic": "d"}, "among the retry_topics"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], text: str) -> None:
    given: dict[str, Any] = {"handler": print, "group_id": "g", **options}
    with pytest.raises(KafkaError, match=text):
        Worker("localhost:1", "orders", **given)
