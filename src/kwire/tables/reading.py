"""`kwire.read` and `kwire.read_batches`: the records of topics as columns, without a Python object for each record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from kwire.consumer import Consumer, ConsumerRecords
from kwire.errors import ConfigError, KafkaTimeoutError, SerializationError
from kwire.tables.bounds import Bound, resolve

if TYPE_CHECKING:
    from kwire.engine.common.addresses import TopicPartition
    from kwire.engine.consumer.records import ColumnDeserializer
    from kwire.engine.settings.options import ConsumerOptions, Servers

Form: TypeAlias = Literal["binary", "text", "json"]
Progress: TypeAlias = Callable[[int, int], object]
"""Takes how many offsets were read, and of how many."""

_TYPES = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("ms", "UTC"),
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
}
_INTERNAL = "timestamp_type"
_SETTINGS: ConsumerOptions = {"auto_offset_reset": "none", "allow_auto_create_topics": False}
_FORMS = ("binary", "text", "json")
_JSON = {"ARROW:extension:name": "arrow.json"}
"""Arrow's mark of a column of JSON, whose storage is text."""


def read(
    topic: str | Sequence[str],
    bootstrap_servers: Servers | None = None,
    *,
    start: Bound = "earliest",
    end: Bound = "latest",
    columns: Sequence[str] | None = None,
    key: Form | ColumnDeserializer = "binary",
    value: Form | ColumnDeserializer = "binary",
    progress: Progress | None = None,
    **settings: Unpack[ConsumerOptions],
) -> pa.Table:
    """The records of one topic or several as a pyarrow.Table, partition by partition, in the order of offsets.

    `start` and `end`: an offset, "earliest", "latest", a datetime, a timedelta (so long ago), or {partition: one of
    these}. What is at `end` is not read any more, nor what came after the call was made. `columns` names those wanted:
    topic, partition, offset, timestamp (ms, UTC; null for none), key, value, headers. `key` and `value` are "binary",
    "text" (UTF-8), or "json": text that Arrow marks as JSON; or a deserializer of kwire.registry, whose schema's fields
    stand in their place, those of several schemas side by side. `progress` is called as records come: with how many
    offsets were read, and of how many; it may be slow, and an exception ends the read.

    `settings` are those of a Consumer. Raises UnknownTopicError, SerializationError for bytes that are no text,
    KafkaError where the log no longer reaches back to `start`, and KafkaTimeoutError when nothing comes for
    default_api_timeout_ms.
    """
    convert = _conversion(columns, {"key": key, "value": value})
    found: dict[TopicPartition, list[pa.RecordBatch]] = {}
    with _Reading(topic, bootstrap_servers, start, end, settings) as reading:
        for records in reading.polls(progress):
            for tp, some in records.by_partition().items():
                found.setdefault(tp, []).append(convert(ConsumerRecords(((tp, some),))))
    batches = [batch for tp in sorted(found) for batch in found[tp]] or [convert(ConsumerRecords())]
    return pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="permissive")


def read_batches(
    topic: str | Sequence[str],
    bootstrap_servers: Servers | None = None,
    *,
    start: Bound = "earliest",
    end: Bound = "latest",
    columns: Sequence[str] | None = None,
    key: Form = "binary",
    value: Form = "binary",
    progress: Progress | None = None,
    **settings: Unpack[ConsumerOptions],
) -> pa.RecordBatchReader:
    """The same as a pyarrow.RecordBatchReader, for what is larger than memory: batches as the brokers send them, with
    partitions mixed, each in the order of offsets. Its consumer is closed at the end, and with the reader."""
    schema = _schema(columns, key, value)
    reading = _Reading(topic, bootstrap_servers, start, end, settings)
    batches = _batches(reading, schema, progress)
    next(batches)  # into the block that closes the consumer: a reader may be closed before it is read
    return pa.RecordBatchReader.from_batches(schema, batches)


def _batches(reading: _Reading, schema: pa.Schema, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """An empty one at once, and those that come."""
    with reading:
        yield _batch(ConsumerRecords(), schema)
        for records in reading.polls(progress):
            yield _batch(records, schema)


class _Reading:
    """A consumer at the records of one read."""

    def __init__(
        self,
        topic: str | Sequence[str],
        bootstrap_servers: Servers | None,
        start: Bound,
        end: Bound,
        settings: ConsumerOptions,
    ) -> None:
        wanted: ConsumerOptions = {**_SETTINGS, **settings}
        self._consumer = Consumer(bootstrap_servers, **wanted)
        try:
            self._bounds = self._assign([topic] if isinstance(topic, str) else topic, start, end)
        except BaseException:
            self._consumer.close()
            raise

    def _assign(self, topics: Sequence[str], start: Bound, end: Bound) -> dict[TopicPartition, tuple[int, int]]:
        partitions = [tp for name in dict.fromkeys(topics) for tp in self._consumer.partitions_for(name)]
        bounds = resolve(self._consumer, partitions, start, end)
        at = {tp: first for tp, (first, _) in bounds.items()}
        self._consumer.assign(partitions, at=at, until={tp: last for tp, (_, last) in bounds.items()})
        return bounds

    def __enter__(self) -> _Reading:
        return self

    def __exit__(self, *error: object) -> None:
        self._consumer.close()

    def polls(self, progress: Progress | None) -> Iterator[ConsumerRecords]:
        """What comes, until all is there."""
        patience = self._consumer.settings.default_api_timeout_ms / 1000
        while not self._consumer.done():
            if records := self._consumer.poll(patience):
                yield records
            elif not self._consumer.done():
                raise KafkaTimeoutError(f"no record came within {patience:g} s; {self._behind()}")
            if progress is not None:
                progress(*self._progress())

    def _progress(self) -> tuple[int, int]:
        positions = {tp: self._consumer.position(tp) for tp in self._bounds}
        read = sum(min(positions[tp], last) - first for tp, (first, last) in self._bounds.items())
        return read, sum(last - first for first, last in self._bounds.values())

    def _behind(self) -> str:
        positions = {tp: self._consumer.position(tp) for tp in sorted(self._bounds)}
        behind = [
            f"{tp} is at {at} of {self._bounds[tp][1]}" for tp, at in positions.items() if at < self._bounds[tp][1]
        ]
        return ", ".join(behind)


def _conversion(
    columns: Sequence[str] | None, forms: Mapping[str, Form | ColumnDeserializer]
) -> Callable[[ConsumerRecords], pa.RecordBatch]:
    """What makes columns of records."""
    by_schema = {field: form for field, form in forms.items() if not isinstance(form, str)}
    named: dict[str, Any] = {field: form for field, form in forms.items() if field not in by_schema}
    if not by_schema:
        return partial(_batch, schema=_schema(columns, **named))
    return partial(_decoded, columns=columns, by_schema=by_schema, named=named)


def _decoded(
    records: ConsumerRecords,
    columns: Sequence[str] | None,
    by_schema: Mapping[str, ColumnDeserializer],
    named: Mapping[str, str],
) -> pa.RecordBatch:
    """The fields of the schemas in the place of what `by_schema` reads; the rest as `_batch` has it."""
    batch = records.to_arrow(columns, key=by_schema.get("key"), value=by_schema.get("value"))
    rest = _schema(list(_TYPES), **{**dict.fromkeys(("key", "value"), "binary"), **named})
    made: dict[str, pa.Array] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in rest.names and name not in by_schema:
            made[name] = _formed(column, rest.field(name), records)
        elif name != _INTERNAL:
            made[name] = column
    return pa.record_batch(made)


def _schema(columns: Sequence[str] | None, key: str, value: str) -> pa.Schema:
    wanted = list(_TYPES) if columns is None else list(columns)
    if foreign := [name for name in wanted if name not in _TYPES]:
        raise ConfigError(f"columns: {foreign[0]!r} is none of {', '.join(_TYPES)}")
    forms = {"key": key, "value": value}
    for name, form in forms.items():
        if form not in _FORMS:
            raise ConfigError(f"{name}={form!r}: one of {', '.join(map(repr, _FORMS))} is needed")
    return pa.schema([_field(name, forms.get(name, "binary")) for name in wanted])


def _field(name: str, form: str) -> pa.Field:
    if form == "binary":
        return pa.field(name, _TYPES[name])
    return pa.field(name, pa.string(), metadata=_JSON if form == "json" else None)


def _batch(records: ConsumerRecords, schema: pa.Schema) -> pa.RecordBatch:
    found = records.to_arrow(schema.names)
    columns = [_formed(found.column(number), field, records) for number, field in enumerate(schema)]
    return pa.record_batch(columns, schema=schema)


def _formed(column: pa.Array, field: pa.Field, records: ConsumerRecords) -> pa.Array:
    """The column in the type that the schema has it in."""
    if field.name == "timestamp":
        return pc.if_else(pc.less(column, 0), pa.scalar(None, pa.int64()), column).cast(field.type)
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise _not_text(records, field.name) from error


def _not_text(records: ConsumerRecords, field: str) -> SerializationError:
    """The error of the first record whose bytes are no text."""
    for record in records:
        raw: bytes = getattr(record, field) or b""
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            where = f"{record.topic}-{record.partition} offset {record.offset}: {field}"
            return SerializationError(
                f"{where} is not UTF-8 text: {error.reason} at byte {error.start}",
                topic=record.topic, partition=record.partition, offset=record.offset, field=field, raw=raw,
            )  # fmt: skip
    return SerializationError(f"{field} is not UTF-8 text", field=field)
