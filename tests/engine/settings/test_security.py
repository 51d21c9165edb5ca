"""Settings of TLS and SASL: names, which need or forbid each other, and secrets that nothing shows."""

from __future__ import annotations

import copy
import pickle
import pprint
import ssl
import warnings
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from kwire import errors
from kwire.engine.common.addresses import Address
from kwire.engine.common.secret import Secret, without_secrets
from kwire.engine.settings.clients import AdminSettings, ClientSettings, ConsumerSettings, ProducerSettings
from kwire.engine.settings.config import from_config
from kwire.engine.settings.connection import ConnectionSettings
from kwire.engine.settings.security import SecuritySettings

LOGIN = {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_username": "alice", "sasl_password": "hush"}
OAUTH = {"security_protocol": "SASL_SSL", "sasl_mechanism": "OAUTHBEARER"}
ENDPOINT = {
    **OAUTH,
    "sasl_oauthbearer_token_endpoint_url": "https://id.example/token",
    "sasl_oauthbearer_client_id": "client",
    "sasl_oauthbearer_client_secret": "hush",
}
PEM_WITH_KEY = "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n"


def refusal(**given: object) -> str:
    with pytest.raises(errors.ConfigError) as caught:
        ClientSettings(**given)
    assert "hush" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"security_protocol": "SSL"},
        {"security_protocol": "ssl", "ssl_ca_location": "ca.pem"},
        {"security_protocol": "SSL", "ssl_certificate_pem": "-----BEGIN", "ssl_key_pem": "-----BEGIN"},
        {"security_protocol": "SSL", "ssl_certificate_pem": PEM_WITH_KEY, "ssl_key_password": "hush"},
        {"security_protocol": "SSL", "ssl_certificate_location": "both.pem"},
        {"security_protocol": "SSL", "ssl_keystore_location": "k.p12", "ssl_keystore_password": "hush"},
        {"security_protocol": "SSL", "ssl_keystore_location": "k.p12", "ssl_key_password": "hush"},
        {"security_protocol": "SSL", "ssl_context": ssl.create_default_context(), "ssl_key_location": "ignored"},
        {"ssl_endpoint_identification_algorithm": "", "sasl_kerberos_service_name": "k", "ssl_cipher_suites": "AES256"},
        LOGIN,
        {**LOGIN, "security_protocol": "SASL_PLAINTEXT"},
        {**LOGIN, "sasl_mechanism": "scram-sha-512", "sasl_scram_token_auth": True},
        {**OAUTH, "sasl_oauth_token": lambda: ("token", 60)},
        {"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_credentials": lambda: ("alice", "hush")},
        {**OAUTH, "sasl_oauthbearer_unsecured_claims": {"sub": "alice"}, "sasl_oauthbearer_extensions": "a=b"},
        ENDPOINT,
        {**ENDPOINT, "sasl_oauthbearer_token_endpoint_url": "http://127.0.0.1:8080/token"},
        {**ENDPOINT, "sasl_oauthbearer_token_endpoint_url": "http://[::1]/token", "https_ca_location": "ca.pem"},
        {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "GSSAPI"},
    ],
)
def test_settings_that_fit(given: dict[str, object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settings = ClientSettings(**given)
    assert settings.uses_tls == settings.security_protocol.endswith("SSL")
    assert settings.uses_sasl == settings.security_protocol.startswith("SASL")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ssl_ca_location": "ca.pem"}, "ssl_ca_location cannot take effect: security_protocol='PLAINTEXT' is without"),
        (
            {**LOGIN, "security_protocol": "SSL"},
            "sasl_mechanism, sasl_username and sasl_password cannot take effect: security_protocol='SSL' is without",
        ),
        ({"security_protocol": "SASL_SSL"}, "needs sasl_mechanism: 'PLAIN' or"),
        (
            {"security_protocol": "SASL_SSL", "sasl_kerberos_keytab": "k"},
            "needs sasl_mechanism: 'GSSAPI'",
        ),
        ({**LOGIN, "sasl_username": ""}, "sasl_mechanism='PLAIN' needs sasl_username"),
        ({**LOGIN, "sasl_password": None}, "sasl_mechanism='PLAIN' needs sasl_password"),
        (
            {**LOGIN, "sasl_credentials": print},
            "sasl_credentials returns user and password: leave out sasl_username and",
        ),
        ({**LOGIN, "sasl_credentials": "hush"}, "sasl_credentials='[hidden]': expected a callable"),
        ({**OAUTH, "sasl_oauth_token": print, "sasl_credentials": print}, "sasl_credentials cannot take effect"),
        ({**LOGIN, "sasl_mechanism": "OAUTHBEARER"}, "sasl_username and sasl_password cannot take effect"),
        ({**LOGIN, "sasl_scram_token_auth": True}, "sasl_scram_token_auth cannot take effect: sasl_mechanism='PLAIN'"),
        ({**LOGIN, "sasl_mechanism": "LOGIN"}, "sasl_mechanism='LOGIN': expected one of 'PLAIN'"),
        (OAUTH, "needs sasl_oauth_token, sasl_oauthbearer_token_endpoint_url or sasl_oauthbearer_unsecured_claims"),
        ({**OAUTH, "sasl_oauth_token": "hush"}, "sasl_oauth_token='[hidden]': expected a callable"),
        ({**ENDPOINT, "sasl_oauth_token": lambda: ("hush", 1)}, "give only one of them"),
        ({**ENDPOINT, "sasl_oauthbearer_client_secret": None}, "url needs sasl_oauthbearer_client_secret"),
        ({**OAUTH, "sasl_oauth_token": print, "sasl_oauthbearer_client_secret": "hush"}, "cannot take effect without"),
        ({**ENDPOINT, "sasl_oauthbearer_token_endpoint_url": "http://id.example/t"}, "only https is accepted"),
        ({**ENDPOINT, "sasl_oauthbearer_token_endpoint_url": "http://127.evil.example/t"}, "only https is accepted"),
        ({**ENDPOINT, "sasl_oauthbearer_token_endpoint_url": "https://a:hush@id.example"}, "has a user or password"),
        ({**ENDPOINT, "sasl_oauthbearer_token_endpoint_url": "file:///etc/passwd"}, "is not an https URL"),
        ({**ENDPOINT, "sasl_oauthbearer_token_endpoint_url": "https://"}, "is not an https URL"),
        ({**ENDPOINT, "sasl_oauthbearer_extensions": "auth=x"}, "sasl_oauthbearer_extensions='auth=x': expected names"),
        ({**ENDPOINT, "sasl_oauthbearer_extensions": "Auth=x"}, "sasl_oauthbearer_extensions='Auth=x': expected names"),
        ({"security_protocol": "SSL", "ssl_key_pem": "hush"}, "ssl_key_pem without a certificate"),
        ({"security_protocol": "SSL", "ssl_certificate_pem": "hush"}, "ssl_certificate_pem without a key"),
        ({"security_protocol": "SSL", "ssl_key_password": "hush"}, "ssl_key_password without a key"),
        ({"security_protocol": "SSL", "ssl_keystore_password": "hush"}, "ssl_keystore_location is needed"),
        ({"security_protocol": "SSL", "ssl_truststore_password": "hush"}, "ssl_truststore_location is needed"),
        (
            {"security_protocol": "SSL", "ssl_ca_location": "a", "ssl_ca_pem": "b"},
            "ssl_ca_location and ssl_ca_pem exclude each other",
        ),
        (
            {"security_protocol": "SSL", "ssl_keystore_location": "a", "ssl_key_location": "b"},
            "ssl_key_location and ssl_keystore_location exclude each other",
        ),
        ({"security_protocol": "SSL", "ssl_enabled_protocols": "TLSv1.1,TLSv1.2"}, "'TLSv1.2', 'TLSv1.3' or both"),
        ({"security_protocol": "SSL", "ssl_context": object()}, "an ssl.SSLContext"),
        (
            {"security_protocol": "SSL", "ssl_context": ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)},
            "an ssl.SSLContext for clients",
        ),
        ({"security_protocol": "SSL", "ssl_key_pem": b"hush"}, "ssl_key_pem='[hidden]': expected a string"),
        ({**LOGIN, "sasl_password": 5551234}, "sasl_password='[hidden]': expected a string"),
    ],
)
def test_settings_that_do_not_fit(given: dict[str, object], words: str) -> None:
    text = refusal(**given)
    assert words in text
    assert "5551234" not in text


def test_a_value_that_is_refused_is_not_said_to_be_missing() -> None:
    text = refusal(**{**LOGIN, "sasl_password": b"hush"})
    assert len(text.splitlines()) == 1
    assert "cannot take effect" not in refusal(**{**LOGIN, "security_protocol": "TLS"})


@pytest.mark.parametrize(
    ("name", "keyword"),
    [
        ("kafka.sasl.mechanism", "sasl_mechanism"),
        ("sasl.mechanisms", "sasl_mechanism"),
        ("sasl_plain_username", "sasl_username"),
        ("sasl_plain_password", "sasl_password"),
        ("ssl.ca.location", "ssl_ca_location"),
        ("ssl_cafile", "ssl_ca_location"),
        ("ssl_certfile", "ssl_certificate_location"),
        ("ssl_keyfile", "ssl_key_location"),
        ("ssl_password", "ssl_key_password"),
        ("ssl.truststore.certificates", "ssl_ca_pem"),
        ("ssl.keystore.certificate.chain", "ssl_certificate_pem"),
        ("ssl.keystore.key", "ssl_key_pem"),
        ("ssl_crlfile", "ssl_crl_location"),
        ("sasl.oauthbearer.client.credentials.client.secret", "sasl_oauthbearer_client_secret"),
    ],
)
def test_spellings_of_other_clients(name: str, keyword: str) -> None:
    value = "PLAIN" if keyword == "sasl_mechanism" else "v"
    with pytest.raises(errors.ConfigError, match=keyword):
        from_config(ClientSettings, {name: value})
    if not name.startswith("kafka."):
        with pytest.raises(errors.ConfigError, match=f"{keyword}"):
            ClientSettings(**{name.replace(".", "_"): value})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ssl.endpoint.identification.algorithm", "", ""),
        ("ssl.endpoint.identification.algorithm", "none", ""),
        ("ssl.endpoint.identification.algorithm", "HTTPS", "https"),
        ("ssl_check_hostname", False, ""),
        ("ssl_check_hostname", "true", "https"),
    ],
)
def test_the_host_check_under_every_name(name: str, value: object, expected: str) -> None:
    assert from_config(ClientSettings, {name: value}).ssl_endpoint_identification_algorithm == expected


def test_values_that_are_more_than_a_word() -> None:
    settings = ClientSettings(
        ssl_enabled_protocols="TLSv1.3, TLSv1.2",
        ssl_cipher_suites=["A", "B"],
    )
    assert settings.ssl_enabled_protocols == ("TLSv1.2", "TLSv1.3")
    assert ClientSettings(ssl_enabled_protocols=["tlsv1.3"]).ssl_enabled_protocols == ("TLSv1.3",)
    assert settings.ssl_cipher_suites == "A:B"
    given = {**OAUTH, "sasl_oauthbearer_unsecured_claims": "sub=alice", "sasl_oauthbearer_extensions": "a=1, b=2=3"}
    settings = ClientSettings(**given)
    assert settings.sasl_oauthbearer_unsecured_claims == {"sub": "alice"}
    assert settings.sasl_oauthbearer_extensions == {"a": "1", "b": "2=3"}


def test_passwords_keep_their_spaces() -> None:
    settings = ClientSettings(**{**LOGIN, "sasl_username": " a ", "sasl_password": " b "})
    assert (settings.sasl_username, settings.sasl_password.reveal()) == (" a ", " b ")


def test_a_listener_prefix_must_be_the_protocol() -> None:
    settings = ClientSettings(bootstrap_servers="SSL://a:1", security_protocol="SSL")
    assert settings.addresses == (Address("a", 1),)
    with pytest.raises(errors.ConfigError, match=r"'PLAINTEXT' is not the security protocol 'SSL'"):
        ClientSettings(bootstrap_servers="PLAINTEXT://a:1", security_protocol="SSL")


@pytest.mark.parametrize("scheme", ["http", "kafka", "tcp"])
def test_an_address_is_no_url(scheme: str) -> None:
    with pytest.raises(errors.ConfigError, match=rf"'{scheme}://a:1': give 'host:port', without {scheme}://"):
        ClientSettings(bootstrap_servers=f"{scheme}://a:1")


def test_addresses_with_a_space_between_them_are_told_to_take_commas() -> None:
    with pytest.raises(errors.ConfigError, match=r"'a:1 b:2': .*; several are separated by commas"):
        ClientSettings(bootstrap_servers="a:1 b:2")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("oauth_cb", print, "sasl_oauth_token"),
        ("sasl.oauthbearer.config", "principal=a", "sasl_oauthbearer_unsecured_claims"),
        ("sasl.oauthbearer.grant.type", "jwt_bearer", "client credentials only"),
        ("ssl.engine.factory.class", "x.Y", "ssl_context"),
        (
            "sasl.login.callback.handler.class",
            "com.example.IAMClientCallbackHandler",
            "sasl_oauth_token",
        ),
    ],
)
def test_what_is_done_in_another_way(name: str, value: object, words: str) -> None:
    with pytest.raises(errors.ConfigError, match=words):
        from_config(ClientSettings, {name: value})


def test_java_settings_that_ask_for_what_is_done_anyway() -> None:
    package = "org.apache.kafka.common.security.oauthbearer"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_config(
            ClientSettings,
            {
                "sasl.login.callback.handler.class": f"{package}.secured.OAuthBearerLoginCallbackHandler",
                "sasl.oauthbearer.grant.type": "client_credentials",
                "enable.sasl.oauthbearer.unsecure.jwt": "false",
            },
        )
    with pytest.warns(UserWarning, match=r"without an effect in kwire: sasl.login.refresh.window.factor"):
        from_config(ClientSettings, {"sasl.login.refresh.window.factor": "0.8"})


IN_THE_WILD = {
    "Confluent Cloud, Java, by key": {
        "bootstrap.servers": "pkc.example:9092",
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        "username='KEY' password='a/b+c=';",
        "sasl.mechanism": "PLAIN",
    },
    "Confluent Cloud, Java, by token": {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "https://id.example/oauth2/token",
        "sasl.login.callback.handler.class": "org.apache.kafka.common.security.oauthbearer.secured."
        "OAuthBearerLoginCallbackHandler",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        "clientId='id' scope='' clientSecret='hush' extension_logicalCluster='lkc-1' "
        "extension_identityPoolId='pool-1';",
    },
    "librdkafka, by token": {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://id.example/oauth2/token",
        "sasl.oauthbearer.client.id": "id",
        "sasl.oauthbearer.client.secret": "hush",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool-1",
    },
    "MSK, Java, by password": {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required\n"
        '  username="alice"\n  password="hush";\n',
        "ssl.truststore.location": "/tmp/kafka.client.truststore.p12",
    },
    "Strimzi, Java": {
        "security.protocol": "SSL",
        "ssl.truststore.location": "ca.p12",
        "ssl.truststore.password": "hush",
        "ssl.truststore.type": "PKCS12",
        "ssl.keystore.location": "user.p12",
        "ssl.keystore.password": "hush",
        "ssl.key.password": "hush",
        "ssl.endpoint.identification.algorithm": "",
    },
    "kafka-python": {
        "security_protocol": "SSL",
        "ssl_check_hostname": True,
        "ssl_cafile": "ca.pem",
        "ssl_certfile": "c.pem",
        "ssl_keyfile": "k.pem",
        "ssl_password": "hush",
        "ssl_crlfile": None,
        "ssl_context": None,
    },
    "Kerberos, Java": {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
        'keyTab="/etc/security/keytabs/k.keytab" principal="k-1@EXAMPLE.COM";',
    },
}


@pytest.mark.parametrize("config", IN_THE_WILD.values(), ids=IN_THE_WILD)
def test_configurations_of_other_clients_work_as_they_are(config: dict[str, object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (ProducerSettings, ConsumerSettings, AdminSettings):
            assert "hush" not in repr(from_config(table, config))


def test_a_configuration_for_the_iam_of_msk_says_what_to_do() -> None:
    with pytest.raises(errors.ConfigError, match="for AWS MSK give sasl_mechanism='OAUTHBEARER' and its signer"):
        from_config(
            ConsumerSettings,
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "AWS_MSK_IAM",
                "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;",
                "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
            },
        )


def secret_settings() -> list[ClientSettings]:
    """Settings that between them have each secret."""
    return [
        ClientSettings(**LOGIN),
        ClientSettings(**ENDPOINT),
        ConsumerSettings(**OAUTH, sasl_oauth_token=copy.copy),
        ProducerSettings(
            security_protocol="SSL", ssl_certificate_pem="hush", ssl_key_pem="hush", ssl_key_password="hush"
        ),
        AdminSettings(
            security_protocol="SSL",
            ssl_truststore_location="t.p12",
            ssl_truststore_password="hush",
            ssl_keystore_location="k.p12",
            ssl_keystore_password="hush",
        ),
        from_config(
            ClientSettings,
            {
                "security.protocol": "SASL_SSL",
                "sasl.jaas.config": 'a.PlainLoginModule required username="alice" password="hush";',
            },
        ),
    ]


JAVA_LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": 'a.PlainLoginModule required username="alice" password="from the file";',
}


def test_keywords_win_over_what_a_jaas_text_stands_for() -> None:
    settings = from_config(ClientSettings, JAVA_LOGIN, sasl_password="hush")
    assert (settings.sasl_username, settings.sasl_password) == ("alice", "hush")
    other = 'a.PlainLoginModule required username="bob" password="hush";'
    settings = from_config(ClientSettings, JAVA_LOGIN, sasl_jaas_config=other)
    assert (settings.sasl_username, settings.sasl_password) == ("bob", "hush")


def test_a_bad_jaas_text_is_refused_once() -> None:
    with pytest.raises(errors.ConfigError) as refused:
        from_config(ClientSettings, {**JAVA_LOGIN, "sasl.jaas.config": "a.b required x"}, sasl_password="hush")
    assert str(refused.value).count("sasl_jaas_config") == 1


@pytest.mark.parametrize("keyword", ["sasl_username", "sasl_password"])
def test_a_text_that_cannot_be_sent_is_refused(keyword: str) -> None:
    """As os.environ makes one of bytes that are not UTF-8."""
    text = refusal(**{**LOGIN, keyword: b"p\xe4ss".decode("utf-8", "surrogateescape")})
    assert keyword in text
    assert "UTF-8" in text


@pytest.mark.parametrize("settings", secret_settings())
def test_secrets_are_not_shown(settings: ClientSettings) -> None:
    again = pickle.loads(pickle.dumps(settings))
    for made in (settings, again, copy.deepcopy(settings)):
        shown = [repr(made), str(made), pprint.pformat(vars(made)), str(vars(made)), repr(made.given())]
        shown += [f"{value}" for value in vars(made).values()]
        assert not any("hush" in text for text in shown)
        assert "[hidden]" in shown[0]
        assert made == settings


def test_every_secret_setting_is_one() -> None:
    hidden = {keyword for keyword, row in ClientSettings.table.items() if row.secret}
    words = ("password", "credentials", "secret", "key_pem", "jaas", "token", "certificate_pem")
    named = {keyword for keyword in ClientSettings.table if keyword.endswith(words) or "jaas" in keyword}
    assert hidden == named


def test_a_secret_encodes_compares_and_pickles_as_its_text() -> None:
    secret = Secret("hush")
    assert (secret.encode(), secret == "hush", secret.reveal()) == (b"hush", True, "hush")
    assert type(secret.reveal()) is str
    assert pickle.loads(pickle.dumps(secret)) == "hush"
    assert {f"{secret}", f"{secret:>20}", str(secret), repr(secret).strip("'")} == {"[hidden]"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it is hush-hush-hush!", "it is [hidden]!"),
        ("hush-hush-hushhush-hush-hush", "[hidden][hidden]"),
        ("cut: hush-hush-hu...", "cut: [hidden]..."),
        ("hush-hush-hxsh", "[hidden]xsh"),
        ("hush", "hush"),
        ("abc", "abc"),
        ("", ""),
    ],
)
def test_what_others_say_is_shown_without_secrets(text: str, expected: str) -> None:
    assert without_secrets(text, ["hush-hush-hush", "abc", ""]) == expected


def test_a_context_is_not_pickled_and_not_compared() -> None:
    settings = ClientSettings(security_protocol="SSL", ssl_context=ssl.create_default_context())
    with pytest.raises(errors.ConfigError, match="ssl_context cannot be pickled: give files or PEM text"):
        pickle.dumps(settings)
    assert settings == ClientSettings(security_protocol="SSL", ssl_context=ssl.create_default_context())


SECURITY = [keyword for keyword in SecuritySettings.table if keyword not in ConnectionSettings.table]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=5),
    st.lists(st.text(max_size=5) | st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(), max_size=3),
    st.sampled_from(["PLAIN", "OAUTHBEARER", "SASL_SSL", "SSL", "sub=alice", "https://a/b", print, object()]),
)


@drawn(st.dictionaries(st.sampled_from(SECURITY), VALUES, max_size=6))
def test_any_value_is_taken_or_refused(values: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = ClientSettings(**values)
        except errors.ConfigError:
            return
    assert ClientSettings(**made.given()) == made
