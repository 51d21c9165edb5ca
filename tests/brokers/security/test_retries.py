"""After a refused password a client does not hammer the broker, and what waits fails at once."""

import asyncio
import time

import pytest

import kwire
from kwire import errors
from tests.brokers.counting_proxy import CountingProxy
from tests.brokers.keys import Keys
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.ports import LOOPBACK, free_ports
from tests.brokers.security.logins import Settings, settings_for

_LOOK_S = 8.0
_SHORT_LOOK_S = 4.0
_MAX_CONNECTIONS = 6
"""At backoff from 1 s on, doubled each time: at 0, 1, 3 and 7 s, and some for the calls themselves."""


@pytest.mark.parametrize(
    ("client", "mechanism", "seconds"),
    [
        ("producer", "SCRAM-SHA-512", _SHORT_LOOK_S),
        pytest.param("producer", "PLAIN", _LOOK_S, marks=pytest.mark.kafka_all),
        pytest.param("consumer", "SCRAM-SHA-512", _LOOK_S, marks=pytest.mark.kafka_all),
    ],
)
def test_a_client_does_not_hammer(
    secure_kafka: SecureClusterOf, keys: Keys, client: str, mechanism: str, seconds: float
) -> None:
    listener = secure_kafka("4.4.0").listeners["SASL_SSL"]
    settings = settings_for(listener, mechanism, keys) | {"sasl_password": "The-wrong-word-76"}
    [port] = free_ports(1)
    with CountingProxy(port, listener.port) as proxy:
        failed = (_send_for if client == "producer" else _poll_for)(seconds, f"{LOOPBACK}:{port}", settings)
    assert failed > 0
    assert 1 <= proxy.connections <= _MAX_CONNECTIONS


def _send_for(seconds: float, address: str, settings: Settings) -> int:
    failed = 0
    with kwire.Producer(address, **settings) as producer:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with pytest.raises(errors.AuthError):
                producer.send("topic-of-refused", b"v").result(5.0)
            failed += 1
            time.sleep(0.2)
    return failed


def _poll_for(seconds: float, address: str, settings: Settings) -> int:
    failed = 0
    with kwire.Consumer(address, **settings) as consumer:
        consumer.assign([("topic-of-refused", 0)])
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with pytest.raises(errors.AuthError):
                consumer.poll(5.0)
            failed += 1
            time.sleep(0.2)
    return failed


@pytest.mark.kafka_all
def test_a_client_of_asyncio_does_not_hammer(secure_kafka: SecureClusterOf, keys: Keys) -> None:
    listener = secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"]
    settings = settings_for(listener, "SCRAM-SHA-256", keys) | {"sasl_password": "The-wrong-word-76"}
    [port] = free_ports(1)

    async def work() -> int:
        failed = 0
        async with kwire.aio.Producer(f"{LOOPBACK}:{port}", **settings) as producer:
            end = time.monotonic() + _LOOK_S
            while time.monotonic() < end:
                with pytest.raises(errors.AuthError):
                    await producer.send("topic-of-refused", b"v")
                failed += 1
                await asyncio.sleep(0.2)
        return failed

    with CountingProxy(port, listener.port) as proxy:
        assert asyncio.run(work()) > 0
        assert 1 <= proxy.connections <= _MAX_CONNECTIONS
