"""UnregisterBroker (key 64), version 0: takes a broker out of a KRaft cluster for good (KIP-631).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from kwire.schema.fields import i16, i32, string
from kwire.schema.messages import Request, Response

__all__ = ["UnregisterBrokerRequest", "UnregisterBrokerResponse"]


class UnregisterBrokerRequest(Request, key=64, versions="0", flexible="0+"):
    """Which broker."""

    broker_id: int = i32("0+", default=0)


class UnregisterBrokerResponse(Response, key=64, versions="0", flexible="0+"):
    """Whether it is gone."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+")
