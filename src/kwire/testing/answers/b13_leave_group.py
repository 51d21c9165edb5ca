"""LeaveGroup (key 13).

Behaviour
    Members leave, and the rest begins a rebalance. A member that was given an id and has not joined yet can leave, too.

Version notes
    v0-2   one member, whose error is that of the answer
    v3     several, each with an error of its own; by group_instance_id alone an administrator removes a static member
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import LeaveGroupRequest, LeaveGroupResponse
from kwire.testing.answers.group_coordinator import check_group_id
from kwire.testing.groups.classic_group import ClassicGroup, State
from kwire.testing.groups.consumer_group import ConsumerGroup
from kwire.testing.groups.groups import AnyGroup
from kwire.testing.groups.share_group import ShareGroup
from kwire.testing.requests import RequestContext

Context = RequestContext[LeaveGroupRequest]
_Identity = LeaveGroupRequest.MemberIdentity
_Result = LeaveGroupResponse.MemberResponse


def answer(context: Context) -> LeaveGroupResponse:
    """Removes the members."""
    try:
        check_group_id(context, context.request.group_id)
    except BrokerError as refused:
        return refuse(context, refused.code)
    asked = _asked(context)
    group = context.cluster.groups.get(context.request.group_id)
    results = [_Result(member_id=m.member_id, group_instance_id=m.group_instance_id) for m in asked]
    left = []
    for identity, result in zip(asked, results, strict=True):
        try:
            left.append(_leaving(group, identity))
        except BrokerError as refused:
            result.error_code = refused.code
    if group is not None and left:
        _remove(group, left)
    if context.version >= 3:
        return LeaveGroupResponse(members=results)
    return LeaveGroupResponse(error_code=results[0].error_code)


def refuse(context: Context, code: int) -> LeaveGroupResponse:
    """The error of the whole answer."""
    return LeaveGroupResponse(error_code=code)


def _asked(context: Context) -> list[_Identity]:
    if context.version >= 3:
        return list(context.request.members)
    return [_Identity(member_id=context.request.member_id)]


def _leaving(group: AnyGroup | None, identity: _Identity) -> str:
    """The id of a member that may leave, or of one that has not joined yet. Raises BrokerError."""
    if group is None or isinstance(group, ShareGroup):
        raise codes.UNKNOWN_MEMBER_ID("no such group")
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if not member_id and instance_id is not None:
        member_id = group.statics.get(instance_id, "")
    if isinstance(group, ConsumerGroup):
        return group.find_member(member_id, instance_id).member_id
    return member_id if member_id in group.pending else group.check_member(member_id, instance_id).member_id


def _remove(group: AnyGroup, member_ids: list[str]) -> None:
    unique = list(dict.fromkeys(member_ids))
    if isinstance(group, ConsumerGroup):
        group.remove([group.members[member_id] for member_id in unique])
    elif isinstance(group, ClassicGroup):
        for member_id in unique:
            if member_id in group.pending:
                group.remove_pending(member_id)
            else:
                group.remove(member_id)
        _rebalance(group)


def _rebalance(group: ClassicGroup) -> None:
    if group.state in (State.STABLE, State.COMPLETING):
        group.prepare_rebalance()
    else:
        group.maybe_complete_join()
