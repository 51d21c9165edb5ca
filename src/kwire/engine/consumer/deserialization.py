"""What a consumer does with the bytes of keys and values before a poll returns, where it has deserializers.

Layer 3, no I/O. A poll returns the records before one that cannot be read. The next poll raises its SerializationError,
and so does each one after it, until the program seeks past the record (`error.seek_to`): none is lost, none is read
twice. With errors="keep" the error is the record's key or value; a callable returns what is, or raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

from kwire._codec import ConsumerRecord, Records
from kwire._typing import Any, override
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.common.serialization import SerializationContext, Serializer
from kwire.engine.common.waits import Tell
from kwire.engine.consumer.records import ConsumerRecords
from kwire.errors import SerializationError

OnError = str | Callable[[SerializationError, ConsumerRecord], Any]


class DeserializedRecord:
    """One consumed record with its key and value as the deserializers have made them; `received` has the bytes."""

    __slots__ = ("key", "received", "value")

    def __init__(self, received: ConsumerRecord, key: Any, value: Any) -> None:
        self.received = received
        self.key = key
        self.value = value

    @property
    def topic(self) -> str:
        return self.received.topic

    @property
    def partition(self) -> int:
        return self.received.partition

    @property
    def offset(self) -> int:
        return self.received.offset

    @property
    def timestamp(self) -> int:
        return self.received.timestamp

    @property
    def timestamp_type(self) -> int:
        return self.received.timestamp_type

    @property
    def headers(self) -> Any:
        return self.received.headers

    @property
    def raw_headers(self) -> Any:
        return self.received.raw_headers

    @override
    def __repr__(self) -> str:
        return (
            f"DeserializedRecord({self.topic}-{self.partition}, offset={self.offset}, timestamp={self.timestamp}, "
            f"key={self.key!r}, value={self.value!r}, headers={self.headers!r})"
        )

    def _repr_html_(self) -> str:
        from kwire._html import of_record

        return of_record(self)


class DeserializedRecords(ConsumerRecords):
    """The records of one poll, with keys and values as the deserializers have made them. Columns (`to_arrow`) and
    `by_partition` have the bytes."""

    __slots__ = ("_keys", "_values")

    def __init__(
        self, parts: Sequence[tuple[TopicPartition, Records]], keys: list[Any] | None, values: list[Any] | None
    ) -> None:
        super().__init__(parts)
        self._keys = keys
        self._values = values

    @override
    def __iter__(self) -> DeserializedIterator:  # type: ignore[override]
        return DeserializedIterator(self)

    @override
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            part = self._slice(start, stop, step)
            return DeserializedRecords(
                part._parts,
                None if self._keys is None else self._keys[index],
                None if self._values is None else self._values[index],
            )
        received = super().__getitem__(index)
        return DeserializedRecord(
            received,
            received.key if self._keys is None else self._keys[index],
            received.value if self._values is None else self._values[index],
        )

    @override
    def values(self) -> list[Any]:
        return super().values() if self._values is None else list(self._values)

    @override
    def keys(self) -> list[Any]:
        return super().keys() if self._keys is None else list(self._keys)


class DeserializedIterator:
    """Iterates over DeserializedRecords; `end` tells how far it came, as that of a ConsumedIterator."""

    __slots__ = ("_given", "_keys", "_received", "_values")

    def __init__(self, records: DeserializedRecords) -> None:
        self._received = ConsumerRecords.__iter__(records)
        self._keys = records._keys
        self._values = records._values
        self._given = 0

    def __iter__(self) -> DeserializedIterator:
        return self

    def __next__(self) -> DeserializedRecord:
        received, at = next(self._received), self._given
        self._given += 1
        return DeserializedRecord(
            received,
            received.key if self._keys is None else self._keys[at],
            received.value if self._values is None else self._values[at],
        )

    def end(self) -> int:
        """Ends the iteration; returns how many records it returned."""
        return self._received.end()


class Deserialization:
    """The deserializers of one consumer, and what becomes of records that they cannot read."""

    def __init__(self, key: Serializer | None, value: Serializer | None, on_error: OnError) -> None:
        self.key = key
        self.value = value
        self._on_error = on_error

    def preparations(self, records: ConsumerRecords) -> list[Tell]:
        """What has to be awaited before these records can be read."""
        deserializers: tuple[tuple[str, Any], ...] = (("key", self.key), ("value", self.value))
        return [
            Tell(partial(_prepare, deserializer, field), records)
            for field, deserializer in deserializers
            if records and getattr(deserializer, "needs_await", False)
        ]

    def reading(self, records: ConsumerRecords) -> Reading:
        """Reads these, some at a time."""
        return Reading(self, records)

    def read(self, record: ConsumerRecord) -> tuple[Any, Any]:
        """The key and the value of one record; None for one that stays bytes."""
        key = None if self.key is None else self._read(self.key, record, "key", record.key)
        return key, None if self.value is None else self._read(self.value, record, "value", record.value)

    def _read(self, deserializer: Serializer, record: ConsumerRecord, field: str, raw: bytes | None) -> Any:
        try:
            return deserializer(raw, _RecordContext(record, field))
        except Exception as error:
            made = _placed(error, record, field, raw)
        if self._on_error == "keep":
            return made
        if callable(self._on_error):
            return self._on_error(made, record)
        raise made


class Reading:
    """The records of one poll while they are read: up to the first that cannot be."""

    def __init__(self, deserialization: Deserialization, records: ConsumerRecords) -> None:
        self._deserialization = deserialization
        self._records = records
        self._left = iter(records)
        self._pairs: list[tuple[Any, Any]] = []

    def go_on(self, count: int) -> bool:
        """Reads so many more; whether there may be others. Raises the error of the first record of all."""
        for record in islice(self._left, count):
            try:
                self._pairs.append(self._deserialization.read(record))
            except SerializationError:
                if not self._pairs:
                    raise
                return False
        return len(self._pairs) < len(self._records)

    def result(self) -> DeserializedRecords:
        """The records that were read."""
        parts = self._records[: len(self._pairs)]._parts
        keys = None if self._deserialization.key is None else [key for key, _ in self._pairs]
        values = None if self._deserialization.value is None else [value for _, value in self._pairs]
        return DeserializedRecords(parts, keys, values)


def as_received(what: object) -> object:
    """The record with its bytes, of one that was deserialized; anything else as it is."""
    return what.received if isinstance(what, DeserializedRecord) else what


def _prepare(deserializer: Any, field: str, records: ConsumerRecords) -> Any:
    return deserializer.prepare(records, field)


class _RecordContext(SerializationContext):
    """That of a record which was read; its headers are made when they are asked for."""

    __slots__ = ("_record",)

    def __init__(self, record: ConsumerRecord, field: str) -> None:
        self.topic = record.topic
        self.field = field
        self._record = record

    @property
    def headers(self) -> Any:
        return list(self._record.headers)


def _placed(error: Exception, record: ConsumerRecord, field: str, raw: bytes | None) -> SerializationError:
    said = str(error) if isinstance(error, SerializationError) else f"{type(error).__name__}: {error}"
    made = SerializationError(
        f"the {field} of {record.topic}-{record.partition} at offset {record.offset} cannot be deserialized: {said}",
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        field=field,
        raw=raw,
    )
    made.__cause__ = error
    return made
