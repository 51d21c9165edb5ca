"""aiokafka's codec, which is compiled."""

from __future__ import annotations

import io
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
from benchmarks.compare.contenders.codec_loop import Works, run_codec
from benchmarks.compare.contenders.columns import read_fields
from benchmarks.compare.contenders.peer_records import reading, shapes, writing
from benchmarks.compare.contenders.sweep import sweep
from benchmarks.compare.contenders.two_threads import share_of_one
from benchmarks.compare.task import Task

_PLACE = TopicPartition("topic", 0)


def codec(task: Task) -> dict[str, Any]:
    """Records and messages, in process."""
    return run_codec(
        task,
        {
            **reading(MemoryRecords),
            **writing(_builder),
            **_messages(),
            **sweep(shapes(MemoryRecords), task.works),
            "handed-out": (_hand_out, inputs.RECORDS),
            "crc32c": (lambda d=bytes(2**20): calc_crc32c(d), 1),
        },
    )


def _hand_out() -> None:
    """The consumer's own records of a fetched batch."""
    records = MemoryRecords(inputs.batch())
    read_fields(PartitionRecords(_PLACE, records, [], 0, None, None, True, READ_UNCOMMITTED))


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


def _messages() -> Works:
    works: dict[str, Any] = {}
    for name, kind, (message, version) in (
        ("metadata", MetadataResponse_v5, inputs.metadata_response()),
        ("fetch", FetchResponse_v10, inputs.fetch_response()),
        ("produce", ProduceRequest_v7, inputs.produce_request()),
    ):
        data = message.encode(version)
        decoded = kind.decode(io.BytesIO(data))
        works[f"{name}-decode"] = (lambda k=kind, d=data: k.decode(io.BytesIO(d)), 1)
        works[f"{name}-encode"] = (lambda m=decoded: m.encode(), 1)
    return works


VERBS = {"codec": codec, "threads": threads}
