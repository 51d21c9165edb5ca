"""UnregisterController (key 94), version 0: takes a controller out of a KRaft cluster for good.

Source: Apache's definitions of 4.4.0 (v0).
"""

from __future__ import annotations

from kwire.schema.fields import i16, i32, string
from kwire.schema.messages import Request, Response

__all__ = ["UnregisterControllerRequest", "UnregisterControllerResponse"]


class UnregisterControllerRequest(Request, key=94, versions="0", flexible="0+"):
    """Which controller."""

    controller_id: int = i32("0+", default=0)


class UnregisterControllerResponse(Response, key=94, versions="0", flexible="0+"):
    """Whether it is gone."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+")
