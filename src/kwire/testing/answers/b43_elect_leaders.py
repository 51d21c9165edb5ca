"""ElectLeaders (key 43).

Behaviour
    Makes the preferred replica (the first one) the leader of each partition, or any living replica where there is no
    leader (an unclean election). ELECTION_NOT_NEEDED where that is so already, PREFERRED_LEADER_NOT_AVAILABLE and
    ELIGIBLE_LEADERS_NOT_AVAILABLE where it cannot be. For all partitions, asked for by null, only those are told that
    were elected or failed.

Version notes
    v0   preferred leaders only; no error of the whole answer
    v1   election_type: 0 preferred, 1 unclean; error_code
"""

from __future__ import annotations

from collections.abc import Callable

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import ElectLeadersRequest, ElectLeadersResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import ALTER, CLUSTER
from kwire.testing.state.nodes import NO_NODE
from kwire.testing.state.partition import Partition

Context = RequestContext[ElectLeadersRequest]
_Topic = ElectLeadersResponse.ReplicaElectionResult
_Result = ElectLeadersResponse.ReplicaElectionResult.PartitionResult
_PREFERRED, _UNCLEAN = 0, 1


def answer(context: Context) -> ElectLeadersResponse:
    """What became of each election."""
    try:
        context.check_controller()
        context.require(ALTER, CLUSTER)
        if context.version >= 1 and context.request.election_type not in (_PREFERRED, _UNCLEAN):
            raise codes.INVALID_REQUEST(f"there is no election type {context.request.election_type}")
    except BrokerError as refused:
        return refuse(context, refused.code)
    return _results(context, _chosen(context), lambda topic, index: _elect(context, topic, index))


def refuse(context: Context, code: int) -> ElectLeadersResponse:
    """Every partition asked for, and the answer, with `code`."""
    asked = {topic.topic: list(topic.partitions) for topic in context.request.topic_partitions or ()}
    response = _results(context, asked, lambda topic, index: _result(index, code, None))
    if context.version >= 1:
        response.error_code = code
    return response


def _chosen(context: Context) -> dict[str, list[int]]:
    """The partitions by topic: those asked for, or all."""
    if context.request.topic_partitions is not None:
        return {topic.topic: list(topic.partitions) for topic in context.request.topic_partitions}
    return {name: list(range(len(topic.partitions))) for name, topic in context.cluster.topics.items()}


def _results(
    context: Context, chosen: dict[str, list[int]], each: Callable[[str, int], _Result]
) -> ElectLeadersResponse:
    rows = []
    for name, indexes in chosen.items():
        results = [each(name, index) for index in indexes]
        if context.request.topic_partitions is None:
            results = [result for result in results if result.error_code != codes.ELECTION_NOT_NEEDED.code]
        rows.append(_Topic(topic=name, partition_result=results))
    return ElectLeadersResponse(replica_election_results=rows)


def _elect(context: Context, topic: str, index: int) -> _Result:
    try:
        partition = context.cluster.partition(topic, None, index)
        leader = _leader(context, partition)
    except BrokerError as refused:
        return _result(index, refused.code, refused.context)
    context.cluster.move_leader(partition, leader)
    return _result(index, 0, None)


def _leader(context: Context, partition: Partition) -> int:
    """The node that is to lead. Raises BrokerError."""
    is_unclean = context.version >= 1 and context.request.election_type == _UNCLEAN
    alive = [replica for replica in partition.replicas if context.cluster.nodes.is_alive(replica)]
    if is_unclean:
        if partition.leader != NO_NODE:
            raise codes.ELECTION_NOT_NEEDED(f"{partition} has a leader")
        if not alive:
            raise codes.ELIGIBLE_LEADERS_NOT_AVAILABLE(f"no replica of {partition} is alive")
        partition.isr = alive[:1]
        return alive[0]
    preferred = partition.replicas[0]
    if partition.leader == preferred:
        raise codes.ELECTION_NOT_NEEDED(f"{partition} is led by its preferred leader")
    if preferred not in alive or preferred not in partition.isr:
        raise codes.PREFERRED_LEADER_NOT_AVAILABLE(f"node {preferred} cannot lead {partition}")
    return preferred


def _result(index: int, code: int, reason: str | None) -> _Result:
    return _Result(partition_id=index, error_code=code, error_message=reason)
