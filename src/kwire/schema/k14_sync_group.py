"""SyncGroup (key 14), versions 0-5: the leader of a group hands in the assignment; every member gets its part.

    v1   response: throttle_time_ms (KIP-124)
    v2   brokers answer before they throttle (KIP-219)
    v3   request: group_instance_id (KIP-345)
    v4   flexible (KIP-482)
    v5   protocol_type, protocol_name, both directions (KIP-559)

Sources: the protocol guides of 0.9 and 0.10.1 (v0), Apache's definitions of 3.9.2 and 4.4.0 (v0-v5).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bytes_, i16, i32, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["SyncGroupRequest", "SyncGroupResponse"]


class SyncGroupRequest(Request, key=14, versions="0-5", flexible="4+"):
    """Only the leader sends `assignments`."""

    class SyncGroupRequestAssignment(Struct):
        member_id: str = string("0+", default="")
        assignment: bytes = bytes_("0+", default=b"")

    group_id: str = string("0+", default="")
    generation_id: int = i32("0+", default=0)
    member_id: str = string("0+", default="")
    group_instance_id: str | None = string("3+", default=None, nullable="3+")
    protocol_type: str | None = string("5+", default=None, nullable="5+", ignorable=True)
    protocol_name: str | None = string("5+", default=None, nullable="5+", ignorable=True)
    assignments: Sequence[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment, "0+", default=())


class SyncGroupResponse(Response, key=14, versions="0-5", flexible="4+"):
    """What this member has to read, in the format of its protocol type."""

    throttle_time_ms: int = i32("1+", default=0, ignorable=True)
    error_code: int = i16("0+", default=0)
    protocol_type: str | None = string("5+", default=None, nullable="5+", ignorable=True)
    protocol_name: str | None = string("5+", default=None, nullable="5+", ignorable=True)
    assignment: bytes = bytes_("0+", default=b"")
