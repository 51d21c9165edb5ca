"""BrokerHeartbeat (key 63), versions 0-2: a broker of a KRaft cluster is alive (KIP-631).

    v1   request: offline_log_dirs (KIP-858)
    v2   request: cordoned_log_dirs (KIP-1066)

Sources: Apache's definitions of 3.9.2 (v0-v1) and 4.4.0 (v0-v2).
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kwire.schema.fields import bool_, i16, i32, i64, uuids
from kwire.schema.messages import Request, Response

__all__ = ["BrokerHeartbeatRequest", "BrokerHeartbeatResponse"]


class BrokerHeartbeatRequest(Request, key=63, versions="0-2", flexible="0+"):
    """How far the broker is, and what it wants."""

    broker_id: int = i32("0+", default=0)
    broker_epoch: int = i64("0+", default=-1)
    current_metadata_offset: int = i64("0+", default=0)
    want_fence: bool = bool_("0+", default=False)
    want_shut_down: bool = bool_("0+", default=False)
    offline_log_dirs: Sequence[UUID] = uuids("1+", default=(), tag=0)
    cordoned_log_dirs: Sequence[UUID] | None = uuids("2+", default=None, nullable="2+", tag=1)


class BrokerHeartbeatResponse(Response, key=63, versions="0-2", flexible="0+"):
    """What the controller has decided about the broker."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    is_caught_up: bool = bool_("0+", default=False)
    is_fenced: bool = bool_("0+", default=True)
    should_shut_down: bool = bool_("0+", default=False)
