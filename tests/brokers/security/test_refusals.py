"""A client that is refused is told which broker, at which step and why, within seconds, whatever the client.

`make test` tries each refusal on 4.4.0 with the sync clients and a producer on asyncio; `make test-brokers` tries all.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from kwire import errors
from tests.brokers import find_release
from tests.brokers.keys import Keys
from tests.brokers.listeners import Listeners
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.secure_cluster import SecureCluster
from tests.brokers.security.logins import Settings, login, settings_for, unsecured_token
from tests.brokers.security.work import ATTEMPTS

_WITHIN_S = 5.0
_RELEASES = ["4.4.0", "3.9.2", "0.10.2.2"]
_CLIENTS_OF_EVERY_RUN = ("producer", "consumer", "admin", "aio-producer")

Adjust = Callable[[Keys], Settings]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A client at a listener with settings that are wrong there; `says` are words of the error, in lower case."""

    listener: str
    mechanism: str | None = None
    settings: Adjust = field(default=lambda keys: {})
    step: str = ""
    says: tuple[str, ...] = ()
    since: tuple[int, ...] = (0, 10, 2)
    protocol: str | None = None

    def settings_at(self, listeners: Listeners, keys: Keys) -> Settings:
        """All settings of the client."""
        found = settings_for(listeners[self.listener], self.mechanism, keys) if self.listener != "PLAINTEXT" else {}
        if self.protocol:
            found = {"security_protocol": self.protocol} | (login(self.mechanism) if self.mechanism else {})
            if self.protocol.endswith("SSL"):
                found["ssl_ca_location"] = str(keys.ca)
        return found | self.settings(keys)


def _wrong_password(keys: Keys) -> Settings:
    return {"sasl_password": "The-wrong-word-76"}


def _unknown_user(keys: Keys) -> Settings:
    return {"sasl_username": "nobody"}


def _spent_token(keys: Keys) -> Settings:
    return {"sasl_oauth_token": _pretending(unsecured_token(60, begins=-3600))}


def _pretending(source: Callable[[], tuple[str, float]]) -> Callable[[], tuple[str, float]]:
    return lambda: (source()[0], 3600.0)


def _wrong_ca(keys: Keys) -> Settings:
    return {"ssl_ca_location": str(keys.other_ca)}


def _stranger(keys: Keys) -> Settings:
    return {"ssl_certificate_location": str(keys.stranger_certificate), "ssl_key_location": str(keys.stranger_key)}


_NEW = (1, 1)
"""Releases with a certificate of its own for each listener, and with words in place of a closed connection."""

REFUSALS = {
    "wrong-password-plain": Refusal("SASL_PLAINTEXT", "PLAIN", _wrong_password, "PLAIN"),
    "wrong-password-plain-tls": Refusal("SASL_SSL", "PLAIN", _wrong_password, "PLAIN"),
    "wrong-password-scram-256": Refusal("SASL_PLAINTEXT", "SCRAM-SHA-256", _wrong_password, "SCRAM-SHA-256"),
    "wrong-password-scram-512": Refusal("SASL_SSL", "SCRAM-SHA-512", _wrong_password, "SCRAM-SHA-512"),
    "unknown-user-plain": Refusal("SASL_PLAINTEXT", "PLAIN", _unknown_user, "PLAIN"),
    "unknown-user-scram": Refusal("SASL_PLAINTEXT", "SCRAM-SHA-512", _unknown_user, "SCRAM-SHA-512"),
    "spent-token": Refusal("SASL_PLAINTEXT", "OAUTHBEARER", _spent_token, "OAUTHBEARER", since=(2, 0)),
    "unknown-mechanism": Refusal("PLAIN_ONLY", "SCRAM-SHA-512", step="SaslHandshake", says=("plain",), since=_NEW),
    "unknown-mechanism-old": Refusal("SASL_PLAINTEXT", "OAUTHBEARER", step="SaslHandshake", says=("plain",)),
    "wrong-ca": Refusal("SSL", None, _wrong_ca, "TLS handshake", ("certificate",)),
    "wrong-ca-sasl": Refusal("SASL_SSL", "PLAIN", _wrong_ca, "TLS handshake", ("certificate",)),
    "wrong-host": Refusal("WRONGHOST", None, step="TLS handshake", says=("certificate", "127.0.0.1"), since=_NEW),
    "expired": Refusal("EXPIRED", None, step="TLS handshake", says=("expired",), since=_NEW),
    "no-client-certificate": Refusal("MTLS", None, step="TLS", says=("certificate",), since=_NEW, protocol="SSL"),
    "untrusted-client-certificate": Refusal("SSL", None, _stranger, "TLS", ()),
    "plaintext-at-tls": Refusal("SSL", None, says=("tls",), protocol="PLAINTEXT"),
    "tls-at-plaintext": Refusal("PLAINTEXT", None, step="TLS handshake", says=("tls",), protocol="SSL"),
    "sasl-at-plaintext": Refusal("PLAINTEXT", "PLAIN", step="SaslHandshake", protocol="SASL_PLAINTEXT"),
    "plaintext-at-sasl": Refusal("SASL_PLAINTEXT", None, protocol="PLAINTEXT"),
    "tls-at-sasl-plaintext": Refusal("SASL_PLAINTEXT", None, says=("tls",), protocol="SSL"),
    "plaintext-at-sasl-tls": Refusal("SASL_SSL", None, says=("tls",), protocol="PLAINTEXT"),
    "sasl-plaintext-at-sasl-tls": Refusal("SASL_SSL", "PLAIN", says=("tls",), protocol="SASL_PLAINTEXT"),
    "tls-at-sasl-tls": Refusal("SASL_SSL", None, protocol="SSL"),
    "sasl-tls-at-tls": Refusal("SSL", "PLAIN", step="SaslHandshake", protocol="SASL_SSL"),
}
_ONLY_OLD = {"unknown-mechanism-old"}
# Where listeners share their keys a certificate is asked for, and one that is not trusted refused, by all of them.
_SHARED_KEYS_ONLY = {"untrusted-client-certificate"}


def _cases() -> list[object]:
    found: list[object] = []
    for release in _RELEASES:
        number = find_release(release).number
        for name, refusal in REFUSALS.items():
            if number < refusal.since or (number >= _NEW and name in _ONLY_OLD | _SHARED_KEYS_ONLY):
                continue
            for client in ATTEMPTS:
                often = (release == "4.4.0" and client in _CLIENTS_OF_EVERY_RUN) or (
                    client == "producer" and number < _NEW
                )
                marks = [] if often else [pytest.mark.kafka_all]
                found.append(pytest.param(release, name, client, marks=marks))
    return found


@pytest.mark.parametrize(("release", "name", "client"), _cases())
def test_it_says_where_and_why(secure_kafka: SecureClusterOf, keys: Keys, release: str, name: str, client: str) -> None:
    cluster, refusal = secure_kafka(release), REFUSALS[name]
    _refused(cluster, refusal, refusal.settings_at(cluster.listeners, keys), client)


def _refused(cluster: SecureCluster, refusal: Refusal, settings: Settings, client: str) -> None:
    plain = cluster.bootstrap_servers
    address = plain if refusal.listener == "PLAINTEXT" else cluster.listeners[refusal.listener].address
    begun = time.monotonic()
    with pytest.raises(errors.AuthError) as caught:
        ATTEMPTS[client](address, settings)
    seconds = time.monotonic() - begun
    error = caught.value
    print(f"REFUSED {seconds:.2f} s  {error!r} {error.broker!r} {error.step!r} {error.reason!r}")
    assert address in error.broker
    assert address in str(error)
    assert error.reason
    assert refusal.step in error.step
    for words in refusal.says:
        assert words in str(error).lower()
    assert seconds < _WITHIN_S


@pytest.mark.kafka
@pytest.mark.kafka_all
@pytest.mark.parametrize("name", ["expired", "wrong-host", "no-client-certificate"])
def test_an_old_broker_with_another_certificate(keys: Keys, name: str) -> None:
    overrides = {"no-client-certificate": {"ssl.client.auth": "required"}}.get(name)
    if overrides is None:
        overrides = {"ssl.keystore.location": str(keys.expired if name == "expired" else keys.elsewhere)}
    refusal = REFUSALS[name]
    with SecureCluster("0.10.2.2", keys, None, overrides=overrides) as cluster:
        for client in _CLIENTS_OF_EVERY_RUN:
            settings = {"security_protocol": "SSL", "ssl_ca_location": str(keys.ca)}
            _refused(cluster, Refusal("SSL", None, step="TLS", says=refusal.says), settings, client)
