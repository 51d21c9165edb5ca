"""DescribeQuorum: leader, voters and observers of the metadata; any broker asks the leader. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.quorum_results import QuorumInfo, QuorumReplica, RaftVoterEndpoint
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import AnyBroker
from kwire.engine.calls.refusals import said
from kwire.errors import KafkaError
from kwire.schema.api_keys import DESCRIBE_QUORUM
from kwire.schema.fields import NO_UUID

if TYPE_CHECKING:
    from kwire.engine.ports import Services

    Row = protocol.DescribeQuorumResponse.TopicData.PartitionData

_TOPIC = "__cluster_metadata"
_PARTITION = 0


class DescribeQuorum(AdminApi[None, QuorumInfo]):
    """The QuorumInfo."""

    api_key = DESCRIBE_QUORUM
    retries_codes = True
    what = "DescribeQuorum"
    when_too_old = "a cluster with ZooKeeper has no quorum; describe_cluster() names its controller"

    def __init__(self) -> None:
        self.lookup = AnyBroker()

    @override
    def split(self, core: Services) -> Sequence[None]:
        return [None]

    @override
    def request(self, core: Services, keys: Sequence[None], version: int) -> protocol.DescribeQuorumRequest:
        made = protocol.DescribeQuorumRequest.TopicData
        partition = made.PartitionData(partition_index=_PARTITION)
        return protocol.DescribeQuorumRequest(topics=[made(topic_name=_TOPIC, partitions=[partition])])

    @override
    def result(
        self, keys: Sequence[None], response: protocol.DescribeQuorumResponse, version: int
    ) -> Mapping[None, QuorumInfo]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, said(self.what, response.error_message))
        rows = [
            row
            for topic in response.topics
            for row in topic.partitions
            if (topic.topic_name, row.partition_index) == (_TOPIC, _PARTITION)
        ]
        if not rows:
            raise KafkaError(f"the response to {self.what} has no entry for {_TOPIC}-{_PARTITION}")
        return {None: self._quorum(rows[0], response)}

    @override
    def merge(self, results: Mapping[None, QuorumInfo]) -> QuorumInfo:
        return results[None]

    def _quorum(self, row: Row, response: protocol.DescribeQuorumResponse) -> QuorumInfo:
        if row.error_code:
            raise errors.broker.error_for(row.error_code, said(self.what, row.error_message))
        return QuorumInfo(
            row.leader_id,
            row.leader_epoch,
            row.high_watermark,
            _replicas(row.current_voters),
            _replicas(row.observers),
            {
                node.node_id: tuple(RaftVoterEndpoint(each.name, each.host, each.port) for each in node.listeners)
                for node in response.nodes
            },
        )


def _replicas(rows: Iterable[Row.ReplicaState]) -> tuple[QuorumReplica, ...]:
    return tuple(
        QuorumReplica(
            row.replica_id,
            None if row.replica_directory_id == NO_UUID else row.replica_directory_id,
            row.log_end_offset,
            None if row.last_fetch_timestamp < 0 else row.last_fetch_timestamp,
            None if row.last_caught_up_timestamp < 0 else row.last_caught_up_timestamp,
        )
        for row in rows
    )
