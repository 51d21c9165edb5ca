"""Kafka 0.7: five requests, three of which are answered. Public as `kwire.protocol.kafka_0_7`.

    request     size int32, request_type int16, body
    response    size int32, error_code int16, body          no correlation id: answers come in the order of the requests

    0 PRODUCE        topic string, partition int32, messages (int32 length, bytes)              never answered
    1 FETCH          topic string, partition int32, offset int64, max_size int32
                     answer: messages, up to the end of the frame
    2 MULTIFETCH     count int16, then as often what FETCH has
                     answer: per fetch, in their order: size int32 (of what follows), error_code int16, messages
    3 MULTIPRODUCE   count int16, then as often what PRODUCE has                                never answered
    4 OFFSETS        topic string, partition int32, time int64, max_offsets int32
                     answer: count int32, offsets int64, descending

A string is an int16 length and UTF-8. (0.7's own clients wrote the number of characters as the length, which is the
same for ASCII.) Offsets are byte positions in the partition's log. Request types are other requests' keys from 0.8 on.

Sources: the page "Wire Format" of Kafka 0.7 for PRODUCE, FETCH, OFFSETS and the headers; it prints neither the bodies
of MULTIFETCH and MULTIPRODUCE nor error codes: those are what the code of release 0.7.2 reads and writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from kwire import errors
from kwire._codec import encode_frame
from kwire.errors import history
from kwire.schema.fields import BytesLike, array, i16, i32, i64, i64s, record_data, rest, short, string
from kwire.schema.framing import checked_size
from kwire.schema.generations.bodies import Body
from kwire.schema.messages import Header, Struct

__all__ = [
    "EARLIEST",
    "ERRORS",
    "LATEST",
    "REQUESTS",
    "FetchRequest",
    "FetchResponse",
    "FetchedPart",
    "MultiFetchRequest",
    "MultiFetchResponse",
    "MultiProduceRequest",
    "OffsetsRequest",
    "OffsetsResponse",
    "ProduceRequest",
    "RequestHeader",
    "ResponseHeader",
    "decode_request",
    "decode_request_body",
    "decode_response",
    "decode_response_body",
    "encode_request",
    "encode_response",
]

LATEST = -1
EARLIEST = -2

ERRORS = {code: meaning.name for code, meaning in history.codes_of("0.7").items()}
"""{code: the constant of 0.7's ErrorMapping}, as `kwire.errors.history` has them; its broker never sends 2 and 4."""


class RequestHeader(Header, versions="0"):
    """Stands before every request."""

    request_type: int = i16("0", default=0)


class ResponseHeader(Header, versions="0"):
    """Stands before every response."""

    error_code: int = i16("0", default=0)


class ProduceRequest(Body, key=0, versions="0"):
    """Messages for one partition; partition -1 lets the broker choose."""

    topic: str = string("0", default="")
    partition: int = i32("0", default=0)
    messages: BytesLike = record_data("0", default=b"")


class FetchRequest(Body, key=1, versions="0"):
    """At most `max_size` bytes of a partition's log from byte `offset` on."""

    topic: str = string("0", default="")
    partition: int = i32("0", default=0)
    offset: int = i64("0", default=0)
    max_size: int = i32("0", default=0)


class MultiFetchRequest(Body, key=2, versions="0"):
    """Several fetches in one."""

    class Fetch(Struct):
        topic: str = string("0", default="")
        partition: int = i32("0", default=0)
        offset: int = i64("0", default=0)
        max_size: int = i32("0", default=0)

    fetches: Sequence[Fetch] = short(array(Fetch, "0", default=()))


class MultiProduceRequest(Body, key=3, versions="0"):
    """Messages for several partitions."""

    class Produce(Struct):
        topic: str = string("0", default="")
        partition: int = i32("0", default=0)
        messages: BytesLike = record_data("0", default=b"")

    produces: Sequence[Produce] = short(array(Produce, "0", default=()))


class OffsetsRequest(Body, key=4, versions="0"):
    """At most `max_offsets` offsets at which segments begin that are older than `time` (ms; or LATEST, EARLIEST)."""

    topic: str = string("0", default="")
    partition: int = i32("0", default=0)
    time: int = i64("0", default=LATEST)
    max_offsets: int = i32("0", default=1)


class FetchResponse(Body, key=1, versions="0"):
    """Messages; the last one may be cut off."""

    messages: BytesLike = rest("0", default=b"")


class FetchedPart(Body, versions="0"):
    """What one fetch of several brought."""

    error_code: int = i16("0", default=0)
    messages: BytesLike = rest("0", default=b"")


class MultiFetchResponse(Body, key=2, versions="0"):
    """One part per fetch, in the order of the request. The parts have sizes, but no count."""

    Part = FetchedPart
    parts: Sequence[FetchedPart] = array(FetchedPart, "0", default=())

    def encode(self, version: int = 0) -> bytes:
        return _packed(self).encode(version)

    @classmethod
    def decode(cls, data: Any, version: int = 0, *, strict: bool = True) -> Self:
        return cls(parts=_unpacked(data, 0))


class _SizedParts(Body, versions="0"):
    content: Any = rest("0", default=b"")


class OffsetsResponse(Body, key=4, versions="0"):
    """Offsets, the greatest first."""

    offsets: Sequence[int] = i64s("0", default=())


REQUESTS: dict[int, type[Body]] = {
    message.__api_key__: message
    for message in (ProduceRequest, FetchRequest, MultiFetchRequest, MultiProduceRequest, OffsetsRequest)
}
_RESPONSES: dict[int, type[Body]] = {1: FetchResponse, 2: MultiFetchResponse, 4: OffsetsResponse}


def encode_request(m: Body) -> bytes:
    """The whole frame of a request."""
    if REQUESTS.get(m.__api_key__) is not type(m):
        raise errors.CodecError(f"{type(m).__qualname__} is not a request of Kafka 0.7")
    return _encode_frame(RequestHeader(request_type=m.__api_key__), m)


def encode_response(m: Body, *, error_code: int = 0) -> bytes:
    """The whole frame of a response."""
    if _RESPONSES.get(m.__api_key__) is not type(m):
        raise errors.CodecError(f"{type(m).__qualname__} is not a response of Kafka 0.7")
    return _encode_frame(ResponseHeader(error_code=error_code), m)


def decode_request(frame: Any, *, strict: bool = True) -> tuple[RequestHeader, Body]:
    """(header, message) of a whole frame (bytes-like). `strict` refuses bytes left over, which 0.7's broker does not.

    UnknownVersionError for a request type that 0.7 lacks, other CodecErrors for bytes that are not what they should be;
    FrameError when the size field is not the size of the frame.
    """
    return _decode_request_at(frame, checked_size(frame), strict)


def decode_request_body(frame: Any, *, strict: bool = False) -> tuple[RequestHeader, Body]:
    """As `decode_request`, of a frame without its size field."""
    return _decode_request_at(frame, 0, strict)


def decode_response(frame: Any, request_type: int, *, strict: bool = True) -> tuple[ResponseHeader, Body]:
    """(header, message) of a whole frame (bytes-like) that answers a request of `request_type`.

    An answer that has an error may end with it. Errors as for `decode_request`.
    """
    return _decode_response_at(frame, checked_size(frame), request_type, strict)


def decode_response_body(frame: Any, request_type: int, *, strict: bool = False) -> tuple[ResponseHeader, Body]:
    """As `decode_response`, of a frame without its size field."""
    return _decode_response_at(frame, 0, request_type, strict)


def _decode_request_at(frame: Any, start: int, strict: bool) -> tuple[RequestHeader, Body]:
    header, at = RequestHeader.plan(0).decode_prefix(frame, start)
    message = REQUESTS.get(header.request_type)
    if message is None:
        raise errors.UnknownVersionError(f"request type {header.request_type}; Kafka 0.7 has {_listed(REQUESTS)}")
    return header, message.plan(0).decode(frame, strict, at)


def _decode_response_at(frame: Any, start: int, request_type: int, strict: bool) -> tuple[ResponseHeader, Body]:
    message = _RESPONSES.get(request_type)
    if message is None:
        raise errors.UnknownVersionError(f"request type {request_type} has no answer; {_listed(_RESPONSES)} have")
    header, at = ResponseHeader.plan(0).decode_prefix(frame, start)
    if header.error_code and at == memoryview(frame).nbytes:
        return header, message()
    if message is MultiFetchResponse:
        return header, MultiFetchResponse(parts=_unpacked(frame, at))
    return header, message.plan(0).decode(frame, strict, at)


def _encode_frame(header: Header, m: Body) -> bytes:
    body = _packed(m) if isinstance(m, MultiFetchResponse) else m
    return encode_frame(type(header).plan(0), header, type(body).plan(0), body)


def _packed(m: MultiFetchResponse) -> _SizedParts:
    parts = [part.encode() for part in m.parts]
    return _SizedParts(content=[piece for part in parts for piece in (len(part).to_bytes(4, "big"), part)])


def _unpacked(data: Any, at: int) -> list[FetchedPart]:
    view = memoryview(data).cast("B")
    parts: list[FetchedPart] = []
    while at < len(view):
        size, begin = int.from_bytes(view[at : at + 4], "big", signed=True), at + 4
        if size > len(view) - begin or begin > len(view):
            raise errors.TruncatedError("the bytes end before the part does", f"parts[{len(parts)}]", at)
        if size < 0:
            raise errors.InvalidLengthError(f"a size of {size}", f"parts[{len(parts)}]", at)
        parts.append(FetchedPart.plan(0).decode(view[: begin + size], True, begin))
        at = begin + size
    return parts


def _listed(messages: dict[int, type[Body]]) -> str:
    return ", ".join(f"{key} ({message.__name__})" for key, message in messages.items())
