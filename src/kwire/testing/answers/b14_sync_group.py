"""SyncGroup (key 14).

Behaviour
    The leader hands in the assignment, every member gets its part; members that ask earlier wait for it. In a stable
    group a member is told its part again. Whoever has not asked within the rebalance timeout is removed.

    REBALANCE_IN_PROGRESS        the group rebalances again, also told to those who wait
    ILLEGAL_GENERATION           another generation than the group's
    UNKNOWN_MEMBER_ID            no such group or member
    FENCED_INSTANCE_ID           the instance is another member now

Version notes
    v3   group_instance_id
    v5   protocol type and name, both directions; they have to be the group's (INCONSISTENT_GROUP_PROTOCOL)
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import SyncGroupRequest, SyncGroupResponse
from kwire.testing.answers.group_coordinator import check_group_id
from kwire.testing.groups import classic_members
from kwire.testing.groups.classic_group import ClassicGroup, State
from kwire.testing.groups.consumer_group import ConsumerGroup
from kwire.testing.groups.held import Held, wait_for
from kwire.testing.groups.share_group import ShareGroup
from kwire.testing.requests import Flow, RequestContext

Context = RequestContext[SyncGroupRequest]


def answer(context: Context) -> Flow[SyncGroupResponse]:
    """Takes the assignment, or waits for it."""
    held: Held[SyncGroupResponse] = Held(context.cluster)
    try:
        _check_request(context)
        check_group_id(context, context.request.group_id)
        _sync(context, held)
    except BrokerError as refused:
        held.answer(refuse(context, refused.code))
    return (yield from wait_for(context, context.request.group_id, held))


def refuse(context: Context, code: int) -> SyncGroupResponse:
    """The error, without an assignment."""
    return SyncGroupResponse(error_code=code)


def _check_request(context: Context) -> None:
    request = context.request
    if context.version >= 5 and (request.protocol_type is None or request.protocol_name is None):
        raise codes.INCONSISTENT_GROUP_PROTOCOL("protocol type and name must be given")


def _sync(context: Context, held: Held[SyncGroupResponse]) -> None:
    request = context.request
    group = context.cluster.groups.get(request.group_id)
    if group is None or isinstance(group, ShareGroup):
        raise codes.UNKNOWN_MEMBER_ID(f"no group {request.group_id!r}")
    if isinstance(group, ConsumerGroup):
        held.answer(classic_members.sync(request, group))
        return
    member = group.check_generation(request.member_id, request.group_instance_id, request.generation_id)
    _check_protocol(request, group)
    if group.state is State.PREPARING:
        raise codes.REBALANCE_IN_PROGRESS(f"group {request.group_id!r} rebalances")
    group.synced(member.member_id)
    if group.state is State.STABLE:
        held.answer(group.assignment_of(member))
        return
    member.syncing = held
    if group.leader == member.member_id:
        group.take_assignments({each.member_id: bytes(each.assignment) for each in request.assignments})


def _check_protocol(request: SyncGroupRequest, group: ClassicGroup) -> None:
    for asked, known in ((request.protocol_type, group.protocol_type), (request.protocol_name, group.protocol)):
        if asked is not None and asked != known:
            raise codes.INCONSISTENT_GROUP_PROTOCOL(f"{asked!r}; group {group.group_id!r} has {known!r}")
