"""The listeners of listeners.py are what they say: confluent-kafka, which has TLS and most of SASL, gets in at each."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka import Producer as ConfluentProducer

from tests.brokers import find_release
from tests.brokers.keys import Keys
from tests.brokers.listeners import USERS, Listener, mechanisms
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.secure_cluster import SecureCluster
from tests.certificates import PASSWORD as PASSWORD_OF_KEYS

pytestmark = pytest.mark.kafka_all

_WITHIN_S = 20.0
_MISSED_WITHIN_S = 3.0
"""A listener that wants a certificate closes the connection without a word to librdkafka."""
_RELEASES = ["4.4.0", "3.9.2", "0.10.2.2"]
_PASSWORD = USERS["alice"]

NewTopic = Callable[[], str]


def _produce(address: str, settings: dict[str, Any], topic: str, within: float = _WITHIN_S) -> KafkaError | None:
    """What became of one record: None when it was acknowledged."""
    fates: list[KafkaError | None] = []
    errors: list[KafkaError] = []
    config = {"bootstrap.servers": address, "error_cb": errors.append, "log_level": 0, **settings}
    producer = ConfluentProducer(config)
    producer.produce(topic, b"by confluent", on_delivery=lambda error, message: fates.append(error))
    deadline = time.monotonic() + within
    while not fates and time.monotonic() < deadline:
        producer.poll(0.05)
        refused = [error for error in errors if error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL)]
        if refused:
            producer.purge()
            return refused[0]
    return fates[0] if fates else errors[-1]


def _token(_: str) -> tuple[str, float]:
    return "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImlhdCI6MSwiZXhwIjo5OTk5OTk5OTk5fQ.", time.time() + 3600


def _login(mechanism: str) -> dict[str, Any]:
    if mechanism == "OAUTHBEARER":
        return {"sasl.mechanism": mechanism, "oauth_cb": _token}
    return {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": _PASSWORD}


def _unlocked(listener: Listener, keys: Keys) -> dict[str, Any]:
    return {"security.protocol": listener.protocol, "ssl.ca.location": str(keys.ca)}


def _sasl_listeners(release: str) -> list[object]:
    number = find_release(release).number
    listeners = ["SASL_PLAINTEXT", "SASL_SSL"] + (["REAUTH", "REAUTH_TLS"] if number >= (2, 2) else [])
    # confluent-kafka's wheel is built without GSSAPI.
    found = mechanisms(find_release(release), kerberos=False)
    return [(release, listener, mechanism) for listener in listeners for mechanism in found]


@pytest.mark.parametrize(
    ("release", "name", "mechanism"), [place for name in _RELEASES for place in _sasl_listeners(name)]
)
def test_a_login_is_taken(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, release: str, name: str, mechanism: str
) -> None:
    listener = secure_kafka(release).listeners[name]
    assert _produce(listener.address, _unlocked(listener, keys) | _login(mechanism), new_topic()) is None


@pytest.mark.parametrize("release", _RELEASES)
def test_a_wrong_password_is_refused(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, release: str
) -> None:
    listener = secure_kafka(release).listeners["SASL_SSL"]
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "wrong"}
    refused = _produce(listener.address, _unlocked(listener, keys) | login, new_topic())
    assert refused is not None
    assert refused.code() == KafkaError._AUTHENTICATION


@pytest.mark.parametrize("release", [*_RELEASES, "0.9.0.1"])
def test_tls(secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, release: str) -> None:
    listener = secure_kafka(release).listeners["SSL"]
    tls = _unlocked(listener, keys)
    if release == "0.9.0.1":
        tls |= {"api.version.request": False, "broker.version.fallback": "0.9.0"}
    assert _produce(listener.address, tls, new_topic()) is None
    other = _produce(listener.address, tls | {"ssl.ca.location": str(keys.other_ca)}, new_topic())
    assert other is not None
    assert "certificate verify failed" in other.str()


@pytest.mark.parametrize("release", ["4.4.0", "3.9.2"])
def test_listeners_with_another_certificate(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, release: str
) -> None:
    listeners = secure_kafka(release).listeners
    tls = _unlocked(listeners["MTLS"], keys)
    client = {
        "ssl.certificate.location": str(keys.client_certificate),
        "ssl.key.location": str(keys.encrypted_client_key),
        "ssl.key.password": PASSWORD_OF_KEYS,
    }
    assert _produce(listeners["MTLS"].address, tls | client, new_topic()) is None
    store = {"ssl.keystore.location": str(keys.client), "ssl.keystore.password": PASSWORD_OF_KEYS}
    assert _produce(listeners["MTLS"].address, tls | store, new_topic()) is None
    assert _produce(listeners["MTLS"].address, tls, new_topic(), _MISSED_WITHIN_S) is not None
    for name in ("EXPIRED", "WRONGHOST"):
        refused = _produce(listeners[name].address, tls, new_topic())
        assert refused is not None
        assert "certificate verify failed" in refused.str()


def test_each_of_three_nodes_has_the_listeners(keys: Keys, new_topic: NewTopic) -> None:
    topic = new_topic()
    with SecureCluster("4.4.0", keys, None, nodes=3) as cluster:
        listener = cluster.listeners["SASL_SSL"]
        settings = _unlocked(listener, keys) | _login("SCRAM-SHA-512")
        addresses = listener.address.split(",")
        assert [_produce(address, settings, topic) for address in addresses] == [None] * 3
        cluster.kill_node(1)
        assert _produce(listener.address, settings, topic) is None
        cluster.start_node(1)
        assert _produce(addresses[0], settings, topic) is None
