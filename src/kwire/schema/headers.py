"""The headers that precede every message of the 0.8+ protocol, after the frame size.

    request   api_key int16, api_version int16, correlation_id int32
              v1: + client_id nullable string (always with an int16 length, so that every broker can read the header of
                  an ApiVersions request)
              v2: + tagged fields (KIP-482)
    response  correlation_id int32
              v1: + tagged fields (KIP-482)

Which version goes with which message: v2 / v1 when the message's version is flexible, else v1 / v0. Two exceptions:
ControlledShutdown v0 has request header v0 (no client id), and the response of ApiVersions has header v0 for ever,
since its reader does not yet know what the broker speaks (KIP-511).
Sources: the protocol guide of 0.10.1 ("Request/Response Headers"), KIP-482, KIP-511.
"""

from __future__ import annotations

from kwire.schema.api_keys import API_VERSIONS, CONTROLLED_SHUTDOWN
from kwire.schema.fields import Versions, i16, i32, string
from kwire.schema.messages import Header

__all__ = ["RequestHeader", "ResponseHeader", "request_header_version", "response_header_version"]


class RequestHeader(Header, versions="0-2", flexible="2+"):
    """Stands before every request."""

    request_api_key: int = i16("0+", default=0)
    request_api_version: int = i16("0+", default=0)
    correlation_id: int = i32("0+", default=0)
    client_id: str | None = string("1+", default="", nullable="1+", ignorable=True, compact=False)


class ResponseHeader(Header, versions="0-1", flexible="1+"):
    """Stands before every response."""

    correlation_id: int = i32("0+", default=0)


def request_header_version(api_key: int, version: int, flexible: Versions) -> int:
    if api_key == CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if flexible.has(version) else 1


def response_header_version(api_key: int, version: int, flexible: Versions) -> int:
    return 1 if flexible.has(version) and api_key != API_VERSIONS else 0
