"""DescribeAcls (key 29), versions 0-3: access control entries that match a filter (KIP-140).

    v1   the pattern type of resources (KIP-290); brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)
    v3   the resource type user (KIP-373)

Sources: Apache's definitions of 3.9.2 (v0-v3) and 4.4.0 (v1-v3).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeAclsRequest", "DescribeAclsResponse"]


class DescribeAclsRequest(Request, key=29, versions="0-3", flexible="2+"):
    """The filter. In texts null matches all, in the codes 1 does."""

    resource_type_filter: int = i8("0+", default=0)
    resource_name_filter: str | None = string("0+", default="", nullable="0+")
    pattern_type_filter: int = i8("1+", default=3)
    principal_filter: str | None = string("0+", default="", nullable="0+")
    host_filter: str | None = string("0+", default="", nullable="0+")
    operation: int = i8("0+", default=0)
    permission_type: int = i8("0+", default=0)


class DescribeAclsResponse(Response, key=29, versions="0-3", flexible="2+"):
    """The entries, by resource."""

    class DescribeAclsResource(Struct):
        class AclDescription(Struct):
            principal: str = string("0+", default="")
            host: str = string("0+", default="")
            operation: int = i8("0+", default=0)
            permission_type: int = i8("0+", default=0)

        resource_type: int = i8("0+", default=0)
        resource_name: str = string("0+", default="")
        pattern_type: int = i8("1+", default=3)
        acls: Sequence[AclDescription] = array(AclDescription, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+")
    resources: Sequence[DescribeAclsResource] = array(DescribeAclsResource, "0+", default=())
