"""Every message, every version: what is encoded is decoded to the same, and the bytes are the documents' bytes."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import protocol
from kwire.schema.messages import Message
from tests.reference import protocol as reference
from tests.schema.messages.checks import by_api, with_messages, with_random_messages
from tests.schema.messages.every import EXAMPLES, MESSAGES
from tests.schema.messages.plain import plain_values
from tests.schema.messages.strategies import TEXT, structs
from tests.thorough import THOROUGH

GUIDES = [(getattr(protocol.APIS[key], direction), version) for key, direction, version in reference.LAYOUTS]


@by_api(MESSAGES)
@with_messages()
def test_decoding_gives_back_what_was_encoded(cls: type[Message], version: int, message: Message) -> None:
    encoded = message.encode(version)
    decoded = cls.decode(encoded, version)
    assert decoded == message
    assert decoded.encode(version) == encoded
    assert cls.from_dict(decoded.to_dict()) == message


@by_api(MESSAGES)
def test_defaults_survive(cls: type[Message], version: int) -> None:
    assert cls.decode(cls().encode(version), version) == cls()


@by_api(GUIDES)
@with_messages(5 * EXAMPLES)
def test_the_bytes_are_those_of_the_guides(cls: type[Message], version: int, message: Any) -> None:
    layout = (message.__api_key__, "request" if isinstance(message, protocol.Request) else "response", version)
    expected = reference.encode(*layout, plain_values(message, version))
    assert message.encode(version) == expected
    assert plain_values(cls.decode(expected, version), version) == reference.decode(*layout, expected)


@settings(max_examples=100 if THOROUGH else 40)
@given(correlation=st.integers(-(2**31), 2**31 - 1), client=st.one_of(st.none(), TEXT), data=st.data())
def test_old_frames_are_those_of_the_guides(correlation: int, client: str | None, data: Any) -> None:
    request = data.draw(structs(protocol.FetchRequest, 3))
    frame = reference.encode_request(1, 3, correlation, client, request.encode(3))
    assert protocol.encode_request(request, 3, correlation_id=correlation, client_id=client) == frame
    header, decoded = protocol.decode_request(frame)
    assert (header.correlation_id, header.client_id, decoded) == (correlation, client, request)

    response = data.draw(structs(protocol.FetchResponse, 3))
    frame = reference.encode_response(correlation, response.encode(3))
    assert protocol.encode_response(response, 3, correlation_id=correlation) == frame
    answered, answer = protocol.decode_response(frame, 1, 3)
    assert (answered.correlation_id, answer) == (correlation, response)


@by_api(MESSAGES)
@with_random_messages(20 if THOROUGH else 3)
def test_frames_of_every_version(cls: type[Message], version: int, message: Message) -> None:
    if isinstance(message, protocol.Request):
        for client in (None, "", "größe"):
            frame = protocol.encode_request(message, version, correlation_id=9, client_id=client)
            parts = protocol.encode_request_parts(message, version, correlation_id=9, client_id=client)
            header, decoded = protocol.decode_request(frame)
            sent = client if (cls, version) != (protocol.ControlledShutdownRequest, 0) else ""
            assert (header.correlation_id, header.client_id, decoded) == (9, sent, message)
            assert protocol.decode_request_body(frame[4:])[1] == message
            assert b"".join(map(bytes, parts)) == frame
    else:
        assert isinstance(message, protocol.Response)
        if isinstance(message, protocol.ApiVersionsResponse) and message.error_code == 35:
            message.error_code = 0
        frame = protocol.encode_response(message, version, correlation_id=9)
        parts = protocol.encode_response_parts(message, version, correlation_id=9)
        key = message.__api_key__
        assert protocol.decode_response(frame, key, version)[1] == message
        assert protocol.decode_response_body(frame[4:], key, version)[1] == message
        assert b"".join(map(bytes, parts)) == frame
