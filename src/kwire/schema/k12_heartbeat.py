"""Heartbeat (key 12), versions 0-4: a member of a group is alive.

    v1   response: throttle_time_ms (KIP-124)
    v2   brokers answer before they throttle (KIP-219)
    v3   request: group_instance_id (KIP-345)
    v4   flexible (KIP-482)

Sources: the protocol guides of 0.9 and 0.10.1 (v0), Apache's definitions of 3.9.2 and 4.4.0 (v0-v4).
"""

from __future__ import annotations

from kwire.schema.fields import i16, i32, string
from kwire.schema.messages import Request, Response

__all__ = ["HeartbeatRequest", "HeartbeatResponse"]


class HeartbeatRequest(Request, key=12, versions="0-4", flexible="4+"):
    """A member that is alive."""

    group_id: str = string("0+", default="")
    generation_id: int = i32("0+", default=0)
    member_id: str = string("0+", default="")
    group_instance_id: str | None = string("3+", default=None, nullable="3+")


class HeartbeatResponse(Response, key=12, versions="0-4", flexible="4+"):
    """REBALANCE_IN_PROGRESS calls for a new join."""

    throttle_time_ms: int = i32("1+", default=0, ignorable=True)
    error_code: int = i16("0+", default=0)
