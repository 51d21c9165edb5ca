"""Traces and metrics of a client, by OpenTelemetry: `pip install "kwire[opentelemetry]"`.

Spans are those of the semantic conventions for messaging, 1.44: `send <topic>` from send() to the acknowledgement, with
its context in the record's headers; `poll` for each poll that returned records, `process` around a block, with links to
the spans that sent them. Metrics are those of `metrics()`, as `kwire.producer.record_send`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import ref

from opentelemetry import metrics, propagate, trace
from opentelemetry.context import Context
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
from opentelemetry.trace import Link, Span, SpanKind, StatusCode, TracerProvider

from kwire._version import __version__
from kwire.contrib.clients import TOTAL, AnyClient, exported, table_row_of
from kwire.errors import BrokerError
from kwire.fronts.consumer import ConsumerFront
from kwire.fronts.interceptors import OutgoingRecord
from kwire.fronts.metrics_table import TABLE
from kwire.fronts.producer import ProducerFront

SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0"
MAX_LINKS = 128
"""Links of one span at most: what OpenTelemetry's SDK keeps by default."""


class Instrumentation:
    """The spans of one client: what `instrument` has added to it, or one of its `interceptors`."""

    def __init__(
        self, client_id: str, group_id: str | None = None, tracer_provider: TracerProvider | None = None
    ) -> None:
        self._tracer = trace.get_tracer("kwire", __version__, tracer_provider, SCHEMA_URL)
        self._common: dict[str, Any] = {"messaging.system": "kafka", "messaging.client.id": client_id}
        if group_id is not None:
            self._common["messaging.consumer.group.name"] = group_id

    @contextmanager
    def process(self, what: Any) -> Iterator[Span]:
        """A span `process` around a block that processes a record, or records: of a poll, or in a list."""
        is_batch = hasattr(what, "by_partition") or isinstance(what, (list, tuple))
        described = self._consuming("process", "process", list(what) if is_batch else [what])
        if not is_batch:
            described["attributes"] |= {"messaging.kafka.offset": what.offset, **_of_message(what.key, what.value)}
        else:
            described["attributes"]["messaging.batch.message_count"] = len(what)
        with self._tracer.start_as_current_span(
            kind=SpanKind.CONSUMER, set_status_on_exception=False, **described
        ) as span:
            try:
                yield span
            except BaseException as error:
                _fail(span, error)
                raise

    # -- as an interceptor ------------------------------------------------------------------------------------------

    def begin_send(
        self, topic: str, record: OutgoingRecord
    ) -> tuple[OutgoingRecord, Callable[[Any, Exception | None], None]]:
        """Begins the span of a record, and puts its context into the headers; one that is there already stays, as the
        conventions have it, and the span has a link to it."""
        custom = _link(record.headers)
        attributes = {**self._common, **_operation("send", "send"), "messaging.destination.name": topic}
        if record.partition is not None:
            attributes["messaging.destination.partition.id"] = str(record.partition)
        span = self._tracer.start_span(
            f"send {topic}",
            kind=SpanKind.PRODUCER if custom is None else SpanKind.CLIENT,
            attributes={**attributes, **_of_message(record.key, record.value)},
            links=[] if custom is None else [custom],
        )
        if custom is None:
            carrier: dict[str, str] = {}
            propagate.inject(carrier, trace.set_span_in_context(span))
            kept = [header for header in record.headers if header[0] not in carrier]
            added = [(name, text.encode()) for name, text in carrier.items()]
            record = record._replace(headers=(*kept, *added))

        def end(metadata: Any, error: Exception | None) -> None:
            if error is not None:
                _fail(span, error)
            else:
                span.set_attribute("messaging.destination.partition.id", str(metadata.partition))
                span.set_attribute("messaging.kafka.offset", metadata.offset)
            span.end()

        return record, end

    def end_poll(self, records: Any, began_ns: int) -> None:
        """A span for the poll that returned these."""
        described = self._consuming("poll", "receive", list(records))
        described["attributes"]["messaging.batch.message_count"] = len(records)
        self._tracer.start_span(kind=SpanKind.CLIENT, start_time=began_ns, **described).end()

    def _consuming(self, name: str, kind: str, records: list[Any]) -> dict[str, Any]:
        attributes = {**self._common, **_operation(name, kind)}
        topics = {record.topic for record in records}
        partitions = {record.partition for record in records}
        if len(topics) == 1:
            (topic,) = topics
            attributes["messaging.destination.name"] = topic
            name = f"{name} {topic}"
            if len(partitions) == 1:
                attributes["messaging.destination.partition.id"] = str(*partitions)
        return {"name": name, "attributes": attributes, "links": _links(records)}


def instrument(
    client: AnyClient, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
) -> Instrumentation:
    """Has a client report its metrics and, a Producer or Consumer, its spans; to the global providers by default."""
    group_id = client.settings.group_id if isinstance(client, ConsumerFront) else None
    made = Instrumentation(client.settings.client_id, group_id, tracer_provider)
    if isinstance(client, (ProducerFront, ConsumerFront)):
        client._add_interceptors([made])
    _report_metrics(client, metrics.get_meter("kwire", __version__, meter_provider))
    return made


def _operation(name: str, kind: str) -> dict[str, Any]:
    return {"messaging.operation.name": name, "messaging.operation.type": kind}


def _of_message(key: Any, value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"messaging.kafka.message.tombstone": True} if value is None else {}
    if isinstance(key, bytes):
        with suppress(UnicodeDecodeError):
            key = key.decode()
    if isinstance(key, (str, int)):
        found["messaging.kafka.message.key"] = str(key)
    return found


def _fail(span: Span, error: BaseException) -> None:
    name = error.name if isinstance(error, BrokerError) else f"{type(error).__module__}.{type(error).__qualname__}"
    span.set_attribute("error.type", name.removeprefix("builtins."))
    span.set_status(StatusCode.ERROR, str(error))


def _link(headers: Iterable[tuple[str, bytes | None]], attributes: dict[str, Any] | None = None) -> Link | None:
    """To the span that the headers tell of."""
    carrier = {name: value.decode("utf-8", "replace") for name, value in headers if value is not None}
    context = trace.get_current_span(propagate.extract(carrier, Context())).get_span_context() if carrier else None
    return Link(context, attributes) if context is not None and context.is_valid else None


def _links(records: list[Any]) -> list[Link]:
    """To the spans that sent these."""
    found: list[Link] = []
    for record in records:
        link = _link(
            record.headers,
            {"messaging.destination.partition.id": str(record.partition), "messaging.kafka.offset": record.offset},
        )
        if link is not None:
            found.append(link)
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
