"""Every message of the Kafka protocol, both directions: the public face of the schema.

A frame is size int32 (not counting itself), header, body. The functions named `*_request` and `*_response` work on
whole frames, those named `*_body` on frames whose size field was already taken off (as `kwire._codec.FrameReceiver`
does); the latter leave left-over bytes alone. The message classes (`MetadataRequest`, `FetchResponse`, ...) are
imported when they are first used.

Layer 2, as the schema behind it: no I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire import errors
from kwire._codec import Plan, encode_frame, encode_frame_parts
from kwire.schema.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version
from kwire.schema.messages import Message, Request, Response
from kwire.schema.registry import APIS, Api
from kwire.schema.releases import versions_of

if TYPE_CHECKING:
    from kwire.schema.k00_produce import ProduceRequest as ProduceRequest
    from kwire.schema.k00_produce import ProduceResponse as ProduceResponse
    from kwire.schema.k01_fetch import FetchRequest as FetchRequest
    from kwire.schema.k01_fetch import FetchResponse as FetchResponse
    from kwire.schema.k02_list_offsets import ListOffsetsRequest as ListOffsetsRequest
    from kwire.schema.k02_list_offsets import ListOffsetsResponse as ListOffsetsResponse
    from kwire.schema.k03_metadata import MetadataRequest as MetadataRequest
    from kwire.schema.k03_metadata import MetadataResponse as MetadataResponse
    from kwire.schema.k18_api_versions import ApiVersionsRequest as ApiVersionsRequest
    from kwire.schema.k18_api_versions import ApiVersionsResponse as ApiVersionsResponse
    from kwire.schema.k19_create_topics import CreateTopicsRequest as CreateTopicsRequest
    from kwire.schema.k19_create_topics import CreateTopicsResponse as CreateTopicsResponse
    from kwire.schema.k20_delete_topics import DeleteTopicsRequest as DeleteTopicsRequest
    from kwire.schema.k20_delete_topics import DeleteTopicsResponse as DeleteTopicsResponse
    from kwire.schema.k22_init_producer_id import InitProducerIdRequest as InitProducerIdRequest
    from kwire.schema.k22_init_producer_id import InitProducerIdResponse as InitProducerIdResponse

__all__ = [
    "APIS",
    "Api",
    "ApiVersionsRequest",
    "ApiVersionsResponse",
    "CreateTopicsRequest",
    "CreateTopicsResponse",
    "DeleteTopicsRequest",
    "DeleteTopicsResponse",
    "FetchRequest",
    "FetchResponse",
    "InitProducerIdRequest",
    "InitProducerIdResponse",
    "ListOffsetsRequest",
    "ListOffsetsResponse",
    "Message",
    "MetadataRequest",
    "MetadataResponse",
    "ProduceRequest",
    "ProduceResponse",
    "Request",
    "RequestHeader",
    "Response",
    "ResponseHeader",
    "decode_request",
    "decode_request_body",
    "decode_request_header",
    "decode_response",
    "decode_response_body",
    "encode_request",
    "encode_request_parts",
    "encode_response",
    "encode_response_parts",
    "versions_of",
]

_SIZE_FIELD = 4
_API_VERSIONS = 18
_UNSUPPORTED_VERSION = 35
# The plans of header and message, by message class and version.
_REQUEST_PLANS: dict[tuple[type[Request], int], tuple[Plan, Plan]] = {}
_RESPONSE_PLANS: dict[tuple[type[Response], int], tuple[Plan, Plan]] = {}


def encode_request(m: Request, version: int, *, correlation_id: int = 0, client_id: str | None = None) -> bytes:
    """The whole frame of a request. Brokers up to 0.9 need a `client_id` that is not None."""
    header_plan, plan = _request_plans(m, version)
    header = RequestHeader(
        request_api_key=m.__api_key__, request_api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    return encode_frame(header_plan, header, plan, m)


def encode_request_parts(
    m: Request, version: int, *, correlation_id: int = 0, client_id: str | None = None
) -> list[Any]:
    """The frame of a request as a list of buffers to send in order; large `records` are not copied into it."""
    header_plan, plan = _request_plans(m, version)
    header = RequestHeader(
        request_api_key=m.__api_key__, request_api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    return encode_frame_parts(header_plan, header, plan, m)


def encode_response(m: Response, version: int, *, correlation_id: int = 0) -> bytes:
    """The whole frame of a response."""
    header_plan, plan = _response_plans(m, version)
    return encode_frame(header_plan, ResponseHeader(correlation_id=correlation_id), plan, m)


def encode_response_parts(m: Response, version: int, *, correlation_id: int = 0) -> list[Any]:
    """The frame of a response as a list of buffers to send in order; large `records` are not copied into it."""
    header_plan, plan = _response_plans(m, version)
    return encode_frame_parts(header_plan, ResponseHeader(correlation_id=correlation_id), plan, m)


def decode_request(frame: Any, *, strict: bool = True) -> tuple[RequestHeader, Request]:
    """(header, message) of a whole frame (bytes-like). `strict` refuses bytes left over.

    UnknownVersionError for an API key or version that kwire does not know, other CodecErrors for bytes that are not
    what they should be; FrameError when the size field is not the size of the frame.
    """
    return _decode_request_at(frame, _checked_size(frame), strict)


def decode_request_body(frame: Any, *, strict: bool = False) -> tuple[RequestHeader, Request]:
    """As `decode_request`, of a frame without its size field."""
    return _decode_request_at(frame, 0, strict)


def decode_request_header(frame: Any) -> RequestHeader:
    """The header of a request frame without its size field, also when key or version are not known.

    Of a version that is not known only the part that every version has is read (key, version, correlation id, client).
    """
    return _decode_request_header_at(frame, 0)[0]


def decode_response(frame: Any, api_key: int, version: int, *, strict: bool = True) -> tuple[ResponseHeader, Response]:
    """(header, message) of a whole frame (bytes-like) that answers a request of `api_key` and `version`.

    An ApiVersions answer with error 35 is read as version 0, whatever was asked, and when its body is of no version at
    all the message has only the error code. Errors as for `decode_request`.
    """
    return _decode_response_at(frame, _checked_size(frame), api_key, version, strict)


def decode_response_body(
    frame: Any, api_key: int, version: int, *, strict: bool = False
) -> tuple[ResponseHeader, Response]:
    """As `decode_response`, of a frame without its size field."""
    return _decode_response_at(frame, 0, api_key, version, strict)


def _request_plans(m: Request, version: int) -> tuple[Plan, Plan]:
    known = _REQUEST_PLANS.get((type(m), version))
    if known is not None:
        return known
    if not isinstance(m, Request):
        raise errors.CodecError(f"{type(m).__qualname__} is no request")
    header_version = request_header_version(m.__api_key__, version, m.__flexible__)
    plans = _REQUEST_PLANS[(type(m), version)] = RequestHeader.plan(header_version), m.plan(version)
    return plans


def _response_plans(m: Response, version: int) -> tuple[Plan, Plan]:
    known = _RESPONSE_PLANS.get((type(m), version))
    if known is not None:
        return known
    if not isinstance(m, Response):
        raise errors.CodecError(f"{type(m).__qualname__} is no response")
    header_version = response_header_version(m.__api_key__, version, m.__flexible__)
    plans = _RESPONSE_PLANS[(type(m), version)] = ResponseHeader.plan(header_version), m.plan(version)
    return plans


def _checked_size(frame: Any) -> int:
    view = memoryview(frame).cast("B")
    stated = int.from_bytes(view[:_SIZE_FIELD], "big", signed=True)
    if len(view) < _SIZE_FIELD or stated != len(view) - _SIZE_FIELD:
        raise errors.FrameError(
            f"a frame of {len(view)} bytes states a size of {stated}, not counting itself: it is cut off, has no size "
            "field, or is more than one frame"
        )
    return _SIZE_FIELD


def _decode_request_header_at(frame: Any, start: int) -> tuple[RequestHeader, int]:
    common, _ = RequestHeader.plan(0).decode_prefix(frame, start)
    key, version = common.request_api_key, common.request_api_version
    if key in APIS and version in APIS[key].versions:
        header_version = request_header_version(key, version, APIS[key].flexible)
    else:
        header_version = 0 if (key, version) == (7, 0) else 1
    header, end = RequestHeader.plan(header_version).decode_prefix(frame, start)
    return header, end


def _decode_request_at(frame: Any, start: int, strict: bool) -> tuple[RequestHeader, Request]:
    header, end = _decode_request_header_at(frame, start)
    plan = APIS[header.request_api_key].request.plan(header.request_api_version)
    return header, plan.decode(frame, strict, end)


def _decode_response_at(
    frame: Any, start: int, api_key: int, version: int, strict: bool
) -> tuple[ResponseHeader, Response]:
    api = APIS[api_key]
    plan = api.response.plan(version)
    header_plan = ResponseHeader.plan(response_header_version(api_key, version, api.flexible))
    header, end = header_plan.decode_prefix(frame, start)
    if api_key == _API_VERSIONS and bytes(memoryview(frame)[end : end + 2]) == _UNSUPPORTED_VERSION.to_bytes(2, "big"):
        return header, _unsupported_version_answer(api, frame, end)
    return header, plan.decode(frame, strict, end)


def _unsupported_version_answer(api: Api, frame: Any, start: int) -> Response:
    """Brokers answer with a body of v0; some other servers with one of no version, of which the code is enough."""
    try:
        answer: Response = api.response.plan(0).decode(frame, False, start)
    except errors.CodecError:
        answer = api.response.from_dict({"error_code": _UNSUPPORTED_VERSION})
    return answer


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        for ending in ("Request", "Response"):
            api_name = name.removesuffix(ending)
            if api_name != name and api_name in APIS:
                found = globals()[name] = getattr(APIS[api_name], ending.lower())
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
