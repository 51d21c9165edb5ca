"""Traces and metrics of a client, by OpenTelemetry: `pip install "kwire[opentelemetry]"`.

Spans are those of the semantic conventions for messaging: `send <topic>` from send() to the acknowledgement, with its
context in the record's headers; `poll` for each poll that returned records, `process` around a block, with links to the
spans that sent them. Metrics are those of `metrics()`, as `kwire.producer.record_send`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import ref

from opentelemetry import metrics, propagate, trace
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, TracerProvider

from kwire._version import __version__
from kwire.contrib.clients import TOTAL, AnyClient, exported, table_row_of
from kwire.fronts.consumer import ConsumerFront
from kwire.fronts.interceptors import OutgoingRecord
from kwire.fronts.metrics import TABLE
from kwire.fronts.producer import ProducerFront

MAX_LINKS = 128
"""Links of one span at most: what OpenTelemetry's SDK keeps by default."""


class Instrumentation:
    """What `instrument` has added to a client."""

    def __init__(self, client_id: str, tracer: trace.Tracer) -> None:
        self._tracer = tracer
        self._common = {"messaging.system": "kafka", "messaging.client.id": client_id}

    @contextmanager
    def process(self, what: Any) -> Iterator[Span]:
        """A span `process` around a block that processes a record, or the records of a poll."""
        records = what if hasattr(what, "by_partition") else [what]
        with self._tracer.start_as_current_span(**self._consuming("process", records)) as span:
            yield span

    # -- as an interceptor ------------------------------------------------------------------------------------------

    def begin_send(
        self, topic: str, record: OutgoingRecord
    ) -> tuple[OutgoingRecord, Callable[[Any, Exception | None], None]]:
        """Begins the span of a record, and puts its context into the headers."""
        span = self._tracer.start_span(
            f"send {topic}",
            kind=SpanKind.PRODUCER,
            attributes={**self._common, **_operation("send", "send"), "messaging.destination.name": topic},
        )
        carrier: dict[str, str] = {}
        propagate.inject(carrier, trace.set_span_in_context(span))
        kept = [header for header in record.headers if header[0] not in carrier]
        added = [(name, text.encode()) for name, text in carrier.items()]

        def end(metadata: Any, error: Exception | None) -> None:
            if error is not None:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR, str(error))
            else:
                span.set_attribute("messaging.destination.partition.id", str(metadata.partition))
                span.set_attribute("messaging.kafka.offset", metadata.offset)
            span.end()

        return record._replace(headers=(*kept, *added)), end

    def on_consume(self, records: Any) -> None:
        """A span for the poll that returned these."""
        self._tracer.start_span(**self._consuming("poll", records)).end()

    def _consuming(self, name: str, records: Iterable[Any]) -> dict[str, Any]:
        rows = list(records)
        topics = {record.topic for record in rows}
        attributes = {**self._common, **_operation(name, "receive" if name == "poll" else "process")}
        if len(rows) == 1:
            attributes["messaging.destination.partition.id"] = str(rows[0].partition)
            attributes["messaging.kafka.offset"] = rows[0].offset
        else:
            attributes["messaging.batch.message_count"] = len(rows)
        if len(topics) == 1:
            (topic,) = topics
            attributes["messaging.destination.name"] = topic
            name = f"{name} {topic}"
        return {"name": name, "kind": SpanKind.CONSUMER, "attributes": attributes, "links": _links(rows)}


def instrument(
    client: AnyClient, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
) -> Instrumentation:
    """Has a client report its metrics and, a Producer or Consumer, its spans; to the global providers by default."""
    tracer = trace.get_tracer("kwire", __version__, tracer_provider)
    made = Instrumentation(client.settings.client_id, tracer)
    if isinstance(client, (ProducerFront, ConsumerFront)):
        client._add_interceptors([made])
    _report_metrics(client, metrics.get_meter("kwire", __version__, meter_provider))
    return made


def _operation(name: str, kind: str) -> dict[str, Any]:
    return {"messaging.operation.name": name, "messaging.operation.type": kind}


def _links(records: list[Any]) -> list[Link]:
    """To the spans that sent these."""
    found: list[Link] = []
    for record in records:
        carrier = {name: value.decode("utf-8", "replace") for name, value in record.headers if value is not None}
        context = trace.get_current_span(propagate.extract(carrier)).get_span_context() if carrier else None
        if context is not None and context.is_remote and context.is_valid:
            found.append(Link(context))
        if len(found) == MAX_LINKS:
            break
    return found


def _report_metrics(client: AnyClient, meter: metrics.Meter) -> None:
    prefix = f"kwire.{client._kind.replace(' ', '_')}."
    seen = ref(client)
    present = {key if isinstance(key, str) else str(key[0]) for key in client.metrics()}
    for name in sorted(present | _WITHOUT_SUM):
        row = table_row_of(name)
        make = meter.create_observable_counter if row.kind == TOTAL else meter.create_observable_gauge
        stem = prefix + name.removesuffix("-total").replace("-", "_")
        make(stem, callbacks=[_observer(seen, name)], unit=_UNITS.get(row.unit, f"{{{row.unit or 'count'}}}"))


_UNITS = {"bytes": "By", "ms": "ms", "ns": "ns", "s": "s"}

_WITHOUT_SUM = {row.name for row in TABLE if not row.untagged}
"""Of these nothing is there before the first partition."""


def _observer(seen: ref[AnyClient], name: str) -> Callable[[CallbackOptions], list[Observation]]:
    row = table_row_of(name)

    def observe(options: CallbackOptions) -> list[Observation]:
        client = seen()
        if client is None:
            return []
        labels = {"messaging.client.id": client.settings.client_id}
        return [
            Observation(value, {**labels, **dict(zip(row.tags, tags, strict=True))})
            for metric in exported(client.metrics())
            if metric.name == name
            for tags, value in metric.values
            if value == value  # not NaN
        ]

    return observe
