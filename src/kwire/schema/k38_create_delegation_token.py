"""CreateDelegationToken (key 38), versions 0-3: a delegation token for the one who asks, or for another user (KIP-48).

    v1   brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)
    v3   the owner may be another; response: who asked (KIP-373)

Sources: Apache's definitions of 3.9.2 (v0-v3) and 4.4.0 (v1-v3).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bytes_, i16, i32, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["CreateDelegationTokenRequest", "CreateDelegationTokenResponse"]


class CreateDelegationTokenRequest(Request, key=38, versions="0-3", flexible="2+"):
    """The principals that may renew the token, and its maximum lifetime in ms."""

    class CreatableRenewers(Struct):
        principal_type: str = string("0+", default="")
        principal_name: str = string("0+", default="")

    owner_principal_type: str | None = string("3+", default="", nullable="3+")
    owner_principal_name: str | None = string("3+", default="", nullable="3+")
    renewers: Sequence[CreatableRenewers] = array(CreatableRenewers, "0+", default=())
    max_lifetime_ms: int = i64("0+", default=0)


class CreateDelegationTokenResponse(Response, key=38, versions="0-3", flexible="2+"):
    """The token. `hmac` is secret. Times in ms."""

    error_code: int = i16("0+", default=0)
    principal_type: str = string("0+", default="")
    principal_name: str = string("0+", default="")
    token_requester_principal_type: str = string("3+", default="")
    token_requester_principal_name: str = string("3+", default="")
    issue_timestamp_ms: int = i64("0+", default=0)
    expiry_timestamp_ms: int = i64("0+", default=0)
    max_timestamp_ms: int = i64("0+", default=0)
    token_id: str = string("0+", default="")
    hmac: bytes = bytes_("0+", default=b"", secret=True)
    throttle_time_ms: int = i32("0+", default=0)
