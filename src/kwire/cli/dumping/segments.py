"""Batches and records of segments and snapshots, with what is damaged, and what follows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from kwire.cli.dumping.kinds import METADATA_TOPIC, SEGMENT_0_7, DumpFile
from kwire.cli.dumping.messages import SECRET, as_line, as_object, hides_secrets, parts_of
from kwire.cli.rendering import as_object as record_object
from kwire.cli.rendering import record_row, utc, visible
from kwire.errors import CodecError
from kwire.errors.listing import counted
from kwire.log_files.reading import ReadPolicy, read_piece
from kwire.log_files.splits import Piece
from kwire.log_files.storage import OpenFile, Storage
from kwire.records import BatchHeader, Record, Records

_END = (1 << 63) - 1
_CRC_OF_2 = 17
_CRC_OF_OLD = 12
_MAX_SEQUENCE = 1 << 31


class Wanted(NamedTuple):
    """Which batches and records, and how they are shown."""

    first: int = 0
    before: int = _END
    with_records: bool = False
    secrets: bool = False
    check_crc: bool = True


class Damage(NamedTuple):
    """What cannot be read at a byte of the file."""

    position: int
    error: str


@dataclass(frozen=True)
class BatchRow:
    """A batch by its header, under the keys that JSON has."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    count: int
    magic: int
    compression: str
    timestamp_type: str
    max_timestamp: int | None
    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int
    leader_epoch: int
    transactional: bool
    control: bool
    delete_horizon: int | None
    crc: int | None


class RecordRow(NamedTuple):
    """A record of a batch, and what is known of its key and value."""

    record: Record
    topic: str
    is_control: bool
    secrets: bool

    def as_object(self) -> dict[str, Any]:
        """Plain values for JSON."""
        parts = parts_of(self.topic, self.record, is_control=self.is_control)
        found = record_object(self.record)
        if parts is not None:
            found["key"], found["value"] = (as_object(part, secrets=self.secrets) for part in parts)
        return found

    def value_bytes(self) -> bytes:
        """The bytes of the value, or what stands for them where they hold a secret of the metadata."""
        value = self.record.value or b""
        if self.topic == METADATA_TOPIC and not self.secrets:
            parts = parts_of(self.topic, self.record, is_control=self.is_control)
            if parts is not None and hides_secrets(parts[1]):
                return f"{SECRET}, {counted(len(value), 'byte')}".encode()
        return value

    def as_line(self) -> str:
        """For reading by eye."""
        parts = parts_of(self.topic, self.record, is_control=self.is_control)
        if parts is None:
            return record_row(self.record, visible(self.record.key), visible(self.record.value))
        stamp = "-" if self.record.timestamp < 0 else utc(self.record.timestamp)
        key, value = (as_line(part, secrets=self.secrets) for part in parts)
        return f"{self.record.offset:10}  {stamp:24}  {'' if parts[0] is None else f'{key}  '}{value}"


Row = BatchRow | RecordRow | Damage


def segment_rows(storage: Storage, file: DumpFile, wanted: Wanted) -> Iterator[Row]:
    """The rows of the file in their order; damage stands where it is."""
    piece = Piece(
        root=0,
        path=file.path,
        topic=file.topic,
        partition=file.partition,
        start=0,
        end=file.size,
        size=file.size,
        first_offset=0,
        end_offset=_END,
        base_offset=file.base_offset,
        is_0_7=file.kind == SEGMENT_0_7,
    )
    damage: list[Damage] = []

    def note(error: CodecError, position: int) -> None:
        damage.append(Damage(position, error.message))

    policy = ReadPolicy("skip", check_crc=wanted.check_crc, include_control=True)
    with storage.open(file.path) as opened:
        try:
            for records, counted_from in read_piece(storage, piece, policy, note):
                yield from damage
                damage.clear()
                yield from _rows(records, counted_from, file, opened, wanted)
        except CodecError as error:  # what not even skipping passes: more memory than is allowed
            damage.append(Damage(error.offset or 0, error.message))
    yield from damage


def _rows(records: Records, counted_from: int, file: DumpFile, opened: OpenFile, wanted: Wanted) -> Iterator[Row]:
    at = 0
    for batch in records.batches:
        inside, at = records[at : at + batch.count], at + batch.count
        if batch.last_offset < wanted.first or batch.base_offset >= wanted.before:
            continue
        crc = None if file.kind == SEGMENT_0_7 else _crc(opened, batch, counted_from + batch.position)
        yield _batch_row(batch, counted_from, crc)
        if wanted.with_records:
            for record in inside:
                if wanted.first <= record.offset < wanted.before:
                    yield RecordRow(record, file.topic, batch.is_control, wanted.secrets)


def _crc(opened: OpenFile, batch: BatchHeader, position: int) -> int:
    at = _CRC_OF_2 if batch.magic == 2 else _CRC_OF_OLD
    return int.from_bytes(bytes(opened.read_at(position + at, 4)), "big")


def _batch_row(batch: BatchHeader, counted_from: int, crc: int | None) -> BatchRow:
    last_sequence = -1
    if batch.base_sequence >= 0:
        last_sequence = (batch.base_sequence + batch.last_offset - batch.base_offset) % _MAX_SEQUENCE
    return BatchRow(
        position=counted_from + batch.position,
        size=batch.size,
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        count=batch.count,
        magic=batch.magic,
        compression=batch.compression,
        timestamp_type={0: "create", 1: "append"}.get(batch.timestamp_type, "none"),
        max_timestamp=None if batch.max_timestamp < 0 else batch.max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        last_sequence=last_sequence,
        leader_epoch=batch.partition_leader_epoch,
        transactional=batch.is_transactional,
        control=batch.is_control,
        delete_horizon=batch.delete_horizon,
        crc=crc,
    )
