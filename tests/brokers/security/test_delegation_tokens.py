"""A delegation token's id and HMAC log in by SCRAM."""

import base64
import time
from collections.abc import Callable

import pytest

import kwire
from kwire import errors
from kwire.protocol import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
)
from tests.brokers.keys import Keys
from tests.brokers.listeners import Listener
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.security.logged_in import logged_in
from tests.brokers.security.logins import settings_for
from tests.brokers.security.work import exchange
from tests.brokers.wire import Wire

_WITHIN_S = 20.0


def _new_token(listener: Listener) -> tuple[str, str]:
    """Id and HMAC (base64, as Java's tool prints it) of a token of alice's."""
    with logged_in(listener) as (wire, _):
        answer = wire.call(CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=600_000), 2)
        assert answer.error_code == 0
        _wait_until_known(wire, answer.token_id)
        return answer.token_id, base64.b64encode(answer.hmac).decode()


def _wait_until_known(wire: Wire, token_id: str) -> None:
    """The broker learns of its own token a little later than whoever asked for it."""
    deadline = time.monotonic() + _WITHIN_S
    while time.monotonic() < deadline:
        found = wire.call(DescribeDelegationTokenRequest(owners=None), 2)
        if token_id in [token.token_id for token in found.tokens]:
            return
    raise TimeoutError(f"the broker does not list its token within {_WITHIN_S:.0f} s")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("release", ["4.4.0", pytest.param("3.9.2", marks=pytest.mark.kafka_all)])
def test_a_token_logs_in(
    secure_kafka: SecureClusterOf,
    keys: Keys,
    new_topic: Callable[[], str],
    caplog: pytest.LogCaptureFixture,
    release: str,
    mechanism: str,
) -> None:
    listeners = secure_kafka(release).listeners
    token_id, hmac = _new_token(listeners["SASL_PLAINTEXT"])
    settings = settings_for(listeners["SASL_SSL"], mechanism, keys)
    settings |= {"sasl_username": token_id, "sasl_password": hmac, "sasl_scram_token_auth": True}
    exchange(listeners["SASL_SSL"].address, settings, new_topic())
    with kwire.Producer(listeners["SASL_SSL"].address, **settings | {"sasl_scram_token_auth": False}) as producer:
        with pytest.raises(errors.AuthError):
            producer.send("no-token", b"v").result(_WITHIN_S)
    assert hmac not in caplog.text


def test_java_spells_it_token_auth(secure_kafka: SecureClusterOf, new_topic: Callable[[], str]) -> None:
    listeners = secure_kafka("4.4.0").listeners
    token_id, hmac = _new_token(listeners["SASL_PLAINTEXT"])
    options = f'username="{token_id}" password="{hmac}" tokenauth="true"'
    config = {
        "bootstrap.servers": listeners["SASL_PLAINTEXT"].address,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f"org.apache.kafka.common.security.scram.ScramLoginModule required {options};",
    }
    with kwire.Producer.from_config(config) as producer:
        producer.send(new_topic(), b"v").result(_WITHIN_S)
