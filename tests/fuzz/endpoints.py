"""What is answered over HTTP, byte by byte: a schema registry to all that it is asked, a token endpoint to logins.

    registry-calls   each call of a Registry, and values that are read by the schemas which it gives
    token-answers    logins at a token endpoint

The other side of each connection has said all that it will ever say when it is made: that is what the input holds. What
cannot be read ends as an error of kwire's, which shows nothing secret.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any, ClassVar
from unittest import mock

from google.protobuf import descriptor_pb2

from kwire import errors
from kwire.drivers import http_exchange, oauth_endpoint
from kwire.engine.settings.security import SecuritySettings
from kwire.registry import (
    AvroDeserializer,
    AvroSerializer,
    JsonSchemaDeserializer,
    ProtobufDeserializer,
    Registry,
    SerializationContext,
)
from tests.fuzz.drawing import Drawing
from tests.fuzz.targets import target

MEMORY = (32 << 20, 256 << 10)
_SECRET = "s3cret"
_URL = "http://127.0.0.1:9/"
_MOST_BYTES = 60_000
"""More does not fit into a socket that nobody reads."""


class _Answered(http_exchange._PlainSocket):
    """A socket to whoever is asked for, who says the next of the answers and then nothing more."""

    answers: ClassVar[Iterator[bytes]] = iter(())
    opened: ClassVar[ExitStack] = ExitStack()

    def connect(self, address: Any) -> None:
        with socket.socket(self.family, socket.SOCK_DGRAM) as judging:
            judging.connect(address)  # sends nothing; an address that cannot be one is refused
        mine, other = socket.socketpair()
        self.opened.enter_context(other)
        with mine:
            os.dup2(mine.fileno(), self.fileno())
        other.sendall(next(self.answers, b"")[:_MOST_BYTES])
        other.shutdown(socket.SHUT_WR)


def _look_up(address: Any, done: Callable[[Any, str], None], wanted: object) -> None:
    done([(socket.AF_INET, ("127.0.0.1", address.port))], "")


@contextlib.contextmanager
def _answering(answers: Iterator[bytes]) -> Iterator[None]:
    with (
        ExitStack() as opened,
        mock.patch.object(http_exchange, "_PlainSocket", _Answered),
        mock.patch.object(http_exchange._lookups, "ask", _look_up),
        mock.patch.multiple(_Answered, answers=answers, opened=opened),
        mock.patch.dict(os.environ, {"no_proxy": "*"}),
    ):
        yield


_STATUSES = (200, 200, 200, 201, 204, 301, 302, 307, 308, 401, 404, 409, 422, 500, 503, 999)
_PLACES = ("http://127.0.0.1:9/x", "/y", "https://127.0.0.1:9/", "http://h/", "ftp://h/", "http://127.0.0.1:99999/",
           "http://[::1]:1/", "//", "http://h:x/", "", "http://h/\u00e4 \x00")  # fmt: skip
_HEADERS = ("Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close", " folded", "no colon",
            "Content-Encoding: gzip", "Content-Length: -1", "Retry-After: 1", "Set-Cookie: a=b")  # fmt: skip


def _response(drawing: Drawing, body: bytes) -> bytes:
    """A response with this body; some are not what HTTP has."""
    how = drawing.byte()
    if how > 240:
        return drawing.blob()
    lines = [f"HTTP/1.{drawing.below(3)} {drawing.choice(_STATUSES)} x"]
    lines += [drawing.choice(_HEADERS) for _ in range(drawing.below(3))]
    if how & 1:
        lines.append(f"Location: {drawing.choice(_PLACES)}")
    if how & 2:
        lines.append(f"Content-Length: {len(body) + drawing.choice((0, 0, 0, 1, -1, 10**30))}")
    elif how & 4:
        lines.append("Transfer-Encoding: chunked")
        size = f"{len(body) + drawing.choice((0, 0, 0, 1, -1, 2**70)):x}".encode()
        body = size + drawing.choice((b"", b";x=y")) + b"\r\n" + body + drawing.choice((b"\r\n0\r\n\r\n", b"", b"\r\n"))
    for _ in range(3 if how > 220 else 0):
        lines.append(drawing.text())
    return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body


@cache
def _descriptor() -> str:
    file = descriptor_pb2.FileDescriptorProto(name="f.proto", syntax="proto3")
    file.message_type.add(name="M").field.add(name="a", number=1, type=3, label=1)
    return b64encode(file.SerializeToString()).decode()


@cache
def _texts() -> tuple[str, ...]:
    return (
        '"int"', '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}', '["null","string"]',
        '{"type":"bytes"}', '{"type":"array","items":"other.R"}', "5", "null", "[1]", "{}", '{"type":{"type":5}}',
        '{"type":"object","properties":{"a":{"type":"integer"}}}', '{"pattern":"a{99999999999}"}', '{"$ref":"#"}',
        '{"type":"record","name":"R","fields":[1]}', '{"type":"enum","name":"E","symbols":5}', '{"$ref":"r"}',
        '{"pattern":"("}', '{"$schema":5}', "[" * 3000, '{"type":' * 990 + '"int"' + "}" * 990, _descriptor(), "",
        "AAAA",
        '{"type":"fixed","name":"F","size":"x"}', '{"type":"int","logicalType":"decimal","precision":"x"}',
    )  # fmt: skip


def _schema(drawing: Drawing) -> Any:
    answer: dict[str, Any] = {
        "schema": drawing.choice(_texts()) if drawing.byte() < 200 else drawing.text(),
        "schemaType": drawing.choice((None, "AVRO", "JSON", "PROTOBUF", "XML", 5)),
    }
    if drawing.flag():
        row = {"name": drawing.choice(("r", "other.R", "google/type/date.proto", "")), "subject": "s", "version": 1}
        answer["references"] = [row] * drawing.below(3)
    if drawing.byte() > 200:
        answer["references"] = drawing.choice((5, [5], [{}], "x", [{"subject": "s", "version": -1}]))
    for name, values in {
        "id": (1, "1", -1, 2**31), "version": (1, None, 2**70), "subject": ("s", 5), "guid": ("g", 5),
        "ruleSet": ({"domainRules": [1]}, 5, None), "is_compatible": (True, False, "x"), "messages": (["m", 5], 5),
        "compatibilityLevel": ("BACKWARD", 5), "compatibility": ("NONE", None), "error_code": (40401, "x"),
        "message": ("no", f"{_SECRET}!", 5),
    }.items():  # fmt: skip
        if drawing.byte() < 180:
            answer[name] = drawing.choice(values)
    return answer


def _body(drawing: Drawing) -> bytes:
    how = drawing.byte()
    if how < 200:
        return json.dumps(_schema(drawing)).encode()
    if how < 220:
        return drawing.choice((b"[1, 2]", b'["a"]', b"5", b"[" * 5000, b"null", b"\xff", b"9" * 5000, b'"x"', b""))
    return drawing.blob()


def _answers(drawing: Drawing) -> Iterator[bytes]:
    while drawing.left:
        yield _response(drawing, _body(drawing))


@cache
def _trusting() -> ssl.SSLContext:
    return ssl.create_default_context()


_VALUES = (b"\0\0\0\0\1\2", b"\0\0\0\0\2{}", b"\0\0\0\0\1\0\2\4", b"\0\0\0\0\1\2\2\4", b'\0\0\0\0\1{"a":"x"}', b"x")
_CALLS: tuple[Callable[[Registry], Any], ...] = (
    lambda r: r.resolve(r.by_id(1)), lambda r: r.by_guid("g"), lambda r: r.register("s", '"int"'),
    lambda r: r.lookup("s", '"int"'), lambda r: r.resolve(r.latest("s").schema), lambda r: r.version("s", 1),
    lambda r: r.versions("s"), lambda r: r.subjects("s"), lambda r: r.delete_subject("s"),
    lambda r: r.delete_version("s", 1), lambda r: r.compatible("s", '"int"'),
    lambda r: r.incompatibilities("s", '"int"', version=None), lambda r: r.compatibility("s"),
    lambda r: r.set_compatibility("none"), lambda r: AvroSerializer(r, '"int"')(5, SerializationContext("t", "value")),
    lambda r: AvroSerializer(r, use_latest=True)({"a": 5}, SerializationContext("t", "value")),
)  # fmt: skip
_READERS: tuple[Callable[[Registry], Any], ...] = (
    AvroDeserializer, JsonSchemaDeserializer, ProtobufDeserializer, lambda r: AvroDeserializer(r, '"long"'),
)  # fmt: skip


def _read(drawing: Drawing, site: Registry) -> None:
    reader, value = drawing.choice(_READERS)(site), drawing.choice(_VALUES)
    for _ in range(2):
        with contextlib.suppress(errors.KafkaError):
            reader(value, SerializationContext("t", "value"))
    with contextlib.suppress(errors.KafkaError):
        site._door.run(reader._prepare(1))


def _check_shows_no_secret(error: Exception) -> None:
    assert _SECRET not in f"{error!r} {error} {error.__cause__!r}"


def _token(drawing: Drawing) -> Any:
    return drawing.choice((None, _SECRET, f"{_SECRET}\n", lambda: (_SECRET, 60.0), lambda: f"{_SECRET}\u20ac"))


def _seeds() -> Iterator[bytes]:
    for call in range(len(_CALLS) + len(_READERS)):
        yield bytes([0, call, 0, 2, 0, 1, 0, 0, 0, call, 1, 0, 0]) + bytes(30)
        yield bytes([0, call, 3, 3, 1, 5, 1, 1, call, 7, 100, 4, 4, 1]) + bytes(range(call, call + 60))


@target(seeds=_seeds, traced="registry", max_len=300, budget=MEMORY)
def registry_calls(data: bytes) -> None:
    """what a schema registry answers, as bytes of HTTP, to each call and to values that name schemas"""
    drawing = Drawing(data)
    token, number = _token(drawing), drawing.below(len(_CALLS) + len(_READERS))
    site = Registry(_URL, token=token, ssl_context=_trusting(), retries=1, retry_backoff_ms=0)
    with _answering(_answers(drawing)):
        try:
            if number < len(_CALLS):
                repr(_CALLS[number](site))
            else:
                _read(drawing, site)
        except errors.KafkaError as error:
            _check_shows_no_secret(error)


def _token_seeds() -> Iterator[bytes]:
    answers = (
        b'{"access_token":"a.e30.b","expires_in":60}', b'{"access_token":"a.eyJleHAiOjl9.b"}', b"{}",
        b'{"access_token":"t","token_type":"mac","expires_in":"9e999"}', b'{"error":"e","error_description":5}',
    )  # fmt: skip
    for number, body in enumerate(answers):
        yield bytes([number, 255, len(body)]) + body + bytes([2, 1, number, 0, 0])


@target(seeds=_token_seeds, traced="drivers", max_len=300, budget=MEMORY, share=0.5,
        words=(b'"access_token":', b'"expires_in":', b'"token_type":', b"1e999", b'"error":', b".e30."))  # fmt: skip
def token_answers(data: bytes) -> None:
    """what a token endpoint answers, as bytes of HTTP, to a login"""
    drawing = Drawing(data)
    settings = SecuritySettings(
        sasl_oauthbearer_token_endpoint_url=_URL, sasl_oauthbearer_client_id="c",
        sasl_oauthbearer_client_secret=_SECRET, sasl_oauthbearer_scope=drawing.choice((None, "a b", "\u20ac")),
        sasl_oauthbearer_header_urlencode=drawing.flag(),
    )  # fmt: skip

    def answers() -> Iterator[bytes]:
        while drawing.left:
            body = drawing.blob() if drawing.byte() > 60 else _body(drawing)
            yield _response(drawing, body)

    with _answering(answers()), mock.patch.object(oauth_endpoint, "_FIRST_WAIT_S", math.inf):
        try:
            token, lifetime = oauth_endpoint.fetch_token(settings, _trusting())
            assert token
            assert 0 < lifetime < math.inf
        except (errors.AuthError, errors.ConnectError) as error:
            _check_shows_no_secret(error)
