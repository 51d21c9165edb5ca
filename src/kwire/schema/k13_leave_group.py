"""LeaveGroup (key 13), versions 0-5: members leave their group.

    v1   response: throttle_time_ms (KIP-124)
    v2   brokers answer before they throttle (KIP-219)
    v3   several members at once, also by group_instance_id (KIP-345)
    v4   flexible (KIP-482)
    v5   request: reason (KIP-800)

Sources: the protocol guides of 0.9 and 0.10.1 (v0), Apache's definitions of 3.9.2 and 4.4.0 (v0-v5).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["LeaveGroupRequest", "LeaveGroupResponse"]


class LeaveGroupRequest(Request, key=13, versions="0-5", flexible="4+"):
    """The members that leave: up to v2 `member_id`, from v3 on `members`."""

    class MemberIdentity(Struct):
        member_id: str = string("3+", default="")
        group_instance_id: str | None = string("3+", default=None, nullable="3+")
        reason: str | None = string("5+", default=None, nullable="5+", ignorable=True)

    group_id: str = string("0+", default="")
    member_id: str = string("0-2", default="")
    members: Sequence[MemberIdentity] = array(MemberIdentity, "3+", default=())


class LeaveGroupResponse(Response, key=13, versions="0-5", flexible="4+"):
    """From v3 on what became of each member."""

    class MemberResponse(Struct):
        member_id: str = string("3+", default="")
        group_instance_id: str | None = string("3+", default="", nullable="3+")
        error_code: int = i16("3+", default=0)

    throttle_time_ms: int = i32("1+", default=0, ignorable=True)
    error_code: int = i16("0+", default=0)
    members: Sequence[MemberResponse] = array(MemberResponse, "3+", default=())
