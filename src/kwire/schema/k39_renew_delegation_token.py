"""RenewDelegationToken (key 39), versions 0-2: lets a delegation token live longer (KIP-48).

    v1   brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)

Sources: Apache's definitions of 3.9.2 (v0-v2) and 4.4.0 (v1-v2).
"""

from __future__ import annotations

from kwire.schema.fields import bytes_, i16, i32, i64
from kwire.schema.messages import Request, Response

__all__ = ["RenewDelegationTokenRequest", "RenewDelegationTokenResponse"]


class RenewDelegationTokenRequest(Request, key=39, versions="0-2", flexible="2+"):
    """The token, by its `hmac`, which is secret."""

    hmac: bytes = bytes_("0+", default=b"", secret=True)
    renew_period_ms: int = i64("0+", default=0)


class RenewDelegationTokenResponse(Response, key=39, versions="0-2", flexible="2+"):
    """When it expires now, in ms."""

    error_code: int = i16("0+", default=0)
    expiry_timestamp_ms: int = i64("0+", default=0)
    throttle_time_ms: int = i32("0+", default=0)
