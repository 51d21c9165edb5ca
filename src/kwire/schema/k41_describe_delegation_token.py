"""DescribeDelegationToken (key 41), versions 0-3: delegation tokens by owner (KIP-48).

    v1   brokers answer before they throttle (KIP-219)
    v2   flexible (KIP-482)
    v3   response: who asked for the token (KIP-373)

Sources: Apache's definitions of 3.9.2 (v0-v3) and 4.4.0 (v1-v3).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, bytes_, i16, i32, i64, string
from kwire.schema.messages import Request, Response, Struct

__all__ = ["DescribeDelegationTokenRequest", "DescribeDelegationTokenResponse"]


class DescribeDelegationTokenRequest(Request, key=41, versions="0-3", flexible="2+"):
    """Whose tokens; None asks for all that one may see."""

    class DescribeDelegationTokenOwner(Struct):
        principal_type: str = string("0+", default="")
        principal_name: str = string("0+", default="")

    owners: Sequence[DescribeDelegationTokenOwner] | None = array(
        DescribeDelegationTokenOwner, "0+", default=(), nullable="0+"
    )


class DescribeDelegationTokenResponse(Response, key=41, versions="0-3", flexible="2+"):
    """The tokens. `hmac` is secret. Times in ms."""

    class DescribedDelegationToken(Struct):
        class DescribedDelegationTokenRenewer(Struct):
            principal_type: str = string("0+", default="")
            principal_name: str = string("0+", default="")

        principal_type: str = string("0+", default="")
        principal_name: str = string("0+", default="")
        token_requester_principal_type: str = string("3+", default="")
        token_requester_principal_name: str = string("3+", default="")
        issue_timestamp: int = i64("0+", default=0)
        expiry_timestamp: int = i64("0+", default=0)
        max_timestamp: int = i64("0+", default=0)
        token_id: str = string("0+", default="")
        hmac: bytes = bytes_("0+", default=b"", secret=True)
        renewers: Sequence[DescribedDelegationTokenRenewer] = array(DescribedDelegationTokenRenewer, "0+", default=())

    error_code: int = i16("0+", default=0)
    tokens: Sequence[DescribedDelegationToken] = array(DescribedDelegationToken, "0+", default=())
    throttle_time_ms: int = i32("0+", default=0)
