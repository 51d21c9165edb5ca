"""JoinGroup (key 11).

Behaviour
    A member enters its group, and the answer waits until all members have joined again, or the longest rebalance
    timeout has passed. A group's first rebalance waits for `group_initial_rebalance_delay_ms` instead, again each time
    that another member comes. The leader's answer has all members. A member that joins again without news is told the
    generation at once, but the leader and one with other metadata start a rebalance.

    UNKNOWN_MEMBER_ID            an id that the group does not know, or no longer
    INCONSISTENT_GROUP_PROTOCOL  another protocol type, or no protocol that all have
    INVALID_SESSION_TIMEOUT      outside of `group_min_session_timeout_ms` and `group_max_session_timeout_ms`
    FENCED_INSTANCE_ID           the instance is another member now
    GROUP_MAX_SIZE_REACHED       `group_max_size` members are there already

Version notes
    v0   the rebalance timeout is the session timeout
    v4   a dynamic member without an id is given one and MEMBER_ID_REQUIRED, and joins again with it (KIP-394)
    v5   group_instance_id: without a member id it takes over its former member's place; if the group is stable and the
         protocol stays, without a rebalance (KIP-345). Below v9 the answer names the former leader, so that the new
         member does not take itself for it
    v7   protocol_type; without a generation the protocol is null, "" below v7
    v9   a leader that came back so is told its members, and to skip the assignment (KIP-814)
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import JoinGroupRequest, JoinGroupResponse
from kwire.testing.answers.group_coordinator import check_group_id
from kwire.testing.groups import classic_members
from kwire.testing.groups.classic_group import ClassicGroup, ClassicMember, State
from kwire.testing.groups.consumer_group import ConsumerGroup
from kwire.testing.groups.groups import new_member_id
from kwire.testing.groups.held import Held, wait_for
from kwire.testing.groups.share_group import ShareGroup
from kwire.testing.requests import Flow, RequestContext

Context = RequestContext[JoinGroupRequest]
_REQUIRES_MEMBER_ID = 4
_SKIPS_ASSIGNMENT = 9


def answer(context: Context) -> Flow[JoinGroupResponse]:
    """Joins, and waits for the others."""
    held: Held[JoinGroupResponse] = Held(context.cluster)
    try:
        check_group_id(context, context.request.group_id)
        _check_session_timeout(context)
        _join(context, held)
    except BrokerError as refused:
        held.answer(refuse(context, refused.code))
    response = yield from wait_for(context, context.request.group_id, held)
    if context.version < 7 and response.protocol_name is None:
        response.protocol_name = ""
    return response


def refuse(context: Context, code: int) -> JoinGroupResponse:
    """The error, with the member id of the request."""
    return _refused(context, code, context.request.member_id)


def _refused(context: Context, code: int, member_id: str = "") -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=code,
        member_id=member_id,
        generation_id=context.release.generation_of_refused_joins,
        protocol_name=_no_name(context),
    )


def _no_name(context: Context) -> str | None:
    return None if context.version >= 7 else ""


def _check_session_timeout(context: Context) -> None:
    limits = context.cluster.properties
    low, high = limits.group_min_session_timeout_ms, limits.group_max_session_timeout_ms
    if not low <= context.request.session_timeout_ms <= high:
        raise codes.INVALID_SESSION_TIMEOUT(f"{context.request.session_timeout_ms} ms; {low} to {high} are allowed")


def _join(context: Context, held: Held[JoinGroupResponse]) -> None:
    groups, request = context.cluster.groups, context.request
    if request.member_id and request.group_id not in groups.by_id:
        raise codes.UNKNOWN_MEMBER_ID(f"no group {request.group_id!r}")
    present = groups.get(request.group_id)
    if isinstance(present, ConsumerGroup) and present.members:
        held.answer(_join_consumers(context, present))
        return
    if present is not None and not present.members and not context.release.keeps_empty_groups:
        groups.forget(present)
    if isinstance(present, ShareGroup):
        raise codes.INCONSISTENT_GROUP_PROTOCOL(f"group {request.group_id!r} is a share group")
    group = groups.find_or_make_classic(request.group_id)
    if not _has_room(group, request.member_id):
        _refuse_full(group, request.member_id)
        held.answer(_refused(context, codes.GROUP_MAX_SIZE_REACHED.code))
    elif not group.supports(request.protocol_type, _protocols(request)):
        raise codes.INCONSISTENT_GROUP_PROTOCOL(f"group {request.group_id!r} has {group.protocol_type!r} members")
    elif request.member_id:
        _join_known(context, group, held)
    elif request.group_instance_id is not None:
        _join_static(context, group, held)
    elif context.version >= _REQUIRES_MEMBER_ID:
        member_id = new_member_id(context.client_id)
        group.add_pending(member_id, request.session_timeout_ms)
        held.answer(_refused(context, codes.MEMBER_ID_REQUIRED.code, member_id))
    else:
        group.join(_new_member(context, new_member_id(context.client_id), held))


def _join_consumers(context: Context, group: ConsumerGroup) -> JoinGroupResponse:
    try:
        response = classic_members.join(context, group)
    except BrokerError as refused:
        response = _refused(context, refused.code)
    if response.error_code:
        response.protocol_name = _no_name(context)
    return response


def _has_room(group: ClassicGroup, member_id: str) -> bool:
    """In a rebalance those count who have joined: the last ones to join again are sent away."""
    limit = group.cluster.properties.group_max_size
    member = group.members.get(member_id)
    if group.state is State.PREPARING:
        joined = sum(each.joining is not None for each in group.members.values())
        return (member is not None and member.joining is not None) or joined < limit
    if group.state in (State.COMPLETING, State.STABLE):
        return member is not None or len(group.members) < limit
    return True


def _refuse_full(group: ClassicGroup, member_id: str) -> None:
    if member_id in group.pending:
        group.remove_pending(member_id)
    if member_id in group.members:
        group.remove(member_id)


def _join_known(context: Context, group: ClassicGroup, held: Held[JoinGroupResponse]) -> None:
    request = context.request
    if request.member_id in group.pending:
        group.join(_new_member(context, request.member_id, held))
        return
    member = group.check_member(request.member_id, request.group_instance_id)
    goes_on = group.state is State.COMPLETING or (group.state is State.STABLE and group.leader != member.member_id)
    if goes_on and member.protocols == _protocols(request):
        held.answer(group.described_to(member.member_id))
    elif group.state is State.EMPTY:
        raise codes.UNKNOWN_MEMBER_ID(f"group {group.group_id!r} is empty")
    else:
        _update(context, member, held)
        group.rebalance_or_complete()


def _join_static(context: Context, group: ClassicGroup, held: Held[JoinGroupResponse]) -> None:
    instance_id = context.request.group_instance_id
    assert instance_id is not None
    member_id = new_member_id(instance_id)
    former_id = group.statics.get(instance_id)
    if former_id is None:
        group.join(_new_member(context, member_id, held))
        return
    former_leader = group.leader or ""
    member = group.replace_static(former_id, member_id)
    _update(context, member, held)
    if group.state is State.STABLE and group.chosen_protocol() == group.protocol:
        group.store()
        _welcome_back(context, group, member, former_leader)
    elif group.state in (State.STABLE, State.COMPLETING):
        group.prepare_rebalance()
    else:
        group.maybe_complete_join()


def _welcome_back(context: Context, group: ClassicGroup, member: ClassicMember, former_leader: str) -> None:
    """The generation goes on with the new member in the former one's place."""
    assert member.joining is not None
    response = group.described_to(member.member_id)
    if context.version >= _SKIPS_ASSIGNMENT:
        response.skip_assignment = group.leader == member.member_id
    else:
        response.leader, response.members = former_leader, ()
    member.joining.answer(response)
    member.joining = None


def _protocols(request: JoinGroupRequest) -> dict[str, bytes]:
    return {protocol.name: bytes(protocol.metadata) for protocol in request.protocols}


def _rebalance_timeout_ms(context: Context) -> int:
    request = context.request
    return request.rebalance_timeout_ms if context.version >= 1 else request.session_timeout_ms


def _new_member(context: Context, member_id: str, held: Held[JoinGroupResponse]) -> ClassicMember:
    request = context.request
    return ClassicMember(
        member_id=member_id,
        instance_id=request.group_instance_id,
        client_id=context.client_id,
        client_host=context.client_host,
        protocol_type=request.protocol_type,
        protocols=_protocols(request),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=_rebalance_timeout_ms(context),
        joining=held,
    )


def _update(context: Context, member: ClassicMember, held: Held[JoinGroupResponse]) -> None:
    member.protocols = _protocols(context.request)
    member.session_timeout_ms = context.request.session_timeout_ms
    member.rebalance_timeout_ms = _rebalance_timeout_ms(context)
    member.joining = held
