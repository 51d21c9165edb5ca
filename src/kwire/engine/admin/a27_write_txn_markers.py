"""WriteTxnMarkers, as Admin aborts a transaction with it: written by the leader of one partition. Layer 3, no I/O.

No coordinator is asked: this is for a transaction that none of them knows any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.transaction_results import ProducerState
from kwire.engine.calls.fan_out import NOT_LOOKED_AT, AdminApi
from kwire.engine.calls.lookup import Leader
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.schema.api_keys import WRITE_TXN_MARKERS
from kwire.schema.error_codes import NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from kwire.engine.ports import Services

_FIRST_COORDINATOR_EPOCH = 0


class AbortTransaction(AdminApi[TopicPartition, None]):
    """Writes the marker that aborts what this producer has open in the partition; the result is None."""

    api_key = WRITE_TXN_MARKERS
    without_effect = NOT_LOOKED_AT | {NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION}
    when_too_old = "transactions came with Kafka 0.11"

    def __init__(self, partition: TopicPartition, producer: ProducerState) -> None:
        self.what = f"abort of the transaction of producer {producer.producer_id} in {partition}"
        self.lookup = Leader()
        self._partition = partition
        self._producer = producer

    @override
    def split(self, core: Services) -> Sequence[TopicPartition]:
        return [self._partition]

    @override
    def request(self, core: Services, keys: Sequence[TopicPartition], version: int) -> protocol.WriteTxnMarkersRequest:
        marker = protocol.WriteTxnMarkersRequest.WritableTxnMarker
        topic = marker.WritableTxnMarkerTopic(name=self._partition.topic, partition_indexes=[self._partition.partition])
        epoch = self._producer.coordinator_epoch
        made = marker(
            producer_id=self._producer.producer_id,
            producer_epoch=self._producer.producer_epoch,
            transaction_result=False,
            topics=[topic],
            coordinator_epoch=_FIRST_COORDINATOR_EPOCH if epoch is None else epoch,
        )
        return protocol.WriteTxnMarkersRequest(markers=[made])

    @override
    def result(
        self, keys: Sequence[TopicPartition], response: protocol.WriteTxnMarkersResponse, version: int
    ) -> Mapping[TopicPartition, KafkaError | None]:
        rows = (
            (
                TopicPartition(topic.name, row.partition_index),
                errors.broker.error_for(row.error_code, self.what) if row.error_code else None,
            )
            for marker in response.markers
            if marker.producer_id == self._producer.producer_id
            for topic in marker.topics
            for row in topic.partitions
        )
        return by_key(rows, self.what)

    @override
    def merge(self, results: Mapping[TopicPartition, None]) -> None:
        return None
