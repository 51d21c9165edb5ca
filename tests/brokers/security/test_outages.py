"""Brokers with TLS and logins that die and come back, and sessions that end under load."""

import asyncio
import time
from collections.abc import Callable

import pytest

import kwire
from kwire.producer import Delivery
from tests.brokers.connections import connections_to
from tests.brokers.kdc import Kdc
from tests.brokers.keys import Keys
from tests.brokers.listeners import SESSION_LIFETIME_MS
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.secure_cluster import SecureCluster
from tests.brokers.security.logins import NO_KERBEROS, settings_for
from tests.brokers.security.work import read_whole

pytestmark = [pytest.mark.kafka, pytest.mark.kafka_all]

_WITHIN_S = 60.0
_LOAD_S = 3.2 * SESSION_LIFETIME_MS / 1000
_BATCH = 1000

NewTopic = Callable[[], str]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "GSSAPI"])
def test_a_broker_that_is_killed_and_comes_back(keys: Keys, realm: Kdc | None, mechanism: str) -> None:
    with SecureCluster("4.4.0", keys, realm) as cluster:
        if mechanism not in cluster.listeners.mechanisms:
            pytest.skip(NO_KERBEROS)
        listener = cluster.listeners["REAUTH_TLS"]
        settings = settings_for(listener, mechanism, keys)
        sent: list[Delivery] = []

        def send_for(seconds: float) -> None:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                sent.append(producer.send("outlives-its-broker", b"%d" % len(sent)))
                time.sleep(0.001)

        with kwire.Producer(listener.address, delivery_timeout_ms=120_000, **settings) as producer:
            send_for(2.0)
            cluster.kill_node(1)
            send_for(1.0)
            cluster.start_node(1)
            send_for(4.0)
            producer.flush(_WITHIN_S)
        assert [delivery.result(0).offset for delivery in sent] == list(range(len(sent)))
        assert read_whole(listener.address, settings, "outlives-its-broker") == [
            b"%d" % number for number in range(len(sent))
        ]


@pytest.mark.parametrize(
    ("name", "mechanism"), [("REAUTH_TLS", "SCRAM-SHA-256"), ("REAUTH", "OAUTHBEARER"), ("REAUTH_TLS", "GSSAPI")]
)
def test_sessions_end_under_load(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, name: str, mechanism: str
) -> None:
    listeners, topic = secure_kafka("4.4.0").listeners, new_topic()
    if mechanism not in listeners.mechanisms:
        pytest.skip(NO_KERBEROS)
    settings = settings_for(listeners[name], mechanism, keys)
    padding = b"." * 1000
    count = 0
    with (
        kwire.Producer(listeners[name].address, **settings) as producer,
        kwire.Consumer(listeners[name].address, auto_offset_reset="earliest", **settings) as consumer,
    ):
        producer.send(topic, b"-1" + padding).result(_WITHIN_S)
        consumer.assign([(topic, 0)], at={(topic, 0): 1})
        read: list[int] = []
        end = time.monotonic() + _LOAD_S
        connections: set[int] = set()
        while time.monotonic() < end:
            producer.send_many(topic, [b"%d" % number + padding for number in range(count, count + _BATCH)])
            count += _BATCH
            read += [int(value[: -len(padding)]) for value in consumer.poll(0.01).values() if value]
            connections |= connections_to(listeners[name].port)
        producer.flush(_WITHIN_S)
        while len(read) < count:
            records = consumer.poll(_WITHIN_S)
            assert records
            read += [int(value[: -len(padding)]) for value in records.values() if value]
        assert connections_to(listeners[name].port) <= connections
    print(f"{count} records of 1 kB in {_LOAD_S:.1f} s on connections {len(connections)}")
    assert read == list(range(count))
    assert len(connections) <= 5


@pytest.mark.parametrize("name", ["REAUTH", "REAUTH_TLS"])
def test_a_loop_that_is_blocked_for_longer_than_a_session(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    listener, topic = secure_kafka("4.4.0").listeners[name], new_topic()
    settings = settings_for(listener, "SCRAM-SHA-256", keys)

    async def work() -> None:
        async with (
            kwire.aio.Producer(listener.address, **settings) as producer,
            kwire.aio.Consumer(listener.address, auto_offset_reset="earliest", **settings) as consumer,
        ):
            await producer.send(topic, b"0")
            consumer.assign([(topic, 0)])
            assert list((await consumer.poll(_WITHIN_S)).values()) == [b"0"]
            before = connections_to(listener.port)
            time.sleep(1.5 * SESSION_LIFETIME_MS / 1000)
            assert (await producer.send(topic, b"1")).offset == 1
            assert list((await consumer.poll(_WITHIN_S)).values()) == [b"1"]
            assert connections_to(listener.port) == before

    asyncio.run(work())
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []
