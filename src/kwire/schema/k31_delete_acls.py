"""DeleteAcls (key 31), versions 0-3: deletes access control entries that match filters (KIP-140).

    v1   the pattern type of resources (KIP-290); brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)
    v3   the resource type user (KIP-373)

Sources: Apache's definitions of 3.9.2 (v0-v3) and 4.4.0 (v1-v3).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DeleteAclsRequest", "DeleteAclsResponse"]


class DeleteAclsRequest(Request, key=31, versions="0-3", flexible="2+"):
    """The filters."""

    class DeleteAclsFilter(Struct):
        resource_type_filter: int = i8("0+", default=0)
        resource_name_filter: str | None = string("0+", default="", nullable="0+")
        pattern_type_filter: int = i8("1+", default=3)
        principal_filter: str | None = string("0+", default="", nullable="0+")
        host_filter: str | None = string("0+", default="", nullable="0+")
        operation: int = i8("0+", default=0)
        permission_type: int = i8("0+", default=0)

    filters: Sequence[DeleteAclsFilter] = array(DeleteAclsFilter, "0+", default=())


class DeleteAclsResponse(Response, key=31, versions="0-3", flexible="2+"):
    """For each filter the entries that it deleted."""

    class DeleteAclsFilterResult(Struct):
        class DeleteAclsMatchingAcl(Struct):
            error_code: int = i16("0+", default=0)
            error_message: str | None = string("0+", default="", nullable="0+")
            resource_type: int = i8("0+", default=0)
            resource_name: str = string("0+", default="")
            pattern_type: int = i8("1+", default=3)
            principal: str = string("0+", default="")
            host: str = string("0+", default="")
            operation: int = i8("0+", default=0)
            permission_type: int = i8("0+", default=0)

        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default="", nullable="0+")
        matching_acls: Sequence[DeleteAclsMatchingAcl] = array(DeleteAclsMatchingAcl, "0+", default=())

    throttle_time_ms: int = i32("0+", default=0)
    filter_results: Sequence[DeleteAclsFilterResult] = array(DeleteAclsFilterResult, "0+", default=())
