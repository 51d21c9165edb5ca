"""OAUTHBEARER on real brokers: tokens of an endpoint, of functions that fail or dawdle, and of coroutines."""

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest

import kwire
from kwire import errors
from tests.brokers.keys import Keys
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.security.logins import Settings, settings_for, unsecured_token
from tests.brokers.security.token_endpoint import CLIENT_ID, CLIENT_SECRET, TokenEndpoint, token_endpoint
from tests.brokers.security.work import ATTEMPTS, exchange, exchange_aio

_WITHIN_S = 20.0

NewTopic = Callable[[], str]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenEndpoint]:
    with token_endpoint(tmp_path_factory.mktemp("endpoint")) as endpoint:
        yield endpoint


def _by_endpoint(endpoint: TokenEndpoint) -> Settings:
    return {
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token_endpoint_url": endpoint.url,
        "sasl_oauthbearer_client_id": CLIENT_ID,
        "sasl_oauthbearer_client_secret": CLIENT_SECRET,
        "sasl_oauthbearer_scope": "kafka",
        "https_ca_location": str(endpoint.ca),
    }


@pytest.mark.parametrize("release", ["4.4.0", pytest.param("3.9.2", marks=pytest.mark.kafka_all)])
def test_client_credentials(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, endpoint: TokenEndpoint, release: str
) -> None:
    listener = secure_kafka(release).listeners["SASL_SSL"]
    settings = settings_for(listener, None, keys) | _by_endpoint(endpoint)
    exchange(listener.address, settings, new_topic())
    asyncio.run(exchange_aio(listener.address, settings, new_topic()))
    assert endpoint.requests[-1] == {"grant_type": ["client_credentials"], "scope": ["kafka"]}


@pytest.mark.parametrize("client", ["producer", "aio-consumer"])
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"sasl_oauthbearer_client_secret": "Not-this-one-78"}, "invalid_client"),
        ({"https_ca_location": None}, "certificate"),
    ],
    ids=["secret", "ca"],
)
def test_an_endpoint_that_refuses(
    secure_kafka: SecureClusterOf,
    keys: Keys,
    endpoint: TokenEndpoint,
    caplog: pytest.LogCaptureFixture,
    wrong: Settings,
    says: str,
    client: str,
) -> None:
    listener = secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"]
    settings = settings_for(listener, None, keys) | _by_endpoint(endpoint) | wrong
    with pytest.raises(errors.AuthError) as caught:
        ATTEMPTS[client](listener.address, settings)
    assert says in str(caught.value)
    assert listener.address in caught.value.broker
    for secret in (CLIENT_SECRET, "Not-this-one-78"):
        assert secret not in str(caught.value) + repr(caught.value) + caplog.text


@pytest.mark.kafka_all
def test_an_endpoint_that_is_down(secure_kafka: SecureClusterOf, keys: Keys, endpoint: TokenEndpoint) -> None:
    listener = secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"]
    down = {"sasl_oauthbearer_token_endpoint_url": "https://127.0.0.1:9/nobody"}
    settings = settings_for(listener, None, keys) | _by_endpoint(endpoint) | down
    with (
        pytest.raises(errors.ConnectError, match=r"127\.0\.0\.1:9/nobody"),
        kwire.Admin(listener.address, **settings) as admin,
    ):
        admin.list_topics(timeout=8.0)


def test_a_function_that_fails(secure_kafka: SecureClusterOf, keys: Keys) -> None:
    listener = secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"]

    def source() -> tuple[str, float]:
        raise RuntimeError("the vault is closed")

    settings = settings_for(listener, "OAUTHBEARER", keys) | {"sasl_oauth_token": source}
    with pytest.raises(errors.AuthError, match="the vault is closed"):
        ATTEMPTS["producer"](listener.address, settings)


def test_a_function_that_takes_its_time(secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic) -> None:
    listener = secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"]

    def source() -> tuple[str, float]:
        time.sleep(1.0)
        return unsecured_token()()

    exchange(listener.address, settings_for(listener, "OAUTHBEARER", keys) | {"sasl_oauth_token": source}, new_topic())


def test_a_coroutine_that_takes_its_time(secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic) -> None:
    listener = secure_kafka("4.4.0").listeners["SASL_SSL"]

    async def source() -> tuple[str, float]:
        await asyncio.sleep(0.5)
        return unsecured_token()()

    settings = settings_for(listener, "OAUTHBEARER", keys) | {"sasl_oauth_token": source}
    asyncio.run(exchange_aio(listener.address, settings, new_topic()))


def test_extensions_go_along(secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic) -> None:
    listener = secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"]

    def source() -> tuple[str, float, dict[str, str]]:
        token, lifetime = unsecured_token()()
        return token, lifetime, {"logicalCluster": "lkc-1"}

    with kwire.Producer(
        listener.address, **settings_for(listener, "OAUTHBEARER", keys) | {"sasl_oauth_token": source}
    ) as producer:
        producer.send(new_topic(), b"v").result(_WITHIN_S)
