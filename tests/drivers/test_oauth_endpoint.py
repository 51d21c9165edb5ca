"""Tokens from an endpoint: what is sent, what is taken, and each failure by endpoint, status and reason."""

from __future__ import annotations

import json
import ssl
import time
from base64 import b64decode, b64encode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from kwire.drivers.oauth_endpoint import fetch_token, token_source
from kwire.engine.settings.clients import ClientSettings
from kwire.errors import AuthError, ConfigError, ConnectError
from tests.bad_http_server import DRIPPING, Script, bad_server
from tests.certificates import Authority
from tests.timing import raised_at_last
from tests.token_endpoint import Endpoint, serving

AUTHORITY = Authority()
SECRET = "hush/hush&=ß"


def settings(url: str, **more: Any) -> ClientSettings:
    given = {"sasl_oauthbearer_client_id": "me", "sasl_oauthbearer_client_secret": SECRET, **more}
    return ClientSettings(
        security_protocol=given.pop("security_protocol", "SASL_PLAINTEXT"),
        sasl_mechanism="OAUTHBEARER",
        sasl_oauthbearer_token_endpoint_url=url,
        **{"socket_connection_setup_timeout_ms": 60_000, **given},
    )


def token_with(claims: dict[str, object]) -> str:
    return "e30." + urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=") + ".signature"


def test_a_token_and_its_lifetime() -> None:
    with serving(Endpoint((200, {"access_token": "abc", "expires_in": 300, "token_type": "Bearer"}))) as endpoint:
        assert fetch_token(settings(endpoint.url, sasl_oauthbearer_scope="read write")) == ("abc", 300)
    ((path, headers, body),) = endpoint.requests
    assert (path, body) == ("/token", "grant_type=client_credentials&scope=read+write")
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert b64decode(headers["Authorization"].removeprefix("Basic ")).decode() == f"me:{SECRET}"


def test_the_id_and_secret_are_encoded_on_request() -> None:
    with serving(Endpoint((200, {"access_token": "abc", "expires_in": "60"}))) as endpoint:
        assert fetch_token(settings(endpoint.url, sasl_oauthbearer_header_urlencode=True)) == ("abc", 60)
    sent = b64decode(endpoint.requests[0][1]["Authorization"].removeprefix("Basic "))
    assert sent == b"me:hush%2Fhush%26%3D%C3%9F"


def test_a_lifetime_out_of_the_token() -> None:
    token = token_with({"exp": time.time() + 100})
    with serving(Endpoint((200, {"access_token": token}))) as endpoint:
        assert fetch_token(settings(endpoint.url))[1] == pytest.approx(100, abs=20)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            (401, {"error": "invalid_client", "error_description": "no such"}),
            "HTTP status 401: invalid_client: no such",
        ),
        ((400, b"<html>"), "HTTP status 400"),
        ((400, b"[" * 100_000), "HTTP status 400"),
        ((403, {"error": f"{SECRET} is wrong"}), "HTTP status 403: [hidden] is wrong"),
        ((403, {"error": f"got Basic {b64encode(f'me:{SECRET}'.encode()).decode()}"}), "got Basic [hidden]"),
        ((302, {}), "HTTP status 302"),
        ((404, ["a list"]), "HTTP status 404"),
        ((200, b"no JSON"), "not JSON with a bearer's access_token"),
        ((200, b"[" * 100_000), "not JSON with a bearer's access_token"),
        ((200, {"access_token": ""}), "not JSON with a bearer's access_token"),
        ((200, {"access_token": "a", "token_type": "mac", "expires_in": 5}), "not JSON with a bearer's access_token"),
        ((200, {"access_token": "opaque"}), "no expires_in, and its token has no exp"),
        ((200, {"access_token": token_with({"exp": "soon"})}), "no expires_in, and its token has no exp"),
        ((200, {"access_token": token_with({"exp": 1})}), "has expired already"),
        ((200, {"access_token": "a", "expires_in": 0}), "has expired already"),
    ],
)
def test_a_refusal_is_not_tried_again(answer: tuple[int, object], words: str) -> None:
    with serving(Endpoint(answer)) as endpoint:
        with pytest.raises(AuthError) as caught:
            fetch_token(settings(endpoint.url + "?tenant=hush"))
    text = str(caught.value)
    assert words in text
    assert f"the token endpoint {endpoint.url}" in text
    assert "hush" not in text
    assert len(endpoint.requests) == 1


def test_what_may_go_better_is_tried_again() -> None:
    fine = (200, {"access_token": "abc", "expires_in": 300})
    with serving(Endpoint((503, b""), (429, b""), fine)) as endpoint:
        made = settings(endpoint.url, socket_connection_setup_timeout_ms=10_000)
        assert fetch_token(made) == ("abc", 300)
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [((500, {"error": "server_error"}), "HTTP status 500: server_error"), ((200, b"x" * 1_100_000), "longer than")],
)
def test_what_stays_bad_is_a_connect_error(answer: tuple[int, object], words: str) -> None:
    with serving(Endpoint(answer)) as endpoint:
        made = settings(endpoint.url, socket_connection_setup_timeout_ms=1000)
        error = raised_at_last(lambda: fetch_token(made), ConnectError, words)
    assert endpoint.url in str(error)
    assert len(endpoint.requests) > 1


def test_an_endpoint_that_is_not_there() -> None:
    with pytest.raises(ConnectError, match=r"the token endpoint http://127.0.0.1:1/t: .*refused"):
        fetch_token(settings("http://127.0.0.1:1/t", socket_connection_setup_timeout_ms=600))


def server_context(tmp_path: Path, hosts: tuple[str, ...] = ("127.0.0.1",)) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    files = AUTHORITY.issue(hosts=hosts).write(tmp_path)
    made.load_cert_chain(files.certificate, files.key)
    return made


@pytest.mark.parametrize(
    "more",
    [
        {"https_ca_pem": AUTHORITY.pem},
        {"security_protocol": "SASL_SSL", "ssl_ca_pem": AUTHORITY.pem},
        {"security_protocol": "SASL_SSL", "https_ca_pem": AUTHORITY.pem, "enable_ssl_certificate_verification": False},
    ],
)
def test_over_https_with_an_authority_of_the_settings(tmp_path: Path, more: dict[str, Any]) -> None:
    with serving(Endpoint((200, {"access_token": "abc", "expires_in": 5})), server_context(tmp_path)) as endpoint:
        assert token_source(settings(endpoint.url, **more))() == ("abc", 5)


@pytest.mark.parametrize(
    ("hosts", "more", "words"),
    [
        (("127.0.0.1",), {}, "its certificate is not accepted: unable to get local issuer"),
        (("127.0.0.1",), {"enable_ssl_certificate_verification": False}, "its certificate is not accepted"),
        (("other.example",), {"https_ca_pem": AUTHORITY.pem}, "its certificate is not accepted: IP address mismatch"),
    ],
)
def test_a_certificate_that_does_not_fit(
    tmp_path: Path, hosts: tuple[str, ...], more: dict[str, Any], words: str
) -> None:
    with serving(Endpoint((200, {})), server_context(tmp_path, hosts)) as endpoint:
        with pytest.raises(AuthError, match=words):
            fetch_token(settings(endpoint.url, security_protocol="SASL_SSL", **more))
    assert endpoint.requests == []


def test_an_endpoint_without_tls() -> None:
    with serving(Endpoint((200, {}))) as endpoint:
        with pytest.raises(AuthError, match="no TLS with it: "):
            fetch_token(settings(endpoint.url.replace("http:", "https:")))


def test_certificates_are_loaded_when_a_client_is_made() -> None:
    with pytest.raises(ConfigError, match=r"https_ca_location='/nowhere.pem' cannot be read"):
        token_source(settings("https://id.example/token", https_ca_location="/nowhere.pem"))


def test_authorities_that_are_replaced_are_read_for_the_next_token(tmp_path: Path) -> None:
    context, file = server_context(tmp_path), tmp_path / "ca.pem"
    file.write_text(AUTHORITY.pem)
    with serving(Endpoint((200, {"access_token": "abc", "expires_in": 5})), context) as endpoint:
        fetch = token_source(settings(endpoint.url, https_ca_location=str(file)))
        assert fetch() == ("abc", 5)
        other = Authority()
        files = other.issue().write(tmp_path)
        context.load_cert_chain(files.certificate, files.key)
        with pytest.raises(AuthError, match="its certificate is not accepted"):
            fetch()
        file.write_text(other.pem)
        assert fetch() == ("abc", 5)


def test_no_proxy_stands_between_us_and_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with serving(Endpoint((200, {"access_token": "abc", "expires_in": 5}))) as endpoint:
        assert fetch_token(settings(endpoint.url)) == ("abc", 5)


@pytest.mark.parametrize("script", DRIPPING, ids=lambda script: script.__name__)
def test_an_endpoint_that_drips_is_given_up_in_time(script: Script) -> None:
    with bad_server(script) as server:
        with pytest.raises(ConnectError) as caught:
            fetch_token(settings(f"{server.url}/token", socket_connection_setup_timeout_ms=1000))
    text = f"the token endpoint {server.url}/token: its answer takes too long"
    assert str(caught.value) == f"{text}; a token may take half of socket_connection_setup_timeout_ms=1000"


def test_what_an_endpoint_says_at_length_is_cut() -> None:
    said = {"error": "x" * 500_000, "error_description": [[["nested"]]]}
    with serving(Endpoint((400, said))) as endpoint:
        with pytest.raises(AuthError) as caught:
            fetch_token(settings(endpoint.url))
    assert str(caught.value).endswith("HTTP status 400: " + "x" * 300 + "...")
