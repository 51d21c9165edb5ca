"""Users whose names and passwords hold what the mechanisms write in another way."""

from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from tests.brokers.keys import Keys
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.security.logins import settings_for
from tests.brokers.security.work import exchange

_WITHIN_S = 20.0
_MECHANISMS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}


@pytest.mark.parametrize("mechanism", sorted(_MECHANISMS))
@pytest.mark.parametrize(
    ("user", "password", "iterations"),
    [
        ("a=b,c", 'with, = and \\ "quotes"', 4096),
        ("juergen", "Größe 東京", 8192),
        ("usual", "pass word", 16384),
    ],
)
def test_scram_users_of_all_kinds(
    secure_kafka: SecureClusterOf,
    keys: Keys,
    new_topic: Callable[[], str],
    mechanism: str,
    user: str,
    password: str,
    iterations: int,
) -> None:
    cluster = secure_kafka("4.4.0")
    credential = ScramCredentialInfo(_MECHANISMS[mechanism], iterations)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    change = UserScramCredentialUpsertion(user, credential, password.encode())
    for future in admin.alter_user_scram_credentials([change]).values():
        future.result(_WITHIN_S)
    listener = cluster.listeners["SASL_PLAINTEXT"]
    settings = settings_for(listener, mechanism, keys) | {"sasl_username": user, "sasl_password": password}
    exchange(listener.address, settings, new_topic())
