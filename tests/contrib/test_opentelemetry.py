"""Traces and metrics for OpenTelemetry, read from its exporters in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import messaging_attributes
from opentelemetry.trace import SpanKind, StatusCode

from kwire import Consumer, Producer, Worker
from kwire.contrib import opentelemetry
from kwire.testing import Broker

MINE = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("orders", 1)
        yield made


class Exports:
    """Providers whose exports stay in memory."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._metrics = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._metrics])

    def instrument(self, client: Any) -> opentelemetry.Instrumentation:
        return opentelemetry.instrument(client, self.tracers, self.meters)

    @property
    def spans(self) -> list[Any]:
        return list(self._spans.get_finished_spans())

    def values(self, name: str) -> dict[tuple[tuple[str, Any], ...], float]:
        data: Any = self._metrics.get_metrics_data()
        return {
            tuple(sorted(point.attributes.items())): point.value
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        }


def test_a_record_is_followed_from_its_sender_to_those_who_process_it(broker: Broker) -> None:
    exports = Exports()
    with Producer(broker.bootstrap_servers, client_id="p") as producer:
        exports.instrument(producer)
        with exports.tracers.get_tracer("test").start_as_current_span("request"):
            producer.send("orders", b"a", headers=[("h", b"1")])
            producer.send("orders", b"b")
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        instrumentation = exports.instrument(consumer)
        consumer.assign([("orders", 0)])
        records = consumer.poll(timeout=10)
        with instrumentation.process(records):
            pass
        with instrumentation.process(records[1]):
            pass
    request = next(span for span in exports.spans if span.name == "request")
    sent = [span for span in exports.spans if span.name == "send orders"]
    poll = next(span for span in exports.spans if span.name == "poll orders")
    batch, single = [span for span in exports.spans if span.name == "process orders"]
    assert [header[0] for header in records[0].headers] == ["h", "traceparent"]
    assert {span.parent.span_id for span in sent} == {request.context.span_id}
    assert {span.kind for span in sent} == {SpanKind.PRODUCER}
    assert sorted(span.attributes["messaging.kafka.offset"] for span in sent) == [0, 1]
    ids = [span.context.span_id for span in sent]
    for span in (poll, batch):
        assert [link.context.span_id for link in span.links] == ids
        assert [link.attributes["messaging.kafka.offset"] for link in span.links] == [0, 1]
    assert [link.context.span_id for link in single.links] == [ids[1]]
    assert all(span.instrumentation_scope.schema_url == opentelemetry.SCHEMA_URL for span in (poll, batch, *sent))


def test_spans_have_the_kinds_and_attributes_of_the_conventions(broker: Broker) -> None:
    exports = Exports()
    with Producer(broker.bootstrap_servers, client_id="p") as producer:
        exports.instrument(producer)
        producer.send("orders", b"v", key=b"k", partition=0)
        producer.send("orders", None, key=b"\xff")
    with Consumer(broker.bootstrap_servers, client_id="c", group_id="g", auto_offset_reset="earliest") as consumer:
        instrumentation = exports.instrument(consumer)
        consumer.subscribe(["orders"])
        records = consumer.poll(timeout=10)
        assert len(records) == 2
        with instrumentation.process(records[0]):
            pass
        with instrumentation.process([records[1]]):
            pass
    with_key, tombstone = [span for span in exports.spans if span.name == "send orders"]
    poll = next(span for span in exports.spans if span.name == "poll orders")
    single, batch = [span for span in exports.spans if span.name == "process orders"]
    place = {
        "messaging.system": "kafka", "messaging.destination.name": "orders", "messaging.destination.partition.id": "0",
    }  # fmt: skip
    sending = {"messaging.operation.name": "send", "messaging.operation.type": "send", "messaging.client.id": "p"}
    consuming = {"messaging.client.id": "c", "messaging.consumer.group.name": "g"}
    processing = {"messaging.operation.name": "process", "messaging.operation.type": "process", **consuming}
    first = {"messaging.kafka.offset": 0, "messaging.kafka.message.key": "k"}
    assert with_key.attributes == {**place, **sending, **first}
    assert tombstone.attributes == {
        **place, **sending, "messaging.kafka.offset": 1, "messaging.kafka.message.tombstone": True,
    }  # fmt: skip
    assert poll.attributes == {
        **place, **consuming, "messaging.operation.name": "poll", "messaging.operation.type": "receive",
        "messaging.batch.message_count": 2,
    }  # fmt: skip
    assert single.attributes == {**place, **processing, **first}
    assert batch.attributes == {**place, **processing, "messaging.batch.message_count": 1}
    assert (with_key.kind, poll.kind, single.kind) == (SpanKind.PRODUCER, SpanKind.CLIENT, SpanKind.CONSUMER)
    incubating = {value for name, value in vars(messaging_attributes).items() if name.startswith("MESSAGING_")}
    assert {name for span in exports.spans for name in span.attributes} <= incubating


def test_a_poll_lasts_as_long_as_it_waited(broker: Broker) -> None:
    exports = Exports()
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        exports.instrument(consumer)
        consumer.assign([("orders", 0)])
        threading.Timer(0.3, broker.append, ("orders", [b"v"])).start()
        assert len(consumer.poll(timeout=10)) == 1
    (poll,) = exports.spans
    assert 0.2e9 < poll.end_time - poll.start_time < 10e9


def test_a_context_that_a_record_has_already_is_left_to_it_and_linked_to(broker: Broker) -> None:
    exports = Exports()
    with Producer(broker.bootstrap_servers) as producer:
        exports.instrument(producer)
        producer.send("orders", b"v", headers=[("traceparent", MINE)])
        producer.send("orders", b"v", headers=[("traceparent", b"nonsense")])
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([("orders", 0)])
        kept, replaced = consumer.poll(timeout=10)
    one, other = exports.spans
    assert kept.headers == (("traceparent", MINE),)
    assert (one.kind, [f"{link.context.span_id:x}" for link in one.links]) == (SpanKind.CLIENT, ["b7ad6b7169203331"])
    assert dict(replaced.headers)["traceparent"] != b"nonsense"
    assert (other.kind, list(other.links)) == (SpanKind.PRODUCER, [])


def test_a_block_that_raises_ends_its_span_with_the_error(broker: Broker) -> None:
    exports = Exports()
    broker.append("orders", [b"v"])
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        instrumentation = exports.instrument(consumer)
        consumer.assign([("orders", 0)])
        records = consumer.poll(timeout=10)
        with pytest.raises(ValueError, match="no such customer"), instrumentation.process(records[0]):
            raise ValueError("no such customer")
    span = exports.spans[-1]
    assert span.attributes["error.type"] == "ValueError"
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "no such customer")
    assert [event.name for event in span.events] == ["exception"]


def test_a_worker_polls_and_processes_in_spans(broker: Broker) -> None:
    exports = Exports()
    broker.append("orders", [(b"v", None, None, [("traceparent", MINE)])])
    tracing = opentelemetry.Instrumentation("w", "g", exports.tracers)

    def handle(record: Any) -> None:
        with tracing.process(record):
            worker.stop()

    worker = Worker(
        broker.bootstrap_servers, "orders", handler=handle, group_id="g", client_id="w", interceptors=[tracing]
    )
    worker.run()
    poll, process = exports.spans
    assert (poll.name, process.name) == ("poll orders", "process orders")
    assert process.attributes["messaging.consumer.group.name"] == "g"
    assert f"{process.links[0].context.span_id:x}" == "b7ad6b7169203331"


def test_a_record_that_fails_ends_its_span_with_the_error(broker: Broker) -> None:
    exports = Exports()
    with Producer(broker.bootstrap_servers, max_block_ms=100, allow_auto_create_topics=False) as producer:
        exports.instrument(producer)
        assert producer.send("nowhere", b"v").exception(timeout=10) is not None
    (span,) = exports.spans
    assert span.attributes["error.type"] == "kwire.errors.UnknownTopicError"
    assert span.status.status_code == StatusCode.ERROR


def test_the_error_of_a_broker_is_called_as_kafka_calls_it(broker: Broker) -> None:
    exports = Exports()
    broker.deny("write", "topic", "orders")
    with Producer(broker.bootstrap_servers) as producer:
        exports.instrument(producer)
        assert producer.send("orders", b"v").exception(timeout=10) is not None
    (span,) = exports.spans
    assert span.attributes["error.type"] == "TOPIC_AUTHORIZATION_FAILED"


def test_metrics_have_topics_as_attributes_and_no_nan(broker: Broker) -> None:
    exports = Exports()
    with Producer(broker.bootstrap_servers, client_id="p") as producer:
        exports.instrument(producer)
        assert exports.values("kwire.producer.batch_size_avg") == {}
        producer.send("orders", b"v").result(timeout=10)
        labels = (("messaging.client.id", "p"), ("topic", "orders"))
        assert exports.values("kwire.producer.record_send") == {labels: 1}
        assert exports.values("kwire.producer.batch_size_avg")[labels[:1]] > 0


def test_a_span_has_no_more_links_than_the_sdk_keeps(broker: Broker) -> None:
    with Producer(broker.bootstrap_servers) as producer:
        for _ in range(opentelemetry.MAX_LINKS + 10):
            producer.send("orders", b"v", headers=[("traceparent", MINE)])
    exports = Exports()
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        exports.instrument(consumer)
        consumer.subscribe(["orders"])
        polled = 0
        while polled < opentelemetry.MAX_LINKS + 10:
            polled += len(consumer.poll(1))
    assert max(len(span.links) for span in exports.spans) == opentelemetry.MAX_LINKS
