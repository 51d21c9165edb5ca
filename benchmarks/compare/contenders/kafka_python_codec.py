"""kafka-python's codec, in plain Python."""

from __future__ import annotations

from functools import partial
from typing import Any

from kafka import TopicPartition
from kafka.consumer.fetcher import Fetcher
from kafka.protocol import consumer as consumer_messages
from kafka.protocol import metadata as metadata_messages
from kafka.protocol import producer as producer_messages
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.memory_records import MemoryRecords

from benchmarks.compare.contenders import inputs
from benchmarks.compare.contenders.codec_loop import Piece, Pieces, run_codec
from benchmarks.compare.contenders.columns import read_fields
from benchmarks.compare.contenders.peer_records import reading, shapes, writing
from benchmarks.compare.task import Task

_PLACE = TopicPartition("topic", 0)


inputs.prepare(inputs.FEWER)


def codec(task: Task) -> dict[str, float]:
    """One piece of work, in process."""
    return run_codec(task, pieces())


def pieces() -> Pieces:
    """Records and messages."""
    n = inputs.FEWER
    return {
        **reading(shapes(MemoryRecords), n, inputs.FEWER_LARGE),
        **writing(_builder, n),
        **_messages(),
        "handed-out": Piece(_hand_out, partial(inputs.batch, count=n), n),
    }


def _hand_out(data: bytes) -> None:
    """The consumer's own records of a fetched batch."""
    read_fields(Fetcher.PartitionRecords(0, _PLACE, MemoryRecords(data)).take())


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
    for name, kind in (
        ("metadata", metadata_messages.MetadataResponse),
        ("fetch", consumer_messages.FetchResponse),
        ("produce", producer_messages.ProduceRequest),
    ):
        found[f"{name}-decode"] = Piece(partial(_decode, kind), partial(_encoded, name), 1)
        found[f"{name}-encode"] = Piece(_encode, partial(_decoded, kind, name), 1)
    return found


def _encoded(name: str) -> tuple[bytes, int]:
    message, version = inputs.MESSAGES[name]()
    return message.encode(version), version


def _decode(kind: Any, given: tuple[bytes, int]) -> Any:
    data, version = given
    return kind.decode(data, version=version)


def _decoded(kind: Any, name: str) -> tuple[Any, int]:
    """Encoding reads an attribute that decoding does not set."""
    data, version = _encoded(name)
    message = _decode(kind, (data, version))
    message._header = None
    return message, version


def _encode(given: tuple[Any, int]) -> bytes:
    message, version = given
    encoded: bytes = message.encode(version=version)
    return encoded


VERBS = {"codec": codec}
