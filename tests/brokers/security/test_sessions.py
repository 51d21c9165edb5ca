"""Sessions of 3 s: clients log in again on the connections that they have, and nobody notices."""

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import kwire
from kwire.producer import Delivery
from tests.brokers.connections import connections_to
from tests.brokers.keys import Keys
from tests.brokers.listeners import SESSION_LIFETIME_MS, Listener
from tests.brokers.plugin import SecureClusterOf
from tests.brokers.security.logged_in import logged_in
from tests.brokers.security.logins import NO_KERBEROS, settings_for, unsecured_token
from tests.brokers.security.work import read_whole

_TRAFFIC_S = 4.2 * SESSION_LIFETIME_MS / 1000
_SHORT_TRAFFIC_S = 2.3 * SESSION_LIFETIME_MS / 1000
_SETTLED_AFTER_S = 2.0
_WITHIN_S = 20.0
_PAUSE_S = 0.002

NewTopic = Callable[[], str]


class Watch:
    """Which connections there were to a listener, once the clients had settled."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.settled: set[int] = set()
        self.seen: set[int] = set()

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Looks for as long as it is entered."""
        self._thread.start()
        yield
        self.left = connections_to(self._listener.port)
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        self._over.wait(_SETTLED_AFTER_S)
        self.settled = connections_to(self._listener.port)
        while not self._over.wait(0.05):
            self.seen |= connections_to(self._listener.port)

    def check(self) -> None:
        """No connection was lost and none was made."""
        assert self.settled
        assert self.seen == self.settled
        assert self.left == self.settled


def _numbered(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def test_the_listeners_sessions_end(secure_kafka: SecureClusterOf) -> None:
    listeners = secure_kafka("4.4.0").listeners
    for name, lifetime in (("REAUTH", SESSION_LIFETIME_MS), ("SASL_PLAINTEXT", 0)):
        with logged_in(listeners[name]) as (_, told):
            assert told == lifetime


@pytest.mark.parametrize(
    ("release", "name", "mechanism", "seconds"),
    [
        ("4.4.0", "REAUTH_TLS", "SCRAM-SHA-512", _SHORT_TRAFFIC_S),
        *(
            pytest.param(release, name, mechanism, _TRAFFIC_S, marks=pytest.mark.kafka_all)
            for release in ("4.4.0", "3.9.2")
            for name in ("REAUTH", "REAUTH_TLS")
            for mechanism in ("PLAIN", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
        ),
    ],
)
def test_traffic_goes_on(
    secure_kafka: SecureClusterOf,
    keys: Keys,
    new_topic: NewTopic,
    release: str,
    name: str,
    mechanism: str,
    seconds: float,
) -> None:
    listeners, topic = secure_kafka(release).listeners, new_topic()
    if mechanism not in listeners.mechanisms:
        pytest.skip(NO_KERBEROS)
    listener = listeners[name]
    settings = settings_for(listener, mechanism, keys)
    watch = Watch(listener)
    deliveries: list[Delivery] = []
    read: list[bytes | None] = []
    with (
        kwire.Producer(listener.address, linger_ms=0, **settings) as producer,
        kwire.Consumer(listener.address, auto_offset_reset="earliest", **settings) as consumer,
    ):
        producer.send(topic, b"0").result(_WITHIN_S)
        consumer.assign([(topic, 0)])
        with watch.looking():
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                deliveries.append(producer.send(topic, b"%d" % (len(deliveries) + 1)))
                read += consumer.poll(_PAUSE_S).values()
            producer.flush()
        count = len(deliveries) + 1
        deadline = time.monotonic() + _WITHIN_S
        while len(read) < count and time.monotonic() < deadline:
            read += consumer.poll(1.0).values()
    assert [delivery.result(0).offset for delivery in deliveries] == list(range(1, count))
    assert read == _numbered(count)
    assert read_whole(listener.address, settings, topic) == _numbered(count)
    watch.check()


@pytest.mark.parametrize(
    ("name", "mechanism"),
    [("REAUTH", "SCRAM-SHA-256"), pytest.param("REAUTH_TLS", "PLAIN", marks=pytest.mark.kafka_all)],
)
def test_traffic_on_asyncio_goes_on(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, name: str, mechanism: str
) -> None:
    listener, topic = secure_kafka("4.4.0").listeners[name], new_topic()
    settings = settings_for(listener, mechanism, keys)
    watch = Watch(listener)

    async def work() -> tuple[list[int], list[bytes | None]]:
        offsets: list[int] = []
        read: list[bytes | None] = []
        async with (
            kwire.aio.Producer(listener.address, linger_ms=0, **settings) as producer,
            kwire.aio.Consumer(listener.address, auto_offset_reset="earliest", **settings) as consumer,
        ):
            offsets.append((await producer.send(topic, b"0")).offset)
            consumer.assign([(topic, 0)])
            with watch.looking():
                end = time.monotonic() + _SHORT_TRAFFIC_S
                while time.monotonic() < end:
                    offsets.append((await producer.send(topic, b"%d" % len(offsets))).offset)
                    read += (await consumer.poll(_PAUSE_S)).values()
            while len(read) < len(offsets):
                read += (await asyncio.wait_for(consumer.poll(1.0), _WITHIN_S)).values()
        return offsets, read

    offsets, read = asyncio.run(work())
    assert offsets == list(range(len(offsets)))
    assert read == _numbered(len(offsets))
    watch.check()


def test_a_password_changes_under_traffic(secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic) -> None:
    cluster, topic = secure_kafka("4.4.0"), new_topic()
    listener = cluster.listeners["REAUTH"]
    passwords = ["first-secret"]

    def change_at_the_brokers(password: str) -> None:
        with kwire.Admin(cluster.bootstrap_servers) as admin:
            admin.alter_user_scram_credentials({"carol": {"SCRAM-SHA-512": password}})

    change_at_the_brokers(passwords[0])
    settings = settings_for(listener, "SCRAM-SHA-512", keys) | {"sasl_credentials": lambda: ("carol", passwords[-1])}
    del settings["sasl_username"], settings["sasl_password"]
    deliveries: list[Delivery] = []
    with kwire.Producer(listener.address, linger_ms=0, **settings) as producer:
        producer.send(topic, b"0").result(_WITHIN_S)
        for change, password in (
            (change_at_the_brokers, "second-secret"),
            (passwords.append, "second-secret"),
            (passwords.append, "third-secret"),
            (change_at_the_brokers, "third-secret"),
        ):
            change(password)
            end = time.monotonic() + _SHORT_TRAFFIC_S
            while time.monotonic() < end:
                deliveries.append(producer.send(topic, b"%d" % (len(deliveries) + 1)))
                time.sleep(_PAUSE_S)
        producer.flush()
    assert [delivery.result(0).offset for delivery in deliveries] == list(range(1, len(deliveries) + 1))
    assert read_whole(listener.address, settings, topic) == _numbered(len(deliveries) + 1)


@pytest.mark.parametrize("release", ["4.4.0", pytest.param("3.9.2", marks=pytest.mark.kafka_all)])
def test_a_consumer_that_was_not_polled_for_longer(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic, caplog: pytest.LogCaptureFixture, release: str
) -> None:
    listener, topic = secure_kafka(release).listeners["REAUTH"], new_topic()
    settings = settings_for(listener, "PLAIN", keys)
    with (
        kwire.Producer(listener.address, **settings) as producer,
        kwire.Consumer(listener.address, auto_offset_reset="earliest", **settings) as consumer,
    ):
        producer.send(topic, b"0").result(_WITHIN_S)
        consumer.assign([(topic, 0)])
        assert list(consumer.poll(_WITHIN_S).values()) == [b"0"]
        before = connections_to(listener.port)
        time.sleep(1.5 * SESSION_LIFETIME_MS / 1000)
        producer.send(topic, b"1").result(_WITHIN_S)
        assert list(consumer.poll(_WITHIN_S).values()) == [b"1"]
        assert connections_to(listener.port) == before
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


@pytest.mark.kafka_all
def test_tokens_that_live_shorter_than_a_session(
    secure_kafka: SecureClusterOf, keys: Keys, new_topic: NewTopic
) -> None:
    listener, topic = secure_kafka("4.4.0").listeners["SASL_PLAINTEXT"], new_topic()
    asked: list[float] = []

    def source() -> tuple[str, float]:
        asked.append(time.monotonic())
        return unsecured_token(4.0)()

    settings = settings_for(listener, "OAUTHBEARER", keys) | {"sasl_oauth_token": source}
    with kwire.Producer(listener.address, linger_ms=0, **settings) as producer:
        end = time.monotonic() + 12.0
        sent: list[Delivery] = []
        while time.monotonic() < end:
            sent.append(producer.send(topic, b"%d" % len(sent)))
            time.sleep(0.01)
        assert [delivery.result(_WITHIN_S).offset for delivery in sent] == list(range(len(sent)))
    assert all(later - earlier > 1.0 for earlier, later in itertools.pairwise(asked)), asked
