"""One HTTP exchange, however the other side speaks: it ends within its limits, with a reason, and takes no bait."""

from __future__ import annotations

import gc
import itertools
import json
import socket
import ssl
import threading
import time
import warnings
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.request import HTTPRedirectHandler, Request

import pytest

from kwire.drivers.http_exchange import (
    Answer,
    CarefulRedirects,
    Limits,
    NoRedirects,
    TransientError,
    _addresses,
    exchange,
)
from kwire.drivers.name_lookups import MAX_THREADS, NameLookups
from kwire.engine.common.addresses import Address
from tests import bad_http_server
from tests.bad_http_server import BadServer, Script, bad_server, read_head
from tests.certificates import Authority
from tests.http_server import http_server
from tests.timing import PATIENT, SOON

AUTHORITY = Authority()
LIMIT_S = 0.5
MAX_SIZE = 100_000


def ask(
    url: str,
    limit: float = SOON,
    redirects: HTTPRedirectHandler | None = None,
    context: ssl.SSLContext | None = None,
) -> Answer:
    trusting = context or ssl.create_default_context()
    limits = Limits(time.monotonic() + limit, MAX_SIZE)
    return exchange(Request(url), trusting, limits, redirects or CarefulRedirects())


def given_up(url: str, limit: float = LIMIT_S, context: ssl.SSLContext | None = None) -> str:
    """The reason why an exchange is given up, in time; no socket is left to the collector."""
    begin = time.monotonic()
    with warnings.catch_warnings(record=True) as left_open:
        warnings.simplefilter("always")
        reason = ""
        try:
            ask(url, limit, context=context)
        except TransientError as error:
            reason = str(error)
        assert time.monotonic() < begin + SOON
        gc.collect()
    assert [str(each.message) for each in left_open] == []
    assert reason
    return reason


def answering(data: bytes) -> Script:
    def script(_server: BadServer, connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(data)

    return script


@pytest.mark.parametrize("script", bad_http_server.DRIPPING, ids=lambda script: script.__name__)
def test_an_answer_that_drips_ends_with_its_limit(script: Script) -> None:
    with bad_server(script) as server:
        assert given_up(server.url) == "its answer takes too long"


def test_a_refusal_that_drips_keeps_its_status() -> None:
    with bad_server(bad_http_server.drips_refusal) as server:
        assert ask(server.url, LIMIT_S) == Answer(503, b"")


@pytest.mark.parametrize("script", bad_http_server.FLOODS, ids=lambda script: script.__name__)
def test_an_answer_without_end_ends_with_its_bytes(script: Script) -> None:
    with bad_server(script) as server:
        reason = given_up(server.url, SOON)
    assert "longer than 100000 bytes" in reason or "got more than 100 headers" in reason


def test_tls_that_drips_ends_with_its_limit() -> None:
    def script(server: BadServer, connection: socket.socket) -> None:
        connection.recv(65536)
        server.drip(connection, itertools.chain([b"\x16\x03\x03\x40\x00"], itertools.repeat(b"\0")))

    with bad_server(script) as server:
        assert given_up(server.url.replace("http:", "https:")) == "its answer takes too long"


def test_an_answer_that_drips_through_tls_ends_with_its_limit(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    files = AUTHORITY.issue(hosts=("127.0.0.1",)).write(tmp_path)
    context.load_cert_chain(files.certificate, files.key)

    def script(server: BadServer, connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as wrapped:
            bad_http_server.drips_headers(server, wrapped)

    with bad_server(script) as server:
        trusting = ssl.create_default_context(cadata=AUTHORITY.pem)
        assert given_up(server.url.replace("http:", "https:"), 2.0, trusting) == "its answer takes too long"


def test_a_proxy_that_drips_ends_with_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with bad_server(bad_http_server.drips_headers) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        assert given_up("https://registry.example/") == "its answer takes too long"
        assert proxy.connections == 1


def test_redirects_have_one_limit_together() -> None:
    def script(server: BadServer, connection: socket.socket) -> None:
        read_head(connection)
        where = f"Location: {server.url}/{server.connections}\r\n".encode()
        server.drip(connection, [b"HTTP/1.1 302 Found\r\n", *[b"x: y\r\n"] * 3, where + b"Content-Length: 0\r\n\r\n"])

    with bad_server(script) as server:
        assert given_up(server.url) == "its answer takes too long"
        assert server.connections > 1


def test_a_look_up_that_hangs_ends_with_the_limit_and_costs_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    end, asked = threading.Event(), []

    def getaddrinfo(host: str, *_: object, **__: object) -> list[object]:
        asked.append(host)
        end.wait(SOON * 3)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    for _ in range(MAX_THREADS + 3):
        assert given_up("http://registry.example/", LIMIT_S) == "its answer takes too long"
    assert 0 < len(asked) <= MAX_THREADS
    end.set()
    assert "Name or service not known" in given_up("http://registry.example/", SOON)


def test_a_look_up_for_which_no_time_is_left_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's SimpleQueue may wait without end once its time-out is over."""
    monkeypatch.setattr(NameLookups, "ask", lambda *_: None)
    monkeypatch.setattr(Limits, "seconds_left", lambda _: 1e-7)

    def look_up() -> None:
        for _ in range(20_000):
            with pytest.raises(TransientError):
                _addresses(Address("registry.example", 80), Limits(0.0, MAX_SIZE))

    thread = threading.Thread(target=look_up, daemon=True)
    thread.start()
    thread.join(PATIENT)
    assert not thread.is_alive()


def test_each_address_of_a_host_gets_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with http_server(lambda handler: says(handler, 200, b"{}")) as url, socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(deaf.getsockname())
        row = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        found = [(*row, deaf.getsockname()), (*row, ("127.0.0.1", int(url.rpartition(":")[2])))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        assert ask("http://registry.example/", 4.0).is_success
        for each in waiting:
            each.close()


def says(handler: BaseHTTPRequestHandler, status: int, body: bytes, location: str = "") -> None:
    handler.send_response(status)
    if location:
        handler.send_header("Location", location)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "closed connection without response"),
        (b"no HTTP\r\n\r\n", "BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}", "its answer ends early"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n", "IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc", "IncompleteRead"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200 + b"\r\n", "got more than 100 headers"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000, "got more than 65536 bytes"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://[::1/\r\n\r\n", "Invalid IPv6 URL"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:x/\r\n\r\n", "nonnumeric port"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://" + b"a" * 70 + b".example/\r\n\r\n", "cannot be resolved"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (MAX_SIZE + 1), "longer than 100000 bytes"),
    ],
)
def test_what_is_no_answer_is_a_transient_error(data: bytes, reason: str) -> None:
    with bad_server(answering(data)) as server:
        assert reason in given_up(server.url, SOON)


@pytest.mark.parametrize("scheme", ["ftp", "file", "data", "gopher"])
def test_no_other_scheme_is_followed(scheme: str) -> None:
    with bad_server(bad_http_server.says_nothing) as other:
        where = f"{scheme}://127.0.0.1:{other.port}/x"
        with http_server(lambda handler: says(handler, 302, b"told", where)) as url:
            assert ask(url) == Answer(302, b"told")
        assert other.connections == 0


def test_https_does_not_lead_to_http(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    files = AUTHORITY.issue(hosts=("127.0.0.1",)).write(tmp_path)
    context.load_cert_chain(files.certificate, files.key)
    with http_server(lambda handler: says(handler, 200, b"bait")) as plain:
        with http_server(lambda handler: says(handler, 302, b"", plain), context) as url:
            assert ask(url, context=ssl.create_default_context(cadata=AUTHORITY.pem)).status == 302


def test_redirects_to_the_same_place_without_end() -> None:
    with http_server(lambda handler: says(handler, 302, b"", "/again")) as url:
        assert ask(url).status == 302


def test_redirects_are_followed_only_on_request() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        says(handler, *((302, b"", "/there") if handler.path != "/there" else (200, b'{"a": 1}')))

    with http_server(answer) as url:
        assert ask(url).json_object() == {"a": 1}
        assert ask(url, redirects=NoRedirects()).status == 302


def test_a_body_that_is_no_object() -> None:
    for body in (b"", b"[1]", b"[" * 100_000, b"{" + b'"a":{' * 50_000, b"\xff", b"9" * 5000, b"1e999", b"NaN"):
        assert Answer(200, body).json_object() == {}
    assert Answer(200, json.dumps({"a": float("inf")}).encode()).json_object() == {"a": float("inf")}


@pytest.mark.parametrize("port", ["99999", "65536", "-1", "x", "9" * 5000])
def test_a_redirect_to_a_port_that_cannot_be_is_given_up_with_the_reason(port: str) -> None:
    answer = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/\r\nContent-Length: 0\r\n\r\n".encode()
    with bad_server(answering(answer)) as server:
        assert given_up(server.url, SOON)


@pytest.mark.parametrize("value", ["Bearer s3cret\n", "Bearer s3cret\u20ac", "Bearer s3cret\r\nX: y"])
def test_a_header_that_cannot_be_sent_is_not_shown(value: str) -> None:
    request = Request("http://127.0.0.1:9/", headers={"Authorization": value})
    with pytest.raises(TransientError, match="header Authorization of the request has characters") as caught:
        exchange(request, ssl.create_default_context(), Limits(time.monotonic() + SOON, MAX_SIZE), NoRedirects())
    assert "s3cret" not in repr(caught.value)
