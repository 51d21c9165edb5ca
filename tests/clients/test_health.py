"""How the clients are, as `health()` tells it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from kwire import Admin, Consumer, Producer, ShareConsumer, TopicPartition, aio
from kwire.errors import ClientClosedError, KafkaError
from kwire.testing import Broker
from tests.timing import SOON


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("orders", 1)
        yield made


def test_a_client_that_was_not_used_knows_no_broker() -> None:
    with Producer("127.0.0.1:1") as producer:
        health = producer.health()
    assert (health.brokers, health.connected, health.buffered_bytes, health.last_error) == ((), 0, 0, None)
    assert health.reachable
    assert repr(health) == "<Health of a producer\n  brokers: 0 of 0 connected\n  buffered: 0 bytes>"


def test_a_producer_tells_its_broker_and_what_waits(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, linger_ms=60_000) as producer:
        producer.send("orders", b"v").result(timeout=10)
        producer.send("orders", bytes(1000))
        health = producer.health()
        producer.flush()
    (one,) = health.brokers
    assert one.address == broker.bootstrap_servers
    assert one.connected
    assert one.error is None
    assert one.seconds_since_contact is not None
    assert one.seconds_since_contact < 10
    assert health.buffered_bytes > 1000
    assert "connected, heard from " in repr(health)


def test_the_last_error_stays_with_its_age() -> None:
    with Consumer("127.0.0.1:1") as consumer:
        consumer.assign([("orders", 0)])
        consumer.poll(timeout=0.3)
        health = consumer.health()
    assert health.connected == 0
    assert not health.reachable
    assert isinstance(health.last_error, KafkaError)
    assert health.seconds_since_error is not None
    assert 0 <= health.seconds_since_error < 10
    assert "127.0.0.1:1: not connected" in repr(health)
    assert "last error, " in repr(health)


def test_a_broker_is_reachable_until_an_attempt_fails_and_again_when_one_succeeds(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, delivery_timeout_ms=60_000) as producer:
        producer.send("orders", b"v").result(timeout=10)
        broker.kill(1)
        give_up = time.monotonic() + SOON
        while producer.health().connected and time.monotonic() < give_up:
            time.sleep(0.01)
        idle = producer.health()
        waiting = producer.send("orders", b"v")
        while producer.health().reachable and time.monotonic() < give_up:
            time.sleep(0.01)
        tried = producer.health()
        broker.revive(1)
        waiting.result(timeout=30)
        again = producer.health()
    assert (idle.connected, idle.reachable) == (0, True)
    assert (tried.connected, tried.reachable) == (0, False)
    assert (again.connected, again.reachable) == (1, True)


def test_a_member_tells_its_group_its_partitions_and_their_lag(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        producer.send_many("orders", [b"v"] * 10)
    with Consumer(broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest") as consumer:
        consumer.subscribe(["orders"])
        before = consumer.health()
        while not consumer.poll(timeout=10, max_records=4):
            pass
        health = consumer.health()
    assert before.group is not None
    assert before.group.member_id == ""
    assert health.group is not None
    assert (health.group.group_id, health.group.generation) == ("g", 1)
    assert health.group.member_id
    assert health.assigned == (TopicPartition("orders", 0),)
    assert health.lag == {TopicPartition("orders", 0): 6}
    assert health.buffered_bytes > 0
    assert "assigned: orders-0, lag 6" in repr(health)


def test_a_share_consumer_tells_its_group(broker: Broker) -> None:
    with ShareConsumer(broker.bootstrap_servers, group_id="s") as consumer:
        consumer.subscribe(["orders"])
        for _ in range(3):
            consumer.poll(timeout=0.2)
        health = consumer.health()
    assert health.group is not None
    assert health.group.state == "member"
    assert health.assigned == (TopicPartition("orders", 0),)


def test_nothing_is_told_after_close(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        admin.list_topics()
        assert admin.health().connected == 1
    with pytest.raises(ClientClosedError, match="this admin is closed"):
        admin.health()


def test_clients_on_an_event_loop_tell_the_same(broker: Broker) -> None:
    async def use() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            await producer.send("orders", b"v")
            assert producer.health().connected == 1

    asyncio.run(use())
