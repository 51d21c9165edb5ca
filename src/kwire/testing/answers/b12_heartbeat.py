"""Heartbeat (key 12).

Behaviour
    Extends the member's session. REBALANCE_IN_PROGRESS calls for a new JoinGroup; it extends the session, too. A
    coordinator that is still loading the group takes any heartbeat for good.

    UNKNOWN_MEMBER_ID    no such group or member
    ILLEGAL_GENERATION   another generation than the group's
    FENCED_INSTANCE_ID   the instance is another member now

Version notes
    v3   group_instance_id
    before 0.10.1 even one that is no member is told that the group rebalances
    before 2.5 a heartbeat between JoinGroup and SyncGroup is answered with REBALANCE_IN_PROGRESS
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import HeartbeatRequest, HeartbeatResponse
from kwire.testing.answers.group_coordinator import check_group_id
from kwire.testing.groups import classic_members
from kwire.testing.groups.classic_group import State
from kwire.testing.groups.consumer_group import ConsumerGroup
from kwire.testing.groups.share_group import ShareGroup
from kwire.testing.requests import RequestContext

Context = RequestContext[HeartbeatRequest]
_REBALANCES = "the group rebalances"


def answer(context: Context) -> HeartbeatResponse:
    """Notes that the member is alive."""
    try:
        check_group_id(context, context.request.group_id)
        _heartbeat(context)
    except codes.COORDINATOR_LOAD_IN_PROGRESS:
        return HeartbeatResponse()
    except BrokerError as refused:
        return refuse(context, refused.code)
    return HeartbeatResponse()


def refuse(context: Context, code: int) -> HeartbeatResponse:
    """The error."""
    return HeartbeatResponse(error_code=code)


def _heartbeat(context: Context) -> None:
    request = context.request
    group = context.cluster.groups.get(request.group_id)
    if group is None or isinstance(group, ShareGroup):
        raise codes.UNKNOWN_MEMBER_ID(f"no group {request.group_id!r}")
    if isinstance(group, ConsumerGroup):
        classic_members.heartbeat(request, group)
        return
    if group.state in (State.PREPARING, State.COMPLETING) and not context.release.keeps_empty_groups:
        raise codes.REBALANCE_IN_PROGRESS(_REBALANCES)
    member = group.check_generation(request.member_id, request.group_instance_id, request.generation_id)
    group.extend_session(member)
    if group.state is State.PREPARING:
        raise codes.REBALANCE_IN_PROGRESS(_REBALANCES)
    if group.state is State.COMPLETING and not context.release.has_heartbeats_before_sync:
        raise codes.REBALANCE_IN_PROGRESS(f"group {request.group_id!r} waits for its assignment")
