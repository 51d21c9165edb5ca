"""SaslAuthenticate (key 36), versions 0-2: one step of SASL (KIP-152).

    v1   response: session_lifetime_ms (KIP-368)
    v2   flexible (KIP-482)

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0-v2).
"""

from __future__ import annotations

from kwire.schema.fields import bytes_, i16, i64, string
from kwire.schema.messages import Request, Response

__all__ = ["SaslAuthenticateRequest", "SaslAuthenticateResponse"]


class SaslAuthenticateRequest(Request, key=36, versions="0-2", flexible="2+"):
    """What the client says. `auth_bytes` is secret."""

    auth_bytes: bytes = bytes_("0+", default=b"", secret=True)


class SaslAuthenticateResponse(Response, key=36, versions="0-2", flexible="2+"):
    """What the broker says. `auth_bytes` is secret."""

    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default="", nullable="0+")
    auth_bytes: bytes = bytes_("0+", default=b"", secret=True)
    session_lifetime_ms: int = i64("1+", default=0, ignorable=True)
