"""ListGroups (key 16).

Behaviour
    The groups that this node coordinates; without the right to describe the cluster, those that the client may
    describe.

Version notes
    before 0.10.1 a group has members
    v4   states: groups in none of `states_filter` are left out; capitals do not matter
    v5   types, filtered alike: classic, consumer, share
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.protocol import ListGroupsRequest, ListGroupsResponse
from kwire.testing.answers.group_coordinator import coordinates
from kwire.testing.groups.groups import AnyGroup
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, DESCRIBE, GROUP

Context = RequestContext[ListGroupsRequest]
_Listed = ListGroupsResponse.ListedGroup


def answer(context: Context) -> ListGroupsResponse:
    """The groups that pass the filters."""
    groups = context.cluster.groups
    everything = context.allows(DESCRIBE, CLUSTER)
    known = [group for group_id in [*groups.by_id] if (group := groups.get(group_id)) is not None]
    return ListGroupsResponse(
        groups=[
            _Listed(
                group_id=group.group_id,
                protocol_type=group.protocol_type or "",
                group_state=group.state_name,
                group_type=group.type_name,
            )
            for group in known
            if coordinates(context, group.group_id)
            and (group.members or context.release.keeps_empty_groups)
            and _passes(context.request, group)
            and (everything or context.allows(DESCRIBE, GROUP, group.group_id))
        ]
    )


def refuse(context: Context, code: int) -> ListGroupsResponse:
    """The error, without groups."""
    return ListGroupsResponse(error_code=code)


def _passes(request: ListGroupsRequest, group: AnyGroup) -> bool:
    return _is_one_of(group.state_name, request.states_filter) and _is_one_of(group.type_name, request.types_filter)


def _is_one_of(value: str, wanted: Sequence[str]) -> bool:
    return not wanted or value.lower() in {each.lower() for each in wanted}
