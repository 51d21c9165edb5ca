"""ListPartitionReassignments: which partitions get other replicas now, asked of the controller. Layer 3, no I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.replica_results import PartitionReassignment
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller
from kwire.engine.calls.refusals import said
from kwire.engine.calls.rows import once_each
from kwire.engine.common.addresses import TopicPartition
from kwire.schema.api_keys import LIST_PARTITION_REASSIGNMENTS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

Reassignments = dict[TopicPartition, PartitionReassignment]


class ListPartitionReassignments(AdminApi[None, Reassignments]):
    """{partition: PartitionReassignment} of those that are in progress, among these partitions; None: among all."""

    api_key = LIST_PARTITION_REASSIGNMENTS
    retries_codes = True
    what = "ListPartitionReassignments"
    when_too_old = "brokers tell of reassignments since Kafka 2.4; describe_topics() has the replicas of partitions"

    def __init__(self, partitions: Sequence[TopicPartition] | None) -> None:
        self.lookup = Controller()
        self._partitions = partitions

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.ListPartitionReassignmentsRequest:
        made = protocol.ListPartitionReassignmentsRequest
        timeout_ms = self.patience_ms
        if self._partitions is None:
            return made(timeout_ms=timeout_ms, topics=None)
        by_topic: dict[str, list[int]] = defaultdict(list)
        for tp in self._partitions:
            by_topic[tp.topic].append(tp.partition)
        topics = [
            made.ListPartitionReassignmentsTopics(name=name, partition_indexes=rows) for name, rows in by_topic.items()
        ]
        return made(timeout_ms=timeout_ms, topics=topics)

    @override
    def result(
        self, keys: Sequence[None], response: protocol.ListPartitionReassignmentsResponse, version: int
    ) -> Mapping[None, Reassignments]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, said(self.what, response.error_message))
        rows = (
            (
                TopicPartition(topic.name, row.partition_index),
                PartitionReassignment(tuple(row.replicas), tuple(row.adding_replicas), tuple(row.removing_replicas)),
            )
            for topic in response.topics
            for row in topic.partitions
        )
        return {None: once_each(rows, self.what)}

    @override
    def merge(self, results: Mapping[None, Reassignments]) -> Reassignments:
        return results[None]
