"""kwire's own clients with their default settings on the embedded broker as every release."""

from __future__ import annotations

import pytest

from kwire import Admin, Consumer, Producer
from kwire.errors import BrokerError
from kwire.schema.releases import RELEASES
from kwire.testing import Broker

WITHIN_S = 20


def number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


@pytest.mark.parametrize("release", RELEASES)
def test_records_go_through_every_release(release: str) -> None:
    sent = [b"%d" % n for n in range(100)]
    with Broker(release=release) as broker:
        with Producer(broker.bootstrap_servers) as producer:
            deliveries = [producer.send("topic", value, key=value, partition=0) for value in sent]
            assert [delivery.result(WITHIN_S).offset for delivery in deliveries] == list(range(100))
        assert broker.offsets("topic") == (0, 100)
        with Consumer(broker.bootstrap_servers) as consumer:
            consumer.assign([("topic", 0)], until={("topic", 0): 100})
            consumer.seek(("topic", 0), "earliest")
            read = []
            while not consumer.done():
                read += consumer.poll(WITHIN_S).values()
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
