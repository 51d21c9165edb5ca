"""CreatePartitions (key 37).

Behaviour
    Adds partitions to each topic, up to a count that has to be above the present one: else INVALID_PARTITIONS. They are
    led by one living node after the other, or as assignments say, one for each new partition. A topic that is named
    twice is INVALID_REQUEST. Readers that wait for records of the topic are not disturbed.

Version notes
    v2 is flexible; v3 may be throttled with THROTTLING_QUOTA_EXCEEDED, which is not done here
"""

from __future__ import annotations

from collections import Counter

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.errors.listing import counted
from kwire.protocol import CreatePartitionsRequest, CreatePartitionsResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import ALTER, TOPIC
from kwire.testing.state.partition import Topic
from kwire.testing.state.replication import check_assignment

Context = RequestContext[CreatePartitionsRequest]
_Asked = CreatePartitionsRequest.CreatePartitionsTopic
_Result = CreatePartitionsResponse.CreatePartitionsTopicResult


def answer(context: Context) -> CreatePartitionsResponse:
    """One result per topic name."""
    names = Counter(asked.name for asked in context.request.topics)
    results = [_result(context, asked) for asked in context.request.topics if names[asked.name] == 1]
    twice = [name for name, count in names.items() if count > 1]
    results += [_refused(name, codes.INVALID_REQUEST.code, "the request names this topic twice") for name in twice]
    return CreatePartitionsResponse(results=results)


def refuse(context: Context, code: int) -> CreatePartitionsResponse:
    """Every topic answered with `code`."""
    return CreatePartitionsResponse(results=[_refused(asked.name, code, None) for asked in context.request.topics])


def _result(context: Context, asked: _Asked) -> _Result:
    try:
        context.check_controller()
        context.require(ALTER, TOPIC, asked.name)
        topic = context.cluster.topic(asked.name)
        more = _how_many(asked, topic)
        assignment = _assignment(context, asked, topic, more)
        if not context.request.validate_only:
            context.cluster.add_partitions(topic, more, assignment)
    except BrokerError as refused:
        return _refused(asked.name, refused.code, refused.context)
    return _refused(asked.name, 0, None)


def _how_many(asked: _Asked, topic: Topic) -> int:
    present = len(topic.partitions)
    if asked.count <= present:
        raise codes.INVALID_PARTITIONS(
            f"topic {asked.name!r} has {counted(present, 'partition')}; {asked.count} is not more"
        )
    return asked.count - present


def _assignment(context: Context, asked: _Asked, topic: Topic, more: int) -> list[list[int]] | None:
    if asked.assignments is None:
        return None
    given = [list(each.broker_ids) for each in asked.assignments]
    factor = len(topic.partitions[0].replicas)
    if len(given) != more or any(len(replicas) != factor for replicas in given):
        raise codes.INVALID_REPLICA_ASSIGNMENT(f"{len(given)} assignments: {more} of {factor} replicas are wanted")
    for replicas in given:
        check_assignment(context.cluster.nodes, replicas)
    return given


def _refused(name: str, code: int, reason: str | None) -> _Result:
    return _Result(name=name, error_code=code, error_message=reason)
