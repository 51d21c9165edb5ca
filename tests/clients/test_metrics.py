"""What the clients have counted, as `metrics()` tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from math import isnan
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, ShareConsumer, aio
from kwire.fronts import metrics
from kwire.testing import Broker


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("orders", 2)
        yield made


def send(broker: Broker, count: int, **options: Any) -> dict[metrics.Key, float]:
    with Producer(broker.bootstrap_servers, **options) as producer:
        for _ in range(count):
            producer.send("orders", b"v" * 100, partition=0)
        producer.flush()
        return producer.metrics()


def test_a_producer_counts_records_batches_and_bytes(broker: Broker) -> None:
    found = send(broker, 100, linger_ms=1000)
    assert found["record-send-total"] == found["record-send-total", ("topic", "orders")] == 100
    assert found["batch-send-total"] >= 1
    assert found["byte-total"] == pytest.approx(found["batch-size-avg"] * found["batch-send-total"])
    assert found["byte-total"] > 100 * 100
    assert found["batch-size-max"] >= found["batch-size-avg"]
    assert found["compression-rate-avg"] == 1
    assert found["record-error-total"] == found["record-retry-total"] == 0
    assert found["buffer-available-bytes"] == found["buffer-total-bytes"]
    assert found["record-queue-time-avg"] >= 0


def test_compression_shows_in_its_rate(broker: Broker) -> None:
    assert send(broker, 100, linger_ms=1000, compression="gzip")["compression-rate-avg"] < 0.5


def test_requests_are_counted_by_api_and_together(broker: Broker) -> None:
    found = send(broker, 1)
    by_api = {key[1][1]: count for key, count in found.items() if isinstance(key, tuple) and key[0] == "request-total"}
    assert by_api["Produce"] == 1
    assert {"ApiVersions", "Metadata", "InitProducerId"} <= by_api.keys()
    assert found["request-total"] == sum(by_api.values())
    assert found["response-total"] == found["request-total"]
    assert 0 < found["request-latency-avg"] <= found["request-latency-max"]
    assert found["connection-count"] == 1
    assert found["incoming-byte-total"] > 0
    assert found["outgoing-byte-total"] > 100


def test_records_that_fail_are_errors(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, max_block_ms=200, allow_auto_create_topics=False) as producer:
        assert producer.send("nowhere", b"v").exception(timeout=10) is not None
        assert producer.metrics()["record-error-total", ("topic", "nowhere")] == 1


def test_a_full_buffer_is_told_by_the_time_that_sends_waited(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, buffer_memory=100_000, linger_ms=0) as producer:
        for _ in range(200):
            producer.send("orders", bytes(20_000))
        producer.flush()
        assert producer.metrics()["bufferpool-wait-time-ns-total"] >= 0


def test_a_consumer_counts_records_and_knows_its_lag(broker: Broker) -> None:
    send(broker, 10)
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        assert isnan(consumer.metrics()["last-poll-seconds-ago"])
        consumer.assign([("orders", 0)])
        got = len(consumer.poll(timeout=10, max_records=4))
        found = consumer.metrics()
    assert found["records-consumed-total"] == found["records-consumed-total", ("topic", "orders")] == got == 4
    assert found["records-lag", ("topic", "orders"), ("partition", "0")] == found["records-lag-max"] == 6
    assert found["bytes-consumed-total"] > 10 * 100
    assert found["fetch-total"] >= 1
    assert found["fetch-latency-max"] >= found["fetch-latency-avg"] > 0
    assert found["assigned-partitions"] == 1
    assert 0 <= found["last-poll-seconds-ago"] < 10
    assert "rebalance-total" not in found


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_counts_rebalances_heartbeats_and_commits(broker: Broker, protocol: str) -> None:
    send(broker, 10)
    options: Any = {"group_protocol": protocol, "auto_offset_reset": "earliest"}
    with Consumer(broker.bootstrap_servers, group_id="g", **options) as consumer:
        consumer.subscribe(["orders"])
        while not consumer.poll(timeout=10):
            pass
        consumer.commit()
        found = consumer.metrics()
    assert found["rebalance-total"] >= 1
    assert found["failed-rebalance-total"] == 0 or protocol == "classic"
    assert found["commit-total"] == 1
    assert found["commit-latency-avg"] == found["commit-latency-max"] > 0
    assert (found["join-total"] > 0) == (protocol == "classic")
    assert (found["heartbeat-total"] > 0) == (protocol == "consumer")


def test_a_share_consumer_counts_what_it_acquires(broker: Broker) -> None:
    with ShareConsumer(broker.bootstrap_servers, group_id="s") as consumer:
        consumer.subscribe(["orders"])
        for _ in range(3):
            consumer.poll(timeout=0.2)
        send(broker, 3)
        got = 0
        while got < 3:
            got += len(consumer.poll(timeout=10))
        found = consumer.metrics()
    assert found["records-consumed-total"] == got
    assert found["heartbeat-total"] >= 1
    assert found["fetch-total"] >= 1


def test_an_admin_counts_its_requests_also_when_it_is_closed(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        assert admin.metrics()["request-total"] == 0
        admin.list_topics()
    assert admin.metrics()["request-total", ("api", "Metadata")] >= 1
    assert admin.metrics()["connection-count"] == 0


def test_clients_on_an_event_loop_count_the_same(broker: Broker) -> None:
    async def use() -> None:
        async with aio.Producer(broker.bootstrap_servers) as producer:
            await producer.send("orders", b"v", partition=1)
            assert producer.metrics()["record-send-total"] == 1
        async with aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
            consumer.assign([("orders", 1)])
            await consumer.poll(timeout=10)
            assert consumer.metrics()["records-consumed-total"] == 1
            assert consumer.metrics()["records-lag-max"] == 0

    asyncio.run(use())


def test_the_table_has_every_metric_and_no_other(broker: Broker) -> None:
    produced = send(broker, 1)
    options: Any = {"auto_offset_reset": "earliest"}
    with (
        Consumer(broker.bootstrap_servers, group_id="g", **options) as consumer,
        ShareConsumer(broker.bootstrap_servers, group_id="s") as share,
    ):
        consumer.subscribe(["orders"])
        while not consumer.poll(timeout=10):
            pass
        found = {*produced, *consumer.metrics(), *share.metrics()}
    shapes = {key if isinstance(key, str) else (key[0], *(tag[0] for tag in key[1:])) for key in found}
    listed = {row.name for row in metrics.TABLE if row.untagged} | {
        (row.name, *row.tags) for row in metrics.TABLE if row.tags
    }
    assert shapes == listed
