"""DeleteRecords: cuts off the beginning of partitions, asked of their leaders. Layer 3, no I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Leader
from kwire.engine.calls.refusals import where_missing
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.schema.api_keys import DELETE_RECORDS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

HIGH_WATERMARK = -1


class DeleteRecords(AdminApi[TopicPartition, int]):
    """Deletes what is before an offset; {partition: its first offset then}."""

    api_key = DELETE_RECORDS
    tells_all = True
    what = "DeleteRecords"

    def __init__(self, before: Mapping[TopicPartition, int]) -> None:
        self.lookup = Leader()
        self._before = before
        # A second request with the same offset has no other effect; with HIGH_WATERMARK it could delete later records.
        self.retries_codes = HIGH_WATERMARK not in before.values()

    @override
    def split(self, core: Services) -> Sequence[TopicPartition]:
        return list(self._before)

    @override
    def request(self, core: Services, keys: Sequence[TopicPartition], version: int) -> protocol.DeleteRecordsRequest:
        topic = protocol.DeleteRecordsRequest.DeleteRecordsTopic
        rows: dict[str, list[protocol.DeleteRecordsRequest.DeleteRecordsTopic.DeleteRecordsPartition]] = defaultdict(
            list
        )
        for tp in keys:
            rows[tp.topic].append(topic.DeleteRecordsPartition(partition_index=tp.partition, offset=self._before[tp]))
        return protocol.DeleteRecordsRequest(
            topics=[topic(name=name, partitions=partitions) for name, partitions in rows.items()],
            timeout_ms=self.patience_ms,
        )

    @override
    def result(
        self, keys: Sequence[TopicPartition], response: protocol.DeleteRecordsResponse, version: int
    ) -> Mapping[TopicPartition, int | KafkaError]:
        rows = (
            (TopicPartition(topic.name, row.partition_index), row)
            for topic in response.topics
            for row in topic.partitions
        )
        told = (
            (
                tp,
                errors.broker.error_for(row.error_code, f"DeleteRecords of {tp}")
                if row.error_code
                else row.low_watermark,
            )
            for tp, row in rows
        )
        return by_key(told, self.what)

    @override
    def explain(self, error: KafkaError) -> KafkaError:
        return where_missing(error, DELETE_RECORDS, "records can be deleted from Kafka 0.11 on")
