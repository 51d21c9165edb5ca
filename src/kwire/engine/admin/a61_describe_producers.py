"""DescribeProducers: who has written to partitions, asked of their leaders or of one broker. Layer 3, no I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.transaction_results import ProducerState
from kwire.engine.calls.fan_out import NOT_LOOKED_AT, AdminApi
from kwire.engine.calls.lookup import Leader, NamedBroker
from kwire.engine.calls.refusals import said
from kwire.engine.calls.rows import by_key
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.schema.api_keys import DESCRIBE_PRODUCERS
from kwire.schema.error_codes import NOT_LEADER_OR_FOLLOWER

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.DescribeProducersResponse.TopicResponse.PartitionResponse

Producers = tuple[ProducerState, ...]


class DescribeProducers(AdminApi[TopicPartition, Producers]):
    """{partition: its ProducerStates}; `broker` None asks the leaders."""

    api_key = DESCRIBE_PRODUCERS
    tells_all = True
    what = "DescribeProducers"
    when_too_old = "brokers tell of the producers of partitions since Kafka 2.8"

    def __init__(self, partitions: Sequence[TopicPartition], broker: int | None) -> None:
        self.lookup = Leader() if broker is None else NamedBroker(lambda _: broker)
        self.retries_codes = broker is None
        # A broker that was named stays the one to ask: without a replica now, it has none at the next try.
        self.without_effect = NOT_LOOKED_AT - {NOT_LEADER_OR_FOLLOWER}
        self._partitions = partitions

    @override
    def split(self, core: Services) -> Sequence[TopicPartition]:
        return self._partitions

    @override
    def request(
        self, core: Services, keys: Sequence[TopicPartition], version: int
    ) -> protocol.DescribeProducersRequest:
        by_topic: dict[str, list[int]] = defaultdict(list)
        for tp in keys:
            by_topic[tp.topic].append(tp.partition)
        made = protocol.DescribeProducersRequest.TopicRequest
        return protocol.DescribeProducersRequest(
            topics=[made(name=name, partition_indexes=rows) for name, rows in by_topic.items()]
        )

    @override
    def result(
        self, keys: Sequence[TopicPartition], response: protocol.DescribeProducersResponse, version: int
    ) -> Mapping[TopicPartition, Producers | KafkaError]:
        rows = (
            (TopicPartition(topic.name, row.partition_index), self._producers(topic.name, row))
            for topic in response.topics
            for row in topic.partitions
        )
        return by_key(rows, self.what)

    def _producers(self, topic: str, row: Row) -> Producers | KafkaError:
        if row.error_code:
            text = said(f"{self.what} of {TopicPartition(topic, row.partition_index)}", row.error_message)
            return errors.broker.error_for(row.error_code, text)
        return tuple(
            ProducerState(
                each.producer_id,
                each.producer_epoch,
                each.last_sequence,
                each.last_timestamp,
                None if each.coordinator_epoch < 0 else each.coordinator_epoch,
                None if each.current_txn_start_offset < 0 else each.current_txn_start_offset,
            )
            for each in row.active_producers
        )
