"""Ctrl-C in every blocking call: answered at once, and the client can be used afterwards."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from kwire import Admin, Consumer, Producer, TopicPartition, errors, records
from kwire._codec import SentRows
from kwire.testing import Broker
from tests.timing import PATIENT, SOON

T0 = TopicPartition("t", 0)
QUICK_RETRIES: dict[str, Any] = {"request_timeout_ms": 300, "reconnect_backoff_max_ms": 50, "retry_backoff_ms": 20}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as running:
        yield running


def assert_interrupted(call: Callable[[], object], selecting: Callable[[], bool], number: int) -> None:
    """Sends the signal once the call, which would block for a minute, selects: KeyboardInterrupt comes out soon."""
    sent: list[float] = []
    ended = threading.Event()

    def press() -> None:
        give_up = time.monotonic() + PATIENT
        seen = 0
        while seen < 10 and time.monotonic() < give_up and not ended.wait(0.01):
            seen = seen + 1 if selecting() else 0
        if not ended.is_set():
            sent.append(time.monotonic())
            os.kill(os.getpid(), number)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        assert time.monotonic() - sent[0] < SOON
    finally:
        ended.set()
        thread.join()


def selects(client: Any) -> Callable[[], bool]:
    return lambda: client._reactor.snapshot().polling_until is not None


def fill(producer: Producer) -> None:
    while True:
        producer.send("t", b"v" * 1000)


@pytest.mark.parametrize("blocked", ["send", "result", "flush", "close"])
def test_ctrl_c_in_a_producer_whose_broker_is_silent(broker: Broker, ctrl_c: int, blocked: str) -> None:
    with Producer(
        broker.bootstrap_servers, buffer_memory=20_000, batch_size=4000, max_block_ms=60_000, **QUICK_RETRIES
    ) as producer:
        producer.send("t", b"before").result(PATIENT)
        broker.faults.mute("Produce", times=None)
        delivery = producer.send("t", b"during")
        calls: dict[str, Callable[[], object]] = {
            "send": lambda: fill(producer),
            "result": lambda: delivery.result(60),
            "flush": lambda: producer.flush(60),
            "close": lambda: producer.close(60),
        }
        assert_interrupted(calls[blocked], selects(producer), ctrl_c)
        broker.faults.clear()
        if blocked == "close":
            assert delivery.done()
            producer.close()
        else:
            assert producer.send("t", b"after").result(60).offset > 0
            assert delivery.result(0).offset == 1
    log = broker.values("t")
    assert [log.count(value) for value in (b"before", b"during", b"after")] == [1, *(2 * [int(blocked != "close")])]


@pytest.mark.parametrize("blocked", ["poll", "iteration", "position", "end_offsets", "partitions_for"])
def test_ctrl_c_in_a_consumer(broker: Broker, ctrl_c: int, blocked: str) -> None:
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest", **QUICK_RETRIES) as consumer:
        consumer.assign([T0])
        if blocked in ("position", "end_offsets"):
            broker.faults.mute("ListOffsets", times=None)
        elif blocked == "partitions_for":
            broker.faults.mute("Metadata", times=None)
        calls: dict[str, Callable[[], object]] = {
            "poll": lambda: consumer.poll(60),
            "iteration": lambda: next(iter(consumer)),
            "position": lambda: consumer.position(T0, 60),
            "end_offsets": lambda: consumer.end_offsets([T0], 60),
            "partitions_for": lambda: consumer.partitions_for("t", 60),
        }
        assert_interrupted(calls[blocked], selects(consumer), ctrl_c)
        broker.faults.clear()
        broker.append("t", records.encode([b"v"]))
        assert consumer.partitions_for("t", 60) == [T0]
        assert consumer.end_offsets([T0], 60) == {T0: 1}
        got = consumer.poll(60)
        while not got:
            got = consumer.poll(60)
        assert got.values() == [b"v"]
        assert consumer.position(T0) == 1


@pytest.mark.parametrize(
    ("api", "call"),
    [
        ("Metadata", lambda admin: admin.list_topics(timeout=60)),
        ("ListOffsets", lambda admin: admin.list_offsets({T0: "latest"}, timeout=60)),
        ("CreateTopics", lambda admin: admin.create_topics({"new": 1}, timeout=60)),
        ("DeleteTopics", lambda admin: admin.delete_topics(["t"], timeout=60)),
    ],
)
def test_ctrl_c_in_an_admin(broker: Broker, ctrl_c: int, api: str, call: Callable[[Admin], object]) -> None:
    with Admin(broker.bootstrap_servers, **QUICK_RETRIES) as admin:
        broker.faults.mute(api, times=None)
        assert_interrupted(lambda: call(admin), selects(admin), ctrl_c)
        broker.faults.clear()
        # What was cut may have got through after all.
        with contextlib.suppress(errors.broker.UnknownTopicOrPartitionError, errors.broker.TopicAlreadyExistsError):
            call(admin)
        assert isinstance(admin.list_topics(timeout=60), list)


@pytest.mark.parametrize("client", [Producer, Consumer, Admin])
def test_ctrl_c_while_the_first_broker_says_nothing(ctrl_c: int, client: Callable[..., Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with client(f"127.0.0.1:{silent.getsockname()[1]}", **QUICK_RETRIES) as made:
            if isinstance(made, Producer):
                delivery = made.send("t", b"v")
                assert_interrupted(lambda: delivery.result(60), selects(made), ctrl_c)
                assert_interrupted(lambda: made.close(60), selects(made), ctrl_c)
            elif isinstance(made, Consumer):
                made.assign([T0])
                assert_interrupted(lambda: made.poll(60), selects(made), ctrl_c)
            else:
                assert_interrupted(lambda: made.list_topics(timeout=60), selects(made), ctrl_c)


def test_ctrl_c_in_one_who_sleeps_while_another_thread_drives(broker: Broker, ctrl_c: int) -> None:
    with Producer(broker.bootstrap_servers, delivery_timeout_ms=60_000, **QUICK_RETRIES) as producer:
        producer.send("t", b"before").result(PATIENT)
        broker.faults.mute("Produce", times=None)
        delivery = producer.send("t", b"during")
        other = threading.Thread(target=delivery.result)
        other.start()
        give_up = time.monotonic() + PATIENT
        while producer._reactor.snapshot().driver != other.ident and time.monotonic() < give_up:
            time.sleep(0.001)
        asleep = lambda: producer._reactor.snapshot().sleeping > 0  # noqa: E731
        assert_interrupted(lambda: delivery.result(60), asleep, ctrl_c)
        broker.faults.clear()
        other.join(60)
        assert not other.is_alive()
        assert delivery.result(0).offset == 1


def test_ctrl_c_ends_the_wait_for_the_partitions_of_a_topic_and_the_rows_so_far_are_known(ctrl_c: int) -> None:
    with Broker(auto_create_topics=False) as strict:
        producer = Producer(strict.bootstrap_servers, batch_size=1000)
        rows = SentRows(producer._accumulator)
        columns = pa.record_batch({"value": [b"v"] * 10_000})
        assert_interrupted(lambda: rows.send(["nowhere"], columns), selects(producer), ctrl_c)
        assert 0 < len(rows) < 10_000
        with pytest.raises(errors.DeliveryError):
            producer.close(timeout=0)
        assert rows.failed()[0] == list(range(len(rows)))
