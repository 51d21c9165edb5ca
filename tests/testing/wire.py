"""Record sets and requests that the tests of the broker send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from kwire import records
from kwire.protocol import FetchRequest, ProduceRequest
from kwire.schema.fields import NO_UUID


def batch(*values: bytes, **options: Any) -> bytes:
    """A record set of these values; timestamps count from 1000."""
    return records.encode([(value, None, 1000 + n) for n, value in enumerate(values)], **options)


def produce(
    record_set: bytes, *, topic: str = "orders", partition: int = 0, acks: int = -1, topic_id: UUID = NO_UUID
) -> ProduceRequest:
    """A request with one record set."""
    data = ProduceRequest.TopicProduceData.PartitionProduceData(index=partition, records=record_set)
    name = "" if topic_id != NO_UUID else topic
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[ProduceRequest.TopicProduceData(name=name, topic_id=topic_id, partition_data=[data])],
    )


def fetch(
    offset: int,
    *,
    topic: str = "orders",
    partitions: Sequence[int] = (0,),
    topic_id: UUID = NO_UUID,
    partition_max_bytes: int = 1 << 20,
    **fields: Any,
) -> FetchRequest:
    """A request for the same offset of one or more partitions of a topic; it does not wait unless told so."""
    asked = [
        FetchRequest.FetchTopic.FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=partition_max_bytes
        )
        for partition in partitions
    ]
    name = "" if topic_id != NO_UUID else topic
    return FetchRequest(
        **{"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 24, **fields},
        topics=[FetchRequest.FetchTopic(topic=name, topic_id=topic_id, partitions=asked)],
    )


def values(record_set: Any) -> list[bytes | None]:
    """The values of a record set."""
    return records.decode(record_set).values()
