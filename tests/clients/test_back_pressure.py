"""Back-pressure: `buffer_memory` bounds what waits, whether the broker is slow, stopped or gone.

Over real sockets, against the embedded broker.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Callable

import pytest

from kwire import Producer, errors
from kwire.producer import Delivery
from kwire.testing import Broker
from tests.subprocesses import with_this_kwire
from tests.thorough import THOROUGH
from tests.timing import PATIENT, SOON

BUFFER = 100_000
MAX_BLOCK_S = 0.5


def producer_of(broker: Broker, **options: object) -> Producer:
    return Producer(
        broker.bootstrap_servers,
        **{
            "buffer_memory": BUFFER,
            "max_block_ms": round(MAX_BLOCK_S * 1000),
            "batch_size": 4000,
            "request_timeout_ms": 1000,
            "reconnect_backoff_max_ms": 100,
            **options,
        },
    )


def send_first(producer: Producer) -> None:
    """One record, tried again while the topic's metadata takes longer than max_block_ms: a machine may be busy."""
    give_up = time.monotonic() + 60
    too_late = errors.UnknownTopicError | errors.ConnectError
    while isinstance(error := producer.send("t", b"first").exception(60), too_late):
        assert time.monotonic() < give_up, error
    assert error is None


def fill(producer: Producer, first: int) -> tuple[list[Delivery], errors.KafkaTimeoutError, float]:
    """Sends numbered records until one finds no room: what was taken, the error, and how long that one waited."""
    taken: list[Delivery] = []
    while True:
        begun = time.monotonic()
        try:
            taken.append(producer.send("t", b"%d" % (first + len(taken)) + b" " * 500))
        except errors.KafkaTimeoutError as error:
            return taken, error, time.monotonic() - begun
        assert producer._accumulator.used <= BUFFER


def stop(broker: Broker) -> None:
    broker.faults.mute("Produce", times=None)


def go_on(broker: Broker) -> None:
    broker.faults.clear()


@pytest.mark.parametrize(
    ("break_it", "mend_it", "cause"),
    [
        pytest.param(stop, go_on, "not answer", id="stopped"),
        pytest.param(Broker.stop, Broker.start, "connect", id="vanished"),
    ],
)
def test_send_waits_max_block_ms_names_the_cause_and_goes_on_when_the_broker_does(
    break_it: Callable[[Broker], None], mend_it: Callable[[Broker], None], cause: str
) -> None:
    with Broker(topics={"t": 1}) as broker, producer_of(broker) as producer:
        send_first(producer)
        where = broker.bootstrap_servers
        break_it(broker)
        taken, error, waited = fill(producer, 0)
        while cause not in str(error):  # it may be seen later than the first that finds no room is over
            more, error, _ = fill(producer, len(taken))
            taken += more
        assert MAX_BLOCK_S - 0.01 <= waited <= MAX_BLOCK_S + SOON
        for part in (f"buffer_memory={BUFFER}", "max_block_ms=500", "t-0", where, cause):
            assert part in str(error)
        assert BUFFER - 2000 <= producer._accumulator.used <= BUFFER
        with pytest.raises(errors.BufferFull, match=f"buffer_memory={BUFFER}"):
            producer.send("t", b" " * 2000, nowait=True)
        mend_it(broker)
        for delivery in taken:
            delivery.result(60)
        assert producer._accumulator.used == 0
        producer.send("t", b"last").result(60)
        assert [(value or b"").rstrip() for value in broker.values("t")] == [
            b"first",
            *[b"%d" % number for number in range(len(taken))],
            b"last",
        ]


def test_a_slow_broker_slows_the_sender_down_and_nothing_fails() -> None:
    with Broker(topics={"t": 1}) as broker, producer_of(broker, max_block_ms=60_000) as producer:
        send_first(producer)
        broker.faults.delay("Produce", 0.02, times=None)
        deliveries = []
        for number in range(400):
            deliveries.append(producer.send("t", b"%d" % number + b" " * 500))
            assert producer._accumulator.used <= BUFFER
        assert any(delivery.done() for delivery in deliveries), "there was room for half of them"
        producer.flush(60)
        assert [delivery.result(0).offset for delivery in deliveries] == list(range(1, 401))


ROOMY = {"buffer_memory": 32 << 20, "batch_size": 100_000, "max_request_size": 110_000, "request_timeout_ms": 30_000}


def most_queued(producer: Producer, megabytes: int, *, nowait: bool = False) -> int:
    """Sends so much at once: the most bytes that waited then."""
    value, most = b" " * 10_000, 0
    for _ in range(megabytes * 100):
        producer.send("t", value, nowait=nowait)
        most = max(most, producer._accumulator.used)
    producer.flush(60)
    return most


def test_send_queues_no_more_than_keeps_a_quick_broker_busy() -> None:
    with Broker(topics={"t": 1}) as broker, producer_of(broker, **ROOMY) as producer:
        send_first(producer)
        broker.faults.delay("Produce", 0.002, times=None)
        for _ in range(10):  # answers are slow where the machine is busy
            most = most_queued(producer, 16)
            if most < 9 << 20:
                break
        assert most < 9 << 20
        assert most_queued(producer, 16, nowait=True) > 12 << 20


def test_send_fills_the_buffer_where_answers_stop() -> None:
    with Broker(topics={"t": 1}) as broker, producer_of(broker, **ROOMY) as producer:
        send_first(producer)
        stop(broker)
        begun = time.monotonic()
        for _ in range(2000):
            producer.send("t", b" " * 10_000)
        assert time.monotonic() - begun < PATIENT
        assert producer._accumulator.used >= 2000 * 10_000
        with pytest.raises(ExceptionGroup):
            producer.close(0)


@pytest.mark.parametrize("break_it", [stop, Broker.stop], ids=["stopped", "vanished"])
def test_deliveries_end_in_time_though_nobody_waits_for_them(break_it: Callable[[Broker], None]) -> None:
    with Broker(topics={"t": 1}) as broker, producer_of(broker, delivery_timeout_ms=700) as producer:
        while producer.send("t", b"first").exception(60) is not None:
            assert broker.request_count("Produce") < 50
        break_it(broker)
        begun = time.monotonic()
        deliveries = [producer.send("t", b"%d" % number) for number in range(50)]
        while not all(delivery.done() for delivery in deliveries):
            assert time.monotonic() - begun < PATIENT
            time.sleep(0.01)
        assert time.monotonic() - begun >= 0.69
        for delivery in deliveries:
            with pytest.raises(errors.KafkaTimeoutError, match="delivery_timeout_ms=700"):
                delivery.result(0)


def test_buffer_memory_bounds_what_the_process_takes() -> None:
    """Against a broker that answers no Produce, with compression off and on: the growth stays below twice the bound."""
    script = textwrap.dedent("""
        import os, sys
        from kwire import Producer, errors

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        bound = 16 << 20
        producer = Producer(sys.argv[1], buffer_memory=bound, max_block_ms=200, compression=sys.argv[2],
                            request_timeout_ms=300, reconnect_backoff_max_ms=50)
        while producer.send("t", b"first").exception(60) is not None:
            pass
        value, refused, before = b"x" * 1000, 0, resident()
        while refused < 5:
            try:
                producer.send("t", value)
            except errors.KafkaTimeoutError:
                refused += 1
        print(resident() - before)
        sys.stdout.flush()
        os._exit(0)
    """)
    for codec in ("none", "lz4") if THOROUGH else ("none",):
        with Broker(topics={"t": 1}) as broker:
            command = [sys.executable, "-c", script, broker.bootstrap_servers, codec]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=with_this_kwire())
            broker.wait_for_requests("Produce", 1, timeout=60)
            broker.faults.mute("Produce", times=None)
            out, _ = process.communicate(timeout=90)
            assert process.returncode == 0
            assert int(out) < 2 * (16 << 20), f"grew by {int(out) / (1 << 20):.1f} MiB with {codec}"
