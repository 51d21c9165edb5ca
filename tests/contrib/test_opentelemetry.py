"""Traces and metrics for OpenTelemetry, read from its exporters in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from kwire import Consumer, Producer
from kwire.contrib import opentelemetry
from kwire.testing import Broker


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
    assert sent[0].attributes["messaging.operation.type"] == "send"
    assert sent[0].attributes["messaging.client.id"] == "p"
    ids = {span.context.span_id for span in sent}
    for span, kind in ((poll, "receive"), (batch, "process")):
        assert span.kind == SpanKind.CONSUMER
        assert {link.context.span_id for link in span.links} == ids
        assert span.attributes["messaging.operation.type"] == kind
        assert span.attributes["messaging.batch.message_count"] == 2
    assert len(single.links) == 1
    assert single.attributes["messaging.kafka.offset"] == 1


def test_a_record_that_fails_ends_its_span_with_the_error(broker: Broker) -> None:
    exports = Exports()
    with Producer(broker.bootstrap_servers, max_block_ms=100, allow_auto_create_topics=False) as producer:
        exports.instrument(producer)
        assert producer.send("nowhere", b"v").exception(timeout=10) is not None
    (span,) = exports.spans
    assert span.attributes["error.type"] == "UnknownTopicError"
    assert span.status.status_code == StatusCode.ERROR


def test_metrics_have_topics_as_attributes_and_no_nan(broker: Broker) -> None:
    exports = Exports()
    with Producer(broker.bootstrap_servers, client_id="p") as producer:
        exports.instrument(producer)
        assert exports.values("kwire.producer.batch_size_avg") == {}
        producer.send("orders", b"v").result(timeout=10)
        labels = (("messaging.client.id", "p"), ("topic", "orders"))
        assert exports.values("kwire.producer.record_send") == {labels: 1}
        assert exports.values("kwire.producer.batch_size_avg")[labels[:1]] > 0
