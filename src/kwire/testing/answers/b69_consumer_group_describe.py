"""ConsumerGroupDescribe (key 69).

Behaviour
    Consumer groups with their epochs, and of each member what it may read now and what it is to read. A group that is
    missing, or is no consumer group, is answered with GROUP_ID_NOT_FOUND; one whose members are assigned topics that
    the client may not describe, with TOPIC_AUTHORIZATION_FAILED.

Version notes
    v1   member_type: 0 for members that use the classic protocol, 1 for consumers
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from kwire.testing.answers.group_coordinator import check_described, check_group_id
from kwire.testing.groups.consumer_group import ConsumerGroup, ConsumerMember, by_topic
from kwire.testing.groups.server_assignors import PartitionSet
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, GROUP

Context = RequestContext[ConsumerGroupDescribeRequest]
_Group = ConsumerGroupDescribeResponse.DescribedGroup
_Member = _Group.Member
_CLASSIC, _CONSUMER = 0, 1


def answer(context: Context) -> ConsumerGroupDescribeResponse:
    """One description per group."""
    return ConsumerGroupDescribeResponse(groups=[_described(context, each) for each in context.request.group_ids])


def refuse(context: Context, code: int) -> ConsumerGroupDescribeResponse:
    """Every group answered with `code`."""
    return ConsumerGroupDescribeResponse(
        groups=[_Group(group_id=each, error_code=code) for each in context.request.group_ids]
    )


def _described(context: Context, group_id: str) -> _Group:
    try:
        check_group_id(context, group_id, DESCRIBE)
        group = context.cluster.groups.consumer(group_id)
        members = group.members.values()
        check_described(context, {topic for each in members for topic, _ in each.assigned | group.target_of(each)})
    except BrokerError as refused:
        return _Group(group_id=group_id, error_code=refused.code, error_message=refused.context)
    described = _Group(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.preferred_assignor,
        members=[_member(group, member) for member in group.members.values()],
    )
    if context.request.include_authorized_operations:
        described.authorized_operations = context.operations(GROUP, group_id)
    return described


def _member(group: ConsumerGroup, member: ConsumerMember) -> _Member:
    return _Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.pattern or "",
        assignment=_assignment(group, member.assigned),
        target_assignment=_assignment(group, group.target_of(member)),
        member_type=_CONSUMER if member.classic is None else _CLASSIC,
    )


def _assignment(group: ConsumerGroup, assignment: PartitionSet) -> _Member.Assignment:
    topics = group.cluster.topics_by_id
    return _Member.Assignment(
        topic_partitions=[
            _Member.Assignment.TopicPartitions(topic_id=topic, topic_name=topics[topic].name, partitions=partitions)
            for topic, partitions in by_topic(assignment).items()
            if topic in topics
        ]
    )
