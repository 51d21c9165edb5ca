"""Types of the compiled part of kwire. One section per file of `_pxi/`, in the order of `_codec.pyx`."""

import ssl
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, final, overload
from uuid import UUID

import pyarrow
from typing_extensions import Buffer as _BytesLike

from kwire.compression import Compression as _Compression
from kwire.engine.connections.connection import Connection
from kwire.engine.connections.link import Link
from kwire.engine.connections.node import Node
from kwire.engine.connections.versions import Versions
from kwire.engine.core import Core
from kwire.engine.metadata.cluster import Cluster
from kwire.engine.producer.flushing import Closing
from kwire.engine.producer.idempotence import Idempotence
from kwire.engine.producer.unknown_topics import UnknownTopics
from kwire.engine.settings.clients import ProducerSettings
from kwire.engine.settings.options import Partitioner
from kwire.engine.transactions.identity import TransactionalIdentity
from kwire.errors import CodecError, ConnectError, CorruptError, FrameError, KafkaError, KafkaTimeoutError, LimitError
from kwire.protocol import ProduceRequest, ProduceResponse

_T = TypeVar("_T")
_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])
_ProduceRow: TypeAlias = ProduceResponse.TopicProduceResponse.PartitionProduceResponse
_Header: TypeAlias = tuple[str | bytes, _BytesLike | None]

class _RecordLike(Protocol):
    @property
    def value(self) -> bytes | None: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def timestamp(self) -> int | None: ...
    @property
    def headers(self) -> Any: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

_Item: TypeAlias = _BytesLike | tuple[Any, ...] | _RecordLike | None

# leaves.pxi
def untracked(made: _Tuple) -> _Tuple: ...

# uuids.pxi
def no_uuid() -> UUID: ...

# tricks.pxi
PLAIN_MEMORY: bool

def keep_arenas(values: list[bytes | None]) -> None: ...

# blocks.pxi
def pool_statistics() -> dict[str, int]: ...
def let_pool_age() -> None: ...

@final
class Buffer:
    """Bytes that stay valid as long as this object lives: a span of a block, or of a foreign buffer that is pinned.

    Supports the buffer protocol (read-only), `len()`, `bytes()` and slicing (a Buffer of the same bytes, no copy).
    """
    def __len__(self) -> int: ...
    def __bytes__(self) -> bytes: ...
    def __getitem__(self, item: slice, /) -> Buffer: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    __hash__: None  # type: ignore[assignment]

# framing.pxi
@final
class FrameReceiver:
    """Cuts a byte stream into frames.

    `max_frame` is the greatest frame size in bytes that is believed; a larger or negative one raises FrameError before
    anything is allocated for it, and the stream is of no use any more.
    """

    max_frame: int
    fault: FrameError | None
    def __new__(cls, max_frame: int = ...) -> Self: ...
    @property
    def pending(self) -> int:
        """How many received bytes wait for the rest of their frame."""
    @property
    def looks_like_tls(self) -> bool:
        """Whether the bytes that wait begin as TLS does: the record of an alert or of a handshake message."""
    def buffer(self, hint: int = -1) -> memoryview:
        """A writable memoryview to receive into, of at least min(hint, what the current frame still needs) bytes."""
    def received(self, count: int) -> list[Buffer]:
        """`count` bytes came in: returns the list of frames (Buffers, without their size field) that are now whole.

        Frames that precede a size that cannot be are given; then `fault` is set, and the next call raises it.
        """
    def feed(self, data: _BytesLike) -> list[Buffer]:
        """Copies `data` in and returns the frames that are now whole: for transports that own their buffers."""

# checksums.pxi
def crc32c(data: _BytesLike, value: int = 0) -> int:
    """CRC-32C of `data` (any bytes-like object) as an int below 2**32, going on from `value`, as zlib.crc32 does."""

def crc32(data: _BytesLike, value: int = 0) -> int:
    """CRC-32 (zlib's) of `data` (any bytes-like object) as an int below 2**32, going on from `value`."""

def xxh32(data: _BytesLike) -> int: ...
def use_hardware_crc(wanted: bool, wide: bool = True) -> bool: ...

# output.pxi
@final
class OutputBlock:
    size: int
    def __new__(cls, capacity: int) -> Self: ...
    def room(self, size: int) -> memoryview: ...
    def advance(self, count: int) -> None: ...
    def write(self, data: _BytesLike) -> None: ...
    def finish(self) -> Buffer: ...

# containers.pxi
def corrupt_stream(codec: str, what: object) -> CorruptError: ...
def within_budget(claimed: int, budget: int, codec: str) -> int: ...
def over_budget(codec: str, budget: int) -> LimitError: ...
def snappy_size(data: _BytesLike) -> int: ...
def next_snappy_block(data: _BytesLike, at: int, output: OutputBlock) -> tuple[int, int, int] | None: ...
def lz4_content(
    data: _BytesLike,
    budget: int,
    magic: int,
    decompress_into: Callable[[Buffer, memoryview], int],
    refusal: type[Exception],
) -> Buffer: ...
def zstd_ceiling(data: _BytesLike, budget: int) -> int: ...

# attributes.pxi
CODEC_NAMES: tuple[str, ...]

# encode.pxi
@final
class BatchBuilder:
    """Builds one record batch (magic 2) or message set (magic 0, 1), record by record.

    `compression` is "none", "gzip", "snappy", "lz4" or "zstd" (magic 2 only), `level` the codec's own level or None.
    `max_bytes` bounds the bytes before compression, header included; None leaves only the wire's own 2 GiB. The first
    record is always taken, so a single record may exceed it. Records get consecutive offsets from `base_offset`.
    Raises UnknownVersionError (magic), UnknownCodecError (compression), CodecError (a value this magic cannot carry).
    """
    def __new__(
        cls,
        *,
        magic: int = 2,
        compression: _Compression | None = "none",
        level: int | None = None,
        max_bytes: int | None = None,
        base_offset: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        is_transactional: bool = False,
        is_control: bool = False,
        partition_leader_epoch: int = -1,
    ) -> Self: ...
    def __len__(self) -> int: ...
    @property
    def size(self) -> int:
        """Bytes of the batch so far, before compression; 0 while it is empty."""
    def append(
        self,
        value: _BytesLike | None,
        key: _BytesLike | None = None,
        timestamp: int | datetime | None = None,
        headers: Iterable[_Header] | None = (),
    ) -> bool:
        """Adds a record; returns False, and adds nothing, when it would not fit into `max_bytes`.

        value and key are bytes-like or None, timestamp int milliseconds, a datetime or None (-1, none, is written),
        headers a sequence of (str, bytes or None), magic 2 only.
        """
    def extend(self, items: Iterable[_Item]) -> int:
        """Adds records (bytes, (value, key), (value, key, timestamp, headers) or Record) until one does not fit.

        Returns how many were added; one that did not fit has been taken from an iterator, so give it a sequence where
        `max_bytes` is set.
        """
    def build(self) -> bytes:
        """Returns the finished bytes, b"" when nothing was added. More may be appended, and built again."""

def encode(
    items: Iterable[_Item],
    *,
    magic: int | None = None,
    compression: _Compression | None = "none",
    level: int | None = None,
    base_offset: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
    partition_leader_epoch: int = -1,
    keep_offsets: bool = False,
    generation: str | None = None,
) -> bytes:
    """One record batch (magic 2) or message set (magic 0, 1) of all items, as bytes; b"" for no items.

    With `generation="0.7"` a message set of Kafka 0.7 (its magic 0 or 1, none, gzip or snappy), of which items can have
    a value only. `magic` None: 2, or in Kafka 0.7 its 1.

    An item is bytes (a value), (value, key), (value, key, timestamp, headers) or a Record. A timestamp of None is
    written as -1: the codec reads no clock. Offsets count from `base_offset`; with `keep_offsets` every item is a
    Record whose own `.offset` is kept, gaps included, and `base_offset` defaults to that of the first.
    Raises UnknownVersionError (magic, generation), UnknownCodecError (compression), CodecError (headers and magic 0 or
    1, keys and Kafka 0.7, a timestamp below -1, offsets going back), LimitError (more than 2 GiB).
    """

# encode_arrow.pxi
def encode_arrow(
    batch: _ArrowArray,
    *,
    magic: int = 2,
    compression: _Compression | None = "none",
    level: int | None = None,
    base_offset: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
    partition_leader_epoch: int = -1,
) -> bytes:
    """`encode` for columns: anything with `__arrow_c_array__`, such as a pyarrow.RecordBatch, as one batch of bytes.

    Columns `value` (required), `key`, `timestamp` and `headers` as in `Records.to_arrow()`, other columns are ignored;
    or one binary or string array, the values. `options` are those of BatchBuilder but max_bytes. The rows are read
    without the GIL. Raises CodecError for a column type that cannot be a record's and for an array that contradicts its
    schema, and whatever `encode` raises.
    """

class ArrowValues:
    def __new__(cls, *_: object) -> Self: ...

@final
class ArrowRecords(ArrowValues):
    def __new__(cls, source: _ArrowArray | None, when_null: int = -1) -> Self: ...

# arrow_streams.pxi
@final
class ArrowBatches:
    def __new__(cls, source: _ArrowArray | _ArrowStream) -> Self: ...

# record_index.pxi
@final
class RecordIndex:
    def __init__(self, *args: object, **kwargs: object) -> None: ...

# record_scan.pxi
@final
class RecordFault:
    def __init__(self, *args: object, **kwargs: object) -> None: ...
    error: CodecError
    position: int
    size: int
    base_offset: int
    next_offset: int

def scan_records(
    data: _BytesLike,
    *,
    check_crc: bool = True,
    max_decompressed_bytes: int = ...,
    max_total_bytes: int | None = None,
    min_offset: int = ...,
    end_offset: int | None = None,
    skip_control: bool = False,
    ascending: bool = False,
    aborted: Iterable[tuple[int, int]] = (),
    ranges: Iterable[tuple[int, int]] | None = None,
) -> tuple[Records, RecordFault | None]: ...
def scan_generation(
    generation: str,
    data: _BytesLike,
    check_crc: bool,
    max_decompressed_bytes: int,
    base_offset: int,
    max_total_bytes: int | None = None,
) -> tuple[Records, CodecError | None]: ...
def decode_records(data: _BytesLike, check_crc: bool, max_decompressed_bytes: int) -> Records: ...
def record_paths(data: bytes) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]: ...

# records.pxi
class Record:
    """One record: `Record(value, key=None, timestamp=None, headers=())`, or one of `Records`.

    value, key: bytes-like or None. timestamp: milliseconds since 1970 as an int, a datetime, or None for none (-1).
    headers: a sequence of (str, bytes-like or None). Immutable.

    A decoded record shares the memory of its whole batch and keeps it alive; its `copy()` does not.
    """
    def __init__(
        self,
        value: _BytesLike | None,
        key: _BytesLike | None = None,
        timestamp: int | datetime | None = None,
        headers: Iterable[_Header] | None = (),
    ) -> None: ...
    @property
    def offset(self) -> int:
        """The offset in its partition; -1 for a record that was not decoded."""
    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970-01-01 UTC, or -1."""
    @property
    def timestamp_type(self) -> int:
        """-1 none (message format 0), 0 create time, 1 log append time."""
    @property
    def key(self) -> bytes | None:
        """bytes or None."""
    @property
    def value(self) -> bytes | None:
        """bytes or None."""
    @property
    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        """A tuple of (str, bytes or None); U+FFFD stands for invalid UTF-8 in a key."""
    @property
    def raw_headers(self) -> tuple[tuple[bytes, bytes | None], ...]:
        """A tuple of (bytes, bytes or None)."""
    def _repr_html_(self) -> str: ...
    def copy(self) -> Record:
        """An equal record with memory of its own."""

def rebuild_record(
    offset: int,
    timestamp: int,
    timestamp_type: int,
    value: _BytesLike | None,
    key: _BytesLike | None,
    headers: Iterable[_Header] | None,
) -> Record: ...

@final
class BatchHeader:
    """The header of one wire batch or of one message set.

    A message set is one compressed message with the messages in it, or a run of plain messages of one kind. Fields that
    its format does not have are -1 (False for the flags). `position` and `size` are its place in the decoded bytes;
    `count` is the number of records on the wire, which may be 0 after compaction; `delete_horizon` is in ms or None
    (KIP-534).
    """
    def __init__(self, *args: object, **kwargs: object) -> None: ...
    position: int
    size: int
    base_offset: int
    last_offset: int
    magic: int
    compression: _Compression
    timestamp_type: int
    max_timestamp: int
    is_transactional: bool
    is_control: bool
    producer_id: int
    producer_epoch: int
    base_sequence: int
    partition_leader_epoch: int
    count: int
    delete_horizon: int | None

@final
class Records:
    """The decoded records: a sequence of Record that makes an object per record only when one is asked for.

    `len()`, indexing, slices (Records of the same memory), iteration, `values()`, `keys()`, and columns through
    `to_arrow()` or the Arrow PyCapsule interface. Immutable; may be shared between threads.
    """
    def __init__(self, *args: object, **kwargs: object) -> None: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, item: int, /) -> Record: ...
    @overload
    def __getitem__(self, item: slice, /) -> Records: ...
    def _repr_html_(self) -> str: ...
    def __iter__(self) -> RecordsIterator: ...
    def values(self) -> list[bytes | None]:
        """The values as a list of bytes or None."""
    def keys(self) -> list[bytes | None]:
        """The keys as a list of bytes or None."""
    def measure(self, first: int, count: int, max_bytes: int) -> tuple[int, int]:
        """(how many of the `count` records from `first` on fit into `max_bytes`, at least one; their size in bytes).

        The size is that from the first key to the last value, after decompression. Takes no time per record.
        """
    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        binary_view: bool = False,
        timestamp_unit: Literal["ms", "us", "ns"] = "ms",
    ) -> pyarrow.RecordBatch:
        """A pyarrow.RecordBatch of the records; pyarrow is imported here and nowhere else.

        Columns, all or those named in `columns`, in that order: offset int64, timestamp int64 (-1 none),
        timestamp_type int8, key and value binary, headers list<struct<key: string, value: binary>> (empty without
        headers). With `binary_view=True` key and value are views into the decoded bytes instead of copies, and keep
        them alive; `timestamp_unit` is "ms", "us" or "ns". Raises LimitError when a column is larger than 2 GiB, and
        ConfigError for a column or unit that does not exist.
        """
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    @property
    def batches(self) -> tuple[BatchHeader, ...]:
        """A tuple with one BatchHeader per whole wire batch or message set of the decoded bytes."""
    @property
    def consumed(self) -> int:
        """Number of bytes used; a batch that is cut off at the end is not."""
    @property
    def decompressed_bytes(self) -> int:
        """Bytes of memory that the decompressed batches take in addition to the bytes given."""
    @property
    def index_bytes(self) -> int:
        """How many bytes of memory say where the records of the decoded bytes lie."""
    @property
    def needed(self) -> int:
        """Whole size of the batch that is cut off at the end (12 while it is unknown); 0 if none is cut off.

        With `consumed == 0` the bytes are a part of the first batch only.
        """
    @property
    def last_leader_epoch(self) -> int:
        """The partition_leader_epoch of the last whole batch; -1 without one, or where its format has none."""
    @property
    def next_offset(self) -> int | None:
        """The offset after the last whole batch, even when none of its records is left; None without a batch."""

@final
class RecordsIterator:
    def __iter__(self) -> RecordsIterator: ...
    def __next__(self) -> Record: ...
    def __length_hint__(self) -> int: ...

# consumer_records.pxi
def set_tenure(records: Records, tenure: int) -> None: ...
def tenure_of(records: Records | ConsumerRecord) -> int: ...

@final
class ConsumerRecord(Record):
    """One consumed record: a Record with `topic` and `partition`. Made by a consumer.

    It shares the memory of its whole batch and keeps it alive; its `copy()` does not.
    """

    topic: str
    partition: int
    def __init__(self, record: Record, topic: str, partition: int) -> None: ...
    def copy(self) -> ConsumerRecord:
        """An equal record with memory of its own."""

@final
class ConsumedIterator:
    def __init__(self, parts: Iterable[tuple[tuple[str, int], Records]]) -> None: ...
    def __iter__(self) -> ConsumedIterator: ...
    def __next__(self) -> ConsumerRecord: ...
    def end(self) -> int: ...

# column_plan.pxi
@final
class ColumnPlan:
    names: tuple[str, ...]
    def __new__(cls, fields: Iterable[tuple[str, str, str]]) -> Self: ...
    def __arrow_c_schema__(self) -> object: ...

# record_columns.pxi
@final
class RecordColumns:
    """The columns of `plan` for `parts`, a sequence of (Records, topic or None, partition).

    A part of a file is (Records, topic or None, partition, file, position): the place of the bytes that were decoded.

    Rows follow the order of the parts. Nothing is filled until one of the Arrow methods is called; each call fills new
    columns. `max_bytes` is the maximum size of a binary column in one Arrow array with more than one row, and Arrow's
    limit of 2 GiB - 1 at most.
    """

    plan: ColumnPlan
    def __new__(
        cls,
        plan: ColumnPlan,
        parts: Iterable[tuple[Records, str | None, int] | tuple[Records, str | None, int, str | None, int]],
        max_bytes: int = ...,
    ) -> Self: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def to_arrow(self) -> pyarrow.RecordBatch:
        """A pyarrow.RecordBatch; LimitError when a column is larger than 2 GiB."""

def record_plan(
    columns: Iterable[str] | None = None,
    *,
    binary_view: bool = False,
    timestamp_unit: str = "ms",
    with_place: bool = False,
) -> ColumnPlan: ...

# plans.pxi
@final
class Layout:
    names: tuple[str, ...]
    defaults: tuple[Any, ...]
    def __new__(cls, struct: type[StructBase], fields: Sequence[tuple[str, str, Any, type[Any] | None]]) -> Self: ...

class StructBase:
    unknown_tagged_fields: dict[int, bytes]
    def __init__(self, *args: Any, **fields: Any) -> None: ...
    __hash__: None  # type: ignore[assignment]

@final
class StructField:
    def __new__(cls, owner: type[Any], struct: type[Any], name: str, offset: int) -> Self: ...
    def __get__(self, instance: Any, owner: type[Any] | None = None, /) -> Any: ...
    def __set__(self, instance: Any, value: Any, /) -> None: ...

@final
class Plan:
    cls: type[Any]
    name: str
    version: int
    flexible: bool
    height: int
    min_size: int
    def __new__(
        cls, struct: type[Any], name: str, version: int, flexible: bool, fields: Sequence[tuple[Any, ...]]
    ) -> Self: ...
    def encode(self, message: Any) -> bytes: ...
    def decode(self, data: _BytesLike, strict: bool = True, start: int = 0) -> Any: ...
    def decode_prefix(self, data: _BytesLike, start: int = 0) -> tuple[Any, int]: ...

@final
class PlanTable:
    def __init__(self, find: Callable[[int, int], tuple[Plan, Plan] | None]) -> None: ...

# plans_encode.pxi
def encode_frame(header_plan: Plan, header: Any, plan: Plan, message: Any) -> bytes: ...
def encode_frame_parts(header_plan: Plan, header: Any, plan: Plan, message: Any) -> list[Any]: ...

# at_hand.pxi
@final
class AtHand:
    def __await__(self) -> Iterator[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...

# fifo.pxi
@final
class Fifo:
    def __len__(self) -> int: ...

# roll.pxi
@final
class Roll: ...

# delivery.pxi
@final
class RecordMetadata:
    """Where a record was written.

    `topic` and `partition`; `offset`, -1 with acks=0; `timestamp` in milliseconds since 1970, the broker's where the
    topic is set to that.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    def __init__(self, topic: str, partition: int, offset: int, timestamp: int) -> None: ...
    def _repr_html_(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Watcher:
    def __init__(self, function: Callable[[RecordMetadata | None, Exception | None], object]) -> None: ...
    def __call__(self, delivery: Delivery) -> None: ...

@final
class BatchResult:
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def done(self) -> bool: ...
    @property
    def base_offset(self) -> int: ...
    @property
    def append_time(self) -> int: ...
    @property
    def error(self) -> Exception | None: ...
    @property
    def batch(self) -> Batch | None: ...
    @property
    def all_complete(self) -> bool: ...
    def failures(self) -> list[tuple[Exception, int]]: ...

@final
class Results:
    def __init__(self, batches: list[Batch]) -> None: ...
    @property
    def count(self) -> int: ...
    def all_complete(self) -> bool: ...
    def incomplete(self) -> int: ...

@final
class Delivery:
    """One record on its way, as `send()` returns it: the methods of a Future."""
    def done(self) -> bool:
        """Whether the record's result is known. Never blocks."""
    def result(self, timeout: float | timedelta | None = None) -> RecordMetadata:
        """Waits for the record's delivery and returns its RecordMetadata.

        `timeout` is in seconds, or a timedelta; None waits until the record is delivered or delivery_timeout_ms ends.
        Raises the error of a record that was not delivered, and KafkaTimeoutError when neither is known in time: the
        record is still on its way then.
        """
    def exception(self, timeout: float | timedelta | None = None) -> Exception | None:
        """Waits like `result`; returns the error of a record that was not delivered, or None."""
    def add_done_callback(self, function: Callable[[Delivery], object]) -> None:
        """Calls function(delivery) once the result is known, at once if it is; what it raises is logged.

        It runs on the thread that drives the client, outside any lock; blocking calls of the client in it raise.
        """
    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        """As `result`, for a task: `await delivery`. To cancel the task does not cancel the record."""
    def _repr_html_(self) -> str: ...
    @property
    def _batch_result(self) -> BatchResult: ...

# batch.pxi
@final
class Batch:
    is_transactional: bool
    attempts: int
    may_be_written: bool
    last_error: Exception | None
    @property
    def may_be_within(self) -> bool: ...
    @property
    def batch_result(self) -> BatchResult: ...
    @property
    def queue(self) -> PartitionQueue: ...
    @property
    def created_at(self) -> float: ...
    @property
    def closed(self) -> bool: ...
    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def base_sequence(self) -> int: ...
    def __len__(self) -> int: ...
    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def place(self) -> str: ...
    @property
    def size(self) -> int: ...
    def seal(self, magic: int, codec: int, level: int | None) -> Buffer: ...
    def set_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None: ...

# queues.pxi
def murmur2(key: _BytesLike) -> int: ...

@final
class PartitionQueue:
    retry_at: float
    blocked: bool
    @property
    def tried_at(self) -> int: ...
    @property
    def tried_elsewhere(self) -> int: ...
    @property
    def topic(self) -> TopicQueue: ...
    @property
    def partition(self) -> int: ...
    @property
    def in_flight(self) -> list[Batch]: ...
    @property
    def sequences(self) -> Sequences: ...
    @property
    def name(self) -> str: ...
    @property
    def head(self) -> Batch | None: ...
    @property
    def everything(self) -> list[Batch]: ...
    def is_first(self, batch: Batch) -> bool: ...
    def take(self, taken: list[Batch]) -> Batch: ...
    def reenqueue(self, batch: Batch) -> None: ...

STEADY: int
UNRESOLVED: int
GAP: int

@final
class Sequences:
    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def next_sequence(self) -> int: ...
    @property
    def last_acknowledged(self) -> int: ...
    @property
    def state(self) -> int: ...
    def assign(self, batch: Batch) -> int: ...
    def begin(self, producer_id: int, producer_epoch: int) -> int: ...
    def acknowledge(self, batch: Batch, node: int) -> int: ...
    def fail(self, batch: Batch) -> None: ...
    def is_overtaken(self, batch: Batch) -> bool: ...
    def refuse(self, queue: PartitionQueue, batch: Batch) -> None: ...
    def needs_epoch(self, queue: PartitionQueue) -> bool: ...
    def rewind(self) -> None: ...
    def renew(self, queue: PartitionQueue, producer_id: int, producer_epoch: int) -> None: ...

@final
class Sink:
    throttled_until: float
    def __new__(cls, node: int, max_in_flight: int) -> Self: ...
    @property
    def node(self) -> int: ...
    @property
    def max_in_flight(self) -> int: ...
    @property
    def in_flight(self) -> int: ...
    @property
    def full(self) -> bool: ...
    def count(self, more: int) -> None: ...
    @property
    def retry_at(self) -> float: ...
    def __len__(self) -> int: ...
    def add(self, queue: PartitionQueue) -> None: ...
    def empty(self) -> list[PartitionQueue]: ...
    def sendable(self, now: float) -> list[PartitionQueue]: ...
    def take(self, queue: PartitionQueue, taken: list[Batch]) -> Batch: ...

@final
class TopicQueue:
    @property
    def name(self) -> str: ...
    topic_id: UUID | None
    @property
    def pending_batches(self) -> int: ...
    @property
    def used_at(self) -> float: ...
    @property
    def unassigned(self) -> PartitionQueue: ...
    @property
    def known(self) -> int: ...
    @property
    def queues(self) -> list[PartitionQueue]: ...
    @property
    def has_unassigned(self) -> bool: ...
    @property
    def batches_written(self) -> int: ...
    @property
    def records_written(self) -> int: ...
    @property
    def bytes_written(self) -> int: ...
    @property
    def bytes_gathered(self) -> int: ...
    @property
    def largest_written(self) -> int: ...
    @property
    def queued_s(self) -> float: ...
    @property
    def longest_queued_s(self) -> float: ...
    records_retried: int
    @property
    def records_failed(self) -> int: ...

# accumulator.pxi
MAX_FAILED_RESULTS: int

@final
class Accumulator:
    wait_for_room: Callable[[int, float], None] | None
    let_drain: Callable[[], None] | None
    wait_for_partitions: Callable[[TopicQueue], None] | None
    wait_for: Callable[[Delivery, float | None], None] | None
    run_callback: Callable[[Callable[[Delivery], object], Delivery], None] | None
    future_for: Callable[[Delivery], Future[None]] | None
    settle_future: Callable[[Future[None]], None] | None
    on_attention: Callable[[], object] | None
    after_step: deque[Callable[[], object]]
    closed: str | None
    is_transactional: bool
    failures_dropped: int
    @property
    def held(self) -> list[PartitionQueue]: ...
    @property
    def is_empty(self) -> bool: ...
    def check_open(self) -> None: ...
    def check_taking(self) -> None: ...
    def bar(self, refusal: Callable[[], KafkaError] | None) -> None: ...
    def begin_transaction(self, *, gated: bool, anew: bool) -> None: ...
    def open_gate(self) -> None: ...
    def abandon(self, batch: Batch, error: Exception) -> None: ...
    records_sent: int
    def __new__(
        cls,
        *,
        batch_size: int = 16384,
        linger: float = 0.005,
        buffer_memory: int = 33554432,
        max_request_size: int = 1048576,
        max_unassigned_age: float = 1.0,
        seed: int = 1,
        after_step: deque[Callable[[], object]] | None = None,
        partitioner: str | Partitioner = "default",
    ) -> Self: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def buffer_memory(self) -> int: ...
    @property
    def max_request_size(self) -> int: ...
    @property
    def linger(self) -> float: ...
    @property
    def max_unassigned_age(self) -> float: ...
    @property
    def used(self) -> int: ...
    @property
    def queued(self) -> int: ...
    @property
    def waited_s(self) -> float: ...
    @property
    def topics(self) -> dict[str, TopicQueue]: ...
    @property
    def former(self) -> TopicQueue: ...
    @property
    def ready(self) -> Fifo: ...
    @property
    def lingering(self) -> Fifo: ...
    @property
    def pending(self) -> list[Batch]: ...
    @property
    def unknown_topics(self) -> deque[TopicQueue]: ...
    @property
    def failed(self) -> deque[BatchResult]: ...
    def set_clock(self, now: float, wall_milliseconds: int) -> None: ...
    def expire_linger(self, now: float) -> float | None: ...
    def make_due(self, batch: Batch) -> None: ...
    def make_all_due(self) -> None: ...
    def route_ready(self) -> list[PartitionQueue]: ...
    def unroute_all(self) -> None: ...
    def complete(self, batch: Batch, base_offset: int, append_time: int, error: Exception | None) -> None: ...
    def announce(self) -> None: ...
    def update_partitions(
        self, topic: TopicQueue, count: int, available: Iterable[int], *, anew: bool = False
    ) -> None: ...
    def forget_partitions(self, topic: TopicQueue) -> bool: ...
    def drop(self, topic: TopicQueue) -> bool: ...
    def split(self, batch: Batch) -> bool: ...
    def without_headers(self, batch: Batch, error: Exception) -> None: ...
    def without_timestamps(self, batch: Batch, error: Exception) -> None: ...

# stretch.pxi
@final
class Int32s:
    def __new__(cls, source: _BytesLike, rows: int) -> Self: ...

@final
class Stretch:
    def __new__(cls, accumulator: Accumulator, results: list[BatchResult]) -> Self: ...

# sent_rows.pxi
@final
class SentRows:
    def __new__(cls, accumulator: Accumulator) -> Self: ...
    def __len__(self) -> int: ...
    def send(
        self,
        topics: list[str],
        columns: _ArrowArray,
        topic_of: _BytesLike | None = None,
        partition_of: _BytesLike | None = None,
    ) -> None: ...
    @property
    def all_complete(self) -> bool: ...
    def failed(self) -> tuple[list[int], tuple[str, int, Exception] | None]: ...
    def next_offsets(self) -> dict[tuple[str, int], int]: ...

# producer.pxi
class ProducerBase:
    """The base of every producer; the constructor sets `_accumulator`."""

    _accumulator: Accumulator
    def _serialize_by(
        self, serialize: Callable[[str, Any, Any, Iterable[_Header] | None], tuple[Any, Any, Iterable[_Header]]]
    ) -> None:
        """From now on what is sent are the (value, key, headers) that `serialize(topic, value, key, headers)` returns.
        For the package's own use.
        """
    def _intercept_by(self, intercept: Callable[..., Delivery]) -> None:
        """From now on `intercept(send, topic, value, key, partition, timestamp, headers, nowait)` sends, by that `send`
        of the same arguments. For the package's own use.
        """
    def _send_serialized(
        self,
        topic: str,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp: int | datetime | None,
        headers: Iterable[_Header] | None,
        nowait: bool,
    ) -> Delivery: ...
    def send(
        self,
        topic: str,
        value: Any,
        *,
        key: Any = None,
        partition: int | None = None,
        timestamp: int | datetime | None = None,
        headers: Iterable[_Header] | None = (),
        nowait: bool = False,
    ) -> Delivery:
        """Hands one record over for delivery and returns its Delivery at once.

        value and key are bytes-like or None; a record without `partition` goes where the setting `partitioner` says: by
        default where its key's murmur2 hash leads, as with Apache's client, and without a key to a partition that
        changes with every batch. timestamp is int milliseconds, a datetime (a naive one is local time, as everywhere in
        Python), or None for now, which is between the call and its return; headers are a sequence of (str, bytes or
        None).
        Blocks up to max_block_ms while `buffer_memory` is used up (then KafkaTimeoutError), or raises BufferFull with
        nowait. Raises LimitError for a record above max_request_size and ConfigError for a name that no topic can have;
        everything later goes to the Delivery.
        """
    def send_many(
        self,
        topic: str,
        items: Iterable[_Item] | _ArrowArray | _ArrowStream,
        *,
        partition: int | None = None,
        nowait: bool = False,
    ) -> list[Delivery]:
        """Hands many records over and returns the list of their Deliveries, in order.

        items: an iterable of bytes (values), (value, key), (value, key, timestamp, headers) or Records; or columns,
        that is anything with `__arrow_c_array__` or `__arrow_c_stream__`, such as a table of pyarrow, pandas, Polars or
        DuckDB: value, and optionally key, timestamp and headers as in Records.to_arrow(). A warning names columns that
        are not used. Raises what `send` raises; records handed over before that are on their way, and a BufferFull or
        KafkaTimeoutError has their Deliveries as `deliveries`.
        """

# timers.pxi
@final
class Timer:
    @property
    def when(self) -> float: ...
    @property
    def active(self) -> bool: ...
    def cancel(self) -> None: ...

@final
class Timers:
    def call_at(self, when: float, callback: Callable[[float], object]) -> Timer: ...
    def next_moment(self) -> float | None: ...
    def peek(self) -> float | None: ...
    def run(self, now: float) -> None: ...
    def recover(self, now: float) -> None: ...
    def clear(self) -> None: ...

# request.pxi, connection.pxi
CONNECT: str
WRITE: str
WARN: str
CLOSE: str

@final
class Traffic:
    connections_made: int
    connections_lost: int
    @property
    def bytes_in(self) -> int: ...
    @property
    def bytes_out(self) -> int: ...
    @property
    def by_api(self) -> dict[int, tuple[int, int, float, float]]: ...

@final
class KnownAnswer: ...

class Request:
    def __init__(
        self,
        target: int,
        api_key: int,
        build: Any,
        on_response: Callable[[Any, int, float], None],
        on_error: Callable[[KafkaError, float], None],
        *,
        versions: Sequence[int],
        expect_response: bool = True,
        timeout: float,
        raw: bool = False,
        headless: bool = False,
    ) -> None: ...
    @property
    def target(self) -> int: ...
    @property
    def api_key(self) -> int: ...
    @property
    def oldest(self) -> int: ...
    @property
    def newest(self) -> int: ...
    @property
    def expect_response(self) -> bool: ...
    @property
    def purpose(self) -> int: ...
    @property
    def headless(self) -> bool: ...
    @property
    def raw(self) -> bool: ...
    @property
    def done(self) -> bool: ...
    @property
    def timeout(self) -> float: ...
    @property
    def sent_at(self) -> float: ...
    @property
    def asked(self) -> Any: ...
    @property
    def version(self) -> int: ...
    @property
    def tried(self) -> dict[str, str]: ...
    def cancel(self) -> None: ...
    def answer(self, message: Any, now: float) -> None: ...
    def fail(self, error: KafkaError, now: float) -> None: ...

class ConnectionBase:
    @property
    def traffic(self) -> Traffic: ...
    open: bool
    wants_write: bool
    def __init__(
        self,
        who: object,
        max_frame: int,
        header: object = None,
        plans: PlanTable | None = None,
        events: deque[tuple[str, Any]] | None = None,
        traffic: Traffic | None = None,
    ) -> None: ...
    @property
    def who(self) -> object: ...
    @property
    def receiver(self) -> FrameReceiver: ...
    @property
    def in_flight(self) -> deque[Request]: ...
    @property
    def correlation_id(self) -> int: ...
    @property
    def received_at(self) -> float: ...
    def write_request(self, request: Request, version: int, now: float) -> None: ...
    def write_token(self, request: Request, token: bytes, now: float) -> None: ...
    def write(self, request: Request, version: int, parts: list[bytes | Buffer | memoryview], now: float) -> bool: ...
    def data_to_send(self) -> list[bytes | Buffer | memoryview]: ...
    def sent(self, count: int, now: float) -> None: ...
    @property
    def unwritten(self) -> Request | None: ...
    def take_answer(self, frame: Buffer) -> Request: ...
    def drop_requests(self) -> list[Request]: ...

# versions.pxi, core.pxi, node.pxi
class VersionsBase:
    @property
    def ranges(self) -> dict[int, tuple[int, int]]: ...
    def __init__(self, ranges: Mapping[int, tuple[int, int]]) -> None: ...
    def newest_common(self, api_key: int, oldest: int, newest: int) -> int | None: ...

class CoreBase:
    cluster: Cluster
    dirty: bool
    closed: bool
    _recovering: bool
    def __init__(
        self, plans: PlanTable, decode: Callable[[Buffer, int, int], tuple[Any, Any]], usual_timeout: float
    ) -> None: ...
    @property
    def events(self) -> deque[tuple[str, Any]]: ...
    @property
    def traffic(self) -> Traffic: ...
    @property
    def answer_began_at(self) -> float: ...
    @property
    def after_step(self) -> deque[Callable[[], object]]: ...
    @property
    def _timers(self) -> Timers: ...
    @property
    def _requests(self) -> set[Request]: ...
    @property
    def _nodes(self) -> dict[int, Node]: ...
    def get_timer(self) -> float | None: ...
    def next_due(self) -> float | None: ...
    def handle_timer(self, now: float) -> None: ...
    def call_at(self, when: float, callback: Callable[[float], object]) -> Timer: ...
    def request(
        self,
        target: int,
        api_key: int,
        message: Any,
        on_response: Callable[[Any, int, float], None],
        on_error: Callable[[KafkaError, float], None],
        now: float,
        *,
        timeout: float | None = None,
        expect_response: bool = True,
        purpose: int = 0,
        versions: Sequence[int] | None = None,
        known: KnownAnswer | None = None,
    ) -> Request: ...
    def received(self, connection: ConnectionBase, count: int, now: float) -> None: ...
    # for the subclass to define
    def close(self, now: float) -> None: ...
    def recover(self, now: float) -> None: ...
    def versions(self, node_id: int) -> Versions | None: ...
    def connect_error(self) -> ConnectError | None: ...
    def why_not_connected(self, now: float) -> str: ...
    def dispatch(self, request: Request, now: float) -> None: ...
    def lose_connection(self, connection: Connection, error: KafkaError, now: float) -> None: ...
    def versions_of(self, api_key: int) -> Sequence[int]: ...
    def unreadable(self, connection: Connection, request: Request, error: CodecError, now: float) -> None: ...

class LinkBase:
    connection: Connection | None
    versions: Versions | None
    session_ends: float
    purpose: int
    _queue: deque[Request]
    _timeout: Timer | None
    def __init__(self) -> None: ...
    def submit(self, request: Request, now: float) -> None: ...
    # for the subclass to define
    def connect(self, now: float) -> None: ...
    def renew(self, now: float) -> None: ...
    def no_version(self, request: Request, now: float) -> None: ...
    def watch(self, moment: float) -> None: ...

class NodeBase:
    @property
    def links(self) -> list[Link | None]: ...
    def __init__(self) -> None: ...
    def submit(self, request: Request, now: float) -> None: ...
    # for the subclass to define
    def make_link(self, purpose: int) -> Link: ...

# idempotence.pxi, produce_request.pxi, sender.pxi
OFF: str
WANTED: str
ASKING: str
KNOWN: str
REFUSED: str

class IdempotenceBase:
    state: str
    not_offered: bool
    producer_id: int
    epoch: int
    error: KafkaError | None
    # for the subclass to define
    def ask(self, now: float) -> None: ...
    def may_ask_again(self, node: int) -> bool: ...
    def ask_again(self, node: int, now: float) -> None: ...

@final
class PendingProduce(Request):
    @property
    def sink(self) -> Sink: ...
    @property
    def batches(self) -> list[Batch]: ...
    @property
    def topic_ids(self) -> dict[str, UUID]: ...

@final
class ProduceRequestWriter:
    def __init__(self, request: type[Any]) -> None: ...

class SenderBase:
    identity: Idempotence | TransactionalIdentity
    _unknown_topics: UnknownTopics
    _waiting_topics: dict[str, TopicQueue]
    _sinks: dict[int, Sink]
    _by_topic_id: bool
    _deadline: Timer | None
    _closing: Closing | None
    newest_version: int
    has_sent: bool
    first_sent_at: float
    first_answered_at: float
    needs_turn: bool
    turns_when_empty: bool
    @property
    def answered(self) -> int: ...
    transactional_id: str | None
    def __init__(
        self,
        core: Core,
        accumulator: Accumulator,
        settings: ProducerSettings,
        codec: int,
        request: type[ProduceRequest],
    ) -> None: ...
    @property
    def _core(self) -> Core: ...
    @property
    def _accumulator(self) -> Accumulator: ...
    @property
    def _acks(self) -> int: ...
    @property
    def _codec(self) -> int: ...
    @property
    def _level(self) -> int | None: ...
    @property
    def _max_in_flight(self) -> int: ...
    @property
    def _max_bytes(self) -> int: ...
    @property
    def _timeout_ms(self) -> int: ...
    @property
    def _awaited(self) -> dict[Delivery, None]: ...
    @property
    def _unanswered(self) -> set[int]: ...
    @property
    def _unresolved(self) -> dict[PartitionQueue, None]: ...
    @property
    def _without_sequences(self) -> set[PartitionQueue]: ...
    def pump(self, now: float) -> None: ...
    def expedite(self, delivery: Delivery, now: float) -> None: ...
    def _leave_unresolved(self, batch: Batch) -> None: ...
    # for the subclass to define
    def send_all(self, now: float) -> None: ...
    def no_room(self, waited: float) -> KafkaTimeoutError: ...
    def why_waiting(self, batch: Batch) -> str: ...
    def nothing_to_send(self, sink: Sink) -> KafkaError: ...
    def _route(self, queue: PartitionQueue, now: float) -> None: ...
    def _give_up(self, sink: Sink, error: KafkaError) -> None: ...
    def _without_headers(self, batch: Batch, sink: Sink, magic: int) -> None: ...
    def _without_timestamps(self, batch: Batch, sink: Sink) -> None: ...
    def _fail(self, batch: Batch, error: KafkaError) -> None: ...
    def _on_no_success(self, batch: Batch, row: _ProduceRow | None, now: float) -> None: ...
    def throttle_s(self, throttle_time_ms: int) -> float: ...
    def _on_error(self, call: PendingProduce, error: KafkaError, now: float) -> None: ...
    def _wake_at(self, name: str, moment: float | None) -> None: ...
    def _await_deadline(self) -> None: ...
    def _resolve_sequences(self, now: float) -> None: ...
    def _take_endpoints(self, rows: Sequence[ProduceResponse.NodeEndpoint], now: float) -> None: ...
    def _admit(self, now: float) -> None: ...
    def _take_turn(self, now: float) -> None: ...
    def _advance_closing(self, now: float) -> None: ...
    def _expedite_all(self) -> None: ...

# tls_records.pxi, connection_socket.pxi, reactor_lock.pxi, reactor.pxi, producer_hooks.pxi
@final
class TlsRecords:
    @property
    def count(self) -> int: ...
    def __init__(self, read: Callable[..., Any], incoming: ssl.MemoryBIO) -> None: ...
    def read_into(self, room: memoryview) -> bool: ...

READS: int
WRITES: int
FROZEN_S: float
LATE_S: float
MAX_SLEEP_S: float

@final
class ReactorLock:
    @property
    def mine(self) -> bool: ...
    def __enter__(self) -> None: ...
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...

class ConnectionSocket:
    fd: int
    plain: bool
    def __init__(self, connection: ConnectionBase) -> None: ...
    @property
    def connection(self) -> Any: ...
    def await_frame(self, core: CoreBase, cut: bool, now: float) -> int: ...

class SocketBase(ConnectionSocket):
    mask: int
    connected: bool

class ReactorBase:
    _waiters: deque[Any]
    _driver: int | None
    _polling_until: float | None
    _thread: Any
    _steps: int
    _last_active: float
    _closed: bool
    _is_copy: bool
    _wake_fd: int
    def __init__(self, core: CoreBase, background: bool) -> None: ...
    @property
    def core(self) -> Any: ...
    @property
    def _lock(self) -> ReactorLock: ...
    @property
    def _sockets(self) -> dict[Any, Any]: ...
    @property
    def _resolved(self) -> deque[Any]: ...
    @property
    def _in_callbacks(self) -> set[int]: ...
    @property
    def _background(self) -> bool: ...
    def call(self, function: Callable[[float], _T], *, active: bool = True) -> _T: ...
    def wait(self, done: Callable[[], bool], timeout: float | None) -> bool: ...
    def run(self, steps: Generator[Any, Any, _T], until: type, otherwise: Callable[[Any], object]) -> _T: ...
    def poll_once(self) -> None: ...
    def _close_core(self) -> None: ...
    def _wake_waiters(self) -> int: ...
    def _step(self, me: int, deadline: float) -> None: ...
    def _watch(self, sock: SocketBase, mask: int) -> int: ...
    # for the subclass to define
    def wake(self) -> None: ...
    def _check_entry(self) -> None: ...
    def _check_no_callback(self, me: int) -> None: ...
    def _add_waiter(self) -> Any: ...
    def _sleep(self, waiter: Any, seconds: float) -> None: ...
    def _run_callbacks(self) -> None: ...
    def _run_early(self, now: float) -> None: ...
    def _on_warning(self, text: str) -> None: ...
    def _start_background(self) -> None: ...
    def _wake_if_polling(self, polling_until: float) -> None: ...
    def _open(self) -> None: ...
    def _drain_wake(self) -> None: ...
    def _connect(self, connection: Any, now: float) -> None: ...
    def _take_resolved(self, now: float) -> None: ...
    def _connected(self, sock: Any, now: float) -> None: ...
    def _lost(self, sock: Any, reason: str, now: float) -> None: ...
    def _drop(self, sock: Any) -> None: ...
    def _read_tls(self, sock: Any, now: float) -> None: ...
    def _write_tls(self, sock: Any, now: float) -> None: ...

# loop_driver.pxi
class LoopSocketBase(ConnectionSocket):
    paused: bool
    def __init__(self, driver: LoopDriverBase, connection: ConnectionBase) -> None: ...
    @property
    def driver(self) -> Any: ...
    def get_buffer(self, hint: int) -> _BytesLike: ...
    def buffer_updated(self, count: int) -> None: ...
    # for the subclass to define
    def hand_over(self, data: bytes) -> None: ...
    def write_tls(self, now: float) -> None: ...

class LoopDriverBase:
    turned_at: float
    _loop: AbstractEventLoop | None
    _closed: bool
    _rings_at: float
    _callbacks_due: bool
    _thread: int
    def __init__(self, core: CoreBase, running_loop: Callable[[], AbstractEventLoop | None]) -> None: ...
    @property
    def core(self) -> Any: ...
    @property
    def _sockets(self) -> dict[Any, Any]: ...
    @property
    def _waiters(self) -> dict[Future[None], Callable[[], bool]]: ...
    def check_loop(self) -> int: ...
    def step(self, function: Callable[[float], _T]) -> _T: ...
    def write_on(self, sock: LoopSocketBase) -> None: ...
    def _wake_done(self) -> int: ...
    def _on_timer(self, in_time: bool) -> None: ...
    # for the subclass to define
    def _belong_to(self, loop: AbstractEventLoop | None) -> None: ...
    def _connect(self, connection: Any) -> None: ...
    def _drop(self, sock: Any) -> None: ...
    def _lost(self, sock: Any, reason: Any, now: float) -> None: ...
    def _on_warning(self, text: str) -> None: ...
    def _ring_in(self, seconds: float) -> None: ...
    def _rearm(self) -> None: ...
    def _schedule_callbacks(self) -> None: ...
    def _schedule_recovery(self, seconds: float) -> None: ...

# producer_hooks.pxi
@final
class ProducerHooks:
    def __init__(
        self,
        reactor: ReactorBase,
        sender: SenderBase,
        accumulator: Accumulator,
        seconds: Callable[[object], float | None],
        max_block: float,
    ) -> None: ...
    def on_attention(self) -> None: ...
    def wait_for(self, delivery: Delivery, timeout: float | None) -> None: ...
    def wait_for_room(self, size: int, since: float) -> None: ...
    def let_drain(self) -> None: ...
    def wait_for_partitions(self, topic: TopicQueue) -> None: ...
    def expedite(self, delivery: Delivery) -> None: ...

@final
class LoopHooks:
    def __init__(self, driver: LoopDriverBase, sender: SenderBase, accumulator: Accumulator) -> None: ...
    wanted: int
    def is_half_free(self, size: int) -> bool: ...
    def on_attention(self) -> None: ...
    def at_end_of_turn(self) -> None: ...
    def future_for(self, delivery: Delivery) -> Future[None]: ...
    def settle_future(self, future: Future[None]) -> None: ...
    def wait_for(self, delivery: Delivery, timeout: float | None) -> None: ...
    def wait_for_room(self, size: int, since: float) -> None: ...

class LoopProducerBase(ProducerBase):
    """The base of a producer on an event loop; the constructor sets `_accumulator` and `_driver`."""

    _driver: Any
    def send(
        self,
        topic: str,
        value: Any,
        *,
        key: Any = None,
        partition: int | None = None,
        timestamp: int | datetime | None = None,
        headers: Iterable[_Header] | None = (),
        nowait: bool = False,
    ) -> Delivery:
        """Hands one record over for delivery and returns its Delivery at once; `await` that for the RecordMetadata.

        value and key are bytes-like or None; a record without `partition` goes where its key's murmur2 hash leads, as
        with Apache's client, and one without key to a partition that changes with every batch. timestamp is int
        milliseconds, a datetime (a naive one is local time, as everywhere in Python), or None for now; headers are a
        sequence of (str, bytes or None).
        Never waits: raises BufferFull while `buffer_memory` is used up, for which `await drain()` waits (so `nowait`
        changes nothing here). Raises LimitError for a record above max_request_size and ConfigError for a name that no
        topic can have; everything later goes to the Delivery.
        """
    def send_many(
        self,
        topic: str,
        items: Iterable[_Item] | _ArrowArray | _ArrowStream,
        *,
        partition: int | None = None,
        nowait: bool = False,
    ) -> list[Delivery]:
        """Hands many records over and returns the list of their Deliveries, in order. Never waits, as `send`.

        items: an iterable of bytes (values), (value, key), (value, key, timestamp, headers) or Records; or columns,
        that is anything with `__arrow_c_array__` or `__arrow_c_stream__`, such as a table of pyarrow, pandas, Polars or
        DuckDB: value, and optionally key, timestamp and headers as in Records.to_arrow(). A warning names columns that
        are not used. Raises what `send` raises; records handed over before that are on their way, and a BufferFull has
        their Deliveries as `deliveries`. The loop stands still meanwhile, about 0.2 s for a million records: hand over
        a part at a time where that matters.
        """

# loop_iterator.pxi
@final
class LoopIterator:
    def __init__(self, wait_for_next: Callable[[LoopIterator], Awaitable[ConsumerRecord]]) -> None: ...
    def __aiter__(self) -> LoopIterator: ...
    def __anext__(self) -> Awaitable[ConsumerRecord]: ...
    def begin(self, records: ConsumedIterator) -> ConsumedIterator: ...
    def turned(self) -> None: ...
    def take(self) -> ConsumerRecord | None: ...

@final
class NextRecord:
    def __await__(self) -> Iterator[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def send(self, value: object) -> Any: ...
    def throw(self, *what: Any) -> Any: ...
    def close(self) -> None: ...
