"""An interrupt at every moment within calls of clients with TLS, and of clients that log in again while they work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from kwire import Consumer, Producer, TopicPartition, records
from kwire.testing import Broker
from tests.clients.test_interrupts import AT_ONCE, come_to_their_end, each_moment, numbers
from tests.interrupts import Cut, Interruptions
from tests.thorough import THOROUGH
from tests.timing import PATIENT

pytestmark = pytest.mark.filterwarnings(  # of a socket that was cut before anybody had it
    "ignore::pytest.PytestUnraisableExceptionWarning"
)


COMPUTED_APART = 20_001
"""So many iterations are computed on a thread of their own."""


class Secured(NamedTuple):
    """A broker, the file of the code that its security adds, and how far apart the moments are."""

    broker: Broker
    file: str
    stride: int


@pytest.fixture(scope="module", params=["TLS", "SCRAM"])
def secured(request: pytest.FixtureRequest) -> Iterator[Secured]:
    options: dict[str, Any] = {"tls": True}
    found = ("tls.py", 13)
    if request.param == "SCRAM":
        options = {"users": {"alice": "secret"}, "scram_iterations": COMPUTED_APART, "max_reauth_ms": 1_200}
        found = ("authentication.py", 19)
    with Broker(topics={"t": 1, "u": 1}, **options) as running:
        yield Secured(running, *found)


def test_the_first_send_of_a_producer_cut_anywhere_does_not_stop_the_second(secured: Secured) -> None:
    broker = secured.broker
    certain: set[int] = set()
    places: set[str] = set()
    for number, interruption in enumerate(each_moment(secured.stride)):
        with Producer(broker.bootstrap_servers, linger_ms=1, **broker.client_settings, **AT_ONCE) as producer:
            deliveries = []
            try:
                with interruption:
                    deliveries.append(producer.send("t", b"%d" % (2 * number)))
                    deliveries[0].result(PATIENT)
            except Cut:
                places.add(interruption.place)
            deliveries.append(producer.send("t", b"%d" % (2 * number + 1)))
            come_to_their_end(deliveries)
            assert [delivery.exception(0) for delivery in deliveries] == [None] * len(deliveries)
            certain |= {2 * number + 1, *([2 * number] if len(deliveries) > 1 else [])}
    log = numbers(broker)
    assert log == sorted(set(log))
    assert certain <= set(log)
    assert any(secured.file in place for place in places)


def test_a_poll_cut_anywhere_gives_each_record_once(secured: Secured) -> None:
    broker = secured.broker
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
                    handed = consumer.poll(timeout=PATIENT, max_records=20)
            except Cut:
                pass
            if handed is not None:
                got += handed.values()
            at = at + stride if interruption.happened else 1
            assert got == expected[: len(got)], interruption.place
