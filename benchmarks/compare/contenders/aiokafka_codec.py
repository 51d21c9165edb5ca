"""aiokafka's codec, which is compiled."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import READ_UNCOMMITTED, PartitionRecords
from aiokafka.protocol.fetch import FetchResponse_v10
from aiokafka.protocol.metadata import MetadataResponse_v5
from aiokafka.protocol.produce import ProduceRequest_v7
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import Piece, Pieces, run_codec
from benchmarks.compare.contenders.columns import read_fields
from benchmarks.compare.contenders.peer_records import reading, shapes, writing
from benchmarks.compare.contenders.sweep import sweep
from benchmarks.compare.contenders.two_threads import share_of_one
from benchmarks.compare.task import Task

_PLACE = TopicPartition("topic", 0)


inputs.prepare()


def codec(task: Task) -> dict[str, float]:
    """One piece of work, in process."""
    return run_codec(task, pieces())


def pieces() -> Pieces:
    """Records, messages and checksums."""
    make = shapes(MemoryRecords)
    return {
        **reading(make),
        **writing(_builder),
        **_messages(),
        **sweep({shape: make[shape] for shape in ("values", "columns")}),
        "handed-out": Piece(_hand_out, inputs.batch, inputs.RECORDS),
        "crc32c": Piece(calc_crc32c, lambda: bytes(inputs.CHECKED_BYTES), 1),
    }


def _hand_out(data: bytes) -> None:
    """The consumer's own records of a fetched batch."""
    read_fields(PartitionRecords(_PLACE, MemoryRecords(data), [], 0, None, None, True, READ_UNCOMMITTED))


def threads(task: Task) -> dict[str, float]:
    """Two threads decode to columns."""
    make, data = shapes(MemoryRecords)["columns"], inputs.batch()
    return share_of_one(lambda: make(data), task.budget_s)


def _builder(compression_type: int) -> DefaultRecordBatchBuilder:
    return DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression_type,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=2**22,
    )


def _messages() -> Pieces:
    found = {}
    for name, kind in (("metadata", MetadataResponse_v5), ("fetch", FetchResponse_v10), ("produce", ProduceRequest_v7)):
        found[f"{name}-decode"] = Piece(partial(_decode, kind), partial(_encoded, name), 1)
        found[f"{name}-encode"] = Piece(_encode, partial(_decoded, kind, name), 1)
    return found


def _encoded(name: str) -> bytes:
    message, version = inputs.MESSAGES[name]()
    return message.encode(version)


def _decode(kind: Any, data: bytes) -> Any:
    return kind.decode(io.BytesIO(data))


def _decoded(kind: Any, name: str) -> Any:
    return _decode(kind, _encoded(name))


def _encode(message: Any) -> bytes:
    encoded: bytes = message.encode()
    return encoded


VERBS = {"codec": codec, "threads": threads}
