"""Callbacks of deliveries that raise, block, and call back in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import Producer, errors
from kwire.testing import Broker

PATIENT = 60.0


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as running:
        yield running


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda producer, delivery: producer.flush(1), id="flush"),
        pytest.param(lambda producer, delivery: producer.close(1), id="close"),
        pytest.param(lambda producer, delivery: producer.send("t", b"more").result(1), id="result of another"),
    ],
)
def test_a_blocking_call_in_a_callback_is_refused_and_harms_nothing(
    broker: Broker, call: Callable[[Producer, Any], object]
) -> None:
    refused: list[errors.ConcurrentUseError] = []
    ran = threading.Event()
    with Producer(broker.bootstrap_servers) as producer:

        def callback(delivery: Any) -> None:
            try:
                call(producer, delivery)
            except errors.ConcurrentUseError as error:
                refused.append(error)
            finally:
                ran.set()

        producer.send("t", b"first").add_done_callback(callback)
        assert ran.wait(PATIENT)
        assert len(refused) == 1
        assert producer.send("t", b"last").result(PATIENT).offset >= 1
    assert broker.values("t")[-1] == b"last"


def test_callbacks_may_send_and_ask_what_is_known(broker: Broker) -> None:
    offsets: list[int] = []
    done = threading.Event()
    with Producer(broker.bootstrap_servers) as producer:

        def callback(delivery: Any) -> None:
            offsets.append(delivery.result(0).offset)
            if len(offsets) == 20:
                done.set()
            else:
                producer.send("t", b"%d" % len(offsets)).add_done_callback(callback)

        producer.send("t", b"0").add_done_callback(callback)
        assert done.wait(PATIENT)
    assert offsets == list(range(20))
    assert broker.values("t") == [b"%d" % number for number in range(20)]


def test_each_callback_runs_once_though_others_raise(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    ran: list[int] = []
    with Producer(broker.bootstrap_servers) as producer:

        def callback_of(number: int) -> Callable[[Any], None]:
            def callback(delivery: Any) -> None:
                ran.append(number)
                if number % 3 == 0:
                    raise ZeroDivisionError(f"number {number}")

            return callback

        for number in range(300):
            producer.send("t", b"v").add_done_callback(callback_of(number))
        producer.flush(PATIENT)
        give_up = time.monotonic() + PATIENT
        while caplog.text.count("a delivery callback raised") < 100 and time.monotonic() < give_up:
            time.sleep(0.001)
    assert sorted(ran) == list(range(300))
    assert caplog.text.count("a delivery callback raised") == 100


def test_a_callback_that_blocks_delays_neither_deliveries_nor_close(broker: Broker) -> None:
    blocks, go_on = threading.Event(), threading.Event()

    def block(delivery: Any) -> None:
        blocks.set()
        go_on.wait(PATIENT)

    producer = Producer(broker.bootstrap_servers, linger_ms=0)
    try:
        producer.send("t", b"first").add_done_callback(block)
        assert blocks.wait(PATIENT), "no thread but kwire's own runs it: nobody waits"
        assert [producer.send("t", b"v").result(PATIENT).offset for _ in range(20)] == list(range(1, 21))
        producer.flush(PATIENT)
        producer.close()
        assert not go_on.is_set()
        with pytest.raises(errors.KafkaError, match="closed"):
            producer.send("t", b"v")
    finally:
        go_on.set()
