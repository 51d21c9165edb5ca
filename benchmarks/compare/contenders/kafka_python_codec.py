"""kafka-python's codec, in plain Python."""

from __future__ import annotations

from typing import Any

from kafka import TopicPartition
from kafka.consumer.fetcher import Fetcher
from kafka.protocol import consumer as consumer_messages
from kafka.protocol import metadata as metadata_messages
from kafka.protocol import producer as producer_messages
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import Works, run_codec
from benchmarks.compare.contenders.columns import read_fields
from benchmarks.compare.contenders.peer_records import reading, writing
from benchmarks.compare.task import Task

_PLACE = TopicPartition("topic", 0)


def codec(task: Task) -> dict[str, Any]:
    """Records and messages, in process."""
    return run_codec(task, {
        **reading(MemoryRecords, inputs.FEWER, inputs.FEWER_LARGE), **writing(_builder, inputs.FEWER), **_messages(),
        "handed-out": (_hand_out, inputs.FEWER)})


def _hand_out() -> None:
    """The consumer's own records of a fetched batch."""
    read_fields(Fetcher.PartitionRecords(0, _PLACE, MemoryRecords(inputs.batch(count=inputs.FEWER))).take())


def _builder(compression_type: int) -> DefaultRecordBatchBuilder:
    return DefaultRecordBatchBuilder(
        magic=2, compression_type=compression_type, is_transactional=0, producer_id=-1, producer_epoch=-1,
        base_sequence=-1, batch_size=2**22)


def _messages() -> Works:
    works: dict[str, Any] = {}
    for name, kind, (message, version) in (
        ("metadata", metadata_messages.MetadataResponse, inputs.metadata_response()),
        ("fetch", consumer_messages.FetchResponse, inputs.fetch_response()),
        ("produce", producer_messages.ProduceRequest, inputs.produce_request()),
    ):
        data = message.encode(version)
        decoded = kind.decode(data, version=version)
        decoded._header = None
        works[f"{name}-decode"] = (lambda k=kind, d=data, v=version: k.decode(d, version=v), 1)
        works[f"{name}-encode"] = (lambda m=decoded, v=version: m.encode(version=v), 1)
    return works


VERBS = {"codec": codec}
