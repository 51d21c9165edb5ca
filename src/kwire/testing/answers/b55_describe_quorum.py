"""DescribeQuorum (key 55).

Behaviour
    The quorum of the metadata: the controller leads it, every node votes, nobody only observes. Of its one partition,
    __cluster_metadata-0, there is no log here, so nobody lags: all offsets are the same. Any other partition is
    UNKNOWN_TOPIC_OR_PARTITION.

Version notes
    releases with ZooKeeper, here to 3.2, do not have it
    v1   when voters last fetched and caught up, in ms: now for those that live
    v2   error messages, directory ids, and where the controllers listen: here with the other clients
"""

from __future__ import annotations

from uuid import NAMESPACE_OID, UUID, uuid5

from kwire.errors import broker as codes
from kwire.protocol import DescribeQuorumRequest, DescribeQuorumResponse
from kwire.schema.fields import NO_UUID
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, DESCRIBE
from kwire.testing.state.nodes import Node

Context = RequestContext[DescribeQuorumRequest]
_Topic = DescribeQuorumResponse.TopicData
_Partition = _Topic.PartitionData
_Replica = _Partition.ReplicaState
_METADATA_TOPIC = "__cluster_metadata"
_LISTENER = "CONTROLLER"
_LEADER_EPOCH, _END_OFFSET = 1, 1
_TIMES_SINCE, _DIRECTORIES_SINCE = 1, 2


def answer(context: Context) -> DescribeQuorumResponse:
    """The state of each partition that is asked for."""
    if not context.allows(DESCRIBE, CLUSTER):
        return refuse(context, codes.CLUSTER_AUTHORIZATION_FAILED.code)
    topics = [
        _Topic(
            topic_name=topic.topic_name,
            partitions=[_partition(context, topic.topic_name, asked.partition_index) for asked in topic.partitions],
        )
        for topic in context.request.topics
    ]
    is_known = any(not partition.error_code for topic in topics for partition in topic.partitions)
    return DescribeQuorumResponse(topics=topics, nodes=_endpoints(context) if is_known else [])


def refuse(context: Context, code: int) -> DescribeQuorumResponse:
    """The error alone."""
    return DescribeQuorumResponse(error_code=code)


def _partition(context: Context, topic: str, index: int) -> _Partition:
    nodes = context.cluster.nodes
    if (topic, index) != (_METADATA_TOPIC, 0):
        return _Partition(partition_index=index, error_code=codes.UNKNOWN_TOPIC_OR_PARTITION.code)
    return _Partition(
        partition_index=index,
        leader_id=nodes.controller,
        leader_epoch=_LEADER_EPOCH,
        high_watermark=_END_OFFSET,
        current_voters=[_voter(context, node) for node in nodes],
    )


def _voter(context: Context, node: Node) -> _Replica:
    seen = context.cluster.clock() if node.alive and context.version >= _TIMES_SINCE else -1
    return _Replica(
        replica_id=node.node_id,
        replica_directory_id=_directory(node) if context.version >= _DIRECTORIES_SINCE else NO_UUID,
        log_end_offset=_END_OFFSET,
        last_fetch_timestamp=seen,
        last_caught_up_timestamp=seen,
    )


def _directory(node: Node) -> UUID:
    return uuid5(NAMESPACE_OID, f"directory of node {node.node_id}")


def _endpoints(context: Context) -> list[DescribeQuorumResponse.Node]:
    made = DescribeQuorumResponse.Node
    if context.version < _DIRECTORIES_SINCE:
        return []
    return [
        made(node_id=node.node_id, listeners=[made.Listener(name=_LISTENER, **context.address_of(node)._asdict())])
        for node in context.cluster.nodes
    ]
