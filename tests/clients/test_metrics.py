"""What the clients have counted, as `metrics()` tells it."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from math import isnan
from time import monotonic, sleep
from typing import Any

import pytest

from kwire import Admin, Consumer, Producer, ShareConsumer, aio
from kwire.errors import ConfigError
from kwire.fronts.metrics import Metrics
from kwire.fronts.metrics_table import TABLE
from kwire.testing import Broker

COARSE_NS = 20e6
"""The clock by which sends are timed is read cheaply: it moves in steps of some ms."""


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("orders", 2)
        yield made


def send(broker: Broker, count: int, **options: Any) -> Metrics:
    with Producer(broker.bootstrap_servers, **options) as producer:
        for _ in range(count):
            producer.send("orders", b"v" * 100, partition=0)
        producer.flush()
        return producer.metrics()


def send_batch(producer: Producer, count: int, size: int) -> None:
    for _ in range(count):
        producer.send("orders", bytes(size), partition=0)
    producer.flush()


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
        producer.send("orders", b"v").result(timeout=10)
        broker.faults.delay("Produce", 0.2)
        began = monotonic()
        for _ in range(4):
            producer.send("orders", bytes(20_000))
        before = producer.metrics()
        assert 0 <= before["buffer-available-bytes"] < 100_000 - 4 * 20_000
        assert before["bufferpool-wait-time-ns-total"] == 0
        producer.send("orders", bytes(20_000))
        took_ns = (monotonic() - began) * 1e9
        assert 0.1e9 < producer.metrics()["bufferpool-wait-time-ns-total"] < took_ns + COARSE_NS
        producer.flush()
        assert producer.metrics()["buffer-available-bytes"] == 100_000


def test_pauses_that_brokers_ask_for_are_counted(broker: Broker) -> None:
    broker.faults.throttle("Produce", 40, times=1)
    broker.faults.throttle("Fetch", 30, times=1)
    produced = send(broker, 1)
    assert produced["produce-throttle-time-total"] == produced["produce-throttle-time-max"] == pytest.approx(40)
    assert produced["produce-throttle-time-avg"] == pytest.approx(40 / produced["response-total", ("api", "Produce")])
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([("orders", 0)])
        consumer.poll(timeout=10)
        assert consumer.metrics()["fetch-throttle-time-total"] == pytest.approx(30)


def test_two_snapshots_give_rates_per_second_and_averages_of_the_time_between_them(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, linger_ms=1000) as producer:
        send_batch(producer, 10, 1000)
        earlier = producer.metrics()
        send_batch(producer, 30, 100)
        sleep(0.05)
        later = producer.metrics()
    found = later.since(earlier)
    seconds = later.taken_at - earlier.taken_at
    assert 0.05 <= seconds < 10
    assert found["record-send-rate"] == found["record-send-rate", ("topic", "orders")] == pytest.approx(30 / seconds)
    assert found["byte-rate"] == pytest.approx((later["byte-total"] - earlier["byte-total"]) / seconds)
    assert found["request-rate", ("api", "Produce")] == pytest.approx(1 / seconds)
    assert found["records-per-request-avg"] == 30
    assert found["batch-size-avg"] == later["byte-total"] - earlier["byte-total"] < later["batch-size-avg"]
    assert found["record-error-rate"] == 0
    assert found["bufferpool-wait-ratio"] == 0
    assert isnan(found["request-latency-avg", ("api", "Metadata")])
    assert found["request-latency-avg"] == found["request-latency-avg", ("api", "Produce")] > 0
    assert found["connection-count"] == 1
    assert found.keys().isdisjoint({"record-send-total", "request-latency-max", "request-latency-rate"})


def test_what_was_not_there_in_the_earlier_snapshot_began_at_nothing(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        earlier = producer.metrics()
        producer.send("orders", b"v").result(timeout=10)
        later = producer.metrics()
    assert later.since(earlier)["record-send-rate", ("topic", "orders")] > 0
    assert later.since(earlier)["batch-size-avg"] == later["batch-size-avg"]


def test_the_ratio_of_waiting_and_rebalances_per_hour_have_the_names_of_java(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, buffer_memory=40_000, batch_size=20_000) as producer:
        producer.send("orders", b"v").result(timeout=10)
        earlier = producer.metrics()
        broker.faults.delay("Produce", 0.1, times=None)
        for _ in range(6):
            producer.send("orders", bytes(19_000))
        assert 0.3 < producer.metrics().since(earlier)["bufferpool-wait-ratio"] < 1.1
    with Consumer(broker.bootstrap_servers, group_id="g") as consumer:
        before = consumer.metrics()
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            consumer.poll(timeout=1)
        after = consumer.metrics()
    hours = (after.taken_at - before.taken_at) / 3600
    assert after.since(before)["rebalance-rate-per-hour"] == pytest.approx(after["rebalance-total"] / hours)


def test_no_time_between_two_snapshots_gives_no_rate(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        found = admin.metrics()
    assert isnan(found.since(found)["request-rate"])


def test_snapshots_in_the_wrong_order_or_of_two_clients_are_refused(broker: Broker) -> None:
    with Admin(broker.bootstrap_servers) as admin, Admin(broker.bootstrap_servers) as other:
        first = admin.metrics()
        sleep(0.01)
        second = admin.metrics()
        with pytest.raises(ConfigError, match="another client"):
            second.since(other.metrics())
        with pytest.raises(ConfigError, match="younger"):
            first.since(second)


def test_a_snapshot_goes_through_pickle_with_what_rates_need(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        earlier = pickle.loads(pickle.dumps(producer.metrics()))
        producer.send("orders", b"v").result(timeout=10)
        later = pickle.loads(pickle.dumps(producer.metrics()))
    assert later.since(earlier)["batch-size-avg"] == later["batch-size-avg"]


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
    listed = {row.name for row in TABLE if row.untagged} | {(row.name, *row.tags) for row in TABLE if row.tags}
    assert shapes == listed
