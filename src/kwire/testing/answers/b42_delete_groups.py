"""DeleteGroups (key 42).

Behaviour
    Deletes groups of any type with their offsets, if they have no members (NON_EMPTY_GROUP).

Version notes
    v3   an error message
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.protocol import DeleteGroupsRequest, DeleteGroupsResponse
from kwire.testing.answers.group_coordinator import check_coordinator
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import DELETE

Context = RequestContext[DeleteGroupsRequest]
_Result = DeleteGroupsResponse.DeletableGroupResult


def answer(context: Context) -> DeleteGroupsResponse:
    """One result per group."""
    return DeleteGroupsResponse(results=[_delete(context, group_id) for group_id in context.request.groups_names])


def refuse(context: Context, code: int) -> DeleteGroupsResponse:
    """Every group answered with `code`."""
    return DeleteGroupsResponse(
        results=[_Result(group_id=group_id, error_code=code) for group_id in context.request.groups_names]
    )


def _delete(context: Context, group_id: str) -> _Result:
    try:
        check_coordinator(context, group_id, DELETE)
        context.cluster.groups.delete(group_id)
    except BrokerError as refused:
        return _Result(group_id=group_id, error_code=refused.code, error_message=refused.context)
    return _Result(group_id=group_id)
