"""GetTelemetrySubscriptions (key 71), version 0: which metrics a broker wants from a client (KIP-714).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import NO_UUID, bool_, i8s, i16, i32, strings, uuid
from kwire.schema.messages import Request, Response

__all__ = ["GetTelemetrySubscriptionsRequest", "GetTelemetrySubscriptionsResponse"]


class GetTelemetrySubscriptionsRequest(Request, key=71, versions="0", flexible="0+"):
    """The client; the zero id asks for an id."""

    client_instance_id: UUID = uuid("0+", default=NO_UUID)


class GetTelemetrySubscriptionsResponse(Response, key=71, versions="0", flexible="0+"):
    """What to push, and how often, in ms."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    client_instance_id: UUID = uuid("0+", default=NO_UUID)
    subscription_id: int = i32("0+", default=0)
    accepted_compression_types: Sequence[int] = i8s("0+", default=())
    push_interval_ms: int = i32("0+", default=0)
    telemetry_max_bytes: int = i32("0+", default=0)
    delta_temporality: bool = bool_("0+", default=False)
    requested_metrics: Sequence[str] = strings("0+", default=())
