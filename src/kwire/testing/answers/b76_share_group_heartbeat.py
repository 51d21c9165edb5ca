"""ShareGroupHeartbeat (key 76).

Behaviour
    Joins with epoch 0, leaves with -1. The answer has the assignment where it changed, and to a member that joins. The
    epoch before the last is taken, too, since the answer may have been lost. Kafka assigns new topics only once the
    state of their partitions is written, a heartbeat later; here it is there at once.

    INVALID_REQUEST          a field is missing or empty, or the epoch is below -1
    GROUP_ID_NOT_FOUND       no such group, unless it is joined; a group of another type
    UNKNOWN_MEMBER_ID        not a member
    FENCED_MEMBER_EPOCH      another epoch than the member's: it has to join again
    GROUP_MAX_SIZE_REACHED   `group_share_max_size` members are there already

Version notes
    v1   the first that is not a preview
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from kwire.testing.answers.group_coordinator import check_coordinator
from kwire.testing.groups.consumer_group import by_topic
from kwire.testing.groups.server_assignors import PartitionSet
from kwire.testing.groups.share_group import ShareGroup, ShareMember
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, GROUP, READ, TOPIC

Context = RequestContext[ShareGroupHeartbeatRequest]
_Response = ShareGroupHeartbeatResponse
_LEAVES = -1


def answer(context: Context) -> _Response:
    """Takes the heartbeat of a member."""
    request = context.request
    try:
        context.require(READ, GROUP, request.group_id)
        for name in request.subscribed_topic_names or ():
            context.require(DESCRIBE, TOPIC, name)
        _check_request(request)
        check_coordinator(context, request.group_id)
        if request.member_epoch == _LEAVES:
            group = context.cluster.groups.share(request.group_id)
            group.remove(group.find_member(request.member_id))
            return _Response(member_id=request.member_id, member_epoch=_LEAVES)
        return _heartbeat(context)
    except BrokerError as refused:
        return _Response(error_code=refused.code, error_message=refused.context or refused.text)


def refuse(context: Context, code: int) -> _Response:
    """The error alone."""
    return _Response(error_code=code)


def _check_request(request: ShareGroupHeartbeatRequest) -> None:
    joins = request.member_epoch == 0
    for wrong, why in (
        (not request.group_id.strip(), "GroupId can't be empty."),
        (not request.member_id.strip(), "MemberId can't be empty."),
        (request.rack_id is not None and not request.rack_id.strip(), "RackId can't be empty."),
        (joins and not request.subscribed_topic_names, "SubscribedTopicNames must be set in first request."),
        (request.member_epoch < _LEAVES, "MemberEpoch is invalid."),
    ):
        if wrong:
            raise codes.INVALID_REQUEST(why)


def _heartbeat(context: Context) -> _Response:
    request, cluster = context.request, context.cluster
    epoch = context.release.first_group_epoch if request.member_epoch == 0 else None
    group = cluster.groups.share(request.group_id, make_at=epoch)
    member = _member(context, group)
    before = member.assigned
    changed = _update(context, member)
    group.advance(member, changed=changed)
    group.extend_session(member)
    joins = request.member_epoch == 0
    return _Response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=cluster.groups.configs.number(group.group_id, "share.heartbeat.interval.ms"),
        assignment=_assignment(member.assigned) if joins or member.assigned != before else None,
    )


def _member(context: Context, group: ShareGroup) -> ShareMember:
    request = context.request
    limit = context.cluster.properties.group_share_max_size
    if request.member_id not in group.members and len(group.members) >= limit:
        raise codes.GROUP_MAX_SIZE_REACHED(f"The share group has reached its maximum capacity of {limit} members.")
    if request.member_epoch == 0:
        return group.members.setdefault(request.member_id, ShareMember(request.member_id))
    member = group.find_member(request.member_id)
    if request.member_epoch not in (member.epoch, member.previous_epoch):
        what = "greater" if request.member_epoch > member.epoch else "smaller"
        raise codes.FENCED_MEMBER_EPOCH(
            f"The share group member has a {what} member epoch ({request.member_epoch}) than the one known by the "
            f"group coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
        )
    return member


def _update(context: Context, member: ShareMember) -> bool:
    """Notes what the request says of the member; tells whether its subscription changed."""
    request = context.request
    before = member.topics
    member.rack_id = request.rack_id or member.rack_id
    member.client_id, member.client_host = context.client_id, context.client_host
    if request.subscribed_topic_names is not None:
        member.topics = tuple(request.subscribed_topic_names)
    return member.topics != before


def _assignment(assigned: PartitionSet) -> _Response.Assignment:
    return _Response.Assignment(
        topic_partitions=[
            _Response.Assignment.TopicPartitions(topic_id=topic, partitions=partitions)
            for topic, partitions in by_topic(assigned).items()
        ]
    )
