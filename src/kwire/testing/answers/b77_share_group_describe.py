"""ShareGroupDescribe (key 77).

Behaviour
    Share groups with their members and what each fetches from. A group that is missing, or is no share group, is
    answered with GROUP_ID_NOT_FOUND; one whose members are assigned topics that the client may not describe, with
    TOPIC_AUTHORIZATION_FAILED.

Version notes
    v1   the first that is not a preview
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from kwire.testing.answers.group_coordinator import check_described, check_group_id
from kwire.testing.groups.consumer_group import by_topic
from kwire.testing.groups.share_group import ASSIGNOR, ShareGroup, ShareMember
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, GROUP

Context = RequestContext[ShareGroupDescribeRequest]
_Group = ShareGroupDescribeResponse.DescribedGroup
_Member = _Group.Member


def answer(context: Context) -> ShareGroupDescribeResponse:
    """One description per group."""
    return ShareGroupDescribeResponse(groups=[_described(context, each) for each in context.request.group_ids])


def refuse(context: Context, code: int) -> ShareGroupDescribeResponse:
    """Every group answered with `code`."""
    return ShareGroupDescribeResponse(
        groups=[_Group(group_id=each, error_code=code) for each in context.request.group_ids]
    )


def _described(context: Context, group_id: str) -> _Group:
    try:
        check_group_id(context, group_id, DESCRIBE)
        group = context.cluster.groups.share(group_id)
        check_described(context, {topic for each in group.members.values() for topic, _ in each.assigned})
    except BrokerError as refused:
        return _Group(group_id=group_id, error_code=refused.code, error_message=refused.context)
    described = _Group(
        group_id=group_id,
        group_state=group.state_name,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=ASSIGNOR,
        members=[_member(group, member) for member in group.members.values()],
    )
    if context.request.include_authorized_operations:
        described.authorized_operations = context.operations(GROUP, group_id)
    return described


def _member(group: ShareGroup, member: ShareMember) -> _Member:
    topics = group.cluster.topics_by_id
    return _Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        assignment=_Member.Assignment(
            topic_partitions=[
                _Member.Assignment.TopicPartitions(topic_id=topic, topic_name=topics[topic].name, partitions=partitions)
                for topic, partitions in by_topic(member.assigned).items()
                if topic in topics
            ]
        ),
    )
