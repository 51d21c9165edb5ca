"""PushTelemetry (key 72), version 0: a client pushes its metrics (KIP-714).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from uuid import UUID

from kwire.schema.fields import NO_UUID, bool_, bytes_, i8, i16, i32, uuid
from kwire.schema.messages import Request, Response

__all__ = ["PushTelemetryRequest", "PushTelemetryResponse"]


class PushTelemetryRequest(Request, key=72, versions="0", flexible="0+"):
    """`metrics` is a compressed message of OpenTelemetry."""

    client_instance_id: UUID = uuid("0+", default=NO_UUID)
    subscription_id: int = i32("0+", default=0)
    terminating: bool = bool_("0+", default=False)
    compression_type: int = i8("0+", default=0)
    metrics: bytes = bytes_("0+", default=b"")


class PushTelemetryResponse(Response, key=72, versions="0", flexible="0+"):
    """Whether they were taken."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
