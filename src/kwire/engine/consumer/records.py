"""The records that one poll returns, of several partitions: as objects or as columns.

Layer 3, no I/O. The bytes are shared with what was received; nothing is decoded before it is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kwire._codec import ConsumedIterator, ConsumerRecord, RecordColumns, Records, keep_arenas, record_plan
from kwire._typing import TYPE_CHECKING, overload
from kwire.engine.common import absent
from kwire.engine.common.absent import without
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import ConfigError

if TYPE_CHECKING:
    from typing import Literal, Protocol

    import pandas
    import pyarrow
else:
    Protocol = object


COLUMNS = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers")
_PLACE = ("topic", "partition", "offset", "headers")
"""What says where a record is, and which schema it names."""


class ColumnDeserializer(Protocol):
    """What makes columns of keys or values: a deserializer of `kwire.registry`."""

    def to_columns(
        self,
        batch: pyarrow.RecordBatch,
        field: str = "value",
        *,
        wanted: Collection[str] | None = None,
        errors: Literal["raise", "null"] = "raise",
    ) -> pyarrow.RecordBatch:
        """The batch with columns in the place of that field; those of these names, None for all."""


@without(absent.RECORDS)
class ConsumerRecords:
    """The records of one poll, partition by partition, in offset order within each. Immutable; share it freely."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[tuple[TopicPartition, Records]] = ()) -> None:
        self._parts = tuple(parts)

    def __len__(self) -> int:
        return sum(len(records) for _, records in self._parts)

    def __bool__(self) -> bool:
        return any(len(records) for _, records in self._parts)

    def __iter__(self) -> ConsumedIterator:
        return ConsumedIterator(self._parts)

    @overload
    def __getitem__(self, index: int) -> ConsumerRecord: ...
    @overload
    def __getitem__(self, index: slice) -> ConsumerRecords: ...
    def __getitem__(self, index: int | slice) -> ConsumerRecord | ConsumerRecords:
        if isinstance(index, slice):
            return self._slice(*index.indices(len(self)))
        if index < 0:
            index += len(self)
        for tp, records in self._parts:
            if 0 <= index < len(records):
                return ConsumerRecord(records[index], tp.topic, tp.partition)
            index -= len(records)
        raise IndexError("record index out of range")

    def _slice(self, start: int, stop: int, step: int) -> ConsumerRecords:
        if step != 1:
            raise ValueError("slices of records must have step 1")
        parts = []
        for tp, records in self._parts:
            part = records[max(start, 0) : max(stop, 0)]
            if len(part):
                parts.append((tp, part))
            start, stop = start - len(records), stop - len(records)
        return ConsumerRecords(parts)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if hasattr(self, name)]

    def __repr__(self) -> str:
        places = ", ".join(f"{tp.topic}-{tp.partition}: {len(records)}" for tp, records in self._parts)
        return f"<{len(self)} ConsumerRecords{': ' if places else ''}{places}>"

    def _repr_html_(self) -> str:
        from kwire._html import of_records

        return of_records("records", self._parts, self.__getitem__)

    def values(self) -> list[bytes | None]:
        """The values of all records."""
        made: list[bytes | None] = []
        for _, records in self._parts:
            made += records.values()
        keep_arenas(made)
        return made

    def keys(self) -> list[bytes | None]:
        """The keys of all records."""
        made: list[bytes | None] = []
        for _, records in self._parts:
            made += records.keys()
        return made

    def by_partition(self) -> dict[TopicPartition, Records]:
        """The records of each partition."""
        return dict(self._parts)

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        binary_view: bool = False,
        timestamp_unit: Literal["ms", "us", "ns"] = "ms",
        key: ColumnDeserializer | None = None,
        value: ColumnDeserializer | None = None,
        errors: Literal["raise", "null"] = "raise",
    ) -> pyarrow.RecordBatch:
        """A pyarrow.RecordBatch of all records: topic and partition, then the columns of `Records.to_arrow`.

        `columns` names those wanted, in that order. LimitError when a column is larger than 2 GiB.

        `value` and `key` are deserializers of `kwire.registry`: in the place of the value, or the key, stand the fields
        of its schema, without an object for each record. What cannot be read raises SerializationError, or is null in
        all of them with errors="null". A field whose name another column has is called value_<name>, or key_<name>.
        """
        if key is None and value is None:
            return self._columns(columns, binary_view, timestamp_unit).to_arrow()
        return self._deserialized(columns, timestamp_unit, {"key": key, "value": value}, errors)

    def _deserialized(
        self,
        columns: Sequence[str] | None,
        timestamp_unit: str,
        deserializers: Mapping[str, ColumnDeserializer | None],
        errors: Literal["raise", "null"],
    ) -> pyarrow.RecordBatch:
        given = {field: each for field, each in deserializers.items() if each is not None}
        for field, deserializer in given.items():
            if not hasattr(deserializer, "to_columns"):
                raise ConfigError(f"{field}={deserializer!r}: expected a deserializer of kwire.registry")
        raw = None if columns is None else [each for each in COLUMNS if each in {*_PLACE, *given, *columns}]
        batch = self._columns(raw, binary_view=False, timestamp_unit=timestamp_unit).to_arrow()
        for field, deserializer in given.items():
            wanted = None
            if columns is not None and len(given) == 1:  # else the names of one depend on those of the other
                wanted = {*columns, *(each.removeprefix(f"{field}_") for each in columns)}
            batch = deserializer.to_columns(batch, field, wanted=wanted, errors=errors)
        return batch if columns is None else _select(batch, columns)

    def to_pandas(self, columns: Sequence[str] | None = None) -> pandas.DataFrame:
        """A pandas.DataFrame with the columns of `to_arrow`."""
        return self.to_arrow(columns).to_pandas()

    def __arrow_c_schema__(self) -> object:
        return self._columns(None, False, "ms").__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._columns(None, False, "ms").__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._columns(None, False, "ms").__arrow_c_stream__(requested_schema)

    def _columns(self, columns: Sequence[str] | None, binary_view: bool, timestamp_unit: str) -> RecordColumns:
        plan = record_plan(columns, binary_view=binary_view, timestamp_unit=timestamp_unit, with_place=True)
        return RecordColumns(plan, [(records, tp.topic, tp.partition) for tp, records in self._parts])


def _select(batch: pyarrow.RecordBatch, columns: Sequence[str]) -> pyarrow.RecordBatch:
    names = batch.schema.names
    for each in columns:
        if each not in names:
            raise ConfigError(f"columns: there is no {each!r}; there are {', '.join(names)}")
    return batch.select(list(columns))
