"""DescribeGroups (key 15), versions 0-6: groups of the classic protocol with their members.

    v1   response: throttle_time_ms (KIP-124)
    v2   brokers answer before they throttle (KIP-219)
    v3   authorized operations, as a bit field (KIP-430)
    v4   response: group_instance_id (KIP-345)
    v5   flexible (KIP-482)
    v6   response: error_message; GROUP_ID_NOT_FOUND instead of a dead group (KIP-1043)

Sources: the protocol guides of 0.9 and 0.10.1 (v0), Apache's definitions of 3.9.2 (v0-v5) and 4.4.0 (v0-v6).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, bytes_, i16, i32, string, strings
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeGroupsRequest", "DescribeGroupsResponse"]

_NO_OPERATIONS = -(2**31)


class DescribeGroupsRequest(Request, key=15, versions="0-6", flexible="5+"):
    """Which groups; an empty list gets an empty answer."""

    groups: Sequence[str] = strings("0+", default=())
    include_authorized_operations: bool = bool_("3+", default=False)


class DescribeGroupsResponse(Response, key=15, versions="0-6", flexible="5+"):
    """Metadata and assignments are in the format of the protocol type."""

    class DescribedGroup(Struct):
        class DescribedGroupMember(Struct):
            member_id: str = string("0+", default="")
            group_instance_id: str | None = string("4+", default=None, nullable="4+", ignorable=True)
            client_id: str = string("0+", default="")
            client_host: str = string("0+", default="")
            member_metadata: bytes = bytes_("0+", default=b"")
            member_assignment: bytes = bytes_("0+", default=b"")

        error_code: int = i16("0+", default=0)
        error_message: str | None = string("6+", default=None, nullable="6+")
        group_id: str = string("0+", default="")
        group_state: str = string("0+", default="")
        protocol_type: str = string("0+", default="")
        protocol_data: str = string("0+", default="")
        members: Sequence[DescribedGroupMember] = array(DescribedGroupMember, "0+", default=())
        authorized_operations: int = i32("3+", default=_NO_OPERATIONS)

    throttle_time_ms: int = i32("1+", default=0, ignorable=True)
    groups: Sequence[DescribedGroup] = array(DescribedGroup, "0+", default=())
