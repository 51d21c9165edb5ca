"""CreateAcls (key 30), versions 0-3: creates access control entries (KIP-140).

    v1   the pattern type of resources (KIP-290); brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)
    v3   the resource type user (KIP-373)

Sources: Apache's definitions of 3.9.2 (v0-v3) and 4.4.0 (v1-v3).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["CreateAclsRequest", "CreateAclsResponse"]


class CreateAclsRequest(Request, key=30, versions="0-3", flexible="2+"):
    """The entries, each with its resource."""

    class AclCreation(Struct):
        resource_type: int = i8("0+", default=0)
        resource_name: str = string("0+", default="")
        resource_pattern_type: int = i8("1+", default=3)
        principal: str = string("0+", default="")
        host: str = string("0+", default="")
        operation: int = i8("0+", default=0)
        permission_type: int = i8("0+", default=0)

    creations: Sequence[AclCreation] = array(AclCreation, "0+", default=())


class CreateAclsResponse(Response, key=30, versions="0-3", flexible="2+"):
    """What became of each entry, in their order."""

    class AclCreationResult(Struct):
        error_code: int = i16("0+", default=0)
        error_message: str | None = string("0+", default="", nullable="0+")

    throttle_time_ms: int = i32("0+", default=0)
    results: Sequence[AclCreationResult] = array(AclCreationResult, "0+", default=())
