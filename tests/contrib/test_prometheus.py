"""Metrics for Prometheus, read by prometheus_client's own parser."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kwire import Consumer, Producer
from kwire.contrib import prometheus
from kwire.testing import Broker

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("orders", 1)
        yield made


def scraped(registry: CollectorRegistry) -> Samples:
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_counters_and_gauges_of_a_producer_are_in_base_units(broker: Broker) -> None:
    registry = CollectorRegistry()
    with Producer(broker.bootstrap_servers, client_id="p") as producer:
        prometheus.export(producer, registry)
        producer.send("orders", b"v").result(timeout=10)
        found, metrics = scraped(registry), producer.metrics()
    assert found["kwire_producer_record_send_total", (("client_id", "p"), ("topic", "orders"))] == 1
    by_api = (("api", "Produce"), ("client_id", "p"))
    assert found["kwire_producer_request_latency_seconds_total", by_api] == pytest.approx(
        metrics["request-latency-total", ("api", "Produce")] / 1000
    )
    assert found["kwire_producer_buffer_total_bytes", (("client_id", "p"),)] == 32 * 1024 * 1024
    assert found["kwire_producer_bufferpool_wait_time_seconds_total", (("client_id", "p"),)] == 0


def test_lag_is_labelled_by_partition(broker: Broker) -> None:
    registry = CollectorRegistry()
    with Producer(broker.bootstrap_servers) as producer:
        producer.send_many("orders", [b"v"] * 5)
    with Consumer(broker.bootstrap_servers, client_id="c", auto_offset_reset="earliest") as consumer:
        prometheus.export(consumer, registry)
        consumer.assign([("orders", 0)])
        consumer.poll(timeout=10, max_records=2)
        found = scraped(registry)
    assert found["kwire_consumer_records_lag", (("client_id", "c"), ("partition", "0"), ("topic", "orders"))] == 3
    assert found["kwire_consumer_last_poll_seconds", (("client_id", "c"),)] < 10


def test_clients_of_a_kind_share_a_page_until_they_are_taken_out(broker: Broker) -> None:
    registry = CollectorRegistry()
    with (
        Producer(broker.bootstrap_servers, client_id="a") as one,
        Producer(broker.bootstrap_servers, client_id="b") as other,
    ):
        first = prometheus.export(one, registry)
        assert prometheus.export(other, registry) is first
        assert generate_latest(registry).count(b"TYPE kwire_producer_connection_count ") == 1
        name = "kwire_producer_connection_count"
        assert {(name, (("client_id", "a"),)), (name, (("client_id", "b"),))} <= scraped(registry).keys()
        first.remove(one)
        assert (name, (("client_id", "a"),)) not in scraped(registry)


def test_clients_that_threads_export_at_once_share_one_collector(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(prometheus.ClientCollector):
        def __init__(self) -> None:
            with suppress(threading.BrokenBarrierError):
                both.wait(0.2)
            super().__init__()

    both = threading.Barrier(2)
    monkeypatch.setattr(prometheus, "ClientCollector", Slow)
    registry = CollectorRegistry()
    with ThreadPoolExecutor(2) as threads:
        clients = [Producer(broker.bootstrap_servers, client_id=name) for name in "pq"]
        one, other = threads.map(lambda client: prometheus.export(client, registry), clients)
    assert one is other
    assert generate_latest(registry).decode().count("# TYPE kwire_producer_outgoing_byte_total ") == 1
    for client in clients:
        client.close()


def test_a_client_may_be_exported_while_others_are_scraped(broker: Broker) -> None:
    def scrape() -> None:
        while not over.is_set():
            collector._listed()

    over = threading.Event()
    collector = prometheus.ClientCollector()
    clients = [Producer(broker.bootstrap_servers) for _ in range(300)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as threads:
            scraping = threads.submit(scrape)
            for client in clients:
                collector.add(client)
            over.set()
            scraping.result()
    finally:
        sys.setswitchinterval(before)
