"""DeleteAcls (key 31).

Behaviour
    Removes the bindings that each filter matches, and tells them. A filter that matches nothing is no error. A broker
    without an authorizer says SECURITY_DISABLED to each.

Version notes
    v0   literal patterns only; v1 pattern types; v3 the resource type "user"
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DeleteAclsRequest, DeleteAclsResponse
from kwire.testing.answers.acl_filters import check_filter, matching
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import ALTER, CLUSTER, Acl

Context = RequestContext[DeleteAclsRequest]
_Asked = DeleteAclsRequest.DeleteAclsFilter
_Result = DeleteAclsResponse.DeleteAclsFilterResult
_Acl = DeleteAclsResponse.DeleteAclsFilterResult.DeleteAclsMatchingAcl


def answer(context: Context) -> DeleteAclsResponse:
    """What each filter removed."""
    return DeleteAclsResponse(filter_results=[_delete(context, asked) for asked in context.request.filters])


def refuse(context: Context, code: int) -> DeleteAclsResponse:
    """Every filter answered with `code`."""
    return DeleteAclsResponse(
        filter_results=[_Result(error_code=code, matching_acls=[]) for _ in context.request.filters]
    )


def _delete(context: Context, asked: _Asked) -> _Result:
    authorizer = context.cluster.authorizer
    check_filter(asked)
    try:
        context.require(ALTER, CLUSTER)
        if not authorizer.enabled:
            raise codes.SECURITY_DISABLED("the broker has no authorizer")
    except BrokerError as refused:
        return _Result(error_code=refused.code, error_message=refused.context, matching_acls=[])
    gone = matching(authorizer.acls, asked)
    for acl in gone:
        del authorizer.acls[acl]
    return _Result(error_message="", matching_acls=[_told(acl) for acl in gone])


def _told(acl: Acl) -> _Acl:
    return _Acl(
        error_message="",
        resource_type=acl.resource_type,
        resource_name=acl.name,
        pattern_type=acl.pattern,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
