"""OffsetForLeaderEpoch (key 23).

Behaviour
    Where a leader epoch ended: the epoch asked for, or the newest one before it in which something was written, and the
    offset at which the next one began; the end of the log for the present epoch. An epoch that is newer than the
    present one has epoch and offset -1. Readers ask to find out where their log parts from the leader's (KIP-320).

Version notes
    v0   the offset alone
    v1   leader_epoch in the answer
    v2   current_leader_epoch is checked: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH
    v3   replica_id; readers that may DESCRIBE the topic may ask
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, CLUSTER_ACTION, DESCRIBE, TOPIC

Context = RequestContext[OffsetForLeaderEpochRequest]
_Asked = OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition
_Topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
_Result = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult.EpochEndOffset


def answer(context: Context) -> OffsetForLeaderEpochResponse:
    """The end of an epoch of each partition."""
    return OffsetForLeaderEpochResponse(
        topics=[
            _Topic(topic=topic.topic, partitions=[_end(context, topic.topic, asked) for asked in topic.partitions])
            for topic in context.request.topics
        ]
    )


def refuse(context: Context, code: int) -> OffsetForLeaderEpochResponse:
    """Every partition answered with `code`."""
    return OffsetForLeaderEpochResponse(
        topics=[
            _Topic(
                topic=topic.topic,
                partitions=[_Result(partition=asked.partition, error_code=code) for asked in topic.partitions],
            )
            for topic in context.request.topics
        ]
    )


def _end(context: Context, topic: str, asked: _Asked) -> _Result:
    try:
        if not context.allows(CLUSTER_ACTION, CLUSTER):
            context.require(DESCRIBE, TOPIC, topic)
        partition = context.cluster.partition_led_by(
            context.node, topic, None, asked.partition, asked.current_leader_epoch
        )
    except BrokerError as refused:
        return _Result(partition=asked.partition, error_code=refused.code)
    epoch, end = partition.end_of_epoch(asked.leader_epoch)
    return _Result(partition=asked.partition, leader_epoch=epoch, end_offset=end)
