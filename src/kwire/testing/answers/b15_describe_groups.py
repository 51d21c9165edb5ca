"""DescribeGroups (key 15).

Behaviour
    Classic groups with their members. Metadata and protocol are told of a stable group only, assignments from 4.0 on of
    any.

Version notes
    v0-5   a group that is missing, or is no classic one, is in state Dead, without an error
    v3     authorized operations, if asked for
    v6     such a group is answered with GROUP_ID_NOT_FOUND
    before 0.10.1 a group without members is a missing one
    before 1.1 the state CompletingRebalance is called AwaitingSync
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DescribeGroupsRequest, DescribeGroupsResponse
from kwire.testing.answers.group_coordinator import check_coordinator
from kwire.testing.groups.classic_group import ClassicGroup, ClassicMember, State
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DESCRIBE, GROUP

Context = RequestContext[DescribeGroupsRequest]
_Group = DescribeGroupsResponse.DescribedGroup
_Member = DescribeGroupsResponse.DescribedGroup.DescribedGroupMember
_HAS_OPERATIONS, _SAYS_MISSING = 3, 6


def answer(context: Context) -> DescribeGroupsResponse:
    """One description per group."""
    return DescribeGroupsResponse(groups=[_described(context, group_id) for group_id in context.request.groups])


def refuse(context: Context, code: int) -> DescribeGroupsResponse:
    """Every group answered with `code`."""
    return DescribeGroupsResponse(groups=[_Group(group_id=each, error_code=code) for each in context.request.groups])


def _described(context: Context, group_id: str) -> _Group:
    try:
        check_coordinator(context, group_id, DESCRIBE)
        described = _classic(context, _found(context, group_id))
    except codes.GROUP_ID_NOT_FOUND as missing:
        described = _Group(group_id=group_id, group_state=State.DEAD.value)
        if context.version >= _SAYS_MISSING:
            described.error_code, described.error_message = missing.code, f"Group {group_id} not found."
    except BrokerError as refused:
        return _Group(group_id=group_id, error_code=refused.code)
    if context.version >= _HAS_OPERATIONS:
        described.authorized_operations = context.release.operations_not_asked_for
    if context.request.include_authorized_operations and not described.error_code:
        described.authorized_operations = context.operations(GROUP, group_id)
    return described


def _found(context: Context, group_id: str) -> ClassicGroup:
    group = context.cluster.groups.classic(group_id)
    if group.state is State.EMPTY and not context.release.keeps_empty_groups:
        raise codes.GROUP_ID_NOT_FOUND(f"group {group_id!r} has no members")
    return group


def _classic(context: Context, group: ClassicGroup) -> _Group:
    protocol = group.protocol if group.state is State.STABLE else None
    assigned = protocol is not None or context.release.has_new_coordinator
    return _Group(
        group_id=group.group_id,
        group_state=context.release.name_of_state(group.state_name),
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[_member(member, protocol, assigned) for member in group.members.values()],
    )


def _member(member: ClassicMember, protocol: str | None, assigned: bool) -> _Member:
    return _Member(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=b"" if protocol is None else member.protocols.get(protocol, b""),
        member_assignment=member.assignment if assigned else b"",
    )
