"""AlterPartitionReassignments (key 45).

Behaviour
    Gives partitions other replicas. They have all records at once, so that it is done when it is answered; a partition
    whose leader is none of them is led by the first one. There is never a reassignment to cancel, which null replicas
    ask for: NO_REASSIGNMENT_IN_PROGRESS. Replicas that are no living nodes are INVALID_REPLICA_ASSIGNMENT.

Version notes
    v1   allow_replication_factor_change; without it another number of replicas is INVALID_REPLICATION_FACTOR
"""

from __future__ import annotations

from collections.abc import Callable

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import ALTER, CLUSTER
from kwire.testing.state.replication import check_assignment, elect

Context = RequestContext[AlterPartitionReassignmentsRequest]
_Asked = AlterPartitionReassignmentsRequest.ReassignableTopic.ReassignablePartition
_Topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
_Result = AlterPartitionReassignmentsResponse.ReassignableTopicResponse.ReassignablePartitionResponse


def answer(context: Context) -> AlterPartitionReassignmentsResponse:
    """What became of each partition."""
    try:
        context.check_controller()
        context.require(ALTER, CLUSTER)
    except BrokerError as refused:
        return refuse(context, refused.code)
    return _results(context, lambda topic, asked: _reassign(context, topic, asked))


def refuse(context: Context, code: int) -> AlterPartitionReassignmentsResponse:
    """The error of the whole answer."""
    return AlterPartitionReassignmentsResponse(error_code=code, responses=[])


def _results(context: Context, each: Callable[[str, _Asked], _Result]) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        error_message=None,
        responses=[
            _Topic(name=topic.name, partitions=[each(topic.name, asked) for asked in topic.partitions])
            for topic in context.request.topics
        ],
    )


def _reassign(context: Context, topic: str, asked: _Asked) -> _Result:
    cluster = context.cluster
    try:
        partition = cluster.partition(topic, None, asked.partition_index)
        if asked.replicas is None:
            raise codes.NO_REASSIGNMENT_IN_PROGRESS(f"{partition} is not being reassigned")
        check_assignment(cluster.nodes, asked.replicas)
        is_fixed = context.version >= 1 and not context.request.allow_replication_factor_change
        if is_fixed and len(asked.replicas) != len(partition.replicas):
            raise codes.INVALID_REPLICATION_FACTOR(f"{partition} has {len(partition.replicas)} replicas")
    except BrokerError as refused:
        return _Result(partition_index=asked.partition_index, error_code=refused.code, error_message=refused.context)
    partition.replicas = list(asked.replicas)
    partition.isr = list(asked.replicas)
    if partition.leader not in partition.replicas:
        elect(partition, cluster.nodes)
    cluster.wake([partition])
    return _Result(partition_index=asked.partition_index, error_message=None)
