"""The records that one poll returns, of several partitions: as objects or as columns.

Layer 3, no I/O. The bytes are shared with what was received; nothing is decoded before it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire._codec import ConsumedIterator, ConsumerRecord, RecordColumns, Records, keep_arenas, record_plan
from kwire._typing import TYPE_CHECKING, overload
from kwire.engine.common import absent
from kwire.engine.common.absent import without
from kwire.engine.common.addresses import TopicPartition

if TYPE_CHECKING:
    from typing import Literal

    import pandas
    import pyarrow


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
    ) -> pyarrow.RecordBatch:
        """A pyarrow.RecordBatch of all records: topic and partition, then the columns of `Records.to_arrow`.

        `columns` names those wanted, in that order. LimitError when a column is larger than 2 GiB.
        """
        return self._columns(columns, binary_view, timestamp_unit).to_arrow()

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
