"""How a Registry asks: logins, TLS, redirects, limits, what is tried again, and several URLs."""

from __future__ import annotations

import json
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import Request

import pytest

from kwire.drivers import http_exchange
from kwire.drivers.http_exchange import Answer, exchange
from kwire.errors import ConfigError, RegistryError
from kwire.registry import ClientCredentials, Registry, Schema, SchemaReference, requests
from kwire.registry.settings import endpoints
from tests import token_endpoint
from tests.bad_http_server import DRIPPING, Script, bad_server, says_nothing
from tests.certificates import Authority
from tests.each import each
from tests.registry.server import RegistryServer, serving

OLD = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}


def at(url: str | list[str], **settings: Any) -> Registry:
    return Registry(url, **{"retry_backoff_ms": 1, **settings})


# --- answers that are none ---


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, {"message": "Unauthorized"}), "schema 7 cannot be fetched from .*: HTTP status 401: Unauthorized"),
        ((500, {"message": "no leader"}), "schema 7 cannot be fetched from .*: HTTP status 500: no leader"),
        ((200, b"<html>"), "the answer of .* is not the JSON expected: is it a schema registry?"),
        ((200, b"[" * 100_000), "the answer of .* is not the JSON expected"),
        ((200, []), "the answer of .* is not the JSON expected"),
        ((200, {}), "the answer of .* has no schema"),
        ((200, {"schema": "1", "references": 1}), "the answer of .* has no schema"),
        ((200, {"schema": "1", "references": [1]}), "has a reference without subject and version"),
        ((200, b" " * (9 << 20)), "its answer is longer than"),
        ((404, b"not JSON"), "schema 7 is not in the registry"),
    ],
)
def test_a_registry_that_does_not_answer_as_one(server: RegistryServer, answer: Any, said: str) -> None:
    server.answers["/schemas/ids/7"] = answer
    with pytest.raises(RegistryError, match=said):
        at(server.url).by_id(7)


@each(
    "reference",
    [
        '{"subject": "x", "version": 1e999}',
        '{"subject": "x", "version": NaN}',
        '{"subject": "x", "version": 1.5}',
        '{"subject": "x", "version": true}',
        '{"subject": "x", "version": -1}',
        '{"subject": "x", "version": ' + "9" * 4000 + "}",
        '{"subject": "x", "version": [[[]]]}',
        '{"subject": "", "version": 1}',
        '{"subject": "\\ud800", "version": 1}',
        '{"subject": ["x"], "version": 1}',
        "[" * 900 + "]" * 900,
        "null",
    ],
)
def test_a_reference_that_cannot_be_one(server: RegistryServer, reference: str) -> None:
    answer = f'{{"schema": "\\"int\\"", "references": [{reference}]}}'.encode()
    server.answers["/schemas/ids/7"] = (200, answer)
    with pytest.raises(RegistryError, match=r"has a reference without subject and version|is not the JSON expected"):
        at(server.url).by_id(7)


def test_a_registry_that_fails_for_a_moment(server: RegistryServer) -> None:
    server.add(7, OLD)
    server.answers["/schemas/ids/7"] = [(503, {}), (503, {}), server.answers["/schemas/ids/7"]]
    assert json.loads(at(server.url).by_id(7).text) == OLD


def test_how_often_a_request_is_tried_is_a_setting(server: RegistryServer) -> None:
    server.answers["/schemas/ids/7"] = (503, {})
    with pytest.raises(RegistryError) as caught:
        at(server.url, retries=4).by_id(7)
    assert caught.value.status == 503
    assert len(server.requests) == 5


# --- limits ---


def test_a_slow_registry(server: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "time", SimpleNamespace(monotonic=lambda: float("inf")))
    server.add(7, OLD)
    with pytest.raises(RegistryError, match="its answer takes too long"):
        at(server.url).by_id(7)


@pytest.mark.parametrize("script", DRIPPING, ids=lambda script: script.__name__)
def test_a_registry_that_drips_is_given_up_in_time(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try ends with its own limit, or else the first would take all the time of the call."""
    tries: list[Request] = []

    def counted(request: Request, *more: Any) -> Answer:
        tries.append(request)
        return exchange(request, *more)

    monkeypatch.setattr(requests, "exchange", counted)
    with bad_server(script) as server:
        with pytest.raises(RegistryError, match=f"schema 7 cannot be fetched from {server.url}: its answer takes too"):
            at(server.url, request_timeout_ms=300).by_id(7)
    assert len(tries) == 3


def test_a_schema_has_one_limit_of_time_with_all_that_it_refers_to(server: RegistryServer) -> None:
    server.pause_s = 0.1
    references = tuple(SchemaReference("x", "x", version) for version in range(1, 190))
    for version in range(1, 190):
        server.answers[f"/subjects/x/versions/{version}"] = (200, {"schema": '"int"'})
    with pytest.raises(RegistryError, match="its answer takes too long"):
        at(server.url, default_api_timeout_ms=1000).resolve(Schema('"int"', "AVRO", references))
    assert len(server.requests) < 20


def test_a_schema_has_one_limit_of_size_with_all_that_it_refers_to(server: RegistryServer) -> None:
    references = tuple(SchemaReference("x", "x", version) for version in range(1, 190))
    for version in range(1, 190):
        server.answers[f"/subjects/x/versions/{version}"] = (200, {"schema": '"int"' + " " * 1_000_000})
    with pytest.raises(RegistryError, match="with its references more than"):
        at(server.url).resolve(Schema('"int"', "AVRO", references))
    assert len(server.requests) == 5


# --- several URLs ---


def test_a_registry_that_is_not_there() -> None:
    with pytest.raises(RegistryError, match=r"schema 7 cannot be fetched from http://127.0.0.1:1: Connection refused"):
        at("http://127.0.0.1:1").by_id(7)


def test_the_next_url_is_asked_where_one_does_not_answer_and_stays_the_first(server: RegistryServer) -> None:
    server.add(7, OLD)
    server.add(8, OLD)
    with serving() as broken:
        broken.answers |= {"/schemas/ids/7": (503, {}), "/schemas/ids/8": (503, {})}
        registry = at(["http://127.0.0.1:1", broken.url, server.url], retries=0)
        for id_ in (7, 8):
            assert json.loads(registry.by_id(id_).text) == OLD
        assert len(broken.requests) == 1


def test_one_that_hangs_leaves_the_others_their_share_of_the_call(server: RegistryServer) -> None:
    server.add(7, OLD)
    with serving() as hanging:
        hanging.pause_s = 2
        registry = at([hanging.url, server.url], retries=0, default_api_timeout_ms=1000)
        before = time.monotonic()
        assert json.loads(registry.by_id(7).text) == OLD
        assert time.monotonic() - before < 1.5


def test_an_answer_that_does_not_say_whether_a_schema_is_compatible_is_no_answer(server: RegistryServer) -> None:
    for answer in ({}, {"is_compatible": "no"}, {"is_compatible": None}):
        server.answers["/compatibility/subjects/s/versions/latest?verbose=true"] = (200, answer)
        with pytest.raises(RegistryError, match="is not the JSON expected"):
            at(server.url).compatible("s", '"int"')


def test_an_error_names_each_url_with_what_was_wrong_there(server: RegistryServer) -> None:
    server.answers["/schemas/ids/7"] = (503, {"message": "no leader"})
    with pytest.raises(RegistryError, match=r"http://127.0.0.1:1: .*refused; http://.*: HTTP status 503: no leader"):
        at(f"http://127.0.0.1:1, {server.url}").by_id(7)


def test_a_refusal_is_not_asked_about_elsewhere(server: RegistryServer) -> None:
    with serving() as other, pytest.raises(RegistryError, match="not in the registry"):
        at([server.url, other.url]).by_id(7)
    assert not other.requests


# --- logins ---


def test_user_and_password_are_sent_and_shown_nowhere(server: RegistryServer) -> None:
    echo = "me:s3cret-word may not; Authorization: Basic bWU6czNjcmV0LXdvcmQ="
    server.answers["/schemas/ids/7"] = (403, {"message": echo})
    with_user = at(server.url, username="me", password="s3cret-word")
    in_url = at(server.url.replace("//", "//me:s3cret%2Dword@"))
    for registry in (with_user, in_url):
        with pytest.raises(RegistryError) as caught:
            registry.by_id(7)
        assert "s3cret" not in str(caught.value) + repr(registry) + repr(registry.settings)
        assert "bWU6" not in str(caught.value)
        assert "@" not in str(caught.value)
    assert {header for _, header in server.requests} == {"Basic bWU6czNjcmV0LXdvcmQ="}


def test_a_token_is_sent_and_shown_nowhere(server: RegistryServer) -> None:
    server.answers["/schemas/ids/7"] = (403, {"message": "s3cret-token may not"})
    for token in ("s3cret-token", lambda: "s3cret-token", lambda: ("s3cret-token", 60.0)):
        registry = at(server.url, token=token)
        with pytest.raises(RegistryError) as caught:
            registry.by_id(7)
        assert "s3cret" not in str(caught.value) + repr(registry)
        assert "s3cret" not in repr(registry.settings)
    assert {header for _, header in server.requests} == {"Bearer s3cret-token"}


@pytest.mark.parametrize("token", ["s3cret-token\n", "s3cret\r\nX: y", "s3cret-t\u00f6ken"])
@pytest.mark.parametrize("given", [lambda text: text, lambda text: lambda: text, lambda text: lambda: (text, 9.0)])
def test_a_token_that_no_header_can_have_is_refused_and_not_shown(
    given: Any, token: str, server: RegistryServer
) -> None:
    with pytest.raises(ConfigError, match="token: it has characters that no header can have") as caught:
        at(server.url, token=given(token)).by_id(7)
    assert "s3cret" not in f"{caught.value!r} {caught.value.__cause__!r}"
    assert server.requests == []


def test_a_token_is_asked_for_anew_when_it_has_no_lifetime_or_that_is_over(server: RegistryServer) -> None:
    for lifetime, times in ((None, 3), (60.0, 1), (0.0, 3)):
        given: list[int] = []

        def token(lifetime: float | None = lifetime, given: list[int] = given) -> Any:
            given.append(1)
            return "t" if lifetime is None else ("t", lifetime)

        registry = at(server.url, token=token)
        for _ in range(3):
            registry.subjects()
        assert len(given) == times


def test_a_token_that_is_refused_is_asked_for_anew(server: RegistryServer) -> None:
    given: list[int] = []

    def token() -> tuple[str, float]:
        given.append(1)
        return f"t{len(given)}", 600.0

    registry = at(server.url, token=token)
    assert registry.subjects() == []
    server.answers["/schemas/ids/7"] = [(401, {"message": "expired"}), (200, {"schema": "1"})]
    assert registry.by_id(7).text == "1"
    assert [header for _, header in server.requests] == ["Bearer t1", "Bearer t1", "Bearer t2"]
    server.answers["/schemas/ids/8"] = (401, {"message": "never"})
    with pytest.raises(RegistryError, match="HTTP status 401: never"):
        registry.by_id(8)


def test_a_token_that_is_refused_to_two_threads_at_once_is_asked_for_anew_by_both(server: RegistryServer) -> None:
    given: list[int] = []

    def token() -> tuple[str, float]:
        given.append(1)
        return f"t{len(given)}", 600.0

    registry = at(server.url, token=token, retry_backoff_ms=200)
    assert registry.subjects() == []
    for id_ in (7, 8):
        server.answers[f"/schemas/ids/{id_}"] = [(401, {"message": "expired"}), (200, {"schema": str(id_)})]
    server.pause_s = 0.1
    with ThreadPoolExecutor(2) as threads:
        assert [schema.text for schema in threads.map(registry.by_id, (7, 8))] == ["7", "8"]
    assert [header for path, header in server.requests if "ids" in path].count("Bearer t1") == 2


def test_a_token_from_a_token_endpoint(server: RegistryServer) -> None:
    answered = token_endpoint.Endpoint((200, {"access_token": "abc", "expires_in": 300}))
    with token_endpoint.serving(answered) as endpoint:
        registry = at(server.url, token=ClientCredentials(endpoint.url, "client", "secret", scope="registry"))
        registry.subjects()
        registry.subjects()
        assert len(endpoint.requests) == 1
    assert server.requests[0][1] == "Bearer abc"


# --- redirects ---


@pytest.mark.parametrize("login", [{"username": "me", "password": "password"}, {"token": "word"}])
def test_a_redirect_does_not_take_the_login_along(server: RegistryServer, login: dict[str, str]) -> None:
    with serving() as other:
        other.add(7, OLD)
        server.answers["/schemas/ids/7"] = (302, f"{other.url}/schemas/ids/7".encode())
        assert json.loads(at(server.url, **login).by_id(7).text) == OLD
        assert other.requests == [("/schemas/ids/7", "")]


def test_what_writes_is_not_redirected(server: RegistryServer) -> None:
    with serving() as other:
        server.answers["/subjects/s/versions"] = (302, f"{other.url}/subjects/s/versions".encode())
        with pytest.raises(RegistryError, match="HTTP status 302"):
            at(server.url).register("s", '"int"')
        assert not other.requests


def test_a_redirect_to_a_file_is_refused(server: RegistryServer) -> None:
    server.answers["/schemas/ids/7"] = (302, b"file:///etc/passwd")
    with pytest.raises(RegistryError, match="HTTP status 302"):
        at(server.url).by_id(7)


@pytest.mark.parametrize("scheme", ["ftp", "file", "gopher"])
def test_a_redirect_leads_to_http_or_https_only(server: RegistryServer, scheme: str) -> None:
    with bad_server(says_nothing) as other:
        server.answers["/schemas/ids/7"] = (302, f"{scheme}://127.0.0.1:{other.port}/x".encode())
        with pytest.raises(RegistryError, match="HTTP status 302"):
            at(server.url).by_id(7)
        assert other.connections == 0


# --- TLS ---


def test_certificates_are_checked_and_a_context_is_used_as_it_is(tmp_path: Path) -> None:
    authority = Authority()
    files = authority.issue("registry").write(tmp_path)
    (tmp_path / "ca.pem").write_text(authority.pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    trusting = ssl.create_default_context(cadata=authority.pem)
    with serving(context) as server:
        server.add(7, OLD)
        with pytest.raises(RegistryError, match=r"CERTIFICATE_VERIFY_FAILED|certificate verify failed"):
            at(server.url).by_id(7)
        assert json.loads(at(server.url, ssl_ca_location=tmp_path / "ca.pem").by_id(7).text) == OLD
        assert json.loads(at(server.url, ssl_context=trusting).by_id(7).text) == OLD
        import socket

        host, port = server.url.removeprefix("https://").split(":")
        with trusting.wrap_socket(socket.create_connection((host, int(port))), server_hostname=host) as elsewhere:
            elsewhere.sendall(b"GET /schemas/ids/7 HTTP/1.0\r\n\r\n")
            assert elsewhere.recv(12) == b"HTTP/1.0 200"


def test_a_registry_that_asks_for_a_certificate(tmp_path: Path) -> None:
    authority = Authority()
    files = authority.issue().write(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    context.load_verify_locations(cadata=authority.pem)
    context.verify_mode = ssl.CERT_REQUIRED
    issued = authority.issue("client")
    own = issued.write(tmp_path, "client")
    (tmp_path / "authority.pem").write_text(authority.pem)
    with serving(context) as server:
        server.add(7, OLD)
        trusting = {"ssl_ca_location": tmp_path / "authority.pem"}
        with pytest.raises(RegistryError):
            at(server.url, **trusting).by_id(7)
        with_key = at(server.url, **trusting, ssl_certificate_location=own.certificate, ssl_key_location=own.key)
        assert json.loads(with_key.by_id(7).text) == OLD


def test_certificates_that_are_replaced_are_read_for_the_next_request(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    def rotate() -> None:
        authority = Authority()
        files = authority.issue("registry").write(tmp_path)
        context.load_cert_chain(files.certificate, files.key)
        (tmp_path / "ca.pem").write_text(authority.pem)

    rotate()
    with serving(context) as server:
        for id_ in (7, 8, 9):
            server.add(id_, OLD)
        registry = at(server.url, ssl_ca_location=tmp_path / "ca.pem")
        assert registry.by_id(7)
        rotate()
        assert registry.by_id(8)
        (tmp_path / "ca.pem").write_text("half of a certif")
        assert registry.by_id(9)


def test_a_key_that_is_encrypted_is_refused_and_not_asked_about(tmp_path: Path) -> None:
    issued = Authority().issue("client")
    (tmp_path / "client.pem").write_text(issued.pem + issued.encrypted_key_pem)
    with pytest.raises(ConfigError, match="is encrypted"):
        at("https://127.0.0.1:1", ssl_certificate_location=tmp_path / "client.pem").by_id(7)


# --- settings ---


@pytest.mark.parametrize(
    "url", ["me:s3cret@registry:8081", "htps://me:s3cret@registry", "file:/me:s3cret@x", "http://"]
)
def test_an_error_does_not_show_a_password_in_a_url_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="urls: expected the http") as caught:
        at(url)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("urls", [[], "http://[::1", "http://host:port", [1], ""])
def test_urls_that_are_none(urls: Any) -> None:
    with pytest.raises(ConfigError, match="expected the http"):
        endpoints(urls)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"token": "t", "username": "me"}, "token and username or password exclude each other"),
        ({"token": 5}, "token: expected a str or a callable"),
        ({"ssl_key_location": __file__}, "ssl_key_location is given without ssl_certificate_location"),
        ({"ssl_ca_location": "/no"}, "ssl_ca_location: there is no file /no"),
        (
            {"ssl_certificate_location": "-----BEGIN PRIVATE KEY-----\nMIG"},
            r"ssl_certificate_location: there is no file \[hidden\] \(PEM text, where a path is meant\)$",
        ),
        (
            {"ssl_ca_location": __file__, "ssl_context": ssl.create_default_context()},
            "ssl_context excludes the other ssl settings",
        ),
        ({"retries": -1}, "retries=-1: expected an int of at least 0"),
        ({"request_timeout_ms": 1.5}, "request_timeout_ms=1.5: expected an int"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        at("http://registry", **settings)
