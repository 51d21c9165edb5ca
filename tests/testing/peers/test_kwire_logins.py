"""kwire's own clients log in to the embedded broker as every release, again and again, and through faults."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from kwire import Consumer, Producer
from kwire.errors import AuthError
from kwire.errors import broker as codes
from kwire.schema.releases import RELEASES
from kwire.testing import Broker, Certificates, Faults
from tests.timing import PATIENT

ALICE = {"alice": "secret"}
SESSION_MS = 1200


def options_of(release: str) -> dict[str, Any]:
    """All that the release has of TLS and logins."""
    number = tuple(int(part) for part in release.split("."))
    return {"tls": True} if number < (0, 10) else {"tls": "mutual", "users": ALICE}


@pytest.mark.parametrize("release", [name for name in RELEASES if not name.startswith("0.8")])
def test_records_go_through_every_release_with_tls_and_a_login(release: str) -> None:
    with Broker(release=release, topics={"orders": 1}, **options_of(release)) as broker:
        with Producer(broker.bootstrap_servers, **broker.client_settings) as producer:
            producer.send("orders", b"17.50", partition=0).result(PATIENT)
        with Consumer(broker.bootstrap_servers, **broker.client_settings) as consumer:
            consumer.assign([("orders", 0)], at={("orders", 0): "earliest"})
            assert consumer.poll(PATIENT).values() == [b"17.50"]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "OAUTHBEARER"])
def test_sessions_that_end_lose_nothing(mechanism: str) -> None:
    options: dict[str, Any] = {"mechanisms": [mechanism], "max_reauth_ms": SESSION_MS}
    with Broker(users=ALICE, tls=True, topics={"orders": 1}, **options) as broker:
        settings = broker.client_settings
        with Producer(broker.bootstrap_servers, **settings) as producer:
            with Consumer(broker.bootstrap_servers, **settings) as consumer:
                consumer.assign([("orders", 0)], at={("orders", 0): "earliest"})
                read: list[bytes | None] = []
                give_up, count = time.monotonic() + PATIENT, 0
                while broker.request_count("SaslHandshake") < 6:  # the connections of both, each again after a session
                    assert time.monotonic() < give_up
                    producer.send("orders", b"%d" % count, partition=0)
                    count += 1
                    read += consumer.poll(0.002).values()
                producer.flush(PATIENT)
                while len(read) < count:
                    read += consumer.poll(PATIENT).values()
                time.sleep(1.5 * SESSION_MS / 1000)  # nobody polls: the sessions may end
                producer.send("orders", b"later", partition=0).result(PATIENT)
                assert consumer.poll(PATIENT).values() == [b"later"]
        assert read == [b"%d" % n for n in range(count)]


FAULTS: list[Callable[[Faults], None]] = [
    lambda faults: faults.close("SaslHandshake"),
    lambda faults: faults.close("SaslAuthenticate"),
    lambda faults: faults.close("SaslAuthenticate", after_effect=True),
    lambda faults: faults.truncate("SaslAuthenticate", 9),
    lambda faults: faults.delay("SaslAuthenticate", 0.2),
    lambda faults: faults.slow(2000),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_login_that_fails_by_accident_is_tried_again(fault: Callable[[Faults], None]) -> None:
    with Broker(users=ALICE, tls=True, topics={"orders": 1}) as broker:
        fault(broker.faults)
        with Producer(broker.bootstrap_servers, **broker.client_settings) as producer:
            assert producer.send("orders", b"17.50", partition=0).result(PATIENT).offset == 0


def test_a_login_that_is_refused_is_said() -> None:
    with Broker(users=ALICE, tls=True, topics={"orders": 1}) as broker:
        right = broker.client_settings
        for wrong, said in (
            ({"sasl_password": "wrong"}, "SCRAM-SHA-512"),
            ({"sasl_username": "carol"}, "SCRAM-SHA-512"),
            ({"sasl_mechanism": "PLAIN", "sasl_password": "wrong"}, "invalid username or password"),
            ({"ssl_ca_pem": Certificates().ca_pem}, "certificate"),
        ):
            with Producer(broker.bootstrap_servers, **{**right, **wrong}) as producer:
                with pytest.raises(AuthError, match=said):
                    producer.send("orders", b"17.50", partition=0).result(PATIENT)
        broker.faults.error("SaslAuthenticate", codes.SASL_AUTHENTICATION_FAILED, times=None)
        with Producer(broker.bootstrap_servers, **right) as producer:
            with pytest.raises(AuthError):
                producer.send("orders", b"17.50", partition=0).result(PATIENT)
