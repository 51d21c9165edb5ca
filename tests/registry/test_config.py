"""`Registry.from_config`: the names of confluent-kafka and of Java's serializers, alone and beside a client's."""

from __future__ import annotations

import asyncio
import logging
import pickle
import traceback
from typing import Any

import pytest

from kwire import aio
from kwire.errors import ConfigError
from kwire.registry import Registry
from tests.registry.server import RegistryServer
from tests.token_endpoint import Endpoint
from tests.token_endpoint import serving as token_endpoint

SECRET = "s3cr3t-enough"


def asked_as(registry: Registry, server: RegistryServer) -> str:
    registry.subjects()
    return server.requests[-1][1]


def test_a_config_of_confluent_kafka_works_as_it_is(server: RegistryServer) -> None:
    config = {"url": server.url, "basic.auth.user.info": f"ada:{SECRET}:x", "timeout": 7.5, "max.retries": 4}
    registry = Registry.from_config({**config, "retries.wait.ms": "30"})
    assert asked_as(registry, server) == "Basic YWRhOnMzY3IzdC1lbm91Z2g6eA=="
    settings = registry.settings
    assert (settings.request_timeout_s, settings.retries, settings.retry_backoff_s) == (7.5, 4, 0.03)
    assert SECRET not in repr(registry) + repr(settings)
    again = pickle.loads(pickle.dumps(registry))
    assert again.settings == settings


def test_that_of_asyncio_takes_the_same(server: RegistryServer) -> None:
    registry = aio.Registry.from_config({"schema.registry.url": server.url, "bearer.auth.token": SECRET})
    assert asyncio.run(registry.subjects()) == []
    assert server.requests[-1][1] == f"Bearer {SECRET}"


def test_keywords_win(server: RegistryServer) -> None:
    registry = Registry.from_config({"url": "http://127.0.0.1:1", "max.retries": 9}, urls=server.url, retries=0)
    assert registry.subjects() == []
    assert registry.settings.retries == 0


def test_logins_of_a_client_are_inherited_where_that_is_asked_for(server: RegistryServer) -> None:
    login = {"sasl.username": "ada", "sasl.password": SECRET, "basic.auth.credentials.source": "SASL_INHERIT"}
    registry = Registry.from_config({"bootstrap.servers": "host:1", "schema.registry.url": server.url, **login})
    assert asked_as(registry, server).startswith("Basic ")
    for name, value in (("basic.auth.credentials.source", "URL"), ("basic.auth.user.info", "")):
        assert asked_as(Registry.from_config({"url": server.url, name: value}), server) == ""


def test_a_mapping_that_serves_clients_too(server: RegistryServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "kwire.registry")
    config = {
        "bootstrap.servers": "host:9092", "group.id": "g", "ssl.ca.location": "/brokers.pem", "acks": "all",
        "schema.registry.url": server.url, "schema.registry.request.timeout.ms": "500",
    }  # fmt: skip
    registry = Registry.from_config(config)
    assert registry.settings.ssl_ca_location == ""
    assert registry.settings.request_timeout_s == 0.5
    assert "bootstrap.servers, group.id, ssl.ca.location, acks" in caplog.text


def test_tokens_of_a_token_endpoint_and_what_confluent_cloud_wants_beside_them(server: RegistryServer) -> None:
    with token_endpoint(Endpoint((200, {"access_token": SECRET, "expires_in": 60}))) as endpoint:
        registry = Registry.from_config(
            {
                "url": server.url,
                "bearer.auth.credentials.source": "OAUTHBEARER",
                "bearer.auth.issuer.endpoint.url": endpoint.url,
                "bearer.auth.client.id": "client",
                "bearer.auth.client.secret": SECRET,
                "bearer.auth.scope": "registry",
                "bearer.auth.logical.cluster": "lsrc-1",
                "bearer.auth.identity.pool.id": ["pool-1", "pool-2"],
            }
        )
        assert asked_as(registry, server).startswith("Bearer ")
    headers = server.headers[-1]
    assert (headers["target-sr-cluster"], headers["Confluent-Identity-Pool-Id"]) == ("lsrc-1", "pool-1,pool-2")


REFUSED = (
    ({"url": "http://a", "basic.auth.user.inf": "x"}, "'basic.auth.user.inf'; did you mean 'basic.auth.user.info'"),
    ({"url": "http://a", "nonsense": 1}, "unknown setting 'nonsense'"),
    ({"schema.registry.url": "http://a", "schema.registry.group.id": 1}, "unknown setting 'schema.registry.group.id'"),
    ({}, "url is missing"),
    ({"url": "http://a", "basic.auth.user.info": SECRET}, "expected user:password"),
    ({"url": "http://a", "bearer.auth.credentials.source": "CUSTOM"}, "for others give token="),
    ({"url": "http://a", "bearer.auth.credentials.source": "STATIC_TOKEN"}, "there is no bearer.auth.token"),
    ({"url": "http://a", "bearer.auth.credentials.source": "OAUTHBEARER", "bearer.auth.client.secret": SECRET},
     "there is no bearer.auth.issuer.endpoint.url, bearer.auth.client.id"),
    ({"url": "http://a", "basic.auth.credentials.source": "SPNEGO"}, "expected USER_INFO, URL or SASL_INHERIT"),
    ({"url": "http://a", "proxy": f"http://u:{SECRET}@p"}, "proxies of the environment"),
    ({"url": "http://a", "schema.registry.ssl.truststore.location": "x.jks"}, "give PEM files"),
    ({"url": "http://a", "ssl.ca.location": False}, "kwire always checks certificates"),
    ({"url": "http://a", "enable.ssl.certificate.verification": "false"}, "kwire always checks certificates"),
    ({"url": "http://a", "timeout": SECRET}, "timeout: expected seconds"),
    ({"url": f"ftp://u:{SECRET}@a"}, "expected the http:// or https:// URL"),
    ({"url": "http://a", "headers": {"x": f"{SECRET}\r\nY: 1"}}, "characters that no header can have"),
    ({"url": "http://a", "headers": {"x y": SECRET}}, "expected names and texts"),
)  # fmt: skip


@pytest.mark.parametrize(("config", "words"), REFUSED)
def test_what_cannot_be_is_named_and_no_secret_is_shown(config: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Registry.from_config(config)
    assert words in str(caught.value)
    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert SECRET not in shown.replace(repr(config), "")


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ConfigError, match=r"(?s)proxy.*nonsense.*url is missing"):
        Registry.from_config({"proxy": "x", "nonsense": 1})


def test_what_makes_no_difference_is_warned_of(server: RegistryServer) -> None:
    with pytest.warns(UserWarning, match=r"without an effect in kwire: cache.capacity, cache.latest.ttl.sec"):
        Registry.from_config({"url": server.url, "cache.capacity": 5, "cache.latest.ttl.sec": 60})


def test_headers_go_with_each_request_but_not_with_a_redirect(server: RegistryServer) -> None:
    registry = Registry(server.url, headers={"X-Gateway": SECRET})
    server.answers["/subjects"] = (302, b"/elsewhere")
    server.answers["/elsewhere"] = (200, [])
    assert registry.subjects() == []
    assert [headers.get("X-Gateway") for headers in server.headers] == [SECRET, None]
