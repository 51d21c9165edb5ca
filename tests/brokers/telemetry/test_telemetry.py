"""What clients push of their metrics, as a plugin of real Kafka gets it, beside what Java's clients push."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, MetricsData

from kwire import Admin, Consumer, Producer, ShareConsumer, aio, errors
from kwire.compression import CODECS
from kwire.engine.telemetry.subscription import Subscription
from kwire.testing import Broker
from tests.brokers.cluster import Cluster
from tests.brokers.telemetry.cluster import Push, TelemetryCluster
from tests.brokers.telemetry.script import INTERVAL_MS, codes
from tests.timing import PATIENT

pytestmark = pytest.mark.kafka

ON: Any = {"enable_metrics_push": True}
SENT = "org.apache.kafka.producer.record.send.total"
DELTA = AggregationTemporality.Value("AGGREGATION_TEMPORALITY_DELTA")

KWIRE_ONLY = {
    "producer": {
        "batch.send.rate",
        "batch.send.total",
        "byte.rate",
        "byte.total",
        "produce.throttle.time.total",
        "record.queue.time.total",
        "request.latency.total",
    },
    "consumer": {
        "fetch.manager.fetch.throttle.time.total",
        "request.latency.avg",
        "request.latency.max",
        "request.latency.total",
        "requests.in.flight",
    },
    "admin.client": {"request.latency.avg", "request.latency.max", "request.latency.total", "requests.in.flight"},
}
"""What Java's clients do not have, but for what is by API."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[TelemetryCluster]:
    with TelemetryCluster("4.4.0") as running:
        with Admin(running.bootstrap_servers) as admin:
            admin.alter_configs({("client-metrics", "all"): {"metrics": "*", "interval.ms": "200"}})
            admin.create_topics({"orders": 1})
        yield running


def metrics_in(push: Push) -> dict[str, Metric]:
    (resource,) = MetricsData.FromString(push.data).resource_metrics
    return {metric.name: metric for metric in resource.scope_metrics[0].metrics}


def names_in(pushes: list[Push]) -> set[str]:
    return {
        metric.name
        for push in pushes
        for resource in MetricsData.FromString(push.data).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def wait(done: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENT
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


def total(push: Push) -> float:
    return sum(point.as_double for point in metrics_in(push)[SENT].sum.data_points)


def test_each_record_is_in_one_push_and_the_last_comes_when_the_producer_closes(cluster: TelemetryCluster) -> None:
    with Producer(cluster.bootstrap_servers, client_id="sums", **ON) as producer:
        for count in (1, 2, 3):
            producer.send_many("orders", [b"v"] * 100)
            producer.flush()
            wait(lambda count=count: len(cluster.pushes("sums")) >= count)  # type: ignore[misc]
        known = producer.client_instance_id()
        producer.send("orders", b"v")
    pushes = cluster.pushes("sums")
    assert [push.terminating for push in pushes] == [False] * (len(pushes) - 1) + [True]
    assert {push.content_type for push in pushes} == {"OTLP"}
    assert len({push.instance_id for push in pushes}) == 1
    assert known.int
    assert sum(map(total, pushes)) == 301
    assert {metrics_in(push)[SENT].sum.aggregation_temporality for push in pushes} == {DELTA}


def test_no_push_comes_too_early_for_the_broker(cluster: TelemetryCluster) -> None:
    with Producer(cluster.bootstrap_servers, client_id="pace", **ON) as producer:
        producer.send("orders", b"v").result(timeout=PATIENT)
        wait(lambda: len(cluster.pushes("pace")) >= 5)
        metrics = producer.metrics()
    assert metrics["request-total", ("api", "GetTelemetrySubscriptions")] == 1
    assert metrics["request-total", ("api", "PushTelemetry")] <= len(cluster.pushes("pace"))


@pytest.mark.parametrize("codec", range(len(CODECS)), ids=CODECS)
def test_the_broker_reads_each_codec(cluster: TelemetryCluster, codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Subscription.of
    monkeypatch.setattr(Subscription, "of", lambda response: original(response)._replace(codec=codec))
    name = f"codec-{codec}"
    with Producer(cluster.bootstrap_servers, client_id=name, **ON) as producer:
        producer.send("orders", b"v").result(timeout=PATIENT)
        wait(lambda: len(cluster.pushes(name)) >= 1)
    assert sum(map(total, cluster.pushes(name))) == 1


def test_a_client_on_an_event_loop_pushes(cluster: TelemetryCluster) -> None:
    async def use() -> None:
        async with aio.Producer(cluster.bootstrap_servers, client_id="loop", **ON) as producer:
            await producer.send("orders", b"v")
            await producer.client_instance_id(timeout=PATIENT)
            await producer.send("orders", b"v")

    asyncio.run(use())
    assert sum(map(total, cluster.pushes("loop"))) == 2
    assert cluster.pushes("loop")[-1].terminating


def test_a_subscription_that_changes_is_followed(cluster: TelemetryCluster) -> None:
    narrow = {"metrics": "org.apache.kafka.producer.byte.", "interval.ms": "100", "match": "client_id=changed"}
    with (
        Admin(cluster.bootstrap_servers) as admin,
        Producer(cluster.bootstrap_servers, client_id="changed", **ON) as producer,
    ):
        admin.alter_configs({("client-metrics", "all"): {"metrics": SENT, "interval.ms": "200"}})
        try:
            producer.send("orders", b"v").result(timeout=PATIENT)
            wait(lambda: len(cluster.pushes("changed")) >= 1)
            admin.alter_configs({("client-metrics", "narrow"): narrow})
            wait(lambda: "org.apache.kafka.producer.byte.total" in names_in(cluster.pushes("changed")[-1:]))
        finally:
            admin.alter_configs({("client-metrics", "narrow"): {}})
            admin.alter_configs({("client-metrics", "all"): {"metrics": "*", "interval.ms": "200"}})


def test_names_are_those_that_javas_clients_push(cluster: TelemetryCluster) -> None:
    cluster.run_java_clients("orders")
    options: Any = {**ON, "auto_offset_reset": "earliest"}
    with (
        Producer(cluster.bootstrap_servers, client_id="kwire-producer", **ON) as producer,
        Consumer(cluster.bootstrap_servers, client_id="kwire-consumer", group_id="kwire", **options) as consumer,
        Admin(cluster.bootstrap_servers, client_id="kwire-admin", **ON) as admin,
    ):
        producer.send("orders", b"v").result(timeout=PATIENT)
        consumer.subscribe(["orders"])
        while not consumer.poll(timeout=1):
            pass
        consumer.commit()
        admin.list_topics()
        for kind in ("producer", "consumer", "admin"):
            wait(lambda kind=kind: len(cluster.pushes(f"kwire-{kind}")) >= 2)  # type: ignore[misc]
    for group, own in KWIRE_ONLY.items():
        kind, prefix = group.partition(".")[0], f"org.apache.kafka.{group}."
        ours, java = (names_in(cluster.pushes(f"{who}-{kind}")) for who in ("kwire", "java"))
        not_java = {name.removeprefix(prefix) for name in ours - java}
        assert {name for name in not_java if not name.startswith("api.")} == own
        assert len(ours & java) > 10


def test_the_embedded_broker_answers_as_kafka_does(cluster: TelemetryCluster) -> None:
    with Broker(client_telemetry=True) as broker:
        for each in (cluster, broker):
            with Admin(each.bootstrap_servers) as admin:
                admin.alter_configs({("client-metrics", "all"): {"metrics": "*", "interval.ms": str(INTERVAL_MS)}})
        time.sleep(1)  # until Kafka has applied it
        assert codes(broker) == codes(cluster)
    with Admin(cluster.bootstrap_servers) as admin:
        admin.alter_configs({("client-metrics", "all"): {"metrics": "*", "interval.ms": "200"}})


def test_a_share_consumer_pushes(cluster: TelemetryCluster) -> None:
    with ShareConsumer(cluster.bootstrap_servers, client_id="share", group_id="share", **ON) as consumer:
        consumer.subscribe(["orders"])
        consumer.poll(timeout=1)
        wait(lambda: bool(cluster.pushes("share")))
    assert "org.apache.kafka.consumer.share.coordinator.heartbeat.total" in names_in(cluster.pushes("share"))


def test_kafka_without_a_plugin_refuses_and_the_client_works(kafka_cluster: Callable[[str], Cluster]) -> None:
    servers = kafka_cluster("4.4.0").bootstrap_servers
    with Producer(servers, **ON) as producer:
        producer.send("without-a-plugin", b"v").result(timeout=PATIENT)
        with pytest.raises(errors.broker.UNSUPPORTED_VERSION):
            producer.client_instance_id(timeout=PATIENT)
