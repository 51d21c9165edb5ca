"""`kwire.write`: the rows of a table as records, without a Python object for each row."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Never, Self, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from kwire._codec import SentRows
from kwire.columns.sent_rows import first_failure, int32s
from kwire.errors import ConfigError, DeliveryError, KafkaError
from kwire.errors.listing import counted
from kwire.producer import Producer
from kwire.tables.serializing import Columns, RowSerialization, Serialized

if TYPE_CHECKING:
    from kwire.engine.settings.clients import ProducerSettings
    from kwire.engine.settings.options import ProducerOptions, Servers

_ROWS = 65_536
MAX_SHOWN = 20
"""Partitions in the table of a write."""
_BATCH_SIZE = 131_072


def write(
    frame: Any,
    topic: str,
    bootstrap_servers: Servers | None = None,
    *,
    key: str | Sequence[str] | None = None,
    value: str | Sequence[str] | None = None,
    headers: str | None = None,
    timestamp: str | None = None,
    partition: str | int | None = None,
    progress: Callable[[int], object] | None = None,
    **settings: Unpack[ProducerOptions],
) -> int:
    """Writes each row as one record, and returns how many were acknowledged: all.

    `frame`: a table of pyarrow, pandas, Polars or DuckDB, a RecordBatchReader, or whatever else has the Arrow PyCapsule
    interface. The others name its columns: `value` and `key` of binary or text, null for a null; `headers` a list of
    structs of key and value; `timestamp` a timestamp or int64 ms; `partition` an integer, or a number for all rows.
    Where one is not given, a column of that name is taken, if there is one; what is not used gets no record.
    With a `value_serializer` (or `key_serializer`: a name, a callable, one of kwire.registry) the column may be of any
    type, and several columns make one value, which the serializer is given as a dict.
    `progress` is called with how many rows were handed over.

    `settings` are those of a Producer, but that batch_size is 131072 unless it is given; with a transactional_id all
    rows are one transaction. Raises ConfigError for a column that is not there or of another type, and DeliveryError,
    with the number of the first row that was not written, once no row is on its way any more.
    """
    given = {"key": key, "value": value, "headers": headers, "timestamp": timestamp}
    reader = _reader(frame)
    where = partition if isinstance(partition, int) else _column(reader.schema, "partition", partition)
    settings.setdefault("batch_size", _BATCH_SIZE)
    with Producer(bootstrap_servers, **settings) as producer:
        through = _through_serializers(reader.schema, given, producer.settings)
        found = _columns(reader.schema, given, through)
        serialization = _serialization(topic, producer.settings, through, found.get("headers"))
        writing = _Writing(producer, topic)
        with nullcontext() if producer.settings.transactional_id is None else producer.transaction():
            for batch in _parts(reader):
                columns = pa.record_batch({name: batch.column(column) for name, column in found.items()})
                partitions = _partitions(batch, where)
                if serialization is None:
                    writing.send(columns, partitions)
                else:
                    writing.send_serialized(serialization.serialized(batch, columns), partitions)
                if progress is not None:
                    progress(writing.rows)
            writing.finish()
    return Acknowledged(writing.rows, topic, writing.next_offsets)


class Acknowledged(int):
    """How many rows were acknowledged; with their topic, and the offset after the last of them in each partition."""

    topic: str
    next_offsets: dict[int, int]

    def __new__(cls, rows: int, topic: str, next_offsets: dict[int, int]) -> Self:
        made = super().__new__(cls, rows)
        made.topic = topic
        made.next_offsets = next_offsets
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Acknowledged, (int(self), self.topic, self.next_offsets)

    def _repr_html_(self) -> str:
        from kwire._html import table

        heading = f"{counted(self, 'row', spec=',')} acknowledged by {self.topic}"
        offsets = sorted(self.next_offsets.items())
        return table(heading, ("partition", "next offset"), len(offsets), offsets.__getitem__, MAX_SHOWN)


def _reader(frame: Any) -> pa.RecordBatchReader:
    if isinstance(frame, pa.RecordBatchReader):
        return frame
    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        return pa.RecordBatchReader.from_batches(frame.schema, pa.table(frame).to_batches())
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(frame)
    if hasattr(frame, "__arrow_c_array__"):
        return _reader(pa.record_batch(frame))
    raise ConfigError(
        f"{type(frame).__name__} is no table: give one of pyarrow, pandas, Polars or DuckDB, or anything with "
        "__arrow_c_stream__"
    )


def _through_serializers(
    schema: pa.Schema, given: Mapping[str, Columns | None], settings: ProducerSettings
) -> dict[str, Columns]:
    """The columns that go through serializers. ConfigError for several without one."""
    found: dict[str, Columns] = {}
    for name, serializer in (("key", settings.key_serializer), ("value", settings.value_serializer)):
        wanted = given[name]
        if wanted is not None and not isinstance(wanted, str):
            if serializer is None or not wanted:
                raise ConfigError(
                    f"{name}={wanted!r}: one column, or several with a {name}_serializer that makes bytes of them"
                )
            found[name] = [each for each in wanted if _column(schema, name, each)]
        elif serializer is not None and (column := _column(schema, name, wanted)) is not None:
            found[name] = column
    return found


def _serialization(
    topic: str, settings: ProducerSettings, through: Mapping[str, Columns], headers: str | None
) -> RowSerialization | None:
    if not through:
        return None
    return RowSerialization(topic, settings, through.get("value"), through.get("key"), headers)


def _columns(schema: pa.Schema, given: Mapping[str, Columns | None], through: Collection[str]) -> dict[str, str]:
    """The columns of the table that records are made of, but for those that go through serializers. ConfigError where
    one that is named is not there."""
    plain = {name: each for name, each in given.items() if name not in through}
    named = {name: _column(schema, name, column) for name, column in plain.items()}
    found = {name: column for name, column in named.items() if column is not None}
    if "value" not in found and "value" not in through:
        raise ConfigError(f"value: the table has no column of that name, but {', '.join(schema.names)}: name the one")
    for name in ("key", "value"):
        if name in found and not _is_bytes(schema.field(found[name]).type):
            kind = schema.field(found[name]).type
            raise ConfigError(f"{name}: column {found[name]!r} is {kind}; cast it to text or binary")
    return found


def _column(schema: pa.Schema, name: str, column: Columns | None) -> str | None:
    if column is None:
        return name if name in schema.names else None
    if not isinstance(column, str) or column not in schema.names:
        raise ConfigError(f"{name}: the table has no column {column!r}, but {', '.join(schema.names)}")
    return column


def _is_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_bytes(kind.value_type)
    return any(
        each(kind)
        for each in (
            pa.types.is_binary, pa.types.is_string, pa.types.is_large_binary, pa.types.is_large_string,
            pa.types.is_binary_view, pa.types.is_string_view, pa.types.is_fixed_size_binary, pa.types.is_null,
        )
    )  # fmt: skip


def _parts(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The rows in batches that are not so large that the first waits for the last."""
    for batch in reader:
        for start in range(0, batch.num_rows, _ROWS):
            yield batch.slice(start, _ROWS)


def _partitions(batch: pa.RecordBatch, where: int | str | None) -> pa.Int32Array | None:
    """The partition of each row, -1 where the producer is to choose; None where it always is."""
    if where is None:
        return None
    if isinstance(where, int):
        return pa.repeat(pa.scalar(where, pa.int32()), batch.num_rows)
    try:
        numbers = batch.column(where).cast(pa.int32())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ConfigError(f"partition: column {where!r} has no partitions: {error}") from error
    if (least := pc.min(numbers).as_py()) is not None and least < 0:
        raise ConfigError(f"partition: column {where!r} has {least}; partitions count from 0, null leaves the choice")
    return pc.fill_null(numbers, -1)


class _Writing:
    """Rows on their way. `_sent` holds the batches with rows that are not acknowledged yet, in order."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer = producer
        self._topic = topic
        self._sent: deque[tuple[int, SentRows]] = deque()
        self.rows = 0
        """How many were handed over."""
        self.next_offsets: dict[int, int] = {}
        """After the last acknowledged row, by partition."""

    def send(self, columns: pa.RecordBatch, partitions: pa.Int32Array | None) -> None:
        """Hands the rows over. Raises DeliveryError for one that cannot be written, and for those before it that were
        not."""
        rows = SentRows(self._producer._accumulator)
        self._sent.append((self.rows, rows))
        try:
            rows.send([self._topic], columns, None, None if partitions is None else int32s(partitions))
        except KafkaError as error:
            self._refuse(self.rows + len(rows), error)
        self.rows += columns.num_rows
        self._settle()

    def send_serialized(self, serialized: Serialized, partitions: pa.Int32Array | None) -> None:
        """The same for rows that went through serializers."""
        columns, error = serialized
        self.send(columns, None if partitions is None else partitions.slice(0, columns.num_rows))
        if error is not None:
            self._refuse(self.rows, error)

    def finish(self) -> None:
        """Waits until every row is acknowledged."""
        try:
            self._producer.flush()
        except DeliveryError as error:
            self._raise_failed(error)
            raise
        self._settle()

    def _refuse(self, row: int, error: KafkaError) -> Never:
        raise DeliveryError(f"row {row} cannot be written to {self._topic}: {error}", [error]) from error

    def _settle(self) -> None:
        """Lets go of the batches whose rows are all acknowledged."""
        while self._sent and self._sent[0][1].all_complete:
            if self._sent[0][1].failed()[0]:
                self._raise_failed(None)
            for (_, partition), offset in self._sent.popleft()[1].next_offsets().items():
                self.next_offsets[partition] = max(offset, self.next_offsets.get(partition, 0))

    def _raise_failed(self, cause: DeliveryError | None) -> None:
        """Raises DeliveryError for the first row that is known to have failed, with the number of all such rows."""
        if (failure := first_failure(self._sent)) is not None:
            row, topic, partition, reason, count = failure
            place = f"{topic}-{partition}" if partition >= 0 else topic
            others = f" (the first of {count:,} that failed)" if count > 1 else ""
            raise DeliveryError(f"row {row} was not written to {place}{others}: {reason}", [reason]) from cause
