"""kwire's own clients with their default settings on the embedded broker as every release."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from kwire import Admin, Consumer, Producer, records
from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.schema.releases import RELEASES
from kwire.testing import Broker, Faults
from tests.thorough import THOROUGH
from tests.timing import PATIENT


def number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


@pytest.mark.parametrize("release", RELEASES)
def test_records_go_through_every_release(release: str) -> None:
    sent = [b"%d" % n for n in range(100)]
    with Broker(release=release) as broker:
        with Producer(broker.bootstrap_servers) as producer:
            deliveries = [producer.send("topic", value, key=value, partition=0) for value in sent]
            assert [delivery.result(PATIENT).offset for delivery in deliveries] == list(range(100))
        assert broker.offsets("topic") == (0, 100)
        with Consumer(broker.bootstrap_servers) as consumer:
            consumer.assign([("topic", 0)], until={("topic", 0): 100})
            consumer.seek(("topic", 0), "earliest")
            read = []
            while not consumer.done():
                read += consumer.poll(PATIENT).values()
        assert read == sent


@pytest.mark.parametrize("release", [name for name in RELEASES if number(name) >= (0, 10, 1)])
def test_topics_are_made_and_deleted_on_every_release(release: str) -> None:
    with Broker(release=release, auto_create_topics=False) as broker, Admin(broker.bootstrap_servers) as admin:
        admin.create_topics({"orders": 3})
        assert admin.list_topics() == ["orders"]
        assert broker.topics() == {"orders": 3}
        with pytest.raises(BrokerError) as refused:
            admin.create_topics({"orders": 3})
        assert refused.value.code == 36
        admin.delete_topics(["orders"])
        assert broker.topics() == {}


FAULTS: list[Callable[[Faults], None]] = [
    lambda faults: faults.close("Produce"),
    lambda faults: faults.close("Produce", after_effect=True),
    lambda faults: faults.error("Produce", codes.NOT_LEADER_OR_FOLLOWER),
    lambda faults: faults.error("Produce", codes.REQUEST_TIMED_OUT),
    lambda faults: faults.truncate("Produce", 9),
    lambda faults: faults.delay("Produce", 0.02),
]


@pytest.mark.parametrize("seed", range(2 if THOROUGH else 1))
def test_an_idempotent_producer_loses_doubles_and_disorders_nothing(seed: int) -> None:
    rng = random.Random(seed)
    with Broker(topics={"topic": 3}) as broker:
        for fault in rng.choices(FAULTS, k=10):
            fault(broker.faults)
        with Producer(broker.bootstrap_servers, batch_size=1000) as producer:
            for n in range(3000):
                producer.send("topic", b"%d" % n, partition=n % 3)
        assert broker.faults.pending == 0, "every fault has struck"
        for partition in range(3):
            written = records.decode(broker.record_set("topic", partition=partition)).values()
            assert written == [b"%d" % n for n in range(partition, 3000, 3)]
