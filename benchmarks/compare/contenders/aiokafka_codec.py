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
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from benchmarks.compare.contenders import inputs, peers
from benchmarks.compare.contenders.columns import read_fields
from benchmarks.compare.contenders.meters import Case, Cases, run_case, two_threads
from benchmarks.compare.contenders.task import Task
from benchmarks.compare.rows import RECORDS

_PARTITION = TopicPartition("topic", 0)
_MESSAGES = {"metadata": MetadataResponse_v5, "fetch": FetchResponse_v10, "produce": ProduceRequest_v7}

prepare = inputs.prepare


def codec(task: Task) -> dict[str, float]:
    """One case, in process."""
    return run_case(task, cases())


def threads(task: Task) -> dict[str, float]:
    """Two threads decode to columns."""
    make, data = peers.outputs(MemoryRecords)["columns"], inputs.batch()
    return two_threads(lambda: make(data), task.budget_s)


def cases() -> Cases:
    """Records, messages and checksums."""
    make = peers.outputs(MemoryRecords)
    return {
        **peers.reading(make),
        **peers.writing(DefaultRecordBatchBuilder, LegacyRecordBatchBuilder),
        **peers.messages(
            {name: partial(_decode, kind) for name, kind in _MESSAGES.items()}, dict.fromkeys(_MESSAGES, _encode)
        ),
        **inputs.sweep({output: make[output] for output in ("values", "columns")}),
        "consumer-records": Case(_to_consumer_records, inputs.batch, RECORDS),
        "crc32c": Case(calc_crc32c, lambda: bytes(inputs.CHECKED_BYTES), 1),
    }


def _to_consumer_records(data: bytes) -> None:
    read_fields(PartitionRecords(_PARTITION, MemoryRecords(data), [], 0, None, None, True, READ_UNCOMMITTED))


def _decode(kind: Any, data: bytes) -> Any:
    return kind.decode(io.BytesIO(data))


def _encode(message: Any) -> bytes:
    encoded: bytes = message.encode()
    return encoded
