"""kafka-python's codec, in plain Python."""

from __future__ import annotations

from functools import partial
from typing import Any

from kafka import TopicPartition
from kafka.consumer.fetcher import Fetcher
from kafka.protocol.consumer import FetchResponse
from kafka.protocol.metadata import MetadataResponse
from kafka.protocol.producer import ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from benchmarks.compare.contenders import inputs, peers
from benchmarks.compare.contenders.columns import read_fields
from benchmarks.compare.contenders.meters import Case, Cases, run_case
from benchmarks.compare.contenders.task import Task

_PARTITION = TopicPartition("topic", 0)
_MESSAGES = {"metadata": MetadataResponse, "fetch": FetchResponse, "produce": ProduceRequest}

prepare = partial(inputs.prepare, inputs.FEWER)


def codec(task: Task) -> dict[str, float]:
    """One case, in process."""
    return run_case(task, cases())


def cases() -> Cases:
    """Records and messages."""
    n = inputs.FEWER
    decoders = {name: partial(_decode, kind, inputs.VERSIONS[name]) for name, kind in _MESSAGES.items()}
    encoders = {name: partial(_encode, inputs.VERSIONS[name]) for name in _MESSAGES}
    return {
        **peers.reading(peers.outputs(MemoryRecords), n, inputs.FEWER_LARGE),
        **peers.writing(DefaultRecordBatchBuilder, LegacyRecordBatchBuilder, n),
        **peers.messages(decoders, encoders, _with_header),
        "consumer-records": Case(_to_consumer_records, partial(inputs.batch, count=n), n),
    }


def _to_consumer_records(data: bytes) -> None:
    read_fields(Fetcher.PartitionRecords(0, _PARTITION, MemoryRecords(data)).take())


def _decode(kind: Any, version: int, data: bytes) -> Any:
    return kind.decode(data, version=version)


def _with_header(message: Any) -> Any:
    """Encoding reads an attribute that decoding does not set."""
    message._header = None
    return message


def _encode(version: int, message: Any) -> bytes:
    encoded: bytes = message.encode(version=version)
    return encoded
