"""Thousands of SIGALRMs at random moments over a producer and a consumer: nothing lost, doubled or hung.

`make test-all` rings 10,000 times over each, `make test` some hundreds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kwire import Consumer, Producer, TopicPartition, records
from kwire.producer import Delivery
from kwire.testing import Broker
from tests.interrupts import Alarms, Cut, alarms
from tests.thorough import THOROUGH

pytestmark = [
    pytest.mark.timeout(900, method="thread"),  # the other one needs SIGALRM
    # of a finalizer, or of a socket that nobody had yet
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ALARMS = 10_000 if THOROUGH else 200
T0 = TopicPartition("t", 0)
AT_ONCE: dict[str, Any] = {
    "reconnect_backoff_ms": 1,
    "reconnect_backoff_max_ms": 5,
    "retry_backoff_ms": 1,
    "retry_backoff_max_ms": 5,
}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 3}) as running:
        yield running


def log_of(broker: Broker, partition: int) -> list[int]:
    record_set = broker.record_set("t", partition=partition)
    return [int(value or b"") for value in records.decode(record_set).values()]


def send_some(producer: Producer, alarm: Alarms, number: int, taken: dict[int, Delivery], rng: random.Random) -> int:
    """Sends until an alarm cuts it; the last number. A record whose send was cut may be there, once."""
    alarm.set(rng.uniform(0.00005, 0.001))
    try:
        while True:
            number += 1
            alarm.armed = True
            delivery = producer.send("t", b"%d" % number, partition=number % 3)
            alarm.armed = False
            taken[number] = delivery
            if number % 17 == 0:
                alarm.armed = True
                delivery.result(60)
                alarm.armed = False
    except Cut:
        return number


@pytest.mark.parametrize("idempotent", [True, False])
def test_alarms_over_a_producer(broker: Broker, idempotent: bool) -> None:
    """Without idempotence an interrupted connection may double a record, as any lost connection may."""
    rng = random.Random(11)
    taken: dict[int, Delivery] = {}
    number = 0
    with Producer(
        broker.bootstrap_servers, linger_ms=1, batch_size=500, enable_idempotence=True if idempotent else None,
        acks="all" if idempotent else 1, **AT_ONCE,
    ) as producer, alarms() as alarm:  # fmt: skip
        producer.send("t", b"0", partition=0).result(60)
        while alarm.cuts < (ALARMS if idempotent else ALARMS // 5):
            number = send_some(producer, alarm, number, taken, rng)
        producer.flush(60)
        assert all(delivery.done() for delivery in taken.values()), "hung"
        assert all(delivery.exception(0) is None for delivery in taken.values())
    logs = [log_of(broker, partition) for partition in range(3)]
    assert taken.keys() <= {number for log in logs for number in log}, "lost"
    if idempotent:
        assert all(log == sorted(set(log)) for log in logs), "doubled, or out of order"
        assert {(number, delivery.result(0).partition) for number, delivery in taken.items()} <= {
            (number, partition) for partition, log in enumerate(logs) for number in log
        }


def test_alarms_over_a_consumer(broker: Broker) -> None:
    rng = random.Random(5)
    appended: list[bytes] = []
    got: list[bytes | None] = []
    give_up = time.monotonic() + 800
    with (
        Consumer(
            broker.bootstrap_servers, auto_offset_reset="earliest", max_partition_fetch_bytes=1, **AT_ONCE
        ) as consumer,
        alarms() as alarm,
    ):
        consumer.assign([T0])
        while alarm.cuts < ALARMS or len(got) < len(appended):
            assert time.monotonic() < give_up, "hung"
            if len(got) == len(appended):
                fresh = [b"%d" % number for number in range(len(appended), len(appended) + 250)]
                for first in range(0, 250, 25):
                    broker.append("t", records.encode(fresh[first : first + 25]))
                appended += fresh
            handed = None
            alarm.set(rng.uniform(0.00005, 0.0012))
            try:
                alarm.armed = True
                handed = consumer.poll(timeout=0.5, max_records=20)
                alarm.armed = False
            except Cut:
                pass
            if handed is not None:
                got += handed.values()
        assert got == appended
