"""The "New Wire Format Proposal" of 2012, as it is printed. Public as `kwire.protocol.proposal`.

    request     size int32, request_type_id int16, version_id int16, correlation_id int32, client_id string, body
    response    size int32, correlation_id int32, version_id int16, error int16, body

    ProduceRequest    required_acks int8, ack_timeout int32,
                      data: [topic string, partition_data: [partition int32, messages]]
    ProduceResponse   errors [int16], offsets [int64]        one of each per message set, in the order of the request
    FetchRequest      replica_id int32, max_wait int32, min_bytes int32,
                      topic_offsets: [topic string, partitions [int32], offsets [int32]]
    FetchResponse     data as in ProduceRequest

A list has an int16 count; `messages` holds a message set of Kafka 0.7. No broker ever spoke it; the page contradicts
itself and leaves things out, so where kwire had to decide, a `Dialect` says how, and its defaults are:

    fetch_header     "table": the order of the header above, as the page's table and its ProduceRequest have it;
                     "printed": FetchRequest has correlation_id before version_id, as its own listing has
    message_sets     "sized": an int32 length before each, as in Kafka 0.7 and in the first code of KAFKA-240;
                     "printed": no length. Then only the last set of a frame can be delimited, by the frame's end, and
                     a frame that has more than one is refused.
    produce_error    True: ProduceResponse has the error of the header (in its listing a comment swallows the line);
                     False: it has not
    offsets          "printed": fetch offsets are int32; "int64": as the byte positions of Kafka 0.7 and KAFKA-240
    no_error         -1: `errors` are all -1 where nothing failed, as the comment says; 0: as everywhere else. What a
                     broker writes: kwire reads either as no error (`Dialect.failed`)
    produce, fetch   the request types, for which the page gives no numbers: 0 and 1, as in Kafka 0.7

Names are those of the listings; the page's table calls ack_timeout "replication_timeout" and min_bytes "min_size".
Source: the page "New Wire Format Proposal" (2012); KAFKA-49, KAFKA-240.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kwire import errors
from kwire._codec import encode_frame
from kwire.schema.fields import BytesLike, array, i8, i16, i16s, i32, i32s, i64s, record_data, rest, short, string
from kwire.schema.framing import checked_size
from kwire.schema.generations.bodies import Body
from kwire.schema.messages import Header, Struct

__all__ = [
    "PRINTED",
    "Dialect",
    "FetchRequest",
    "FetchResponse",
    "ProduceRequest",
    "ProduceResponse",
    "RequestHeader",
    "ResponseHeader",
    "decode_request",
    "decode_request_body",
    "decode_response",
    "decode_response_body",
    "encode_request",
    "encode_response",
]


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How the gaps of the page are filled; the module's head says what each switch means."""

    fetch_header: Literal["table", "printed"] = "table"
    message_sets: Literal["sized", "printed"] = "sized"
    produce_error: bool = True
    offsets: Literal["printed", "int64"] = "printed"
    no_error: int = -1
    produce: int = 0
    fetch: int = 1

    def failed(self, error_code: int) -> bool:
        """Whether an element of `ProduceResponse.errors` is an error."""
        return error_code not in (0, -1)


PRINTED = Dialect(fetch_header="printed", message_sets="printed", produce_error=False)
_OURS = Dialect()


class RequestHeader(Header, versions="0"):
    """Stands before every request."""

    request_type_id: int = i16("0", default=0)
    version_id: int = i16("0", default=0)
    correlation_id: int = i32("0", default=0)
    client_id: str = string("0", default="")


class _PrintedFetchHeader(Header, versions="0"):
    request_type_id: int = i16("0", default=0)
    correlation_id: int = i32("0", default=0)
    version_id: int = i16("0", default=0)
    client_id: str = string("0", default="")


class ResponseHeader(Header, versions="0-1"):
    """Stands before every response; version 1 is that of a ProduceResponse without the error."""

    correlation_id: int = i32("0+", default=0)
    version_id: int = i16("0+", default=0)
    error: int = i16("0", default=0)


class _TopicData(Struct):
    """The message sets of a topic, by partition."""

    class PartitionData(Struct):
        partition: int = i32("0", default=0)
        messages: BytesLike = record_data("0", default=b"")

    topic: str = string("0", default="")
    partition_data: Sequence[PartitionData] = short(array(PartitionData, "0", default=()))


class ProduceRequest(Body, key=0, versions="0"):
    """Message sets to append. `required_acks` 0: none, and no answer; else as many replicas; the timeout in ms."""

    TopicData = _TopicData
    required_acks: int = i8("0", default=1)
    ack_timeout: int = i32("0", default=0)
    data: Sequence[_TopicData] = short(array(_TopicData, "0", default=()))


class ProduceResponse(Body, key=0, versions="0"):
    """One error and one offset per message set, in the order of the request."""

    errors: Sequence[int] = short(i16s("0", default=()))
    offsets: Sequence[int] = short(i64s("0", default=()))


class FetchRequest(Body, key=1, versions="0"):
    """What to read: `offsets[i]` is the byte position in `partitions[i]`. `replica_id` -1: not a broker."""

    class OffsetData(Struct):
        topic: str = string("0", default="")
        partitions: Sequence[int] = short(i32s("0", default=()))
        offsets: Sequence[int] = short(i32s("0", default=()))

    replica_id: int = i32("0", default=-1)
    max_wait: int = i32("0", default=0)
    min_bytes: int = i32("0", default=0)
    topic_offsets: Sequence[OffsetData] = short(array(OffsetData, "0", default=()))


class _WideFetchRequest(Body, key=1, versions="0"):
    class OffsetData(Struct):
        topic: str = string("0", default="")
        partitions: Sequence[int] = short(i32s("0", default=()))
        offsets: Sequence[int] = short(i64s("0", default=()))

    replica_id: int = i32("0", default=-1)
    max_wait: int = i32("0", default=0)
    min_bytes: int = i32("0", default=0)
    topic_offsets: Sequence[OffsetData] = short(array(OffsetData, "0", default=()))


class FetchResponse(Body, key=1, versions="0"):
    """The message sets that were asked for, in the order of the request."""

    TopicData = _TopicData
    data: Sequence[_TopicData] = short(array(_TopicData, "0", default=()))


class _UnsizedTopic(Struct):
    """A topic of which one message set goes to the end of the frame."""

    class Partition(Struct):
        partition: int = i32("0", default=0)
        messages: BytesLike = rest("0", default=b"")

    topic: str = string("0", default="")
    partition_data: Sequence[Partition] = short(array(Partition, "0", default=()))


class _UnsizedProduceRequest(Body, key=0, versions="0"):
    required_acks: int = i8("0", default=1)
    ack_timeout: int = i32("0", default=0)
    data: Sequence[_UnsizedTopic] = short(array(_UnsizedTopic, "0", default=()))


class _UnsizedFetchResponse(Body, key=1, versions="0"):
    data: Sequence[_UnsizedTopic] = short(array(_UnsizedTopic, "0", default=()))


# Of messages that hold message sets, what they are when those have no lengths.
_UNSIZED: dict[type[Body], type[Body]] = {ProduceRequest: _UnsizedProduceRequest, FetchResponse: _UnsizedFetchResponse}
_REQUESTS: tuple[type[Body], ...] = (ProduceRequest, FetchRequest)
_RESPONSES: tuple[type[Body], ...] = (ProduceResponse, FetchResponse)


def encode_request(
    m: Body, *, correlation_id: int = 0, client_id: str = "", version_id: int = 0, dialect: Dialect = _OURS
) -> bytes:
    """The whole frame of a request."""
    if not isinstance(m, _REQUESTS):
        raise errors.CodecError(f"{type(m).__qualname__} is not a request of the proposal")
    is_fetch = isinstance(m, FetchRequest)
    printed = is_fetch and dialect.fetch_header == "printed"
    header = (_PrintedFetchHeader if printed else RequestHeader)(
        request_type_id=dialect.fetch if is_fetch else dialect.produce,
        version_id=version_id,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    body = _to_wire(m, dialect)
    return encode_frame(type(header).plan(0), header, body.plan(0), body)


def encode_response(
    m: Body, *, correlation_id: int = 0, version_id: int = 0, error: int = 0, dialect: Dialect = _OURS
) -> bytes:
    """The whole frame of a response. CodecError for an `error` where the dialect has no place for one."""
    if not isinstance(m, _RESPONSES):
        raise errors.CodecError(f"{type(m).__qualname__} is not a response of the proposal")
    header = ResponseHeader(correlation_id=correlation_id, version_id=version_id, error=error)
    body = _to_wire(m, dialect)
    return encode_frame(_response_header_plan(type(m), dialect), header, body.plan(0), body)


def decode_request(frame: Any, *, strict: bool = True, dialect: Dialect = _OURS) -> tuple[RequestHeader, Body]:
    """(header, message) of a whole frame (bytes-like). `strict` refuses bytes left over.

    UnknownVersionError for a request type that the dialect has no number for, other CodecErrors for bytes that are not
    what they should be; FrameError when the size field is not the size of the frame.
    """
    return _decode_request_at(frame, checked_size(frame), strict, dialect)


def decode_request_body(frame: Any, *, strict: bool = False, dialect: Dialect = _OURS) -> tuple[RequestHeader, Body]:
    """As `decode_request`, of a frame without its size field."""
    return _decode_request_at(frame, 0, strict, dialect)


def decode_response(
    frame: Any, request_type_id: int, *, strict: bool = True, dialect: Dialect = _OURS
) -> tuple[ResponseHeader, Body]:
    """(header, message) of a whole frame (bytes-like) that answers a request of that type. Errors as above."""
    return _decode_response_at(frame, checked_size(frame), request_type_id, strict, dialect)


def decode_response_body(
    frame: Any, request_type_id: int, *, strict: bool = False, dialect: Dialect = _OURS
) -> tuple[ResponseHeader, Body]:
    """As `decode_response`, of a frame without its size field."""
    return _decode_response_at(frame, 0, request_type_id, strict, dialect)


def _decode_request_at(frame: Any, begin: int, strict: bool, dialect: Dialect) -> tuple[RequestHeader, Body]:
    header, at = RequestHeader.plan(0).decode_prefix(frame, begin)
    if header.request_type_id == dialect.produce:
        return header, _from_wire(ProduceRequest, frame, at, strict, dialect)
    if header.request_type_id != dialect.fetch:
        raise errors.UnknownVersionError(
            f"request type {header.request_type_id}; this dialect has {dialect.produce} (produce), "
            f"{dialect.fetch} (fetch)"
        )
    if dialect.fetch_header == "printed":
        printed, at = _PrintedFetchHeader.plan(0).decode_prefix(frame, begin)
        header = RequestHeader.from_dict(printed.to_dict())
    return header, _from_wire(FetchRequest, frame, at, strict, dialect)


def _decode_response_at(
    frame: Any, begin: int, request_type_id: int, strict: bool, dialect: Dialect
) -> tuple[ResponseHeader, Body]:
    answers: dict[int, type[Body]] = {dialect.produce: ProduceResponse, dialect.fetch: FetchResponse}
    message = answers.get(request_type_id)
    if message is None:
        raise errors.UnknownVersionError(f"request type {request_type_id}; this dialect has {sorted(answers)}")
    header, at = _response_header_plan(message, dialect).decode_prefix(frame, begin)
    return header, _from_wire(message, frame, at, strict, dialect)


def _response_header_plan(message: type[Body], dialect: Dialect) -> Any:
    return ResponseHeader.plan(1 if message is ProduceResponse and not dialect.produce_error else 0)


def _wire_class(message: type[Body], dialect: Dialect) -> type[Body]:
    """The class that has the dialect's layout of `message`."""
    if message is FetchRequest and dialect.offsets == "int64":
        return _WideFetchRequest
    if dialect.message_sets == "printed":
        return _UNSIZED.get(message, message)
    return message


def _to_wire(m: Body, dialect: Dialect) -> Body:
    wire = _wire_class(type(m), dialect)
    if isinstance(m, (ProduceRequest, FetchResponse)) and wire is not type(m):
        sets = sum(len(topic.partition_data) for topic in m.data)
        last = m.data[-1].partition_data if m.data else ()
        if sets > 1 or sets != len(last):
            raise errors.CodecError(
                f"{sets} message sets without lengths: only one, at the end, can be read again; "
                'message_sets="sized" gives them lengths',
                "data",
            )
    return m if wire is type(m) else wire.from_dict(m.to_dict())


def _from_wire(message: type[Body], frame: Any, at: int, strict: bool, dialect: Dialect) -> Body:
    wire = _wire_class(message, dialect)
    found: Body = wire.plan(0).decode(frame, strict, at)
    return found if wire is message else message.from_dict(found.to_dict())
