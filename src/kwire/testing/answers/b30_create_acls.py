"""CreateAcls (key 30).

Behaviour
    Adds bindings, each by itself; one that is there already is no error. What no binding can be is INVALID_REQUEST,
    or UNKNOWN_SERVER_ERROR for "any"; something unknown closes the connection. A broker without an authorizer says
    SECURITY_DISABLED to each.

Version notes
    v0   literal patterns only; v1 pattern types; v3 the resource type "user"
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import CreateAclsRequest, CreateAclsResponse
from kwire.testing.answers.acl_filters import binding_of, check_known
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import ALTER, CLUSTER

Context = RequestContext[CreateAclsRequest]
_Asked = CreateAclsRequest.AclCreation
_Result = CreateAclsResponse.AclCreationResult


def answer(context: Context) -> CreateAclsResponse:
    """One result per binding."""
    return CreateAclsResponse(results=[_create(context, asked) for asked in context.request.creations])


def refuse(context: Context, code: int) -> CreateAclsResponse:
    """Every binding answered with `code`."""
    return CreateAclsResponse(results=[_Result(error_code=code) for _ in context.request.creations])


def _create(context: Context, asked: _Asked) -> _Result:
    authorizer = context.cluster.authorizer
    check_known(asked)
    try:
        context.require(ALTER, CLUSTER)
        if not authorizer.enabled:
            raise codes.SECURITY_DISABLED("the broker has no authorizer")
        authorizer.acls[binding_of(asked)] = None
    except BrokerError as refused:
        return _Result(error_code=refused.code, error_message=refused.context)
    return _Result(error_message="")
