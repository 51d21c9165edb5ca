"""DescribeAcls (key 29).

Behaviour
    The bindings that a filter matches, by resource. A broker without an authorizer says SECURITY_DISABLED.

Version notes
    v0   literal patterns only; v1 pattern types; v3 the resource type "user"
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import DescribeAclsRequest, DescribeAclsResponse
from kwire.testing.answers.acl_filters import check_filter, matching
from kwire.testing.requests import RequestContext
from kwire.testing.state.authorizer import CLUSTER, DESCRIBE, Acl

Context = RequestContext[DescribeAclsRequest]
_Resource = DescribeAclsResponse.DescribeAclsResource
_Acl = DescribeAclsResponse.DescribeAclsResource.AclDescription


def answer(context: Context) -> DescribeAclsResponse:
    """What there is."""
    authorizer = context.cluster.authorizer
    check_filter(context.request)
    try:
        context.require(DESCRIBE, CLUSTER)
        if not authorizer.enabled:
            raise codes.SECURITY_DISABLED("the broker has no authorizer")
    except BrokerError as refused:
        return DescribeAclsResponse(error_code=refused.code, error_message=refused.context, resources=[])
    by_resource: dict[tuple[int, str, int], list[Acl]] = {}
    for acl in matching(authorizer.acls, context.request):
        by_resource.setdefault((acl.resource_type, acl.name, acl.pattern), []).append(acl)
    return DescribeAclsResponse(
        error_message=None,
        resources=[
            _Resource(resource_type=kind, resource_name=name, pattern_type=pattern, acls=[_told(acl) for acl in acls])
            for (kind, name, pattern), acls in by_resource.items()
        ],
    )


def refuse(context: Context, code: int) -> DescribeAclsResponse:
    """The error alone."""
    return DescribeAclsResponse(error_code=code, resources=[])


def _told(acl: Acl) -> _Acl:
    return _Acl(principal=acl.principal, host=acl.host, operation=acl.operation, permission_type=acl.permission)
