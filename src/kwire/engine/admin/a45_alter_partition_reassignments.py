"""AlterPartitionReassignments: partitions get other replicas, or a reassignment is cancelled. Layer 3, no I/O.

Asked of the controller, which answers when the reassignment has begun.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller
from kwire.engine.calls.refusals import each_of, said
from kwire.engine.common.addresses import TopicPartition
from kwire.errors import KafkaError
from kwire.protocol import APIS
from kwire.schema.api_keys import ALTER_PARTITION_REASSIGNMENTS
from kwire.schema.error_codes import NO_REASSIGNMENT_IN_PROGRESS

if TYPE_CHECKING:
    from kwire.engine.ports import Services

_FIRST_VERSION_WITH_FIXED_FACTOR = 1


class AlterPartitionReassignments(AdminApi[TopicPartition, None]):
    """Begins or cancels (None for replicas) the reassignments; the result is None."""

    api_key = ALTER_PARTITION_REASSIGNMENTS
    means_done = frozenset({NO_REASSIGNMENT_IN_PROGRESS})
    tells_all = True
    what = "AlterPartitionReassignments"

    def __init__(self, wanted: Mapping[TopicPartition, Sequence[int] | None], *, may_change_factor: bool) -> None:
        self.lookup = Controller()
        self._wanted = wanted
        self._may_change_factor = may_change_factor
        if may_change_factor:
            self.when_too_old = "before Kafka 2.4 only its own tools can reassign partitions, by ZooKeeper"
        else:
            self.versions = APIS[self.api_key].versions[_FIRST_VERSION_WITH_FIXED_FACTOR:]
            self.when_too_old = "allow_replication_factor_change=False needs Kafka 4.1 or newer"

    @override
    def split(self, core: Services) -> Sequence[TopicPartition]:
        return list(self._wanted)

    @override
    def request(
        self, core: Services, keys: Sequence[TopicPartition], version: int
    ) -> protocol.AlterPartitionReassignmentsRequest:
        made = protocol.AlterPartitionReassignmentsRequest.ReassignableTopic
        by_topic: dict[str, list[TopicPartition]] = defaultdict(list)
        for key in keys:
            by_topic[key.topic].append(key)
        return protocol.AlterPartitionReassignmentsRequest(
            timeout_ms=self.patience_ms,
            allow_replication_factor_change=self._may_change_factor,
            topics=[
                made(
                    name=name,
                    partitions=[
                        made.ReassignablePartition(partition_index=tp.partition, replicas=self._wanted[tp])
                        for tp in some
                    ],
                )
                for name, some in by_topic.items()
            ],
        )

    @override
    def result(
        self, keys: Sequence[TopicPartition], response: protocol.AlterPartitionReassignmentsResponse, version: int
    ) -> Mapping[TopicPartition, KafkaError | None]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, said(self.what, response.error_message))
        rows = (
            (TopicPartition(topic.name, row.partition_index), row.error_code, row.error_message)
            for topic in response.responses
            for row in topic.partitions
        )
        return each_of(rows, self.what)
