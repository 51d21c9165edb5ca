"""Sockets that are not plain: a handshake first, bytes changed on the way, and some that poll does not see."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from kwire import errors, protocol
from kwire._codec import READS, WRITES
from kwire.drivers.reactor import Reactor
from kwire.engine.addresses import Address
from kwire.engine.core import Core
from kwire.engine.request import ANY
from kwire.engine.settings import ClientSettings, ProducerSettings
from kwire.testing import Broker
from tests.drivers.waiting import Answer
from tests.timing import PATIENT

CREATE_TOPICS = 19
KEY = 0x5A
HELLO, WELCOME = b"hello", b"welcome"
TOPICS = {f"topic-{number}": 1 for number in range(300)}


def changed(data: bytes) -> bytes:
    return data.translate(bytes(byte ^ KEY for byte in range(256)))


class Endpoint:
    """A listener that greets, changes the bytes of both directions, and passes them on to a broker."""

    def __init__(self, broker: Broker, welcome: bytes = WELCOME) -> None:
        self._target = broker.bootstrap_servers.rpartition(":")[2]
        self._welcome = welcome
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        greeting = b""
        while len(greeting) < len(HELLO):
            greeting += near.recv(len(HELLO) - len(greeting))
        assert greeting == HELLO
        near.sendall(self._welcome)
        far = socket.create_connection(("127.0.0.1", int(self._target)))
        threading.Thread(target=self._pump, args=(far, near), daemon=True).start()
        self._pump(near, far)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(changed(data))
        except OSError:
            pass
        finally:
            for end in (source, sink):
                end.close()


class Xor:
    """A SecureSocket that takes all there is from its socket and hands it out in small pieces."""

    PIECE = 100

    def __init__(self, plain: socket.socket, address: Address) -> None:
        self._socket = plain
        self._greeted = False
        self._welcome = b""
        self._decrypted = b""

    def handshake(self) -> int:
        if not self._greeted:
            assert self._socket.send(HELLO) == len(HELLO)
            self._greeted = True
        try:
            self._welcome += self._socket.recv(len(WELCOME) - len(self._welcome))
        except BlockingIOError:
            return READS
        if not WELCOME.startswith(self._welcome):
            raise OSError("not a welcome")
        return 0 if self._welcome == WELCOME else READS

    def read_into(self, room: memoryview) -> int:
        if not self._decrypted:
            try:
                self._decrypted = changed(self._socket.recv(1 << 20))
            except BlockingIOError:
                return -READS
        count = min(self.PIECE, len(room), len(self._decrypted))
        room[:count] = self._decrypted[:count]
        self._decrypted = self._decrypted[count:]
        return count

    def write(self, data: bytes) -> int:
        return self._socket.send(changed(data))


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics=TOPICS) as running:
        yield running


@pytest.fixture
def endpoint(broker: Broker) -> Iterator[Endpoint]:
    made = Endpoint(broker)
    yield made
    made.close()


def reactor_of(port: int, *, background: bool = False) -> Reactor:
    settings = ClientSettings(bootstrap_servers=f"127.0.0.1:{port}")
    return Reactor(Core(settings, lambda: 0.5), background=background, name="test", secure=Xor)


@pytest.mark.parametrize("background", [False, True])
def test_requests_are_answered_over_a_socket_that_is_not_plain(endpoint: Endpoint, background: bool) -> None:
    reactor = reactor_of(endpoint.port, background=background)
    try:
        for _ in range(3):
            answer = Answer(reactor)
            assert reactor.wait(answer.here, PATIENT)
            assert isinstance(answer.outcomes[0], protocol.MetadataResponse)
    finally:
        reactor.close()


def test_bytes_that_poll_does_not_see_are_read_without_it(endpoint: Endpoint) -> None:
    """Nothing more comes over the socket once the answer has: what waits decrypted has to be asked for."""
    reactor = reactor_of(endpoint.port)
    try:
        answer = Answer(reactor, everything=True)
        assert reactor.wait(answer.here, PATIENT)
        assert {topic.name for topic in answer.outcomes[0].topics} == set(TOPICS)
        assert not reactor._unread
    finally:
        reactor.close()


def test_a_large_request_is_written_whole(broker: Broker, endpoint: Endpoint) -> None:
    settings = ProducerSettings(bootstrap_servers=f"127.0.0.1:{endpoint.port}")
    reactor = Reactor(Core(settings, lambda: 0.5), background=False, name="test", secure=Xor)
    names = [f"{'n' * 200}{number}" for number in range(5000)]
    outcomes: list[object] = []
    try:
        request = protocol.CreateTopicsRequest(
            topics=[protocol.CreateTopicsRequest.CreatableTopic(name=name) for name in names], validate_only=True
        )

        def take(response: object, version: int, now: float) -> None:
            outcomes.append(response)

        def fail(error: object, now: float) -> None:
            outcomes.append(error)

        reactor.call(lambda now: reactor.core.request(ANY, CREATE_TOPICS, request, take, fail, now))
        assert reactor.wait(lambda: bool(outcomes), PATIENT)
        assert isinstance(outcomes[0], protocol.CreateTopicsResponse)
    finally:
        reactor.close()


def test_the_core_hears_of_a_connection_after_the_handshake(broker: Broker) -> None:
    endpoint = Endpoint(broker, welcome=b"get lost")
    reactor = reactor_of(endpoint.port)
    try:
        answer = Answer(reactor)
        assert reactor.wait(answer.here, PATIENT)
        assert isinstance(answer.outcomes[0], errors.ConnectError)
        assert "the handshake failed: not a welcome" in str(answer.outcomes[0])
    finally:
        reactor.close()
        endpoint.close()


def test_a_connection_that_ends_is_made_anew(broker: Broker, endpoint: Endpoint) -> None:
    reactor = reactor_of(endpoint.port)
    try:
        assert reactor.wait(Answer(reactor).here, PATIENT)
        broker.close_connections()
        answer = Answer(reactor)
        assert reactor.wait(answer.here, PATIENT)
        again = Answer(reactor)
        assert reactor.wait(again.here, PATIENT)
        assert isinstance(again.outcomes[0], protocol.MetadataResponse)
    finally:
        reactor.close()


def test_a_secure_socket_that_cannot_be_made_fails_its_connection_alone(broker: Broker) -> None:
    def refuse(plain: socket.socket, address: Address) -> Xor:
        raise OSError("no certificate")

    core = Core(ClientSettings(bootstrap_servers=broker.bootstrap_servers), lambda: 0.5)
    reactor = Reactor(core, background=False, name="test", secure=refuse)
    try:
        answer = Answer(reactor)
        assert reactor.wait(answer.here, PATIENT)
        assert "the handshake failed: no certificate" in str(answer.outcomes[0])
    finally:
        reactor.close()


class SlowXor(Xor):
    """Takes 7 bytes at each second attempt to write, and waits for the socket at the others."""

    writes = 0

    def write(self, data: bytes) -> int:
        self.writes += 1
        return -WRITES if self.writes % 2 else self._socket.send(changed(data[:7]))


def test_a_write_that_is_taken_piece_by_piece(endpoint: Endpoint) -> None:
    core = Core(ClientSettings(bootstrap_servers=f"127.0.0.1:{endpoint.port}"), lambda: 0.5)
    reactor = Reactor(core, background=False, name="test", secure=SlowXor)
    try:
        for _ in range(3):
            answer = Answer(reactor)
            assert reactor.wait(answer.here, PATIENT)
            assert isinstance(answer.outcomes[0], protocol.MetadataResponse)
    finally:
        reactor.close()
