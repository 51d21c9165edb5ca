"""The draft of the 0.8 protocol guide: the printed metadata dialect. Public as `kwire.protocol.draft_0_8`.

    request     size int32, api_key int16, api_version int16, correlation_id int32, client_id string, body
    response    size int32, response_version int16, correlation_id int32, body

    MetadataRequest    topics: [string]                      empty: all
    MetadataResponse   topics: [topic_error_code int16, topic_name string,
                                partitions: [partition_error_code int16, partition_id int32, leader_exists int8,
                                             leader int32, replicas [int32], isr [int32]]]
                       brokers: [node_id int32, host string, port int32]

A list has an int32 count. The page prints no type for the response version and the topic's error code; both are int16,
as in the code of that time. What it elides (produce, fetch, offsets) is what 0.8.0 has in version 0: those messages are
`kwire.protocol`'s own, and only their frames differ here.

No broker ever spoke this: the response version left the wire on 2012-12-07, the leader's existence before that, and
0.8.0 shipped with the brokers in front of the topics. For a broker of 0.8 use `kwire.protocol`.
Source: the draft guide as a comparison of two versions of its page, in which both stand side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kwire import errors
from kwire._codec import encode_frame
from kwire.schema.fields import array, bool_, i16, i32, i32s, string, strings
from kwire.schema.framing import checked_size
from kwire.schema.generations.bodies import Body
from kwire.schema.headers import RequestHeader
from kwire.schema.messages import Header, Message, Struct
from kwire.schema.registry import APIS

__all__ = [
    "MetadataRequest",
    "MetadataResponse",
    "RequestHeader",
    "ResponseHeader",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
]

_METADATA = 3
# Of the four requests that the draft counts, those that it does not print.
_ELIDED = (0, 1, 2)


class ResponseHeader(Header, versions="0"):
    """Stands before every response."""

    response_version: int = i16("0", default=0)
    correlation_id: int = i32("0", default=0)


class MetadataRequest(Body, key=_METADATA, versions="0"):
    """Which topics to tell about; none: all."""

    topics: Sequence[str] = strings("0", default=())


class MetadataResponse(Body, key=_METADATA, versions="0"):
    """The topics, then the brokers. `leader` means something where `leader_exists`."""

    class TopicMetadata(Struct):
        class PartitionMetadata(Struct):
            partition_error_code: int = i16("0", default=0)
            partition_id: int = i32("0", default=0)
            leader_exists: bool = bool_("0", default=True)
            leader: int = i32("0", default=-1)
            replicas: Sequence[int] = i32s("0", default=())
            isr: Sequence[int] = i32s("0", default=())

        topic_error_code: int = i16("0", default=0)
        topic_name: str = string("0", default="")
        partitions: Sequence[PartitionMetadata] = array(PartitionMetadata, "0", default=())

    class Broker(Struct):
        node_id: int = i32("0", default=0)
        host: str = string("0", default="")
        port: int = i32("0", default=0)

    topics: Sequence[TopicMetadata] = array(TopicMetadata, "0", default=())
    brokers: Sequence[Broker] = array(Broker, "0", default=())


def encode_request(m: Message, *, correlation_id: int = 0, client_id: str = "") -> bytes:
    """The whole frame of a request: `MetadataRequest`, or what the draft elides."""
    header = RequestHeader(
        request_api_key=_key_of(m), request_api_version=0, correlation_id=correlation_id, client_id=client_id
    )
    return encode_frame(RequestHeader.plan(1), header, m.plan(0), m)


def encode_response(m: Message, *, correlation_id: int = 0, response_version: int = 0) -> bytes:
    """The whole frame of a response."""
    _key_of(m)
    header = ResponseHeader(response_version=response_version, correlation_id=correlation_id)
    return encode_frame(ResponseHeader.plan(0), header, m.plan(0), m)


def decode_request(frame: Any, *, strict: bool = True) -> tuple[RequestHeader, Message]:
    """(header, message) of a whole frame (bytes-like). `strict` refuses bytes left over.

    UnknownVersionError for a key or version that the draft lacks, other CodecErrors for bytes that are not what they
    should be; FrameError when the size field is not the size of the frame.
    """
    header, at = RequestHeader.plan(1).decode_prefix(frame, checked_size(frame))
    if header.request_api_version != 0:
        raise errors.UnknownVersionError(f"version {header.request_api_version}; the draft has 0 of every request")
    return header, _message(header.request_api_key, "request").plan(0).decode(frame, strict, at)


def decode_response(frame: Any, api_key: int, *, strict: bool = True) -> tuple[ResponseHeader, Message]:
    """(header, message) of a whole frame (bytes-like) that answers a request of `api_key`. Errors as above."""
    message = _message(api_key, "response")
    header, at = ResponseHeader.plan(0).decode_prefix(frame, checked_size(frame))
    return header, message.plan(0).decode(frame, strict, at)


def _message(api_key: int, direction: str) -> type[Message]:
    if api_key == _METADATA:
        return MetadataRequest if direction == "request" else MetadataResponse
    if api_key in _ELIDED:
        found: type[Message] = getattr(APIS[api_key], direction)
        return found
    raise errors.UnknownVersionError(f"API key {api_key}; the draft has produce 0, fetch 1, offsets 2 and metadata 3")


def _key_of(m: Message) -> int:
    key: int = getattr(m, "__api_key__", -1)
    if isinstance(m, (MetadataRequest, MetadataResponse)) or key in _ELIDED:
        return key
    raise errors.CodecError(f"{type(m).__qualname__} is not a message of the draft of 0.8")
