"""ListGroups (key 16), versions 0-5: the groups that a broker coordinates.

    v1   response: throttle_time_ms (KIP-124)
    v2   brokers answer before they throttle (KIP-219)
    v3   flexible (KIP-482)
    v4   states_filter; response: group_state (KIP-518)
    v5   types_filter; response: group_type (KIP-848)

Sources: the protocol guides of 0.9 and 0.10.1 (v0), Apache's definitions of 3.9.2 and 4.4.0 (v0-v5).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, string, strings
from kwire.schema.messages import Request, Response, Struct

__all__ = ["ListGroupsRequest", "ListGroupsResponse"]


class ListGroupsRequest(Request, key=16, versions="0-5", flexible="3+"):
    """Empty filters let all groups pass."""

    states_filter: Sequence[str] = strings("4+", default=())
    types_filter: Sequence[str] = strings("5+", default=())


class ListGroupsResponse(Response, key=16, versions="0-5", flexible="3+"):
    """The groups. Every broker has to be asked."""

    class ListedGroup(Struct):
        group_id: str = string("0+", default="")
        protocol_type: str = string("0+", default="")
        group_state: str = string("4+", default="", ignorable=True)
        group_type: str = string("5+", default="", ignorable=True)

    throttle_time_ms: int = i32("1+", default=0, ignorable=True)
    error_code: int = i16("0+", default=0)
    groups: Sequence[ListedGroup] = array(ListedGroup, "0+", default=())
