"""kwire on librdkafka's mock cluster, which answers ApiVersions from v3 on with a body that is in no version.

The same sink that the benchmarks use: three brokers in this process, no Java.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from kwire import Admin, Consumer, Producer
from kwire.errors import KafkaTimeoutError
from tests.timing import PATIENT

confluent_kafka = pytest.importorskip("confluent_kafka")


@pytest.fixture
def servers() -> Iterator[str]:
    owner = confluent_kafka.Producer({"test.mock.num.brokers": 3, "log_level": 0})
    brokers = owner.list_topics(timeout=PATIENT).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    owner.flush(1)


def test_records_go_through_it_and_back(servers: str) -> None:
    count = 20_000
    with Producer(servers) as producer:
        producer.send("mock-topic", b"first").result(PATIENT)
        deliveries = [producer.send("mock-topic", b"%d" % number) for number in range(count)]
        producer.flush(PATIENT)
    assert all(delivery.exception() is None for delivery in deliveries)
    found: list[bytes | None] = []
    with Consumer(servers, auto_offset_reset="earliest") as consumer:
        consumer.subscribe(["mock-topic"])
        give_up = time.monotonic() + PATIENT
        while len(found) < count + 1 and time.monotonic() < give_up:
            found += consumer.poll(timeout=1.0).values()
    assert sorted(value or b"" for value in found) == sorted([b"first", *(b"%d" % number for number in range(count))])


def test_its_groups_cannot_be_joined_and_that_is_told(servers: str) -> None:
    """It hangs up on a JoinGroup of the newest version that it offers."""
    with Producer(servers) as producer:
        producer.send("mock-topic", b"x").result(PATIENT)
    with Consumer(servers, group_id="g", default_api_timeout_ms=1500) as consumer:
        consumer.subscribe(["mock-topic"])
        with pytest.raises(KafkaTimeoutError, match=r"group 'g' was not joined within 1.5 s: JoinGroup at broker \d"):
            consumer.poll(timeout=PATIENT)


def test_its_topics_are_listed(servers: str) -> None:
    with Producer(servers) as producer:
        producer.send("mock-topic", b"x").result(PATIENT)
    with Admin(servers) as admin:
        assert "mock-topic" in admin.list_topics()
