"""A process forks while its threads send and read; each child makes two clients of its own beside the copies it has.

The parent loses nothing and sends nothing twice, though what its threads were in the middle of is copied with it.
"""

from __future__ import annotations

import os
import queue
import signal
import time
import traceback
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

from kwire import Consumer, Producer
from kwire.testing import Broker
from tests.clients.crew import Crew, short_switch_interval
from tests.thorough import SOAK, THOROUGH
from tests.timing import PATIENT

FORKS = 300 if SOAK else 60 if THOROUGH else 12
RECORDS = 30

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture(autouse=True)
def turns_are_short() -> Iterator[None]:
    with short_switch_interval():
        yield


def test_children_of_a_busy_process_work_and_their_parent_goes_on() -> None:
    sent: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    read: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    with (
        Broker(topics={"parents": 3, "children": 3}) as broker,
        Producer(broker.bootstrap_servers, linger_ms=1) as producer,
        Consumer(broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest") as consumer,
    ):
        consumer.subscribe(["parents"])

        def send(number: int, turn: int) -> None:
            value = b"%d %d" % (number, turn)
            sent[number].append(value)
            delivery = producer.send("parents", value, partition=number)
            if turn % 10 == 0:
                delivery.result(PATIENT)

        def poll(number: int, turn: int) -> None:
            for value in consumer.poll(0.05).values():
                read.put(value)

        crew = Crew(inf)
        crew.add(send, 3)
        crew.add(poll, 1)
        crew.start()
        try:
            for number in range(FORKS):
                assert forked(number, broker.bootstrap_servers, (producer, consumer)) == 0, number
        finally:
            crew.end()
        crew.finish()
        producer.flush(PATIENT)
        poll_until(consumer, read, sum(map(len, sent.values())))
        for number, values in sent.items():
            assert broker.values("parents", partition=number) == values
        of_children = [
            value or b"" for partition in range(3) for value in broker.values("children", partition=partition)
        ]
        assert sorted(of_children) == sorted(b"%d %d" % (n, at) for n in range(FORKS) for at in range(RECORDS))


def poll_until(consumer: Consumer, read: queue.SimpleQueue[bytes | None], count: int) -> None:
    deadline = time.monotonic() + PATIENT
    while read.qsize() < count and time.monotonic() < deadline:
        for value in consumer.poll(0.2).values():
            read.put(value)
    values = [read.get() for _ in range(read.qsize())]
    assert len(values) == len(set(values)) == count


def forked(number: int, servers: str, copies: tuple[Any, Any]) -> int:
    """The exit code of a child."""
    child = os.fork()
    if child == 0:
        os._exit(in_child(number, servers, copies))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_child(number: int, servers: str, copies: tuple[Any, Any]) -> int:
    """The exit code: 0 where both clients of its own have worked, whatever becomes of the copies."""
    signal.alarm(round(PATIENT))
    try:
        if number % 3 == 0:
            for copy in copies:
                copy.close()
        elif number % 3 == 1:
            copies[0].metrics()
        with (
            Producer(servers, linger_ms=1) as producer,
            Consumer(servers, auto_offset_reset="earliest", fetch_max_wait_ms=20) as consumer,
        ):
            mine = [b"%d %d" % (number, at) for at in range(RECORDS)]
            consumer.assign([("children", number % 3)])
            producer.send_many("children", mine, partition=number % 3)
            producer.flush(PATIENT)
            found: list[bytes | None] = []
            while found[-1:] != mine[-1:]:
                found += consumer.poll(1.0).values()
        return 0 if found[-RECORDS:] == mine else 1
    except BaseException:
        traceback.print_exc()
        return 2
