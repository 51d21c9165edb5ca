"""Questions about records: Kafka's classes write and read batches of every magic."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tests.oracle.driver import JsonObject, Oracle, from_base64, to_base64

TimestampType = Literal["CreateTime", "LogAppendTime"]
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class JavaRecord:
    """One record, to write or as read; timestamp -1 where there is none."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class JavaBatch:
    """One batch as Kafka's classes see it: an uncompressed message of magic 0 or 1 is a batch of one."""

    base_offset: int
    last_offset: int
    magic: int
    compression: str
    timestamp_type: int
    max_timestamp: int
    is_transactional: bool
    is_control: bool
    producer_id: int
    producer_epoch: int
    base_sequence: int
    partition_leader_epoch: int
    records: tuple[JavaRecord, ...]


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """How a batch is written; the defaults are those of a producer without idempotence."""

    magic: int = 2
    compression: str = "none"
    timestamp_type: TimestampType = "CreateTime"
    base_offset: int = 0
    last_offset: int | None = None
    log_append_time: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    partition_leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class ReadBatches:
    """All batches, and how many bytes they took: the rest is a partial batch."""

    batches: tuple[JavaBatch, ...]
    consumed: int
    records: tuple[JavaRecord, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", tuple(record for batch in self.batches for record in batch.records))


def write(oracle: Oracle, records: Sequence[JavaRecord], options: BatchOptions) -> bytes:
    """One batch; the offsets of the records may have gaps, as compaction leaves them."""
    items = [
        {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": to_base64(record.key),
            "value": to_base64(record.value),
            "headers": [[name, to_base64(value)] for name, value in record.headers],
        }
        for record in records
    ]
    return _bytes(oracle.ask("write", records=items, **asdict(options)))


def write_end_marker(
    oracle: Oracle, kind: Literal["COMMIT", "ABORT"], *, offset: int, timestamp: int, producer_id: int, epoch: int
) -> bytes:
    """The control batch that ends a transaction."""
    answer = oracle.ask(
        "end-marker",
        type=kind,
        offset=offset,
        timestamp=timestamp,
        partition_leader_epoch=3,
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=7,
    )
    return _bytes(answer)


def write_leader_change(oracle: Oracle, *, offset: int, timestamp: int, leader_id: int, voters: Sequence[int]) -> bytes:
    """The control batch by which a KRaft leader says that it leads."""
    answer = oracle.ask(
        "leader-change",
        offset=offset,
        timestamp=timestamp,
        partition_leader_epoch=3,
        leader_id=leader_id,
        voters=list(voters),
    )
    return _bytes(answer)


def write_empty_batch(
    oracle: Oracle, *, base_offset: int, last_offset: int, timestamp: int, producer_id: int, is_control: bool = False
) -> bytes:
    """What compaction keeps of a batch whose records are all gone: a header with a count of 0."""
    answer = oracle.ask(
        "empty-batch",
        base_offset=base_offset,
        last_offset=last_offset,
        timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=2,
        base_sequence=11,
        partition_leader_epoch=3,
        is_transactional=is_control,
        is_control=is_control,
    )
    return _bytes(answer)


def read(oracle: Oracle, data: bytes) -> ReadBatches:
    """Everything in `data`, checksums checked; raises RefusedError where Kafka's classes refuse."""
    return from_answer(oracle.ask("read", bytes=to_base64(data)))


def from_answer(answer: JsonObject) -> ReadBatches:
    """The oracle's answer to "read", typed."""
    return ReadBatches(tuple(_batch(item) for item in answer["batches"]), answer["consumed"])


def _bytes(answer: dict[str, Any]) -> bytes:
    data = from_base64(answer["bytes"])
    assert data is not None
    return data


def _batch(item: dict[str, Any]) -> JavaBatch:
    records = tuple(
        JavaRecord(
            record["offset"],
            record["timestamp"],
            from_base64(record["key"]),
            from_base64(record["value"]),
            tuple((name, from_base64(value)) for name, value in record["headers"]),
        )
        for record in item["records"]
    )
    return JavaBatch(**{**item, "records": records})
