"""The bytes and records that every codec reads and writes: records of a 10-byte key and a 90-byte value.

A batch has 10,000 of them, and 2,000 for codecs that take microseconds for each: costs are per record.
"""

from __future__ import annotations

from functools import cache

from benchmarks.compare.contenders.columns import four_columns
from benchmarks.compare.task import values_of
from kwire import records
from kwire.protocol import FetchResponse, MetadataResponse, ProduceRequest
from kwire.schema.messages import Message

RECORDS = 10_000
FEWER = 2_000
LARGE_RECORDS = 2_000
FEWER_LARGE = 500
SMALL_BATCH = 10
CHECKED_BYTES = 2**20
_LARGE_BLOCK = 31 * 2**20
KEPT = 20
CODECS = ("gzip", "snappy", "lz4", "zstd")
NOON_MS = 1_700_000_000_000
HEADERS = (("trace", b"0123456789abcdef"), ("source", b"billing"), ("retry", b"0"))

_TOPIC = MetadataResponse.MetadataResponseTopic
_FETCHED = FetchResponse.FetchableTopicResponse
_PRODUCED = ProduceRequest.TopicProduceData


def prepare(count: int = RECORDS) -> None:
    """Makes what many works need, and imports pyarrow; called once, before processes are forked for them.

    The large block lets glibc keep what it is given back, as it does in a process that has run for a while: its limits
    follow the largest block ever freed, up to 32 MiB.
    """
    items(count=count)
    four_columns([])
    bytes(_LARGE_BLOCK)


@cache
def items(size: int = 90, count: int = RECORDS) -> list[tuple[bytes, bytes, int]]:
    """(value, key, timestamp) of every record."""
    values = values_of(size)
    return [(values[i % len(values)], b"%010d" % i, NOON_MS + i) for i in range(count)]


@cache
def bare_items(count: int = RECORDS) -> list[tuple[bytes, None, int]]:
    """The same without keys."""
    return [(value, None, when) for value, _, when in items(count=count)]


def batch(
    *, magic: int = 2, compression: str = "none", headers: bool = False, size: int = 90, count: int = RECORDS
) -> bytes:
    """One batch, or message set, of them."""
    extra = HEADERS if headers else ()
    made = [(value, key, when, extra) for value, key, when in items(size, count)]
    return records.encode(made, magic=magic, compression=compression)


def in_batches(per_batch: int, count: int = RECORDS) -> bytes:
    """The same records, so many to a batch."""
    every = [(value, key, when, ()) for value, key, when in items(count=count)]
    return b"".join(records.encode(every[at : at + per_batch], base_offset=at) for at in range(0, count, per_batch))


def metadata_response() -> tuple[Message, int]:
    """Metadata of one topic with 1,000 partitions, and the version in which all codecs can speak."""
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
    return MetadataResponse(
        brokers=brokers, cluster_id="cluster", controller_id=1, topics=[_TOPIC(name="topic", partitions=partitions)]
    ), 5


def fetch_response() -> tuple[Message, int]:
    """A Fetch of 100 partitions with 1.1 KB each, and its version."""
    partitions = [
        _FETCHED.PartitionData(
            partition_index=i, high_watermark=1_000_000 + i, last_stable_offset=1_000_000, records=b"x" * 1100
        )
        for i in range(100)
    ]
    return FetchResponse(responses=[_FETCHED(topic="topic", partitions=partitions)]), 10


def produce_request() -> tuple[Message, int]:
    """A Produce of one record, and its version."""
    entry = _PRODUCED.PartitionProduceData(index=3, records=records.encode([b"r" * 30]))
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[_PRODUCED(name="topic", partition_data=[entry])]), 7


MESSAGES = {"metadata": metadata_response, "fetch": fetch_response, "produce": produce_request}
