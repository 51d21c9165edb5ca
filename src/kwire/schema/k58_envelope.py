"""Envelope (key 58), version 0: a broker forwards the request of a client to the controller (KIP-590).

Sources: Apache's definitions of 3.9.2 and 4.4.0 (v0).
"""

from __future__ import annotations

from kwire.schema.fields import bytes_, i16
from kwire.schema.messages import Request, Response

__all__ = ["EnvelopeRequest", "EnvelopeResponse"]


class EnvelopeRequest(Request, key=58, versions="0", flexible="0+"):
    """A whole request with its header, and who sent it. What it carries may be secret."""

    request_data: bytes = bytes_("0+", default=b"", secret=True)
    request_principal: bytes | None = bytes_("0+", default=b"", nullable="0+")
    client_host_address: bytes = bytes_("0+", default=b"")


class EnvelopeResponse(Response, key=58, versions="0", flexible="0+"):
    """The whole answer with its header. What it carries may be secret."""

    response_data: bytes | None = bytes_("0+", default=None, nullable="0+", secret=True)
    error_code: int = i16("0+", default=0)
