"""ConsumerGroupHeartbeat (key 68).

Behaviour
    Joins with epoch 0, leaves with -1; a static member leaves with -2 for a while and keeps its partitions. The answer
    has the assignment where it changed, and after a full request (epoch 0, or timeout, topics and partitions all set).
    A heartbeat with the epoch before the last is taken, since the answer may have been lost, if the member owns nothing
    but what it was assigned; a join is taken at any time from 4.2 on.

    INVALID_REQUEST              a field is missing or empty, or the epoch is below -2
    GROUP_ID_NOT_FOUND           no such group, unless it is joined; a group of another type
    UNKNOWN_MEMBER_ID            not a member
    FENCED_MEMBER_EPOCH          another epoch than the member's: it has to let go of all and join again
    UNRELEASED_INSTANCE_ID       the instance joins while another member has it
    FENCED_INSTANCE_ID           the instance is another member
    UNSUPPORTED_ASSIGNOR         not one of `group_consumer_assignors`
    INVALID_REGULAR_EXPRESSION   not one of RE2
    GROUP_MAX_SIZE_REACHED       `group_consumer_max_size` members are there already

    The first member of an empty classic group makes it a consumer group. So does one that joins a classic group with
    consumers in it: their next heartbeat calls them to join (`group_consumer_migration_policy`).

Version notes
    v0   the coordinator gives out member ids
    v1   the member brings its own id; subscribed_topic_regex
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from kwire.testing.answers.group_coordinator import check_coordinator
from kwire.testing.groups.consumer_group import LEFT_FOR_A_WHILE, ConsumerGroup, ConsumerMember, by_topic
from kwire.testing.groups.migration import find_or_make_consumer_group
from kwire.testing.groups.server_assignors import PartitionSet
from kwire.testing.groups.topic_patterns import compiled
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, GROUP, READ, TOPIC

Context = RequestContext[ConsumerGroupHeartbeatRequest]
_Response = ConsumerGroupHeartbeatResponse
_LEAVES = -1


def answer(context: Context) -> _Response:
    """Takes the heartbeat of a member."""
    try:
        context.require(READ, GROUP, context.request.group_id)
        for name in context.request.subscribed_topic_names or ():
            context.require(DESCRIBE, TOPIC, name)
        _check_request(context)
        check_coordinator(context, context.request.group_id)
        if context.request.member_epoch < 0:
            return _leave(context)
        return _heartbeat(context)
    except BrokerError as refused:
        return _Response(error_code=refused.code, error_message=refused.context or refused.text)


def refuse(context: Context, code: int) -> _Response:
    """The error alone."""
    return _Response(error_code=code)


def _check_request(context: Context) -> None:
    request = context.request
    for name, value in (
        ("GroupId", request.group_id),
        ("InstanceId", request.instance_id),
        ("RackId", request.rack_id),
    ):
        _refuse_if(value is not None and not value.strip(), f"{name} can't be empty.")
    brings_id = context.version >= 1
    if request.member_epoch > 0 or request.member_epoch == _LEAVES or brings_id:
        _refuse_if(not request.member_id.strip(), "MemberId can't be empty.")
    if request.member_epoch == 0:
        _check_first_request(request)
    elif request.member_epoch == LEFT_FOR_A_WHILE:
        _refuse_if(not request.member_id.strip(), "MemberId can't be empty.")
        _refuse_if(request.instance_id is None, "InstanceId can't be null.")
    _refuse_if(request.member_epoch < LEFT_FOR_A_WHILE, "MemberEpoch is invalid.")
    offered = [name.strip() for name in context.cluster.properties.group_consumer_assignors.split(",")]
    if request.server_assignor is not None and request.server_assignor not in offered:
        raise codes.UNSUPPORTED_ASSIGNOR(
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(offered)}."
        )


def _check_first_request(request: ConsumerGroupHeartbeatRequest) -> None:
    _refuse_if(request.rebalance_timeout_ms == -1, "RebalanceTimeoutMs must be provided in first request.")
    _refuse_if(
        request.topic_partitions is None or bool(request.topic_partitions),
        "TopicPartitions must be empty when (re-)joining.",
    )
    _refuse_if(
        request.subscribed_topic_names is None and request.subscribed_topic_regex is None,
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    )


def _refuse_if(wrong: bool, why: str) -> None:
    if wrong:
        raise codes.INVALID_REQUEST(why)


def _leave(context: Context) -> _Response:
    request = context.request
    group = context.cluster.groups.consumer(request.group_id)
    member = group.find_member(request.member_id, request.instance_id)
    if request.member_epoch == LEFT_FOR_A_WHILE:
        member.epoch, member.revoking = LEFT_FOR_A_WHILE, frozenset()
    else:
        group.fence(member)
    return _Response(member_id=request.member_id, member_epoch=request.member_epoch)


def _heartbeat(context: Context) -> _Response:
    request, properties = context.request, context.cluster.properties
    if request.subscribed_topic_regex:
        compiled(request.subscribed_topic_regex)
    owned = _owned(request.topic_partitions)
    joins = request.member_epoch == 0
    group = find_or_make_consumer_group(context.cluster, request.group_id, context.release, joins=joins)
    if request.member_id not in group.members and len(group.members) >= properties.group_consumer_max_size:
        raise codes.GROUP_MAX_SIZE_REACHED(
            f"The consumer group has reached its maximum capacity of {properties.group_consumer_max_size} members."
        )
    member = _member(context, group, owned)
    before = member.assigned
    changed = _update(context, group, member)
    group.update_epoch(changed=changed)
    group.update_targets()
    group.reconcile(member, owned)
    group.extend_session(member)
    full = joins or (
        request.rebalance_timeout_ms != -1 and request.subscribed_topic_names is not None and owned is not None
    )
    return _Response(
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=context.cluster.groups.configs.number(group.group_id, "consumer.heartbeat.interval.ms"),
        assignment=_assignment(member.assigned) if full or member.assigned != before else None,
    )


def _member(context: Context, group: ConsumerGroup, owned: PartitionSet | None) -> ConsumerMember:
    request = context.request
    joins = request.member_epoch == 0
    if joins and request.instance_id is not None:
        owner = group.members.get(group.statics.get(request.instance_id, ""))
        if owner is not None and owner.member_id != request.member_id:
            if owner.classic is None and owner.epoch != LEFT_FOR_A_WHILE:
                raise codes.UNRELEASED_INSTANCE_ID(
                    f"Static member {request.member_id} with instance id {request.instance_id} cannot join the group "
                    f"because the instance id is owned by {owner.member_id} member."
                )
            return group.take_over(owner, request.member_id or _new_id())
    if joins and request.member_id not in group.members:
        made = ConsumerMember(request.member_id or _new_id())
        group.members[made.member_id] = made
        return made
    member = group.find_member(request.member_id, request.instance_id if not joins else None)
    if not (joins and context.release.takes_members_back):
        _check_epoch(member, request.member_epoch, owned)
    return member


def _check_epoch(member: ConsumerMember, epoch: int, owned: PartitionSet | None) -> None:
    what = "greater" if epoch > member.epoch else "smaller"
    lost_answer = epoch == member.previous_epoch and owned is not None and owned <= member.assigned
    if epoch > member.epoch or (epoch < member.epoch and not lost_answer):
        raise codes.FENCED_MEMBER_EPOCH(
            f"The consumer group member has a {what} member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin."
        )


def _update(context: Context, group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Notes what the request says of the member; tells whether its subscription changed."""
    request = context.request
    before = member.topics, group.names_of(member)
    member.instance_id = request.instance_id or member.instance_id
    member.rack_id = request.rack_id or member.rack_id
    member.assignor = request.server_assignor or member.assignor
    member.client_id, member.client_host = context.client_id, context.client_host
    member.classic = None
    if request.rebalance_timeout_ms != -1:
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
    if request.subscribed_topic_names is not None:
        member.topics = tuple(request.subscribed_topic_names)
    if request.subscribed_topic_regex is not None:
        member.pattern = request.subscribed_topic_regex or None
    if member.pattern and not group.is_resolved(member.pattern):
        group.match_patterns_in(0.0)
    return before != (member.topics, group.names_of(member))


def _new_id() -> str:
    return str(uuid.uuid4())


def _owned(given: Sequence[ConsumerGroupHeartbeatRequest.TopicPartitions] | None) -> PartitionSet | None:
    if given is None:
        return None
    return frozenset((topic.topic_id, partition) for topic in given for partition in topic.partitions)


def _assignment(assigned: PartitionSet) -> _Response.Assignment:
    return _Response.Assignment(
        topic_partitions=[
            _Response.Assignment.TopicPartitions(topic_id=topic, partitions=partitions)
            for topic, partitions in by_topic(assigned).items()
        ]
    )
