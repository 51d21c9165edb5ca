"""What goes wrong around a worker: bad records, bad headers, topics that go or refuse, and ends at every bad moment."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire import KafkaError, Worker, aio, errors, records
from kwire.testing import Broker
from tests.timing import PATIENT
from tests.worker.running import QUICK, Running, both, committed, dead, wait_until


@pytest.fixture
def broker() -> Iterator[Broker]:
    topics = {"orders": 3, "orders.dead": 1, "orders.retry": 1, "orders.retry.2": 1}
    with Broker(topics=topics) as running:
        yield running


# -- bad records ----------------------------------------------------------------------------------------------------


@both
def test_in_a_batch_only_the_record_that_cannot_be_handled_goes_to_the_dead_letters(kind: str, broker: Broker) -> None:
    broker.append("orders", [b"%d" % number for number in range(20)], partition=0)
    handled: list[bytes] = []

    def handle(batch: list[Any]) -> None:
        if any(record.value in (b"7", b"13") for record in batch):
            raise ValueError("poison")
        handled.extend(record.value for record in batch)

    worker = Running(kind, broker, handle, batch=10, retries=1, dead_letter_topic="orders.dead")
    wait_until(lambda: committed(broker)[0] == 20)
    worker.stop()
    assert handled == [b"%d" % number for number in range(20) if number not in (7, 13)]
    assert [(value, headers["kwire.attempt"]) for value, headers in dead(broker)] == [(b"7", "3"), (b"13", "3")]


@both
def test_in_a_batch_only_the_record_that_cannot_be_deserialized_goes_to_the_dead_letters(
    kind: str, broker: Broker
) -> None:
    broker.append("orders", [b"1", b"2", b"{", b"3", b"{", b"4"], partition=0)
    batches: list[list[int]] = []

    def handle(batch: list[Any]) -> None:
        batches.append([record.value for record in batch])

    worker = Running(kind, broker, handle, batch=10, value_deserializer=json.loads, dead_letter_topic="orders.dead")
    wait_until(lambda: committed(broker)[0] == 6)
    worker.stop()
    assert [value for batch in batches for value in batch] == [1, 2, 3, 4]
    assert [headers["kwire.original.offset"] for _, headers in dead(broker)] == ["2", "4"]


@both
def test_headers_that_others_have_written_neither_end_a_worker_nor_keep_it_waiting(kind: str, broker: Broker) -> None:
    strange = [
        {"kwire.attempt": b"\xff"},
        {"kwire.attempt": b"9" * 5000, "kwire.due": b"soon"},
        {"kwire.due": b"9" * 17, "kwire.original.offset": b"\xff"},
    ]
    rows = [(b"%d" % number, None, None, list(headers.items())) for number, headers in enumerate(strange)]
    broker.append("orders.retry", rows)
    handled: list[bytes] = []

    def handle(record: Any) -> None:
        handled.append(record.value)
        raise ValueError

    options = {"retry_topics": {"orders.retry": 0.2}, "dead_letter_topic": "orders.dead", "retries": 0}
    worker = Running(kind, broker, handle, **options)
    wait_until(lambda: len(dead(broker)) == 3)
    worker.stop()
    assert handled == [b"0", b"1", b"2"]
    assert dead(broker)[0][1]["kwire.attempt"] == "1"


@both
def test_a_record_keeps_where_it_was_first_and_its_headers_as_bytes_over_all_topics(kind: str, broker: Broker) -> None:
    broker.append("orders", [(b"v", b"k", 1000, [("trace", b"\x00\xff"), ("trace", None)])], partition=2)
    began = time.time() * 1000

    def handle(record: Any) -> None:
        raise ValueError

    topics = {"retry_topics": {"orders.retry": 0.05, "orders.retry.2": 0.05}, "dead_letter_topic": "orders.dead"}
    worker = Running(kind, broker, handle, retries=0, **topics)
    wait_until(lambda: dead(broker))
    worker.stop()
    (record,) = records.decode(broker.record_set("orders.dead", partition=0))
    headers = dict(record.headers[2:])
    assert (record.key, record.value, record.headers[:2]) == (b"k", b"v", (("trace", b"\x00\xff"), ("trace", None)))
    assert headers["kwire.original.topic"] == b"orders"
    assert headers["kwire.original.partition"] == b"2"
    assert headers["kwire.original.timestamp"] == b"1000"
    assert headers["kwire.attempt"] == b"3"
    assert [name for name, _ in record.headers].count("kwire.original.topic") == 1
    assert record.timestamp >= began, "its topic's retention would count from when it came"


@both
def test_a_record_larger_than_a_producer_sends_by_default_moves_on(kind: str) -> None:
    with Broker(topics={"orders": 1, "orders.dead": 1}, max_request_bytes=2**24) as broker:
        for topic in ("orders", "orders.dead"):
            broker.delete_topic(topic)
            broker.create_topic(topic, settings={"max.message.bytes": "9000000"})
        broker.append("orders", [b"v" * 3_000_000])

        def handle(record: Any) -> None:
            raise ValueError

        worker = Running(kind, broker, handle, retries=0, dead_letter_topic="orders.dead")
        wait_until(lambda: dead(broker))
        worker.stop()
        assert len(dead(broker)[0][0] or b"") == 3_000_000


@both
def test_records_that_fill_a_producers_buffer_move_on_at_once(kind: str) -> None:
    count = 4
    with Broker(topics=(), max_request_bytes=2**26) as broker:
        for topic, partitions in (("orders", count), ("orders.dead", 1)):
            broker.create_topic(topic, partitions, settings={"max.message.bytes": "40000000"})
        for partition in range(count):
            broker.append("orders", [b"v" * 12_000_000, b"v" * 12_000_000], partition=partition)
        broker.append("orders", [b"v" * 36_000_000])

        def handle(record: Any) -> None:
            raise ValueError

        worker = Running(kind, broker, handle, retries=0, dead_letter_topic="orders.dead")
        wait_until(lambda: worker.error or broker.offsets("orders.dead")[1] == 2 * count + 1)
        worker.stop()


# -- handlers -------------------------------------------------------------------------------------------------------


def test_a_handler_may_be_tried_again_for_as_long_as_it_takes(broker: Broker) -> None:
    broker.append("orders", [b"v"], partition=0)
    calls = 0

    def handle(record: Any) -> None:
        nonlocal calls
        calls += 1
        if calls < 1200:  # 2.0 ** 1024 is too large for a float
            raise ValueError

    worker = Running("threads", broker, handle, retries=float("inf"), backoff=1e-300, backoff_max=0.0)
    wait_until(lambda: committed(broker)[0] == 1)
    worker.stop()
    assert calls == 1200


def test_an_async_handler_given_to_the_worker_of_threads_is_refused_and_nothing_counts_as_done(broker: Broker) -> None:
    broker.append("orders", [b"v"], partition=0)

    async def handle(record: Any) -> None:
        raise AssertionError("nobody awaits it")

    worker = Worker(broker.bootstrap_servers, "orders", handler=handle, dead_letter_topic="orders.dead", **QUICK)
    with pytest.raises(errors.ConfigError, match=r"kwire\.aio\.Worker"):
        worker.run()
    assert committed(broker)[0] is None
    assert not dead(broker)


def test_a_handler_that_awaits_what_is_cancelled_has_failed_and_the_worker_goes_on(broker: Broker) -> None:
    broker.append("orders", [b"cancelled", b"later"], partition=0)
    handled: list[bytes] = []

    async def work() -> None:
        async def handle(record: Any) -> None:
            if record.value == b"cancelled":
                lost = asyncio.get_running_loop().create_future()
                lost.cancel()
                await lost
            handled.append(record.value)
            worker.stop()

        options = {**QUICK, "retries": 0, "dead_letter_topic": "orders.dead"}
        worker = aio.Worker(broker.bootstrap_servers, "orders", handler=handle, **options)
        await worker.run()

    asyncio.run(work())
    assert handled == [b"later"]
    assert [value for value, _ in dead(broker)] == [b"cancelled"]
    assert committed(broker)[0] == 2


def test_a_handler_on_a_thread_whose_own_loop_is_cancelled_has_failed_and_the_worker_goes_on(broker: Broker) -> None:
    broker.append("orders", [b"cancelled", b"later"], partition=0)
    handled: list[bytes] = []

    async def lose() -> None:
        lost = asyncio.get_running_loop().create_future()
        lost.cancel()
        await lost

    def handle(record: Any) -> None:
        if record.value == b"cancelled":
            asyncio.run(lose())
        handled.append(record.value)

    worker = Running("threads", broker, handle, retries=0, dead_letter_topic="orders.dead")
    wait_until(lambda: committed(broker)[0] == 2)
    worker.stop()
    assert handled == [b"later"]
    assert [value for value, _ in dead(broker)] == [b"cancelled"]


@both
def test_records_without_a_key_have_no_order_among_each_other_where_keys_are_the_order(
    kind: str, broker: Broker
) -> None:
    broker.append("orders", [b"%d" % number for number in range(4)], partition=0)
    together = threading.Barrier(4)
    worker = Running(kind, broker, lambda record: together.wait(PATIENT), order="key", concurrency=4)
    wait_until(lambda: committed(broker)[0] == 4)
    worker.stop()


@both
def test_what_is_done_behind_a_record_that_is_not_stays_uncommitted(kind: str, broker: Broker) -> None:
    broker.append("orders", [(b"%d" % number, b"%d" % number) for number in range(10)], partition=0)
    handled: list[bytes] = []
    go_on = threading.Event()

    def handle(record: Any) -> None:
        if record.value == b"3":
            go_on.wait(PATIENT)
        handled.append(record.value)

    worker = Running(kind, broker, handle, order="key", commit_interval=0.02)
    wait_until(lambda: len(handled) == 9)
    wait_until(lambda: committed(broker)[0] == 3)
    go_on.set()
    worker.stop()
    assert committed(broker)[0] == 10


@both
def test_no_more_records_are_read_than_may_be_in_hand(kind: str, broker: Broker) -> None:
    for _ in range(10):
        broker.append("orders", [b"v"] * 500, partition=0)
    seen = 0
    go_on = threading.Event()

    class Counting:
        def on_consume(self, given: Any) -> None:
            nonlocal seen
            seen += len(given)

    def handle(record: Any) -> None:
        go_on.wait(PATIENT)

    worker = Running(kind, broker, handle, max_in_hand=600, max_poll_records=100, interceptors=[Counting()])
    wait_until(lambda: seen >= 600)
    time.sleep(0.5)
    assert seen < 600 + 100
    go_on.set()
    wait_until(lambda: seen == 5000)
    worker.stop()


@both
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_handler_that_is_stuck_holds_up_a_rebalance_no_longer_than_its_limit(
    kind: str, strategy: str, broker: Broker
) -> None:
    for partition in range(3):
        broker.append("orders", [b"stuck", b"later"], partition=partition)
    go_on = threading.Event()
    calls: dict[str, list[tuple[int, bytes]]] = {"one": [], "other": []}

    def handler(name: str) -> Callable[[Any], None]:
        def handle(record: Any) -> None:
            calls[name].append((record.partition, record.value))
            if name == "one" and record.value == b"stuck":
                go_on.wait(PATIENT)

        return handle

    options: dict[str, Any] = {"stop_timeout": 0.3, "partition_assignment_strategy": [strategy]}
    one = Running(kind, broker, handler("one"), **options)
    wait_until(lambda: len(calls["one"]) == 3)
    other = Running(kind, broker, handler("other"), **options)
    wait_until(lambda: any(value == b"later" for _, value in calls["other"]))
    taken = {partition for partition, _ in calls["other"]}
    assert sorted(calls["one"]) == [(partition, b"stuck") for partition in range(3)], "each is handled once at a time"
    go_on.set()
    wait_until(lambda: committed(broker) == [2, 2, 2])
    one.stop()
    other.stop()
    assert {partition for partition, value in calls["one"] if value == b"later"} == {0, 1, 2} - taken


# -- topics and brokers that refuse ---------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("place", ["orders.retry", "orders.dead"])
def test_where_a_record_may_not_be_written_run_ends_and_the_record_is_not_done(
    kind: str, place: str, broker: Broker
) -> None:
    broker.append("orders", [b"good", b"bad", b"later"], partition=0)
    broker.deny("write", "topic", place)
    handled: list[bytes] = []

    def handle(record: Any) -> None:
        handled.append(record.value)
        if record.value == b"bad":
            raise ValueError

    topics: dict[str, Any] = {"dead_letter_topic": "orders.dead"}
    if place == "orders.retry":
        topics["retry_topics"] = {place: 1.0}
    with pytest.raises(errors.BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        Running(kind, broker, handle, retries=0, **topics).join()
    assert committed(broker)[0] == 1
    assert b"later" not in handled


@both
def test_a_topic_that_is_deleted_holds_up_no_other(kind: str, broker: Broker) -> None:
    broker.create_topic("passing", 1)
    broker.append("passing", [b"v"])
    handled: list[str] = []
    worker = Running(
        kind, broker, lambda record: handled.append(record.topic), topics=["orders", "passing"], commit_interval=0.05,
        metadata_max_age_ms=300,
    )  # fmt: skip
    wait_until(lambda: handled == ["passing"])
    broker.delete_topic("passing")
    time.sleep(1.0)
    broker.append("orders", [b"v"], partition=0)
    wait_until(lambda: committed(broker)[0] == 1)
    begun = time.monotonic()
    worker.stop()
    assert time.monotonic() - begun < 12, "two farewells at most"


@both
@pytest.mark.parametrize("more", [{}, {"group_protocol": "consumer", "heartbeat_interval_ms": 3000}])
def test_what_was_done_in_a_topic_is_not_committed_in_one_that_takes_its_name(kind: str, more: dict[str, Any]) -> None:
    with Broker(topics={"orders": 3}, auto_create_topics=False) as broker:
        broker.append("orders", [b"old"] * 100, partition=0)
        handled: list[bytes] = []
        worker = Running(
            kind, broker, lambda record: handled.append(record.value), metadata_max_age_ms=200, commit_interval=0.05,
            **more,
        )  # fmt: skip
        wait_until(lambda: len(handled) == 100)
        broker.delete_topic("orders")
        broker.create_topic("orders", 3)
        broker.append("orders", [b"new"] * 150, partition=0)
        wait_until(lambda: worker.error or handled.count(b"new") >= 150)
        worker.stop()
        assert committed(broker)[0] == 150


@both
def test_records_that_the_log_has_lost_are_passed_over(kind: str, broker: Broker) -> None:
    broker.append("orders", [b"%d" % number for number in range(10)], partition=0)
    handled: list[bytes] = []
    worker = Running(kind, broker, lambda record: handled.append(record.value))
    wait_until(lambda: len(handled) == 10)
    worker.stop()
    broker.append("orders", [b"%d" % number for number in range(10, 20)], partition=0)
    broker.delete_records("orders", before=15)
    worker = Running(kind, broker, lambda record: handled.append(record.value))
    wait_until(lambda: committed(broker)[0] == 20)
    worker.stop()
    assert handled[10:] == [b"%d" % number for number in range(15, 20)]


@both
def test_a_cluster_that_is_out_of_reach_is_waited_for(kind: str, broker: Broker) -> None:
    broker.append("orders", [b"%d" % number for number in range(100)], partition=0)
    handled: list[bytes] = []

    def handle(record: Any) -> None:
        time.sleep(0.01)
        handled.append(record.value)

    worker = Running(kind, broker, handle, default_api_timeout_ms=500, request_timeout_ms=300)
    wait_until(lambda: len(handled) > 10)
    broker.refuse_connections()
    broker.close_connections()
    time.sleep(1.5)
    broker.accept_connections()
    wait_until(lambda: committed(broker)[0] == 100)
    worker.stop()
    assert handled == [b"%d" % number for number in range(100)]


@both
def test_a_commit_that_is_refused_as_partitions_go_ends_run_with_its_reason(kind: str, broker: Broker) -> None:
    broker.append("orders", [b"v"], partition=0)
    handled: list[bytes] = []
    worker = Running(kind, broker, lambda record: handled.append(record.value), commit_interval=60)
    wait_until(lambda: handled)
    broker.deny("read", "topic", "orders")
    with pytest.raises(errors.BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        worker.stop()


@pytest.mark.filterwarnings("error")
@both
def test_an_option_that_a_consumer_refuses_leaves_nothing_open(kind: str, broker: Broker) -> None:
    with pytest.raises(errors.ConfigError, match="isolation_level"):
        Running(kind, broker, print, isolation_level="none").join()


# -- ends -----------------------------------------------------------------------------------------------------------


@both
def test_what_is_done_is_committed_while_a_stop_still_waits_for_a_handler(kind: str, broker: Broker) -> None:
    for partition in range(2):
        broker.append("orders", [b"%d" % partition], partition=partition)
    begun, go_on = threading.Event(), threading.Event()

    def handle(record: Any) -> None:
        if record.value == b"1":
            begun.set()
            go_on.wait(PATIENT)
        else:
            assert begun.wait(PATIENT)
            worker._stop()

    worker = Running(kind, broker, handle, commit_interval=0.05)
    wait_until(lambda: committed(broker)[0] == 1)
    assert committed(broker)[1] is None
    go_on.set()
    worker.join()
    assert committed(broker)[:2] == [1, 1]


def test_a_cancelled_run_lets_handlers_finish_and_one_cancelled_twice_cancels_them(broker: Broker) -> None:
    broker.append("orders", [b"v"], partition=0)

    async def cancelled(times: int) -> list[str]:
        story: list[str] = []
        begun = asyncio.Event()

        async def handle(record: Any) -> None:
            begun.set()
            try:
                await asyncio.sleep(0.5 if times == 1 else PATIENT)
                story.append("done")
            except asyncio.CancelledError:
                story.append("cancelled")
                raise

        run = asyncio.create_task(aio.Worker(broker.bootstrap_servers, "orders", handler=handle, **QUICK).run())
        await asyncio.wait_for(begun.wait(), PATIENT)
        for _ in range(times):
            run.cancel()
            await asyncio.sleep(0.1)
        with pytest.raises(asyncio.CancelledError):
            await run
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return story

    assert asyncio.run(cancelled(2)) == ["cancelled"]
    assert committed(broker)[0] is None
    assert asyncio.run(cancelled(1)) == ["done"]
    assert committed(broker)[0] == 1


def test_the_signal_handlers_of_asyncio_are_back_after_run(broker: Broker) -> None:
    broker.append("orders", [b"v"], partition=0)

    async def work() -> None:
        async def handle(record: Any) -> None:
            worker.stop()

        before = signal.getsignal(signal.SIGINT)
        worker = aio.Worker(broker.bootstrap_servers, "orders", handler=handle, **QUICK)
        await worker.run()
        assert signal.getsignal(signal.SIGINT) is before

    asyncio.run(work())


def test_a_worker_of_threads_runs_where_an_event_loop_runs_already(broker: Broker) -> None:
    broker.append("orders", [b"v"], partition=0)

    async def cell() -> None:
        worker = Worker(broker.bootstrap_servers, "orders", handler=lambda record: worker.stop(), **QUICK)
        worker.run()

    asyncio.run(cell())
    assert committed(broker)[0] == 1


def test_a_worker_runs_once(broker: Broker) -> None:
    worker = Worker(broker.bootstrap_servers, "orders", handler=print, **QUICK)
    worker.stop()
    worker.run()
    worker.stop()
    with pytest.raises(KafkaError, match="make another Worker"):
        worker.run()


PROGRAM = """
import asyncio, sys, time
from kwire import Worker, aio

def begun(record):
    print("begun", flush=True)
    time.sleep({seconds})

async def begun_in_a_task(record):
    print("begun", flush=True)
    await asyncio.sleep({seconds})

common = dict(group_id="g", fetch_max_wait_ms=50, heartbeat_interval_ms=100)
if sys.argv[2] == "threads":
    Worker(sys.argv[1], "orders", handler=begun, **common).run()
else:
    asyncio.run(aio.Worker(sys.argv[1], "orders", handler=begun_in_a_task, **common).run())
print("ended")
"""


@both
def test_a_second_signal_does_not_wait_for_handlers_and_many_do_no_harm(
    kind: str, broker: Broker, tmp_path: Path
) -> None:
    broker.append("orders", [b"v"], partition=0)
    program = [sys.executable, "-c", PROGRAM.format(seconds=PATIENT), broker.bootstrap_servers, kind]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert process.poll() is None, "it waits for its handler"
        begun = time.monotonic()
        for _ in range(200):
            process.send_signal(signal.SIGINT if process.poll() is None else 0)
        assert process.wait(PATIENT) == 0
        assert process.stdout.read() == "ended\n"
    assert time.monotonic() - begun < PATIENT / 2
    assert committed(broker)[0] is None
