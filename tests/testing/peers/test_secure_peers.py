"""Other clients log in to the embedded broker, unmodified, produce and consume, and are told where they are refused."""

from __future__ import annotations

import asyncio
import gc
import ssl
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from aiokafka.abc import AbstractTokenProvider as AioTokens
from confluent_kafka import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaTokens

from kwire.testing import Broker, Certificates
from kwire.testing.sasl.oauthbearer import unsecured_token
from tests.timing import PATIENT

pytestmark = pytest.mark.nightly  # each peer with each release: minutes

USERS = {"alice": "secret", "bob": "word"}
VALUE = b"x" * 50_000
MECHANISMS = "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"
WAYS = [
    (None, True),
    (None, "mutual"),
    *((mechanism, tls) for mechanism in MECHANISMS for tls in (False, True)),
]
Exchange = Callable[[Broker, str | None, str, Path], bytes]


def token() -> str:
    return unsecured_token("alice", time.time() - 1, 3600)


@contextmanager
def broker_for(mechanism: str | None, tls: Any, **options: Any) -> Iterator[Broker]:
    if mechanism is not None:
        options |= {"users": USERS, "mechanisms": [mechanism]}
    with Broker(tls=tls, topics={"orders": 1}, **options) as broker:
        yield broker


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """kafka-python leaves sockets open when it does not come in: they go here, not in the midst of another test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


# Settings


def confluent_settings(broker: Broker, mechanism: str | None, password: str) -> dict[str, Any]:
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": broker.client_settings["security_protocol"],
        "log_level": 0,
    }
    if broker.certificates is not None:
        settings["ssl.ca.pem"] = broker.ca_pem
    if "ssl_key_pem" in broker.client_settings:
        settings["ssl.certificate.pem"] = broker.client_settings["ssl_certificate_pem"]
        settings["ssl.key.pem"] = broker.client_settings["ssl_key_pem"]
    if mechanism == "OAUTHBEARER":
        settings |= {"sasl.mechanism": mechanism, "oauth_cb": lambda _: (token(), time.time() + 3600)}
    elif mechanism is not None:
        settings |= {"sasl.mechanism": mechanism, "sasl.username": "alice", "sasl.password": password}
    return settings


def python_settings(broker: Broker, mechanism: str | None, password: str, folder: Path, tokens: Any) -> dict[str, Any]:
    """What kafka-python and aiokafka have in common."""
    settings: dict[str, Any] = {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": broker.client_settings["security_protocol"],
    }
    if broker.certificates is not None:
        settings["ssl_context"] = context = ssl.create_default_context(cadata=broker.ca_pem)
        if "ssl_key_pem" in broker.client_settings:
            files = broker.certificates.write(folder)
            context.load_cert_chain(files["client.pem"], files["client.key"])
    if mechanism == "OAUTHBEARER":
        settings |= {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": tokens}
    elif mechanism is not None:
        settings |= {"sasl_mechanism": mechanism, "sasl_plain_username": "alice", "sasl_plain_password": password}
    return settings


class ForKafkaPython(KafkaTokens):  # type: ignore[misc]
    def token(self) -> str:
        return token()


class ForAioKafka(AioTokens):
    async def token(self) -> str:
        return token()


# The same with each client: one record there and back


def by_confluent(broker: Broker, mechanism: str | None, password: str, folder: Path) -> bytes:
    settings = confluent_settings(broker, mechanism, password)
    producer = confluent_kafka.Producer(settings)
    producer.produce("orders", VALUE, partition=0)
    assert producer.flush(PATIENT) == 0
    consumer = confluent_kafka.Consumer({**settings, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([confluent_kafka.TopicPartition("orders", 0, 0)])
    give_up, message = time.monotonic() + PATIENT, None
    while message is None:
        assert time.monotonic() < give_up
        message = consumer.poll(0.1)  # it may end early, with a token refreshed
    consumer.unassign()
    return message.value() or b""


def by_kafka_python(broker: Broker, mechanism: str | None, password: str, folder: Path) -> bytes:
    settings = python_settings(broker, mechanism, password, folder, ForKafkaPython())
    with kafka.KafkaProducer(**settings) as producer:
        producer.send("orders", VALUE, partition=0).get(PATIENT)
    with kafka.KafkaConsumer(**settings, auto_offset_reset="earliest") as consumer:
        consumer.assign([kafka.TopicPartition("orders", 0)])
        value: bytes = next(consumer).value
    return value


def by_aiokafka(broker: Broker, mechanism: str | None, password: str, folder: Path) -> bytes:
    settings = python_settings(broker, mechanism, password, folder, ForAioKafka())

    async def exchange() -> bytes:
        async with AIOKafkaProducer(**settings) as producer:
            await producer.send_and_wait("orders", VALUE, partition=0)
        async with AIOKafkaConsumer(**settings, auto_offset_reset="earliest") as consumer:
            consumer.assign([AioPartition("orders", 0)])
            return (await consumer.getone()).value or b""

    return asyncio.run(asyncio.wait_for(exchange(), PATIENT))


PEERS: dict[str, Exchange] = {"confluent": by_confluent, "kafka-python": by_kafka_python, "aiokafka": by_aiokafka}


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize(("mechanism", "tls"), WAYS)
def test_a_client_logs_in_produces_and_consumes(peer: str, mechanism: str | None, tls: Any, tmp_path: Path) -> None:
    with broker_for(mechanism, tls) as broker:
        assert PEERS[peer](broker, mechanism, "secret", tmp_path) == VALUE
        assert broker.request_count("SaslHandshake") >= (mechanism is not None)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("release", ["0.10.2.2", "0.11.0.3", "1.1.1"])
def test_a_client_logs_in_to_an_old_release(peer: str, release: str, tmp_path: Path) -> None:
    if peer == "aiokafka" and release == "0.10.2.2":
        pytest.skip("it speaks to 0.11 and newer")
    with broker_for("SCRAM-SHA-512", True, release=release) as broker:
        assert PEERS[peer](broker, "SCRAM-SHA-512", "secret", tmp_path) == VALUE


# Refused


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_confluent_is_told_of_a_wrong_password(mechanism: str) -> None:
    with broker_for(mechanism, True) as broker:
        error = refusal(confluent_settings(broker, mechanism, "wrong"))
        assert error.code() == KafkaError._AUTHENTICATION
        assert "wrong" not in error.str()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_aiokafka_is_told_of_a_wrong_password(mechanism: str, tmp_path: Path) -> None:
    async def start(settings: dict[str, Any]) -> None:
        producer = AIOKafkaProducer(**settings)
        try:
            await producer.start()
        finally:
            await producer.stop()

    with broker_for(mechanism, True) as broker:
        settings = python_settings(broker, mechanism, "wrong", tmp_path, None)
        with pytest.raises(aiokafka.errors.KafkaConnectionError):
            asyncio.run(asyncio.wait_for(start(settings), PATIENT))
        assert broker.request_count("SaslAuthenticate") >= 1
        assert broker.request_count("Metadata") == 0


def test_kafka_python_does_not_come_in_with_a_wrong_password(tmp_path: Path) -> None:
    with broker_for("PLAIN", True) as broker:
        settings = python_settings(broker, "PLAIN", "wrong", tmp_path, None)
        with pytest.raises(kafka.errors.KafkaError):
            kafka.KafkaProducer(**settings, bootstrap_timeout_ms=1000)
        assert broker.request_count("SaslAuthenticate") >= 1
        assert broker.request_count("Metadata") == 0


def test_confluent_is_told_of_a_mechanism_that_is_not_there() -> None:
    with broker_for("PLAIN", False) as broker:
        error = refusal(confluent_settings(broker, "SCRAM-SHA-256", "secret"))
        assert error.code() == KafkaError._AUTHENTICATION
        assert "PLAIN" in error.str(), "librdkafka names what the broker offers"


@pytest.mark.parametrize(
    ("wrong", "options"),
    [
        ({"ssl.ca.pem": Certificates().ca_pem}, {}),
        ({}, {"certificates": Certificates(["kafka.example"])}),
        ({"ssl.certificate.pem": "", "ssl.key.pem": ""}, {"tls": "mutual"}),
    ],
    ids=["another authority", "another host", "no certificate"],
)
def test_confluent_is_told_of_wrong_certificates(wrong: dict[str, str], options: dict[str, Any]) -> None:
    with broker_for(None, **{"tls": True, **options}) as broker:
        settings = {**confluent_settings(broker, None, ""), **wrong}
        error = refusal({name: value for name, value in settings.items() if value != ""})
        assert error.code() in (KafkaError._SSL, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)


def refusal(settings: dict[str, Any]) -> KafkaError:
    """The first error that librdkafka tells."""
    errors: list[KafkaError] = []
    producer = confluent_kafka.Producer({**settings, "error_cb": errors.append})
    producer.produce("orders", b"")
    until = time.monotonic() + PATIENT
    while not errors and time.monotonic() < until:
        producer.poll(0.1)
    producer.purge()
    return errors[0]


# Re-authentication


def test_confluent_logs_in_again_and_loses_nothing() -> None:
    mechanism = "SCRAM-SHA-512"
    with broker_for(mechanism, True, max_reauth_ms=3000) as broker:
        settings = {**confluent_settings(broker, mechanism, "secret"), "linger.ms": 1, "enable.idempotence": True}
        producer = confluent_kafka.Producer(settings)
        fates: list[KafkaError | None] = []
        give_up, count = time.monotonic() + PATIENT, 0
        while broker.request_count("SaslHandshake") < 4:  # two connections, each at least once more
            assert time.monotonic() < give_up
            producer.produce("orders", b"%d" % count, partition=0, on_delivery=lambda error, _: fates.append(error))
            count += 1
            producer.poll(0.002)
        assert producer.flush(PATIENT) == 0
        assert set(fates) == {None}
        assert broker.values("orders") == [b"%d" % n for n in range(count)]
