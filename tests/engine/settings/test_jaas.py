"""Java's `sasl.jaas.config`: read as Java reads it, told by option and position, never by value."""

from __future__ import annotations

import warnings
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import errors
from kwire.engine.settings.clients import ClientSettings, ConsumerSettings
from kwire.engine.settings.config import from_config
from kwire.engine.settings.jaas import JaasError, parse

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
KERBEROS = "com.sun.security.auth.module.Krb5LoginModule required"


def settings(jaas: str, **more: object) -> ClientSettings:
    return ClientSettings(security_protocol="SASL_SSL", sasl_jaas_config=jaas, **more)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('x.M required a="b";', {"a": "b"}),
        ("M REQUIRED a='b' c=d-e_f$.9;", {"a": "b", "c": "d-e_f$.9"}),
        (r'M optional a="\"b\"\\\x\t\101\7z\3777";', {"a": '"b"\\x\tA\x07z\xff7'}),
        ('M sufficient a="it\'s" b=\'say "x"\';', {"a": "it's", "b": 'say "x"'}),
        ('\n M\trequired // a comment; with = and "\n a = /* another */ b ; ', {"a": "b"}),
        ("M required a=b / the rest is a comment\n;", {"a": "b"}),
        ("M required a=b /\n c=d\n;", {"a": "b"}),
        ('M required a="";', {"a": ""}),
        ('M required a=b a="c";', {"a": "c"}),
        ('M required "a b"=c;', {"a b": "c"}),
        ("M requisite;", {}),
        ("M required a=пароль;", {"a": "пароль"}),
        ('M required a="/*;=//";', {"a": "/*;=//"}),
    ],
)
def test_a_login_is_read_as_java_reads_it(text: str, options: dict[str, str]) -> None:
    assert parse(text).options == options


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "class name is needed at position 0"),
        ("M", "'required' is needed after the login module, at position 1"),
        ("M perhaps;", "position 2"),
        ("M required", "';' is needed at the end, at position 10"),
        ("M required a=b", "';' is needed at the end, at position 14"),
        ("M required scope;", "option 'scope' at position 11: a '=' is needed at position 16"),
        ("M required scope=;", "option 'scope' at position 11: a value is needed at position 17"),
        ("M required scope=5hush;", "option 'scope' at position 11: quotes are needed around its value at position 17"),
        ("M required password=a hush;", "an option at position 22: a '=' is needed at position 26"),
        ("M required hush=;", "an option at position 11: a value is needed at position 16"),
        ("M required a=-hush;", "quotes are needed around its value at position 13"),
        ("M required a=hu#sh;", "the name of an option is needed at position 15"),
        ('M required a="hush;', "the quote at position 13 is not closed"),
        ('M required a="hush\n";', "the quote at position 13 is not closed"),
        ("M required a=/etc/hush;", "a value is needed at position 23"),
        ("M required; N required;", "after the first login module, at position 12"),
        ("M required 'hush';", "position 11: a '=' is needed"),
    ],
)
def test_a_fault_is_told_by_option_and_position(text: str, words: str) -> None:
    with pytest.raises(JaasError) as caught:
        parse(text)
    assert words in str(caught.value)
    assert "hush" not in str(caught.value)


@given(st.text(alphabet="aM \n\t\"'\\=;/*$-.09\x00é", max_size=60) | st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    for tried in (text, f"M required {text}", f"M required a={text};", f'M required a="{text}";'):
        with suppress(JaasError):
            parse(tried)


@given(st.text(max_size=40))
def test_a_password_in_quotes_comes_out_as_it_went_in(password: str) -> None:
    quoted = "".join({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}.get(letter, letter) for letter in password)
    assert parse(f'M required password="{quoted}";').options == {"password": password}


def test_plain() -> None:
    made = settings(f'{PLAIN} username="alice" password="hush";')
    assert (made.sasl_mechanism, made.sasl_username, made.sasl_password.reveal()) == ("PLAIN", "alice", "hush")
    assert made.sasl_jaas_config is None


def test_scram_with_a_delegation_token() -> None:
    made = settings(f'{SCRAM} username="id" password="hmac" tokenauth="true";', sasl_mechanism="SCRAM-SHA-512")
    assert (made.sasl_username, made.sasl_scram_token_auth) == ("id", True)
    assert not settings(f"{SCRAM} username=a password=b;", sasl_mechanism="SCRAM-SHA-256").sasl_scram_token_auth
    with pytest.raises(errors.ConfigError, match="needs sasl_mechanism: 'PLAIN' or 'SCRAM-SHA-256' or"):
        settings(f"{SCRAM} username=a password=b;")


def test_client_credentials() -> None:
    made = settings(
        f'{OAUTH} clientId="c" clientSecret="hush" scope="s" extension_logicalCluster="lkc";',
        sasl_oauthbearer_token_endpoint_url="https://id.example/token",
    )
    assert made.sasl_mechanism == "OAUTHBEARER"
    assert (made.sasl_oauthbearer_client_id, made.sasl_oauthbearer_scope) == ("c", "s")
    assert made.sasl_oauthbearer_client_secret.reveal() == "hush"
    assert made.sasl_oauthbearer_extensions == {"logicalCluster": "lkc"}


def test_a_token_without_a_signature() -> None:
    made = settings(
        f'{OAUTH} unsecuredLoginStringClaim_sub="alice" unsecuredLoginNumberClaim_n="5" '
        'unsecuredLoginListClaim_scope="|a|b" unsecuredLoginLifetimeSeconds="90" unsecuredLoginExtension_x="y";'
    )
    assert made.sasl_oauthbearer_unsecured_claims == {"sub": "alice", "n": 5, "scope": ["a", "b"]}
    assert made.sasl_oauthbearer_unsecured_lifetime_ms == 90_000
    assert made.sasl_oauthbearer_extensions == {"x": "y"}
    with pytest.raises(errors.ConfigError, match="option 'unsecuredLoginNumberClaim_n' is not a number") as caught:
        settings(f'{OAUTH} unsecuredLoginNumberClaim_n="hush";')
    assert "hush" not in str(caught.value)


def test_kerberos() -> None:
    made = settings(
        f'{KERBEROS} useKeyTab=true storeKey=true keyTab="/etc/k.keytab" principal="a@R" serviceName="svc";'
    )
    assert (made.sasl_mechanism, made.sasl_kerberos_service_name) == ("GSSAPI", "svc")
    assert (made.sasl_kerberos_keytab, made.sasl_kerberos_principal) == ("/etc/k.keytab", "a@R")
    assert settings(f'{KERBEROS} useTicketCache=true useKeyTab=false keyTab="/k";').sasl_kerberos_keytab is None


def test_options_without_an_effect_are_told() -> None:
    with pytest.warns(UserWarning, match=r"option 'keyTab' at position \d+, an option at position \d+$") as caught:
        settings(f'{PLAIN} username=a password=b keyTab="hush" hush=x;')
    assert "hush" not in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settings(f"{PLAIN} username=a password=b serviceName=kafka;")


@pytest.mark.parametrize(
    ("jaas", "more", "words"),
    [
        ("x.Hush perhaps password=hush;", {}, "sasl_jaas_config: 'required' is needed"),
        ("hush required password=a;", {}, "login module '[hidden]' is not supported by kwire"),
        ("com.example.Login required password=hush;", {}, "'com.example.Login' is not supported by kwire"),
        ("software.amazon.msk.auth.iam.IAMLoginModule required;", {}, "its signer in sasl_oauth_token"),
        (f"{PLAIN} username=a;", {}, "sasl_mechanism='PLAIN' needs sasl_password"),
        (f"{PLAIN} username=a password=hush;", {"sasl_password": "other"}, "sasl_password and sasl_jaas_config"),
        (f"{PLAIN} username=a password=hush;", {"sasl_mechanism": "GSSAPI"}, "cannot take effect"),
        (["hush"], {}, "sasl_jaas_config='[hidden]': expected a string"),
    ],
)
def test_what_cannot_be_used_is_refused_without_its_values(jaas: str, more: dict[str, object], words: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        settings(jaas, **more)
    assert words in str(caught.value)
    assert "hush" not in str(caught.value)


def test_the_same_values_twice_are_fine() -> None:
    assert settings(f"{PLAIN} username=a password=b;", sasl_username="a").sasl_username == "a"


def test_from_the_options_of_a_spark_source() -> None:
    made = from_config(
        ConsumerSettings,
        {
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": f'kafkashaded.{PLAIN} username="$ConnectionString" password="Endpoint=sb://x/;K=v=";',
        },
    )
    assert (made.sasl_username, made.sasl_password.reveal()) == ("$ConnectionString", "Endpoint=sb://x/;K=v=")


def test_a_text_that_has_no_utf_8_is_refused() -> None:
    with pytest.raises(errors.ConfigError, match=r"sasl_jaas_config=.* UTF-8") as raised:
        settings(f'{PLAIN} username="alice" password="hu\udce4sh";')
    assert "alice" not in str(raised.value)
