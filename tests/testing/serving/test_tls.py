"""The embedded broker behind TLS, with Python's own client: handshakes, certificates, and clients that speak none."""

from __future__ import annotations

import datetime
import random
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kwire import protocol
from kwire.errors import ConfigError
from kwire.protocol import MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from kwire.testing import Broker, Certificates
from tests.testing.client import Client
from tests.testing.frames import damage
from tests.testing.wire import batch, fetch, produce, values
from tests.timing import PATIENT

ALL_TOPICS = MetadataRequest(topics=None)
V1_2, V1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


class TlsClient(Client):
    """A Client through TLS."""

    def __init__(self, broker: Broker, context: ssl.SSLContext, name: str = "127.0.0.1") -> None:
        super().__init__(broker)
        self.plain = self.socket
        try:
            self.socket = context.wrap_socket(self.plain, server_hostname=name)
        except BaseException:
            self.plain.close()
            raise


def trusting(broker: Broker, **limits: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=broker.ca_pem)
    for name, version in limits.items():
        setattr(context, name, version)
    return context


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(tls=True, topics={"orders": 2}) as started:
        yield started


@pytest.mark.parametrize("version", [V1_2, V1_3])
def test_requests_are_answered(broker: Broker, version: ssl.TLSVersion) -> None:
    with TlsClient(broker, trusting(broker, minimum_version=version, maximum_version=version)) as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        assert client.socket.version() == version.name.replace("v1_", "v1.")
        client.send(ALL_TOPICS, 9)
        client.send(produce(batch(b"a")), 9)
        assert [topic.name for topic in client.receive().topics] == ["orders"]
        assert client.receive().responses[0].partition_responses[0].base_offset == 0


@pytest.mark.parametrize(("release", "version"), [("0.9.0.1", "TLSv1.2"), ("2.5.1", "TLSv1.2"), ("2.6.0", "TLSv1.3")])
def test_tls_1_3_came_with_2_6(release: str, version: str) -> None:
    with Broker(tls=True, release=release) as broker, TlsClient(broker, trusting(broker)) as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        assert client.socket.version() == version


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1"])
def test_the_certificate_is_for_loopback(broker: Broker, name: str) -> None:
    with TlsClient(broker, trusting(broker), name) as client:
        assert client.ask(ALL_TOPICS, 9).topics


def test_large_requests_and_answers_go_through_whole(broker: Broker) -> None:
    with TlsClient(broker, trusting(broker)) as client:
        for n in range(3):
            client.ask(produce(batch(bytes([n]) * 1_000_000)), 9)
        broker.append("orders", batch(b"x" * 700_000))
        seen: list[int] = []
        while len(seen) < 4:
            request = fetch(len(seen), partition_max_bytes=1 << 26, max_bytes=1 << 26)
            answer = client.ask(request, 11).responses[0].partitions[0]
            seen += [len(value) for value in values(answer.records)]
        assert seen == [1_000_000] * 3 + [700_000]


def test_a_client_that_reads_late_gets_everything(broker: Broker) -> None:
    for _ in range(20):
        broker.append("orders", batch(b"x" * 1_000_000))
    with TlsClient(broker, trusting(broker)) as client, TlsClient(broker, trusting(broker)) as other:
        for offset in range(20):
            client.send(fetch(offset, partition_max_bytes=1, max_bytes=1), 11)
        assert other.ask(ALL_TOPICS, 9).topics, "the broker does not wait for the first"
        for _ in range(20):
            assert len(values(client.receive().responses[0].partitions[0].records)[0]) == 1_000_000


def test_many_requests_in_one_record_are_all_answered(broker: Broker) -> None:
    """What is decrypted with the first request is not forgotten while it is served."""
    frames = [protocol.encode_request(ALL_TOPICS, 9, correlation_id=n, client_id="c") for n in range(200)]
    with TlsClient(broker, trusting(broker)) as client:
        client.socket.sendall(b"".join(frames))
        seen = [struct.unpack_from(">i", client.read_frame(), 4)[0] for _ in frames]
    assert seen == list(range(200))


def test_a_handshake_may_come_byte_by_byte(broker: Broker) -> None:
    with byte_by_byte(broker.port) as port:
        context = trusting(broker)
        with socket.create_connection(("127.0.0.1", port), 10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as secure:
                assert secure.version() == "TLSv1.3"


@contextmanager
def byte_by_byte(target: int) -> Iterator[int]:
    """A proxy for one connection that hands on the client's bytes one by one, and the broker's as they come."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def pump() -> None:
            near, _ = listener.accept()
            with near, socket.create_connection(("127.0.0.1", target), 10) as far:
                far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                back = threading.Thread(target=copy, args=(far, near, 65536))
                back.start()
                copy(near, far, 1)
                far.shutdown(socket.SHUT_RDWR)
                back.join(PATIENT)

        thread = threading.Thread(target=pump)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(PATIENT)


def copy(source: socket.socket, sink: socket.socket, size: int) -> None:
    """Hands on what comes, in pieces of `size` bytes, until one of both is closed."""
    with suppress(OSError):
        while data := source.recv(size):
            sink.sendall(data)


def test_a_session_is_resumed(broker: Broker) -> None:
    context = trusting(broker)
    with TlsClient(broker, context) as client:
        client.ask(ALL_TOPICS, 9)
        assert isinstance(client.socket, ssl.SSLSocket)
        session = client.socket.session
    with socket.create_connection(("127.0.0.1", broker.port), 10) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as secure:
            assert secure.session_reused


# What is refused


def test_a_plaintext_client_gets_an_alert_and_a_close(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with Client(broker) as client:
        client.send(ALL_TOPICS, 9)
        assert client.socket.recv(100) == bytes.fromhex("15 03 03 00 02 02 50")
        assert client.is_closed()
    assert "does not speak TLS" in caplog.text


def test_a_tls_client_is_closed_by_a_plaintext_broker() -> None:
    with Broker() as broker, pytest.raises((ssl.SSLError, ConnectionError)):
        TlsClient(broker, ssl.create_default_context())


def test_a_client_that_does_not_trust_the_authority_ends(broker: Broker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with pytest.raises(ssl.SSLCertVerificationError):
        TlsClient(broker, ssl.create_default_context())
    with TlsClient(broker, trusting(broker)) as client:
        assert client.ask(ALL_TOPICS, 9).topics
    assert "UNKNOWN_CA" in caplog.text


def test_a_name_that_is_not_the_brokers_is_refused(broker: Broker) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        TlsClient(broker, trusting(broker), "example.com")


def test_certificates_for_other_names_and_of_another_time() -> None:
    elsewhere = Certificates(["kafka.example"])
    with Broker(tls=True, certificates=elsewhere) as broker:
        with TlsClient(broker, trusting(broker), "kafka.example") as client:
            assert client.ask(ALL_TOPICS, 9) is not None
        with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
            TlsClient(broker, trusting(broker))
    with Broker(tls=True, certificates=Certificates(valid_for=datetime.timedelta(days=-1))) as broker:
        with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
            TlsClient(broker, trusting(broker))


@pytest.mark.parametrize("version", [V1_2, V1_3])
def test_a_client_certificate_is_asked_for(tmp_path: Path, version: ssl.TLSVersion) -> None:
    with Broker(tls="mutual", topics={"orders": 1}) as broker:
        assert broker.certificates is not None
        files = broker.certificates.write(tmp_path)
        assert broker.client_settings["ssl_key_pem"] == Path(files["client.key"]).read_text()
        context = trusting(broker, maximum_version=version)
        with pytest.raises(ssl.SSLError, match=r"(?i)certificate.required|handshake.failure"):
            with TlsClient(broker, context) as client:
                client.ask(ALL_TOPICS, 9)
        context.load_cert_chain(files["client.pem"], files["client.key"])
        with TlsClient(broker, context) as client:
            assert client.ask(ALL_TOPICS, 9).topics


def test_a_certificate_of_another_authority_is_refused(tmp_path: Path) -> None:
    files = Certificates().write(tmp_path)
    with Broker(tls="mutual") as broker:
        context = trusting(broker)
        context.load_cert_chain(files["client.pem"], files["client.key"])
        with pytest.raises(ssl.SSLError, match=r"(?i)unknown.ca"), TlsClient(broker, context) as client:
            client.ask(ALL_TOPICS, 9)


def test_a_refused_login_is_told_through_tls() -> None:
    with Broker(tls=True, users={"alice": "secret"}) as broker, TlsClient(broker, trusting(broker)) as client:
        assert client.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
        assert client.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"), 2).error_code == 58
        assert client.is_closed()


def test_the_client_is_told_of_the_end(broker: Broker) -> None:
    with TlsClient(broker, trusting(broker)) as client:
        assert client.ask(ALL_TOPICS, 9).topics
        broker.close_connections()
        assert client.socket.recv(1) == b"", "not a ragged end, which is an error"


def test_damaged_records_harm_nobody_else(broker: Broker) -> None:
    rng = random.Random(3)
    with TlsClient(broker, trusting(broker)) as good:
        for _ in range(60):
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            client = trusting(broker).wrap_bio(incoming, outgoing, server_hostname="localhost")
            with socket.create_connection(("127.0.0.1", broker.port), 10) as connection, suppress(OSError):
                for step in (client.do_handshake, client.do_handshake, partial(client.write, bytes(100))):
                    with suppress(ssl.SSLWantReadError):
                        step()
                    data = bytearray(outgoing.read())
                    if rng.random() < 0.5:
                        damage(data, rng)
                    connection.sendall(data)
                    connection.settimeout(0.05)
                    incoming.write(connection.recv(65536))
            assert good.ask(ALL_TOPICS, 9).topics


# Options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tls": True, "release": "0.8.2.2"}, "0.9.0.0 is the first"),
        ({"tls": "both"}, "True, or 'mutual'"),
        ({"tls": True, "generation": "0.7"}, "has no security"),
        ({"users": {"alice": "secret"}, "release": "0.9.0.1"}, "0.10.0.0 has PLAIN"),
        ({"users": {"alice": ""}}, "non-empty"),
        ({"users": {"alice": "secret"}, "mechanisms": ["GSSAPI"]}, "SCRAM-SHA-512, SCRAM-SHA-256, PLAIN, OAUTHBEARER"),
        ({"users": {"alice": "secret"}, "mechanisms": "SCRAM-SHA-512", "release": "0.10.0.1"}, "has PLAIN here"),
        ({"users": {"alice": "secret"}, "mechanisms": []}, "name one"),
        ({"users": {"alice": "secret"}, "max_reauth_ms": -1}, "max_reauth_ms -1"),
        ({"users": {"alice": "secret"}, "scram_iterations": 0}, "scram_iterations 0"),
        ({"users": {"alice": "secret"}, "max_reauth_ms": 1, "release": "2.1.1"}, "2.2.0 is the first"),
        ({"mechanisms": ["PLAIN"]}, "no users"),
        ({"max_reauth_ms": 1}, "no users"),
    ],
)
def test_options_that_do_not_fit_are_said(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Broker(**options)


def test_users_are_a_mapping() -> None:
    with pytest.raises(TypeError, match="users is a mapping of names to passwords, not list"):
        Broker(users=["alice"])  # type: ignore[arg-type]


def test_certificates_need_tls() -> None:
    with pytest.raises(ConfigError, match="with tls=True only"):
        Broker(certificates=Certificates())
    with pytest.raises(ConfigError, match="without tls=True"):
        _ = Broker().ca_pem


def test_client_settings_log_the_first_user_in() -> None:
    users = {"alice": "secret", "bob": "word"}
    assert Broker().client_settings == {"security_protocol": "PLAINTEXT"}
    assert Broker(users=users).client_settings == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": "alice",
        "sasl_password": "secret",
    }
    secure = Broker(users=users, mechanisms=["OAUTHBEARER"], tls=True)
    settings = secure.client_settings
    assert settings["security_protocol"] == "SASL_SSL"
    assert settings["ssl_ca_pem"] == secure.ca_pem
    token, lifetime = settings["sasl_oauth_token"]()
    assert (token.count("."), lifetime) == (2, 3600)
    assert "secret" not in repr(secure)


def test_a_broker_without_tls_imports_no_ssl() -> None:
    script = "import sys, kwire.testing.broker; sys.exit('ssl' in sys.modules or 'cryptography' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_missing_cryptography_is_said() -> None:
    script = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from kwire import testing\n"
        "try: testing.Broker(tls=True)\n"
        "except testing.broker.ConfigError as error: assert 'kwire[tls]' in str(error)\n"
        "else: sys.exit('no error')"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
