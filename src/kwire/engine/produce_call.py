"""One Produce request: which batches it took, what it looks like at each version, and what its answer says of each.

Layer 3, no I/O. Which record format a version carries:

    Produce v0, v1   message sets of magic 0        v2   message sets of magic 1 (KIP-32)
    v3 and later     one batch of magic 2 per partition (KIP-98); zstd from v7 on (KIP-110)
    v13 and later    topics by id (KIP-516)
"""

from __future__ import annotations

from kwire import protocol
from kwire._codec import no_uuid
from kwire._typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uuid import UUID

    from kwire._codec import Batch, Buffer, Lane

FIRST_WITH_MAGIC_1 = 2
FIRST_WITH_MAGIC_2 = 3
FIRST_WITH_ZSTD = 7
FIRST_WITH_TOPIC_IDS = 13


def magic_of(version: int) -> int:
    """The record format of a Produce version."""
    return 2 if version >= FIRST_WITH_MAGIC_2 else 1 if version == FIRST_WITH_MAGIC_1 else 0


class ProduceCall:
    """The batches of one request to the leader of `lane`, from the moment they are taken."""

    __slots__ = ("batches", "lane", "topic_ids")

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.batches: list[Batch] = []
        self.topic_ids: dict[str, UUID] = {}

    def request(self, sealed: list[Buffer], acks: int, timeout_ms: int) -> protocol.ProduceRequest:
        """The request for the batches, whose bytes are `sealed`, in the same order."""
        topic_data = protocol.ProduceRequest.TopicProduceData
        partition_data = topic_data.PartitionProduceData
        topics: dict[str, list[protocol.ProduceRequest.TopicProduceData.PartitionProduceData]] = {}
        rows = []
        for batch, data in zip(self.batches, sealed, strict=True):
            name = batch.topic
            partitions = topics.get(name)
            if partitions is None:
                partitions = topics[name] = []
                topic_id = self.topic_ids.get(name) or no_uuid()
                rows.append(topic_data(name=name, topic_id=topic_id, partition_data=partitions))
            partitions.append(partition_data(index=batch.partition, records=data))
        return protocol.ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=rows)

    def results(self, response: Any, version: int) -> list[tuple[Batch, Any]]:
        """Each batch with the answer's row for it; None where it has none."""
        found: list[tuple[Batch, Any]] = []
        left: dict[str, dict[int, Batch]] = {}
        for batch in self.batches:
            left.setdefault(batch.topic, {})[batch.partition] = batch
        by_id = version >= FIRST_WITH_TOPIC_IDS
        names: dict[Any, str] = {}
        for name in left:
            names[self.topic_ids[name] if by_id else name] = name
        for topic in response.responses:
            waiting = left.get(names.get(topic.topic_id if by_id else topic.name, ""), {})
            for row in topic.partition_responses:
                answered = waiting.pop(row.index, None)
                if answered is not None:
                    found.append((answered, row))
        for waiting in left.values():
            for batch in waiting.values():
                found.append((batch, None))
        return found


def words_of(row: Any) -> str:
    """What the broker says in words: of the batch, or of its first bad record."""
    words = [row.error_message] if row.error_message else []
    for bad in row.record_errors[:3]:
        words.append(f"record {bad.batch_index}: {bad.batch_index_error_message or 'refused'}")
    return "; ".join(words)
