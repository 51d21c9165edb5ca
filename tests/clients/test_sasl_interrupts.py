"""An interrupt at every moment within calls of clients that log in, and log in again while they work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kwire import Consumer, Producer, TopicPartition, records
from kwire.testing import Broker
from tests.clients.test_interrupts import AT_ONCE, come_to_their_end, each_moment, numbers
from tests.interrupts import Cut, Interruptions
from tests.thorough import THOROUGH

pytestmark = pytest.mark.filterwarnings(  # of a socket that was cut before anybody had it
    "ignore::pytest.PytestUnraisableExceptionWarning"
)
MANY_ITERATIONS = 20_001
"""So many are computed on a thread of their own."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    users, topics = {"alice": "secret of alice"}, {"t": 1, "u": 1}
    with Broker(topics=topics, users=users, scram_iterations=MANY_ITERATIONS, max_reauth_ms=1_200) as running:
        yield running


def test_the_first_send_of_a_producer_cut_anywhere_does_not_stop_the_second(broker: Broker) -> None:
    certain: set[int] = set()
    places: set[str] = set()
    for number, interruption in enumerate(each_moment(19)):
        with Producer(broker.bootstrap_servers, linger_ms=1, **broker.client_settings, **AT_ONCE) as producer:
            deliveries = []
            try:
                with interruption:
                    deliveries.append(producer.send("t", b"%d" % (2 * number)))
                    deliveries[0].result(30)
            except Cut:
                places.add(interruption.place)
            deliveries.append(producer.send("t", b"%d" % (2 * number + 1)))
            come_to_their_end(deliveries)
            assert [delivery.exception(0) for delivery in deliveries] == [None] * len(deliveries)
            certain |= {2 * number + 1, *([2 * number] if len(deliveries) > 1 else [])}
    log = numbers(broker)
    assert log == sorted(set(log))
    assert certain <= set(log)
    assert any("authentication.py" in place for place in places)


def test_a_poll_cut_anywhere_gives_each_record_once(broker: Broker) -> None:
    stride = 5 if THOROUGH else 17
    expected = [b"%d" % number for number in range(50)]
    for first in range(0, 50, 25):
        broker.append("u", records.encode(expected[first : first + 25]))
    got: list[bytes | None] = []
    at = 1
    settings = {**broker.client_settings, **AT_ONCE}
    with Consumer(
        broker.bootstrap_servers, auto_offset_reset="earliest", max_partition_fetch_bytes=1, **settings
    ) as consumer:
        consumer.assign([TopicPartition("u", 0)])
        while len(got) < len(expected):
            handed = None
            interruption = Interruptions(at)
            try:
                with interruption:
                    handed = consumer.poll(timeout=30, max_records=20)
            except Cut:
                pass
            if handed is not None:
                got += handed.values()
            at = at + stride if interruption.happened else 1
            assert got == expected[: len(got)], interruption.place
