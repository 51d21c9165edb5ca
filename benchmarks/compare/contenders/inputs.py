"""The records and messages that every codec reads and writes: a 10-byte key and a 90-byte value, unless said otherwise.

kwire encodes them for all. A batch has 10,000 records, and 2,000 for codecs that take microseconds for each; costs are
per record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from benchmarks.compare.contenders.columns import four_columns
from benchmarks.compare.contenders.meters import Case, Cases
from benchmarks.compare.contenders.task import values_of
from benchmarks.compare.rows import BATCH_COUNTS, RECORD_SIZES, RECORDS, batch_row, size_row
from kwire import records
from kwire.protocol import FetchResponse, MetadataResponse, ProduceRequest
from kwire.schema.messages import Message

FEWER = 2_000
LARGE_RECORDS = 2_000
FEWER_LARGE = 500
SMALL_BATCH = 10
CHECKED_BYTES = 2**20
CODECS = ("gzip", "snappy", "lz4", "zstd")
VERSIONS = {"metadata": 5, "fetch": 10, "produce": 7}
"""The newest in which every codec speaks the message."""
_NOON_MS = 1_700_000_000_000
_HEADERS = (("trace", b"0123456789abcdef"), ("source", b"billing"), ("retry", b"0"))
_LARGE_BLOCK = 31 * 2**20
_SWEEP_BYTES, _SWEEP_MAX_RECORDS, _SWEEP_MIN_RECORDS = 2_000_000, 10_000, 2_000

_TOPIC = MetadataResponse.MetadataResponseTopic
_FETCHED = FetchResponse.FetchableTopicResponse
_PRODUCED = ProduceRequest.TopicProduceData


def prepare(count: int = RECORDS) -> None:
    """Makes what many cases need and imports pyarrow.

    The large block lets glibc keep freed memory, as in a process that has run for a while: its thresholds follow the
    largest block ever freed, up to 32 MiB.
    """
    items(count=count)
    four_columns([])
    bytes(_LARGE_BLOCK)


@cache
def items(size: int = 90, count: int = RECORDS) -> list[tuple[bytes, bytes, int]]:
    """(value, key, timestamp) of every record."""
    values = values_of(size)
    return [(values[i % len(values)], b"%010d" % i, _NOON_MS + i) for i in range(count)]


@cache
def bare_items(count: int = RECORDS) -> list[tuple[bytes, None, int]]:
    """The same without keys."""
    return [(value, None, when) for value, _, when in items(count=count)]


def tuples(count: int = RECORDS) -> list[tuple[bytes, bytes, int, tuple[()]]]:
    """The same as kwire.records.encode() takes them."""
    return [(value, key, when, ()) for value, key, when in items(count=count)]


def batch(
    *, magic: int = 2, compression: str = "none", headers: bool = False, size: int = 90, count: int = RECORDS
) -> bytes:
    """One batch, or message set, of them."""
    extra = _HEADERS if headers else ()
    every = [(value, key, when, extra) for value, key, when in items(size, count)]
    return records.encode(every, magic=magic, compression=compression)


def batches(per_batch: int, count: int = RECORDS) -> bytes:
    """The same records, so many to a batch."""
    every = tuples(count)
    return b"".join(records.encode(every[at : at + per_batch], base_offset=at) for at in range(0, count, per_batch))


def sweep(outputs: dict[str, Callable[[bytes], Any]]) -> Cases:
    """The cases of all record sizes and batch sizes; `outputs` makes "values" and "columns" from a record set."""
    cases = {}
    for output, make in outputs.items():
        for size in RECORD_SIZES:
            count = max(min(_SWEEP_BYTES // size, _SWEEP_MAX_RECORDS), 2)
            cases[size_row(size, output)] = Case(make, partial(batch, size=size, count=count), count)
        for per_batch in BATCH_COUNTS:
            count = max(per_batch, _SWEEP_MIN_RECORDS)
            cases[batch_row(per_batch, output)] = Case(make, partial(batches, per_batch, count), count)
    return cases


def metadata_response() -> MetadataResponse:
    """One topic with 1,000 partitions."""
    partitions = [
        _TOPIC.MetadataResponsePartition(
            partition_index=i,
            leader_id=i % 3,
            replica_nodes=[i % 3, (i + 1) % 3, (i + 2) % 3],
            isr_nodes=[i % 3, (i + 1) % 3, (i + 2) % 3],
        )
        for i in range(1000)
    ]
    brokers = [MetadataResponse.MetadataResponseBroker(node_id=i, host=f"broker-{i}", port=9092) for i in range(3)]
    topics = [_TOPIC(name="topic", partitions=partitions)]
    return MetadataResponse(brokers=brokers, cluster_id="cluster", controller_id=1, topics=topics)


def fetch_response() -> FetchResponse:
    """100 partitions with 1.1 KB each."""
    partitions = [
        _FETCHED.PartitionData(
            partition_index=i, high_watermark=1_000_000 + i, last_stable_offset=1_000_000, records=b"x" * 1100
        )
        for i in range(100)
    ]
    return FetchResponse(responses=[_FETCHED(topic="topic", partitions=partitions)])


def produce_request() -> ProduceRequest:
    """One record."""
    entry = _PRODUCED.PartitionProduceData(index=3, records=records.encode([b"r" * 30]))
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[_PRODUCED(name="topic", partition_data=[entry])])


MESSAGES: dict[str, Callable[[], Message]] = {
    "metadata": metadata_response,
    "fetch": fetch_response,
    "produce": produce_request,
}


def encoded(name: str) -> bytes:
    """The bytes of a message of MESSAGES, in its version of VERSIONS."""
    return MESSAGES[name]().encode(VERSIONS[name])
