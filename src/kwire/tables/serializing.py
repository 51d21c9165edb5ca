"""Rows through serializers: a column, or several as one dict, become the value or the key of a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kwire.engine.producer.serialization import Serialization
from kwire.errors import KafkaError, SerializationError

if TYPE_CHECKING:
    from kwire.engine.settings.clients import ProducerSettings

Columns = str | Sequence[str]

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class Serialized(NamedTuple):
    """The columns of the rows up to the first that cannot be written, and why that cannot."""

    columns: pa.RecordBatch
    error: KafkaError | None


class RowSerialization:
    """Of one topic; `value` and `key` are those columns that go through the serializers of these settings."""

    def __init__(
        self, topic: str, settings: ProducerSettings, value: Columns | None, key: Columns | None, headers: str | None
    ) -> None:
        self._topic = topic
        self._fields = {"value": value, "key": key}
        self._headers = headers
        self._serialize = Serialization(
            None if key is None else settings.key_serializer, None if value is None else settings.value_serializer
        )

    def serialized(self, batch: pa.RecordBatch, columns: pa.RecordBatch) -> Serialized:
        """The record's `columns` with bytes of the batch's rows in the place of what has a serializer."""
        values, keys = (_objects(batch, self._fields[field]) for field in ("value", "key"))
        headers = _objects(batch, self._headers)
        made: list[tuple[bytes | None, bytes | None, list[Any]]] = []
        fault: KafkaError | None = None
        try:
            for value, key, given in zip(values, keys, headers, strict=True):
                pairs = [(each["key"], each["value"]) for each in given or ()]
                written, written_key, pairs = self._serialize(self._topic, value, key, pairs)
                made.append((_checked(written, "value"), _checked(written_key, "key"), pairs))
        except KafkaError as error:
            fault = error
        found = {name: columns.column(name).slice(0, len(made)) for name in columns.schema.names}
        for place, field in enumerate(("value", "key")):
            if self._fields[field] is not None:
                found[field] = pa.array([row[place] for row in made], pa.large_binary())
        if any(pairs for _, _, pairs in made):
            found["headers"] = pa.array([[dict(zip(("key", "value"), pair, strict=True)) for pair in pairs]
                                         for _, _, pairs in made], _HEADERS)  # fmt: skip
        return Serialized(pa.record_batch(found), fault)


def _objects(batch: pa.RecordBatch, columns: Columns | None) -> Sequence[Any]:
    """What a serializer is given of each row."""
    if columns is None:
        return [None] * batch.num_rows
    found = batch.column(columns) if isinstance(columns, str) else batch.select(list(columns))
    objects: list[Any] = found.to_pylist(maps_as_pydicts="strict")
    return objects


def _checked(written: Any, field: str) -> bytes | None:
    if written is None or isinstance(written, bytes):
        return written
    if isinstance(written, bytearray | memoryview):
        return bytes(written)
    raise SerializationError(f"the {field}'s serializer returned a {type(written).__name__}, not bytes", field=field)
