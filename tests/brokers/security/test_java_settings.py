"""Settings as Java's clients, librdkafka and kafka-python spell them let kwire in, too."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import errors
from tests.brokers.kdc import CLIENT, Kdc
from tests.brokers.keys import Keys, keytool
from tests.brokers.listeners import Listeners
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.security.logins import NO_KERBEROS, PASSWORD
from tests.certificates import PASSWORD as PASSWORD_OF_KEYS

_WITHIN_S = 20.0
_MODULES = "org.apache.kafka.common.security"
_USER = f'username="alice" password="{PASSWORD}"'

Config = dict[str, Any]


def _java_plain(listeners: Listeners, keys: Keys) -> Config:
    return {
        "bootstrap.servers": listeners["SASL_PLAINTEXT"].address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required {_USER};",
    }


def _java_scram(listeners: Listeners, keys: Keys) -> Config:
    return {
        "bootstrap.servers": listeners["SASL_SSL"].address,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required {_USER};",
        "ssl.truststore.location": str(keys.truststore),
        "ssl.truststore.password": PASSWORD_OF_KEYS,
        "ssl.truststore.type": "PKCS12",
    }


def _java_stores(listeners: Listeners, keys: Keys) -> Config:
    return {
        "bootstrap.servers": listeners["MTLS"].address,
        "security.protocol": "SSL",
        "ssl.truststore.location": str(keys.truststore),
        "ssl.truststore.password": PASSWORD_OF_KEYS,
        "ssl.keystore.location": str(keys.client),
        "ssl.keystore.password": PASSWORD_OF_KEYS,
        "ssl.key.password": PASSWORD_OF_KEYS,
    }


def _java_pem(listeners: Listeners, keys: Keys) -> Config:
    return {
        "bootstrap.servers": listeners["MTLS"].address,
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": keys.ca.read_text(),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": keys.client_certificate.read_text(),
        "ssl.keystore.key": keys.encrypted_client_key.read_text(),
        "ssl.key.password": PASSWORD_OF_KEYS,
    }


def _java_unsecured_token(listeners: Listeners, keys: Keys) -> Config:
    module = f"{_MODULES}.oauthbearer.OAuthBearerLoginModule"
    return {
        "bootstrap.servers": listeners["SASL_PLAINTEXT"].address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f'{module} required unsecuredLoginStringClaim_sub="alice";',
    }


def _librdkafka(listeners: Listeners, keys: Keys) -> Config:
    return {
        "bootstrap.servers": listeners["SASL_SSL"].address,
        "security.protocol": "sasl_ssl",
        "sasl.mechanisms": "SCRAM-SHA-256",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(keys.ca),
    }


def _librdkafka_certificate(listeners: Listeners, keys: Keys) -> Config:
    return {
        "bootstrap.servers": listeners["MTLS"].address,
        "security.protocol": "ssl",
        "ssl.ca.pem": keys.ca.read_text(),
        "ssl.certificate.location": str(keys.client_certificate),
        "ssl.key.location": str(keys.encrypted_client_key),
        "ssl.key.password": PASSWORD_OF_KEYS,
    }


def _kafka_python(listeners: Listeners, keys: Keys) -> Config:
    return {
        "bootstrap_servers": listeners["SASL_SSL"].address,
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "alice",
        "sasl_plain_password": PASSWORD,
        "ssl_cafile": str(keys.ca),
    }


_ALL = (
    _java_plain,
    _java_scram,
    _java_stores,
    _java_pem,
    _java_unsecured_token,
    _librdkafka,
    _librdkafka_certificate,
    _kafka_python,
)


def _come_in(config: Config) -> None:
    with kwire.Producer.from_config(config) as producer:
        producer.send("spelled-otherwise", b"v").result(_WITHIN_S)


@pytest.mark.parametrize("config", _ALL, ids=lambda config: config.__name__.strip("_"))
def test_other_spellings_let_kwire_in(
    secure_kafka: SecureClusterOf, keys: Keys, config: Callable[[Listeners, Keys], Config]
) -> None:
    _come_in(config(secure_kafka("4.4.0").listeners, keys))


def test_javas_kerberos_settings_let_kwire_in(secure_kafka: SecureClusterOf, realm: Kdc | None) -> None:
    if realm is None:
        pytest.skip(NO_KERBEROS)
    options = f'useKeyTab=true storeKey=true keyTab="{realm.client_keytab}" principal="{CLIENT}"'
    _come_in(
        {
            "bootstrap.servers": secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"].address,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            "sasl.jaas.config": f"com.sun.security.auth.module.Krb5LoginModule required {options};",
        }
    )


def test_the_command_that_converts_a_jks_store(secure_kafka: SecureClusterOf, keys: Keys, tmp_path: Path) -> None:
    store = tmp_path / "the client.jks"
    source = ["-srckeystore", str(keys.client), "-srcstoretype", "PKCS12", "-srcstorepass", PASSWORD_OF_KEYS]
    target = ["-destkeystore", str(store), "-deststoretype", "JKS", "-deststorepass", PASSWORD_OF_KEYS]
    keytool(["-importkeystore", *source, *target])
    config = _java_stores(secure_kafka("4.4.0").listeners, keys) | {"ssl.keystore.location": str(store)}
    with pytest.raises(errors.ConfigError) as caught:
        _come_in(config)
    program, *arguments = shlex.split(str(caught.value).partition("convert it with: ")[2])
    assert program == "keytool"
    keytool(arguments, f"{PASSWORD_OF_KEYS}\n{PASSWORD_OF_KEYS}\n{PASSWORD_OF_KEYS}\n")
    _come_in(config | {"ssl.keystore.location": str(store.with_suffix(".p12"))})
