"""TLS from bytes to bytes: the client's stream against Python's own server side, in memory."""

from __future__ import annotations

import random
import re
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kwire.drivers import tls
from kwire.drivers.plaintext_probe import PlaintextProbe
from kwire.drivers.tls import TlsClient, TlsStream
from kwire.engine.common.addresses import Address
from kwire.errors import AuthError
from tests.certificates import Authority, Issued
from tests.drivers.tls_sides import AUTHORITY, HOST, ServerSide, client_context, server_context
from tests.each import each

ADDRESS = Address(HOST, 9093)
VERSIONS = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
Sizes = Callable[[], int]


class Wire:
    """A stream and a server side, and what each says to the other, `sizes()` bytes at a time."""

    def __init__(self, stream: TlsStream, server: ServerSide, sizes: Sizes = lambda: 1 << 20) -> None:
        self.stream = stream
        self.server = server
        self.sizes = sizes
        self.received = bytearray()

    def to_client(self, data: bytes) -> None:
        """Feeds the stream, goes on with its handshake, and takes what it decrypts."""
        room = memoryview(bytearray(1 << 20))
        for piece in self._pieces(data):
            self.stream.feed(piece)
            if not self.stream.established and not self.stream.handshake():
                continue
            while self.stream.readable:
                self.received += room[: self.stream.read_into(room)]

    def to_server(self) -> None:
        """Sends what is outgoing, and takes back what the server answers."""
        while data := self.stream.outgoing():
            piece = data[: self.sizes()]
            self.stream.sent(len(piece))
            self.to_client(self.server.feed(piece))

    def shake_hands(self) -> Wire:
        assert not self.stream.handshake()
        while not (self.stream.established and self.server.established):
            assert self.stream.has_outgoing
            self.to_server()
        return self

    def say(self, *parts: bytes) -> None:
        """Encrypts and sends all of it."""
        rest = list(parts)
        while rest:
            self.to_server()
            taken = self.stream.encrypt(rest)
            assert taken
            while rest and taken >= len(rest[0]):
                taken -= len(rest.pop(0))
            if taken:
                rest[0] = rest[0][taken:]
        self.to_server()

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            size = self.sizes()
            yield data[at : at + size]
            at += size


@pytest.fixture
def server(tmp_path: Path) -> ssl.SSLContext:
    return server_context(tmp_path)


@pytest.fixture
def client() -> TlsClient:
    return TlsClient(client_context())


def begun(
    client: TlsClient, server: ssl.SSLContext, sizes: Sizes = lambda: 1 << 20, address: Address = ADDRESS
) -> Wire:
    return Wire(stream_to(client, address), ServerSide(server), sizes)


def stream_to(client: TlsClient, address: Address = ADDRESS) -> TlsStream:
    stream = client.stream(address)
    assert isinstance(stream, TlsStream)
    return stream


def refused(client: TlsClient, server: ssl.SSLContext, address: Address = ADDRESS) -> AuthError:
    """The error of a handshake that fails at the client's side."""
    with pytest.raises(AuthError) as caught:
        begun(client, server, address=address).shake_hands()
    assert caught.value.broker == str(address)
    assert caught.value.step == "TLS handshake"
    assert caught.value.reason
    return caught.value


# -- bytes ------------------------------------------------------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_both_directions_in_pieces_of_any_size(
    client: TlsClient, server: ssl.SSLContext, version: ssl.TLSVersion, size: int
) -> None:
    client.context.maximum_version = version
    wire = begun(client, server, lambda: size).shake_hands()
    for text in (b"x", bytes(range(256)) * 300, b"y" * 5):
        wire.say(text)
        wire.to_client(wire.server.send(text[::-1]))
        assert wire.server.received == text
        assert wire.received == text[::-1]
        wire.server.received.clear()
        wire.received.clear()


def test_megabytes_in_large_and_tiny_parts(client: TlsClient, server: ssl.SSLContext) -> None:
    random_ = random.Random(1)
    wire = begun(client, server, lambda: random_.randint(1, 100_000)).shake_hands()
    parts = [random_.randbytes(random_.choice([1, 3, 200, 70_000, 700_000])) for _ in range(30)]
    wire.say(*parts)
    assert wire.server.received == b"".join(parts)
    back = random_.randbytes(3_000_000)
    wire.to_client(wire.server.send(back))
    assert wire.received == back


def test_many_tiny_records_are_read_into_one_room(client: TlsClient, server: ssl.SSLContext) -> None:
    wire = begun(client, server).shake_hands()
    wire.stream.feed(b"".join(wire.server.send(bytes([number])) for number in range(200)))
    room = memoryview(bytearray(1000))
    assert wire.stream.read_into(room) == 200
    assert room[:200] == bytes(range(200))
    assert not wire.stream.readable


def test_what_does_not_fit_into_the_room_stays_readable(client: TlsClient, server: ssl.SSLContext) -> None:
    wire = begun(client, server).shake_hands()
    wire.stream.feed(wire.server.send(bytes(range(200)) * 200))
    found = bytearray()
    room = memoryview(bytearray(33))
    while wire.stream.readable:
        found += room[: wire.stream.read_into(room)]
    assert found == bytes(range(200)) * 200


@VERSIONS
def test_whether_a_record_is_there_in_part_is_known(
    client: TlsClient, server: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    client.context.maximum_version = version
    wire = begun(client, server).shake_hands()
    records = [wire.server.send(bytes(size)) for size in (16384, 34, 16384)]
    wire.to_client(b"".join(records))
    assert not wire.stream.cut
    more = wire.server.send(bytes(300))
    wire.to_client(more[:4])
    assert wire.stream.cut
    wire.to_client(more[4:-1])
    assert wire.stream.cut
    wire.to_client(more[-1:])
    assert not wire.stream.cut
    assert len(wire.received) == 16384 + 34 + 16384 + 300


def test_small_parts_share_a_record_and_large_ones_are_not_copied(client: TlsClient, server: ssl.SSLContext) -> None:
    wire = begun(client, server).shake_hands()
    assert wire.stream.encrypt([b"a" * 10, b"b" * 20, b"c"]) == 31
    assert wire.stream.encrypt([b"b" * (2 * tls.ENCRYPTED_AT_ONCE), b"c"]) == tls.ENCRYPTED_AT_ONCE
    assert wire.stream.encrypt([b"a" * 60_000] * 9) == 60_000 * (tls.ENCRYPTED_AT_ONCE // 60_000)


def test_a_small_part_and_the_large_one_behind_it_are_sent_together(client: TlsClient, server: ssl.SSLContext) -> None:
    wire = begun(client, server).shake_hands()
    small, large = b"a" * 10, b"b" * 100_000
    assert wire.stream.encrypt([small, large, small, small, large, small, large]) == 2 * 100_000 + 4 * 10
    ciphertext = len(wire.stream.outgoing())
    wire.stream.sent(ciphertext)
    assert not wire.stream.has_outgoing
    assert ciphertext > 200_040
    assert wire.stream.encrypt([small, b"b" * tls.ENCRYPTED_AT_ONCE]) == 10


def test_ciphertext_is_not_joined_again_when_the_socket_takes_a_little(
    client: TlsClient, server: ssl.SSLContext
) -> None:
    wire = begun(client, server).shake_hands()
    wire.stream.encrypt([b"a" * 100_000])
    first = wire.stream.outgoing()
    wire.stream.sent(10)
    assert wire.stream.outgoing().obj is first.obj
    assert len(wire.stream.outgoing()) == len(first) - 10


# -- the end ----------------------------------------------------------------------------------------------------------


@VERSIONS
def test_what_came_before_close_notify_is_read_first(
    client: TlsClient, server: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    client.context.maximum_version = version
    wire = begun(client, server).shake_hands()
    wire.stream.feed(wire.server.send(b"last words") + wire.server.close())
    room = memoryview(bytearray(100))
    assert wire.stream.read_into(room) == 10
    assert wire.stream.readable
    with pytest.raises(ConnectionError, match=r"^the broker closed the connection$"):
        wire.stream.read_into(room)


@VERSIONS
def test_close_tells_the_server(client: TlsClient, server: ssl.SSLContext, version: ssl.TLSVersion) -> None:
    client.context.maximum_version = version
    wire = begun(client, server).shake_hands()
    assert not wire.server.closed
    wire.stream.close()
    wire.to_server()
    assert wire.server.closed


def test_the_words_for_a_socket_that_ends(client: TlsClient, server: ssl.SSLContext) -> None:
    wire = begun(client, server)
    assert "at the first bytes of TLS" in str(wire.stream.end())
    client.suspects.clear()
    wire.stream.handshake()
    wire.stream.feed(wire.server.feed(wire.stream.outgoing())[:20])
    assert str(wire.stream.end()) == "the broker closed the connection during the TLS handshake"
    assert str(begun(client, server).shake_hands().stream.end("gone")) == "gone"


def test_a_stream_that_never_shook_hands_closes_in_silence(client: TlsClient) -> None:
    stream = stream_to(client)
    stream.close()
    assert not stream.has_outgoing


# -- sessions ---------------------------------------------------------------------------------------------------------


@VERSIONS
def test_the_next_connection_to_an_address_resumes_the_session(
    client: TlsClient, server: ssl.SSLContext, version: ssl.TLSVersion
) -> None:
    client.context.maximum_version = version
    for expected in (False, True, True):
        wire = begun(client, server).shake_hands()
        wire.to_client(wire.server.send(b"hello"))
        wire.stream.close()
        wire.to_server()
        assert wire.server.object.session_reused is expected
    assert begun(client, server, address=Address("127.0.0.1", 9093)).shake_hands().server.object.session_reused is False


def test_a_failed_handshake_forgets_the_session(client: TlsClient, server: ssl.SSLContext, tmp_path: Path) -> None:
    wire = begun(client, server).shake_hands()
    wire.to_client(wire.server.send(b"hello"))
    wire.stream.close()
    assert client.sessions
    refused(client, server_context(tmp_path, Authority().issue("other")))
    assert not client.sessions


def test_the_addresses_used_last_keep_their_sessions(
    client: TlsClient, server: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "MAX_ADDRESSES", 2)
    addresses = [Address("127.0.0.1", port) for port in (1, 2, 3)]
    for address in (addresses[0], addresses[1], addresses[0], addresses[2]):
        wire = begun(client, server, address=address).shake_hands()
        wire.to_client(wire.server.send(b"hello"))
    assert list(client.sessions) == [addresses[0], addresses[2]]


def test_suspicions_are_bounded(client: TlsClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "MAX_ADDRESSES", 2)
    for port in range(1, 6):
        client.stream(Address("127.0.0.1", port)).end()
    assert len(client.suspects) <= 2


# -- refusals ---------------------------------------------------------------------------------------------------------


@VERSIONS
@pytest.mark.parametrize(
    ("issued", "words"),
    [
        (AUTHORITY.issue("broker", hosts=(HOST,), days=-3), "has expired on [A-Z][a-z][a-z] [ 0-9][0-9] .* GMT"),
        (
            AUTHORITY.issue("broker", hosts=("other.test", "10.0.0.1")),
            "not for 'broker.test'; it names: other.test, 10",
        ),
        (Authority("stranger").issue("broker", hosts=(HOST,)), r"a CA that is not trusted here \(stranger\): .*ssl_ca"),
        (Authority(HOST), "self-signed, and is not trusted here: see ssl_ca_location"),
    ],
    ids=["expired", "other name", "other CA", "self-signed"],
)
def test_a_certificate_that_is_not_trusted(
    client: TlsClient, tmp_path: Path, issued: Issued, words: str, version: ssl.TLSVersion
) -> None:
    client.context.maximum_version = version
    assert re.search(words, str(refused(client, server_context(tmp_path, issued))))


def test_names_in_certificates_of_strangers_write_no_lines_of_a_log(client: TlsClient, tmp_path: Path) -> None:
    stranger = Authority("all is well\nERROR \x1b[31m").issue("broker", hosts=(HOST,))
    assert "(all is well\ufffdERROR \ufffd[31m)" in str(refused(client, server_context(tmp_path, stranger)))
    many = AUTHORITY.issue("broker", hosts=[f"host-{number}.test" for number in range(500)])
    assert len(str(refused(client, server_context(tmp_path, many)))) < 500


def test_addresses_are_checked_as_addresses(client: TlsClient, server: ssl.SSLContext) -> None:
    begun(client, server, address=Address("127.0.0.1", 9093)).shake_hands()
    error = refused(client, server, Address("127.0.0.2", 9093))
    assert "not for '127.0.0.2'; it names: broker.test, 127.0.0.1" in str(error)


def test_the_name_is_asked_for_and_addresses_are_not(client: TlsClient, server: ssl.SSLContext) -> None:
    asked: list[str | None] = []
    server.sni_callback = lambda side, name, context: asked.append(name)
    begun(client, server).shake_hands()
    begun(client, server, address=Address(f"{HOST}.", 9093)).shake_hands()
    begun(client, server, address=Address("127.0.0.1", 9093)).shake_hands()
    assert asked == [HOST, HOST, None]


def test_the_alert_that_refuses_a_certificate_is_sent(client: TlsClient, tmp_path: Path) -> None:
    wire = begun(client, server_context(tmp_path, Authority().issue("other", hosts=(HOST,))))
    with pytest.raises(AuthError):
        wire.shake_hands()
    assert wire.stream.has_outgoing
    wire.server.feed(wire.stream.outgoing())
    assert wire.server.closed


def alerted(wire: Wire) -> AuthError:
    """The error where the server refuses: in the handshake, or with TLS 1.3 in the first read after it."""
    with pytest.raises(AuthError) as caught:
        wire.shake_hands().to_server()
    assert caught.value.step == "TLS handshake"
    return caught.value


@VERSIONS
def test_a_broker_that_misses_a_certificate(client: TlsClient, tmp_path: Path, version: ssl.TLSVersion) -> None:
    client.context.maximum_version = version
    wire = begun(client, server_context(tmp_path, clients=AUTHORITY))
    error = alerted(wire)
    assert "ssl_certificate_location" in str(error)
    if version is ssl.TLSVersion.TLSv1_3:
        assert error.reason == "certificate_required"
        assert wire.stream.established


def test_an_old_broker_that_refuses_a_certificate_repeats_itself(client: TlsClient, tmp_path: Path) -> None:
    context = server_context(tmp_path, clients=Authority("another"))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    stream = client.stream(ADDRESS)
    assert not stream.handshake()
    flight = ServerSide(context).feed(stream.outgoing())
    stream.feed(flight)
    assert not stream.handshake()
    stream.feed(flight)
    with pytest.raises(AuthError, match=r"brokers before Kafka 2\.0 do that refuse the client's certificate") as caught:
        stream.handshake()
    assert (caught.value.broker, caught.value.step) == (str(ADDRESS), "TLS handshake")


@VERSIONS
def test_a_broker_that_does_not_know_the_clients_authority(tmp_path: Path, version: ssl.TLSVersion) -> None:
    context = client_context()
    context.maximum_version = version
    files = Authority("of clients").issue("alice", hosts=()).write(tmp_path, "alice")
    context.load_cert_chain(files.certificate, files.key)
    wire = begun(TlsClient(context), server_context(tmp_path, clients=AUTHORITY))
    error = alerted(wire)
    assert "the broker answered with the TLS alert unknown_ca: it does not trust the CA" in str(error)


def test_versions_without_one_in_common(client: TlsClient, server: ssl.SSLContext) -> None:
    server.minimum_version = ssl.TLSVersion.TLSv1_3
    client.context.maximum_version = ssl.TLSVersion.TLSv1_2
    error = refused(client, server)
    assert "protocol_version" in str(error)
    assert "ssl_enabled_protocols" in str(error)


def test_cipher_suites_without_one_in_common(client: TlsClient, server: ssl.SSLContext) -> None:
    client.context.maximum_version = ssl.TLSVersion.TLSv1_2
    client.context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    server.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
    assert "handshake_failure: it shares no cipher suite" in str(refused(client, server))


def test_a_broker_that_answers_in_plaintext(client: TlsClient) -> None:
    stream = stream_to(client)
    stream.handshake()
    with pytest.raises(
        AuthError, match=r"broker.test:9093, TLS handshake: the broker answers in plaintext: is security_"
    ):
        stream.feed(b"\0\0\0\x0a\0\0\0\0\0\x23")
    other = stream_to(client)
    other.handshake()
    with pytest.raises(AuthError, match=r"without TLS, and not as a Kafka broker either: b'HTTP/1.1 400"):
        other.feed(b"HTTP/1.1 400 Bad Request\r\n")


def suspected(client: TlsClient) -> PlaintextProbe:
    """What follows on a connection that ended at the first bytes of TLS."""
    stream_to(client).end()
    probe = client.stream(ADDRESS)
    assert isinstance(probe, PlaintextProbe)
    assert not probe.handshake()
    assert bytes(probe.outgoing()).startswith(b"\0\0\0\x0a\0\x12\0\0")
    probe.sent(14)
    assert not probe.has_outgoing
    return probe


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_broker_that_hangs_up_at_tls_is_asked_in_plaintext(client: TlsClient, size: int) -> None:
    answer = b"\0\0\0\x0akwir\0\x23" + bytes(4)
    with pytest.raises(AuthError, match=r"broker.test:9093, TLS handshake: the broker answers in plaintext"):
        feed_in_pieces(suspected(client), answer, size)
    again = client.stream(ADDRESS)
    assert isinstance(again, PlaintextProbe)
    with pytest.raises(AuthError):
        feed_in_pieces(again, answer, size)


@pytest.mark.parametrize("answer", ["15 03 03 00 02 02 0a 00", "48 54 54 50 2f 31 2e 31", "00 00 00 0a 00 00 00 07"])
def test_other_answers_to_the_question_in_plaintext_prove_nothing(client: TlsClient, answer: str) -> None:
    with pytest.raises(ConnectionError, match="and does not answer in plaintext either"):
        feed_in_pieces(suspected(client), bytes.fromhex(answer), 3)
    assert isinstance(client.stream(ADDRESS), TlsStream)


def test_after_no_answer_in_plaintext_tls_is_tried_again(client: TlsClient) -> None:
    assert "gone at the first bytes of TLS, and does not" in str(suspected(client).end("gone"))
    assert isinstance(client.stream(ADDRESS), TlsStream)


def feed_in_pieces(probe: PlaintextProbe, data: bytes, size: int) -> None:
    for at in range(0, len(data), size):
        probe.feed(data[at : at + size])


def test_a_host_name_that_tls_cannot_take(client: TlsClient) -> None:
    with pytest.raises(AuthError, match="TLS cannot begin"):
        client.stream(Address("a..b", 9093))


def test_an_alert_that_another_try_may_mend(client: TlsClient, server: ssl.SSLContext) -> None:
    wire = begun(client, server)
    wire.stream.handshake()
    with pytest.raises(ConnectionError, match="the broker ended TLS with the alert internal_error"):
        wire.to_client(bytes.fromhex("15 03 03 00 02 02 50"))


# -- damage -----------------------------------------------------------------------------------------------------------


@VERSIONS
@each("seed", range(60))
def test_damaged_ciphertext_ends_in_one_of_two_errors(
    server: ssl.SSLContext, version: ssl.TLSVersion, seed: int
) -> None:
    """Wherever a byte is changed, added or taken away: an error, or a wait for more; never wrong plaintext."""
    client = TlsClient(client_context())
    client.context.maximum_version = version
    random_ = random.Random(seed)
    wire = begun(client, server)
    told = 0

    def damaged(data: bytes) -> bytes:
        nonlocal told
        told += 1
        if not data or random_.random() < 0.6:
            return data
        at = random_.randrange(len(data))
        change = random_.choice([bytes([data[at] ^ 1 << random_.randrange(8)]), b"", random_.randbytes(3)])
        return data[:at] + change + data[at + 1 :]

    answer = wire.server.feed
    wire.server.feed = lambda data: damaged(answer(data))  # type: ignore[method-assign]

    def talk() -> None:
        wire.stream.handshake()
        for _ in range(4):
            wire.to_server()
        if wire.stream.established and wire.server.established:
            wire.stream.encrypt([b"question"])
            wire.to_server()
            wire.to_client(damaged(wire.server.send(b"answer " * 9000)))

    error = error_of(talk)
    assert error is None or type(error) in (AuthError, ConnectionError)
    if error is not None and wire.stream.readable:
        assert error_of(lambda: wire.stream.read_into(memoryview(bytearray(10)))) is not None
    assert (b"answer " * 9000).startswith(wire.received)


@pytest.mark.parametrize("seed", range(30))
def test_garbage_in_place_of_a_servers_answer(client: TlsClient, seed: int) -> None:
    random_ = random.Random(seed)
    stream = stream_to(client)
    stream.handshake()
    begin = random_.choice([b"", b"\x16\x03\x03", b"\x15\x03", b"\x16\x03\x03\x00\x05\x02"])

    def talk() -> None:
        stream.feed(begin + random_.randbytes(random_.randint(1, 5000)))
        assert not stream.handshake()

    assert type(error_of(talk)) in (type(None), AuthError, ConnectionError)


def error_of(talk: Callable[[], object]) -> Exception | None:
    try:
        talk()
    except (AuthError, OSError) as error:
        return error
    return None
