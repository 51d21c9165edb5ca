"""Clients that live for long, and go from topic to topic and from group to group, do not grow."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, TopicPartition, errors
from kwire.engine.common import topic_totals
from kwire.engine.consumer import subscription
from kwire.engine.groups.tenure import ConsumerGroupMetadata
from kwire.engine.transactions import requests
from kwire.testing import Broker
from tests.clients.growth import grown, sizes

FIRST, MORE = 4, 8

READING: Any = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 10}

BOUNDED = {"Timers"}
"""By more than a dozen: tests/engine/common/test_timers.py."""


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    """Bounds are so low that a dozen topics reach them."""
    monkeypatch.setattr(topic_totals, "MAX_UNUSED", 2)
    monkeypatch.setattr(subscription, "MAX_GONE", 2)
    monkeypatch.setattr(requests, "MAX_GROUPS", 2)
    with Broker(topics=[f"t{number}" for number in range(FIRST + MORE)]) as made:
        for topic in made.topics():
            made.append(topic, [b"v"])
        yield made


def what_grows(use: Callable[[int], object], client: object) -> dict[str, tuple[int, int]]:
    """The places in a client that hold more after it was used for more topics."""
    for number in range(FIRST):
        use(number)
    gc.collect()
    before = sizes(client)
    for number in range(FIRST, FIRST + MORE):
        use(number)
    gc.collect()
    found = grown(before, sizes(client), MORE // 2)
    return {place: counts for place, counts in found.items() if place not in BOUNDED}


def test_a_consumer_that_goes_from_topic_to_topic(broker: Broker) -> None:
    with Consumer(broker.bootstrap_servers, **READING) as consumer:

        def use(number: int) -> None:
            consumer.subscribe([f"t{number}"]) if number % 2 else consumer.assign([(f"t{number}", 0)])
            assert consumer.poll(10)

        assert what_grows(use, consumer) == {}


def test_a_member_of_a_group_that_goes_from_topic_to_topic(broker: Broker) -> None:
    with Consumer(broker.bootstrap_servers, group_id="g", enable_auto_commit=False, **READING) as consumer:

        def use(number: int) -> None:
            consumer.subscribe([f"t{number}"])
            while not consumer.poll(10):
                pass

        assert what_grows(use, consumer) == {}


def test_an_admin_that_is_asked_about_ever_others(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:

        def use(number: int) -> None:
            admin.describe_topics([f"t{number}"])
            admin.list_offsets({TopicPartition(f"t{number}", 0): "latest"})
            admin.list_consumer_group_offsets(f"g{number}")
            with pytest.raises(errors.KafkaError):
                admin.describe_consumer_groups([f"g{number}"])

        assert what_grows(use, admin) == {}


def test_a_transactional_producer_that_commits_for_ever_other_groups(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, transactional_id="tx", linger_ms=0) as producer:
        producer.init_transactions()

        def use(number: int) -> None:
            with producer.transaction():
                producer.send("t0", b"v")
                offsets = {TopicPartition("t0", 0): number}
                producer.send_offsets_to_transaction(offsets, ConsumerGroupMetadata.outside(f"g{number}"))

        assert what_grows(use, producer) == {}
