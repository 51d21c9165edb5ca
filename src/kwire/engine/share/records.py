"""The records of one poll of a share group: as those of a Consumer, and how often each was delivered.

Layer 3, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kwire._codec import ConsumerRecord, Records
from kwire.engine.common.addresses import TopicPartition
from kwire.engine.consumer.records import ConsumerRecords
from kwire.engine.share.acquired import DeliveryCount


class ShareRecords(ConsumerRecords):
    """The records of one poll, partition by partition. Immutable; share it freely."""

    __slots__ = ("_counts",)

    def __init__(
        self,
        parts: Sequence[tuple[TopicPartition, Records]] = (),
        counts: Iterable[tuple[TopicPartition, Sequence[DeliveryCount]]] = (),
    ) -> None:
        super().__init__(parts)
        self._counts: dict[TopicPartition, list[DeliveryCount]] = {}
        for tp, ranges in counts:
            self._counts.setdefault(tp, []).extend(ranges)

    def delivery_count(self, record: ConsumerRecord) -> int:
        """How often the record of this poll was delivered to the group, this time counted; KeyError for another."""
        offset = record.offset
        for first, last, count in self._counts.get(TopicPartition(record.topic, record.partition), ()):
            if first <= offset <= last:
                return count
        raise KeyError(record)

    def delivery_counts(self) -> list[int]:
        """How often each record was delivered, in the order of the records."""
        return [self.delivery_count(record) for record in self]
