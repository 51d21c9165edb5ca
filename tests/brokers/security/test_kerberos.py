"""Kerberos with a real KDC: what goes wrong is named, and a keytab does where there are no tickets."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kwire import errors
from tests.brokers.kdc import CLIENT, Kdc
from tests.brokers.keys import Keys
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.security.logins import NO_KERBEROS, settings_for
from tests.brokers.security.work import ATTEMPTS, exchange


@pytest.fixture(autouse=True)
def kdc(realm: Kdc | None) -> Kdc:
    if realm is None:
        pytest.skip(NO_KERBEROS)
    return realm


def test_a_keytab_and_a_principal(
    secure_kafka: SecureClusterOf, keys: Keys, kdc: Kdc, new_topic: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KRB5_CLIENT_KTNAME")
    monkeypatch.setenv("KRB5CCNAME", "MEMORY:empty")
    listener = secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"]
    ticket = {"sasl_kerberos_keytab": str(kdc.client_keytab), "sasl_kerberos_principal": CLIENT}
    exchange(listener.address, settings_for(listener, "GSSAPI", keys) | ticket, new_topic())


@pytest.mark.parametrize("client", ["producer", "consumer", "aio-admin"])
def test_no_ticket(
    secure_kafka: SecureClusterOf,
    keys: Keys,
    kdc: Kdc,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    client: str,
) -> None:
    monkeypatch.delenv("KRB5_CLIENT_KTNAME")
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'none'}")
    listener = secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"]
    with pytest.raises(errors.AuthError) as caught:
        ATTEMPTS[client](listener.address, settings_for(listener, "GSSAPI", keys))
    assert listener.address in caught.value.broker
    assert caught.value.step == "Kerberos"
    assert str(tmp_path) in str(caught.value) or "credential" in str(caught.value).lower()


def test_a_service_that_the_realm_does_not_know(secure_kafka: SecureClusterOf, keys: Keys, kdc: Kdc) -> None:
    listener = secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"]
    settings = settings_for(listener, "GSSAPI", keys) | {"sasl_kerberos_service_name": "queue"}
    with pytest.raises(errors.AuthError, match=r"(?i)server.*not found"):
        ATTEMPTS["producer"](listener.address, settings)
