"""Clients that push their metrics to brokers (KIP-714), read by OpenTelemetry's own messages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any
from uuid import UUID

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric, MetricsData

from kwire import Admin, Consumer, Producer, ShareConsumer, aio, errors
from kwire.errors import ConfigError
from kwire.fronts.front import LAST_PUSH_S, Front
from kwire.testing import Broker

ON: Any = {"enable_metrics_push": True}
SENT = "org.apache.kafka.producer.record.send.total"
INTERVAL_S = 0.1


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"orders": 2}, client_telemetry=True) as made:
        yield made


def subscribe(broker: Broker, metrics: str = "*", interval_ms: int = 100, **more: str) -> None:
    with Admin(broker.bootstrap_servers) as admin:
        configs = {"metrics": metrics, "interval.ms": str(interval_ms), **more}
        admin.alter_configs({("client-metrics", "all"): configs})


def wait_for_pushes(broker: Broker, count: int) -> None:
    until = monotonic() + 10
    while len(broker.telemetry.pushes) < count:
        assert monotonic() < until, "no push came"
        sleep(0.01)


def metrics_in(data: bytes) -> dict[str, Metric]:
    """The metrics of a push by name."""
    (resource,) = MetricsData.FromString(data).resource_metrics
    (scope,) = resource.scope_metrics
    found = {metric.name: metric for metric in scope.metrics}
    assert len(found) == len(scope.metrics)
    return found


def pushed_by(broker: Broker, client_id: str, names: tuple[str, ...]) -> dict[str, Metric]:
    """What a client has pushed by now, once each of these names is among it."""
    found: dict[str, Metric] = {}
    until = monotonic() + 10
    while not set(names) <= found.keys():
        assert monotonic() < until, set(names) - found.keys()
        sleep(0.01)
        for push in list(broker.telemetry.pushes):
            if push.client_id == client_id:
                found |= metrics_in(push.metrics)
    return found


def value(metric: Metric) -> float:
    """That without attributes."""
    points = metric.sum.data_points or metric.gauge.data_points
    (found,) = [point for point in points if not point.attributes]
    return float(found.as_double)


def test_a_producer_pushes_what_it_has_counted_and_once_more_when_it_closes(broker: Broker) -> None:
    subscribe(broker)
    with Producer(broker.bootstrap_servers, client_id="billing", **ON) as producer:
        producer.send("orders", b"v").result(timeout=10)
        wait_for_pushes(broker, 1)
        known = producer.client_instance_id()
        producer.send("orders", b"v")
    last = broker.telemetry.pushes[-1]
    assert isinstance(known, UUID)
    assert {push.client_instance_id for push in broker.telemetry.pushes} == {known}
    assert last.client_id == "billing"
    assert last.compression == "zstd"
    assert [push.terminating for push in broker.telemetry.pushes].count(True) == 1
    assert last.terminating
    sums = [value(metrics_in(push.metrics)[SENT]) for push in broker.telemetry.pushes]
    assert sum(sums) == 2, "each record is in one push, and that of close() has the last"


def test_deltas_of_all_pushes_make_the_total_and_their_times_join(broker: Broker) -> None:
    subscribe(broker)
    with Producer(broker.bootstrap_servers, **ON) as producer:
        for count in range(1, 5):
            for _ in range(count):
                producer.send("orders", b"v", partition=0)
            producer.flush()
            wait_for_pushes(broker, count)
    pushed = [metrics_in(push.metrics)[SENT] for push in broker.telemetry.pushes]
    assert sum(map(value, pushed)) == 10
    points = [metric.sum.data_points[0] for metric in pushed]
    assert all(
        metric.sum.aggregation_temporality == AggregationTemporality.Value("AGGREGATION_TEMPORALITY_DELTA")
        for metric in pushed
    )
    assert all(metric.sum.is_monotonic for metric in pushed)
    assert [point.start_time_unix_nano for point in points[1:]] == [point.time_unix_nano for point in points[:-1]]


def test_cumulative_totals_never_fall_and_begin_with_the_client(broker: Broker) -> None:
    broker.telemetry.delta = False
    subscribe(broker, SENT)
    with Producer(broker.bootstrap_servers, **ON) as producer:
        for count in (1, 2, 3):
            producer.send("orders", b"v").result(timeout=10)
            wait_for_pushes(broker, count)
    pushed = [metrics_in(push.metrics)[SENT] for push in broker.telemetry.pushes]
    values = [value(metric) for metric in pushed]
    assert values == sorted(values)
    assert values[-1] == 3
    assert len({metric.sum.data_points[0].start_time_unix_nano for metric in pushed}) == 1


def test_only_metrics_whose_names_begin_as_the_subscription_says_are_pushed(broker: Broker) -> None:
    subscribe(broker, "org.apache.kafka.producer.record,org.apache.kafka.producer.topic.byte.")
    with Producer(broker.bootstrap_servers, **ON) as producer:
        producer.send("orders", b"v").result(timeout=10)
        wait_for_pushes(broker, 1)
    names = metrics_in(broker.telemetry.pushes[0].metrics).keys()
    assert {
        SENT,
        "org.apache.kafka.producer.record.queue.time.avg",
        "org.apache.kafka.producer.topic.byte.rate",
    } <= names
    assert all(
        name.startswith(("org.apache.kafka.producer.record", "org.apache.kafka.producer.topic.byte.")) for name in names
    )


JAVA = {
    "p": ("producer.connection.creation.total", "producer.record.queue.time.max", "producer.topic.record.send.total"),
    "c": (
        "consumer.connection.creation.rate",
        "consumer.fetch.manager.fetch.latency.max",
        "consumer.fetch.manager.records.consumed.total",
        "consumer.fetch.manager.records.lag",
        "consumer.coordinator.assigned.partitions",
        "consumer.coordinator.rebalance.total",
        "consumer.last.poll.seconds.ago",
    ),
    "s": ("consumer.share.fetch.manager.fetch.total", "consumer.share.coordinator.heartbeat.total"),
    "a": ("admin.client.connection.count", "admin.client.api.request.total"),
}
"""Names by the client id that the next test gives each kind of client."""


def test_what_each_kind_of_client_pushes_has_the_names_of_java(broker: Broker) -> None:
    subscribe(broker)
    options: Any = {**ON, "auto_offset_reset": "earliest"}
    with (
        Producer(broker.bootstrap_servers, client_id="p", **ON) as producer,
        Consumer(broker.bootstrap_servers, client_id="c", group_id="g", **options) as consumer,
        ShareConsumer(broker.bootstrap_servers, client_id="s", group_id="s", **ON) as share,
        Admin(broker.bootstrap_servers, client_id="a", **ON) as admin,
    ):
        producer.send("orders", b"v", partition=1).result(timeout=10)
        consumer.subscribe(["orders"])
        share.subscribe(["orders"])
        while not consumer.poll(timeout=1):
            pass
        share.poll(timeout=0.1)
        admin.list_topics()
        found = {
            client_id: pushed_by(broker, client_id, tuple(f"org.apache.kafka.{name}" for name in names))
            for client_id, names in JAVA.items()
        }
    lag = found["c"]["org.apache.kafka.consumer.fetch.manager.records.lag"].gauge.data_points
    attributes = [{each.key: each.value.string_value for each in point.attributes} for point in lag]
    assert {"topic": "orders", "partition": "1"} in attributes
    (group,) = {
        each.value.string_value
        for push in broker.telemetry.pushes
        if push.client_id == "c"
        for each in MetricsData.FromString(push.metrics).resource_metrics[0].resource.attributes
        if each.key == "group_id"
    }
    assert group == "g"


def test_clients_on_an_event_loop_push_the_same(broker: Broker) -> None:
    subscribe(broker)

    async def use() -> UUID:
        async with aio.Producer(broker.bootstrap_servers, **ON) as producer:
            await producer.send("orders", b"v")
            while not broker.telemetry.pushes:
                await asyncio.sleep(0.01)
            await producer.send("orders", b"v")
            return await producer.client_instance_id()

    known = asyncio.run(use())
    assert sum(value(metrics_in(push.metrics)[SENT]) for push in broker.telemetry.pushes) == 2
    assert {push.client_instance_id for push in broker.telemetry.pushes} == {known}
    assert broker.telemetry.pushes[-1].terminating


def test_nothing_is_asked_of_a_broker_where_nobody_wants_it(broker: Broker) -> None:
    subscribe(broker)
    with Producer(broker.bootstrap_servers) as producer:
        producer.send("orders", b"v").result(timeout=10)
        with pytest.raises(ConfigError, match="enable_metrics_push"):
            producer.client_instance_id()
    assert broker.request_count("GetTelemetrySubscriptions") == 0
    assert not broker.telemetry.pushes


def test_a_client_asks_once_in_an_interval_where_no_metrics_are_wanted(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers, **ON) as producer:
        producer.send("orders", b"v").result(timeout=10)
        producer.client_instance_id(timeout=10)
        sleep(0.2)
    assert broker.request_count("GetTelemetrySubscriptions") == 1
    assert broker.request_count("PushTelemetry") == 0


def test_a_subscription_that_changes_is_asked_for_again_with_the_same_id(broker: Broker) -> None:
    subscribe(broker, "org.apache.kafka.producer.byte.total")
    with Producer(broker.bootstrap_servers, **ON) as producer:
        producer.send("orders", b"v").result(timeout=10)
        wait_for_pushes(broker, 1)
        subscribe(broker, SENT)
        until = monotonic() + 10
        while SENT not in metrics_in(broker.telemetry.pushes[-1].metrics):
            assert monotonic() < until
            sleep(0.02)
    assert len({push.client_instance_id for push in broker.telemetry.pushes}) == 1
    assert broker.request_count("GetTelemetrySubscriptions") == 2


def test_a_subscription_may_be_for_some_clients_only(broker: Broker) -> None:
    subscribe(broker, match="client_id=billing.*")
    options = ({"client_id": "billing-1", **ON}, {"client_id": "shipping", **ON})
    for each in options:
        with Producer(broker.bootstrap_servers, **each) as producer:
            producer.client_instance_id(timeout=10)
    assert {push.client_id for push in broker.telemetry.pushes} == {"billing-1"}


# -- brokers that do not take part, or lie -----------------------------------------------------------------------------


def test_a_broker_without_telemetry_is_named_by_the_id_that_it_cannot_give() -> None:
    with Broker(topics={"orders": 1}) as broker, Producer(broker.bootstrap_servers, **ON) as producer:
        producer.send("orders", b"v").result(timeout=10)
        with pytest.raises(errors.broker.UNSUPPORTED_VERSION, match="to brokers with a metrics reporter"):
            producer.client_instance_id(timeout=10)
        assert broker.values("orders") == [b"v"]


def test_a_broker_that_never_answers_holds_up_no_record_and_no_close(broker: Broker) -> None:
    subscribe(broker)
    with Producer(broker.bootstrap_servers, **ON) as producer:
        producer.send("orders", b"v").result(timeout=10)
        wait_for_pushes(broker, 1)
        broker.faults.delay("PushTelemetry", 30, times=None)
        broker.wait_for_waiting()
        slowest = 0.0
        for _ in range(50):
            began = monotonic()
            producer.send("orders", b"v").result(timeout=10)
            slowest = max(slowest, monotonic() - began)
        assert slowest < 5
        began = monotonic()
    assert monotonic() - began < LAST_PUSH_S + 2
    assert len(broker.values("orders")) == 51


def test_a_close_with_less_time_than_a_last_push_gets_ends_in_time(broker: Broker) -> None:
    subscribe(broker)
    producer = Producer(broker.bootstrap_servers, **ON)
    producer.send("orders", b"v").result(timeout=10)
    wait_for_pushes(broker, 1)
    broker.faults.delay("PushTelemetry", 30, times=None)
    began = monotonic()
    producer.close(timeout=0.2)
    assert monotonic() - began < LAST_PUSH_S


def test_a_message_is_no_larger_than_the_broker_takes_and_begins_with_what_is_not_by_topic(broker: Broker) -> None:
    broker.telemetry.max_bytes = 3000
    subscribe(broker)
    with Producer(broker.bootstrap_servers, **ON) as producer:
        for number in range(40):
            producer.send(f"topic-{number}", b"v")
        producer.flush()
        wait_for_pushes(broker, 1)
    found = metrics_in(broker.telemetry.pushes[-1].metrics)
    assert 2200 < len(broker.telemetry.pushes[-1].metrics) <= 3000
    assert SENT in found
    assert sum(len(metric.sum.data_points) for metric in found.values()) < 40 * 4


def test_a_client_whose_pushes_fail_goes_on(broker: Broker) -> None:
    subscribe(broker)
    broker.faults.error("PushTelemetry", errors.broker.UNKNOWN_SERVER_ERROR, times=2)
    with Producer(broker.bootstrap_servers, **ON) as producer:
        producer.send("orders", b"v").result(timeout=10)
        wait_for_pushes(broker, 2)
    assert sum(value(metrics_in(push.metrics)[SENT]) for push in broker.telemetry.pushes) == 1
    assert broker.request_count("PushTelemetry") >= 4


@pytest.mark.parametrize("error", [errors.broker.INVALID_REQUEST, errors.broker.INVALID_RECORD])
def test_a_client_that_is_refused_says_so_once_and_pushes_no_more(
    broker: Broker, error: type[errors.BrokerError], caplog: pytest.LogCaptureFixture
) -> None:
    subscribe(broker)
    broker.faults.error("PushTelemetry", error, times=None)
    with Producer(broker.bootstrap_servers, **ON) as producer:
        producer.send("orders", b"v").result(timeout=10)
        broker.wait_for_requests("PushTelemetry")
        sleep(3 * INTERVAL_S)
    assert broker.request_count("PushTelemetry") == 1
    assert [record.getMessage() for record in caplog.records if "are not pushed" in record.getMessage()] != []
    assert sum("are not pushed" in record.getMessage() for record in caplog.records) == 1


def test_a_broker_that_is_gone_is_replaced_by_another() -> None:
    with Broker(topics={"orders": 1}, nodes=2, client_telemetry=True) as broker:
        subscribe(broker)
        with Producer(broker.bootstrap_servers, **ON) as producer:
            producer.send("orders", b"v").result(timeout=10)
            wait_for_pushes(broker, 1)
            asked = [broker.request_count("PushTelemetry", node=node) for node in (1, 2)]
            first = asked.index(max(asked)) + 1
            broker.kill(first)
            seen = len(broker.telemetry.pushes)
            producer.send("orders", b"v").result(timeout=30)
            wait_for_pushes(broker, seen + 1)
            assert broker.request_count("PushTelemetry", node=3 - first) >= 1


def test_a_client_that_is_dropped_is_not_kept_by_its_telemetry(broker: Broker) -> None:
    subscribe(broker)
    admin = Admin(broker.bootstrap_servers, **ON)
    assert isinstance(admin, Front)
    admin.client_instance_id(timeout=10)
    with pytest.warns(ResourceWarning, match="not closed"):
        del admin
