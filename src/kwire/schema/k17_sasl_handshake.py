"""SaslHandshake (key 17), versions 0-1: names the SASL mechanism that the connection will use (KIP-43).

Brokers of 0.9 have no such message: there the token of GSSAPI comes first.

    v1   the tokens follow in SaslAuthenticate instead of bare (KIP-152)

Sources: the protocol guide of 0.10.1 (v0), Apache's definitions of 3.9.2 and 4.4.0 (v0-v1).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import i16, string, strings
from kwire.schema.messages import Request, Response

__all__ = ["SaslHandshakeRequest", "SaslHandshakeResponse"]


class SaslHandshakeRequest(Request, key=17, versions="0-1"):
    """The mechanism, as "PLAIN" or "SCRAM-SHA-512"."""

    mechanism: str = string("0+", default="")


class SaslHandshakeResponse(Response, key=17, versions="0-1"):
    """The mechanisms that the broker has; useful after UNSUPPORTED_SASL_MECHANISM."""

    error_code: int = i16("0+", default=0)
    mechanisms: Sequence[str] = strings("0+", default=())
