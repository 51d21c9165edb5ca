"""JoinGroup (key 11), versions 0-9: a consumer enters its group; the answer comes when the group rebalances.

Brokers of 0.8.2 have another body under v0 of this key; it must not be sent to them.

    v1   request: rebalance_timeout_ms (KIP-62)
    v2   response: throttle_time_ms (KIP-124)
    v3   brokers answer before they throttle (KIP-219)
    v4   a member without an id gets one and MEMBER_ID_REQUIRED, and joins again (KIP-394)
    v5   group_instance_id (KIP-345)
    v6   flexible (KIP-482)
    v7   response: protocol_type; protocol_name may be null (KIP-559)
    v8   request: reason (KIP-800)
    v9   response: skip_assignment (KIP-814)

Sources: the protocol guides of 0.9 (v0) and 0.10.1 (v1), Apache's definitions of 3.9.2 and 4.4.0 (v0-v9).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bool_, bytes_, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["JoinGroupRequest", "JoinGroupResponse"]


class JoinGroupRequest(Request, key=11, versions="0-9", flexible="6+"):
    """A member that joins, with the assignors it can use, best first."""

    class JoinGroupRequestProtocol(Struct):
        name: str = string("0+", default="")
        metadata: bytes = bytes_("0+", default=b"")

    group_id: str = string("0+", default="")
    session_timeout_ms: int = i32("0+", default=0)
    rebalance_timeout_ms: int = i32("1+", default=-1, ignorable=True)
    member_id: str = string("0+", default="")
    group_instance_id: str | None = string("5+", default=None, nullable="5+")
    protocol_type: str = string("0+", default="")
    protocols: Sequence[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol, "0+", default=())
    reason: str | None = string("8+", default=None, nullable="8+", ignorable=True)


class JoinGroupResponse(Response, key=11, versions="0-9", flexible="6+"):
    """The generation. Only the leader gets the members and their subscriptions."""

    class JoinGroupResponseMember(Struct):
        member_id: str = string("0+", default="")
        group_instance_id: str | None = string("5+", default=None, nullable="5+", ignorable=True)
        metadata: bytes = bytes_("0+", default=b"")

    throttle_time_ms: int = i32("2+", default=0, ignorable=True)
    error_code: int = i16("0+", default=0)
    generation_id: int = i32("0+", default=-1)
    protocol_type: str | None = string("7+", default=None, nullable="7+", ignorable=True)
    protocol_name: str | None = string("0+", default="", nullable="7+")
    leader: str = string("0+", default="")
    skip_assignment: bool = bool_("9+", default=False)
    member_id: str = string("0+", default="")
    members: Sequence[JoinGroupResponseMember] = array(JoinGroupResponseMember, "0+", default=())
