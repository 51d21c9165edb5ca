"""kwire's clients log in at every listener of real brokers with every mechanism, from threads and on asyncio."""

import asyncio
from collections.abc import Callable

import pytest

from tests.brokers import find_release
from tests.brokers.keys import Keys
from tests.brokers.listeners import mechanisms
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.security.logins import NO_KERBEROS, Settings, settings_for
from tests.brokers.security.work import exchange, exchange_aio
from tests.certificates import PASSWORD as PASSWORD_OF_KEYS

_RELEASES = ["4.4.0", "3.9.2", "0.10.2.2", "0.9.0.1", "1.1.1"]
_SHORT_TLS = {"4.4.0", "0.10.2.2", "0.9.0.1"}
_SHORT = {
    ("4.4.0", "SASL_SSL"),
    ("0.10.2.2", "SASL_PLAINTEXT"),
    ("0.9.0.1", "SASL_PLAINTEXT"),
}
"""What every run does; `make test-brokers` does the rest, too."""

NewTopic = Callable[[], str]


def _places() -> list[object]:
    found: list[object] = []
    for name in _RELEASES:
        release = find_release(name)
        for listener in ("SASL_PLAINTEXT", "SASL_SSL"):
            marks = [] if (name, listener) in _SHORT else [pytest.mark.kafka_all]
            for mechanism in mechanisms(release, kerberos=True):
                found.append(pytest.param(name, listener, mechanism, marks=marks))
        marks = [] if name in _SHORT_TLS else [pytest.mark.kafka_all]
        tls = ("SSL", "MTLS") if release.number >= (1, 1) else ("SSL",)
        found += [pytest.param(name, listener, None, marks=marks) for listener in tls]
    return found


@pytest.fixture(params=["threads", "asyncio", pytest.param("uvloop", marks=pytest.mark.kafka_all)])
def work(request: pytest.FixtureRequest) -> Callable[[str, Settings, str], None]:
    """`exchange`, on the sync clients and on those of asyncio, by its own loop and by uvloop."""
    if request.param == "threads":
        return exchange
    if request.param == "uvloop":
        uvloop = pytest.importorskip("uvloop")
        return lambda address, settings, topic: uvloop.run(exchange_aio(address, settings, topic))
    return lambda address, settings, topic: asyncio.run(exchange_aio(address, settings, topic))


Work = Callable[[str, Settings, str], None]


@pytest.mark.parametrize(("release", "name", "mechanism"), _places())
def test_records_go_out_and_come_in(
    secure_kafka: SecureClusterOf,
    keys: Keys,
    new_topic: NewTopic,
    release: str,
    name: str,
    mechanism: str | None,
    work: Work,
) -> None:
    listeners = secure_kafka(release).listeners
    if mechanism == "GSSAPI" and mechanism not in listeners.mechanisms:
        pytest.skip(NO_KERBEROS)
    work(listeners[name].address, settings_for(listeners[name], mechanism, keys), new_topic())


def _certificates(keys: Keys) -> dict[str, Settings]:
    chain, key = keys.client_certificate.read_text(), keys.client_key.read_text()
    return {
        "encrypted key": {
            "ssl_certificate_location": str(keys.client_certificate),
            "ssl_key_location": str(keys.encrypted_client_key),
            "ssl_key_password": PASSWORD_OF_KEYS,
        },
        "PEM text": {"ssl_certificate_pem": chain, "ssl_key_pem": key},
        "PKCS12": {"ssl_keystore_location": str(keys.client), "ssl_keystore_password": PASSWORD_OF_KEYS},
    }


@pytest.mark.parametrize("kind", ["encrypted key", "PEM text", "PKCS12"])
@pytest.mark.parametrize("release", ["4.4.0", pytest.param("3.9.2", marks=pytest.mark.kafka_all)])
def test_a_client_shows_its_certificate(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, release: str, kind: str, work: Work
) -> None:
    listener = secure_kafka(release).listeners["MTLS"]
    settings = {"security_protocol": "SSL", "ssl_ca_pem": keys.ca.read_text(), **_certificates(keys)[kind]}
    work(listener.address, settings, new_topic())


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_each_version_of_tls(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, version: str, work: Work
) -> None:
    listener = secure_kafka("4.4.0").listeners["SSL"]
    work(listener.address, settings_for(listener, None, keys) | {"ssl_enabled_protocols": version}, new_topic())
