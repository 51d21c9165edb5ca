"""The reactor with TLS, over real sockets: a listener that speaks TLS stands in front of a plaintext broker."""

from __future__ import annotations

import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kwire import protocol
from kwire.drivers.reactor import Reactor
from kwire.engine.common.request import ANY, Request
from kwire.errors import AuthError, ConnectError
from kwire.testing import Broker
from tests.certificates import Authority
from tests.drivers.tls_sides import AUTHORITY, Listener, ServerSide, client_context, passes_on, server_context
from tests.drivers.waiting import Answer, Make, until
from tests.timing import PATIENT

CREATE_TOPICS = 19
TOPICS = {f"topic-{number}": 1 for number in range(300)}
Listen = Callable[..., str]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics=TOPICS) as running:
        yield running


@pytest.fixture
def listen() -> Iterator[Listen]:
    made: list[Listener] = []

    def listener(serve: Callable[[socket.socket], None]) -> str:
        made.append(Listener(serve))
        return f"127.0.0.1:{made[-1].port}"

    yield listener
    for each in made:
        each.close()


@pytest.fixture
def secure(make: Make) -> Make:
    """Makes reactors that speak TLS."""

    def reactor(servers: str, **settings: object) -> Reactor:
        given = {"ssl_context": client_context(), **settings}
        return make(servers, security_protocol="SSL", **given)

    return reactor


def outcome(reactor: Reactor, *, everything: bool = False) -> object:
    answer = Answer(reactor, everything=everything)
    assert reactor.wait(answer.here, PATIENT)
    return answer.outcomes[0]


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("piece", [65536, 1000, 9])
def test_requests_are_answered(
    broker: Broker, listen: Listen, secure: Make, tmp_path: Path, background: bool, piece: int
) -> None:
    servers = listen(passes_on(server_context(tmp_path), broker.bootstrap_servers, piece=piece))
    reactor = secure(servers, background=background)
    for _ in range(3):
        assert isinstance(outcome(reactor), protocol.MetadataResponse)
    everything = outcome(reactor, everything=True)
    assert isinstance(everything, protocol.MetadataResponse)
    assert {topic.name for topic in everything.topics or ()} == set(TOPICS)


def test_a_large_request_is_written_whole(broker: Broker, listen: Listen, secure: Make, tmp_path: Path) -> None:
    reactor = secure(listen(passes_on(server_context(tmp_path), broker.bootstrap_servers)), send_buffer_bytes=4096)
    names = [f"{'n' * 200}{number}" for number in range(20000)]
    request = protocol.CreateTopicsRequest(
        topics=[protocol.CreateTopicsRequest.CreatableTopic(name=name) for name in names], validate_only=True
    )
    outcomes: list[object] = []

    def take(response: object, version: int, now: float) -> None:
        outcomes.append(response)

    def fail(error: object, now: float) -> None:
        outcomes.append(error)

    reactor.call(lambda now: reactor.core.request(ANY, CREATE_TOPICS, request, take, fail, now))
    assert reactor.wait(lambda: bool(outcomes), PATIENT)
    assert isinstance(outcomes[0], protocol.CreateTopicsResponse)
    assert len(outcomes[0].topics or ()) == len(names)


def test_a_connection_that_ends_is_made_anew_and_resumes_its_session(
    broker: Broker, listen: Listen, secure: Make, tmp_path: Path
) -> None:
    reactor = secure(listen(passes_on(server_context(tmp_path), broker.bootstrap_servers)))
    assert isinstance(outcome(reactor), protocol.MetadataResponse)
    broker.close_connections()
    outcome(reactor)
    assert isinstance(outcome(reactor), protocol.MetadataResponse)
    streams = [sock.tls.stream._object for sock in reactor._sockets.values()]
    assert [stream.session_reused for stream in streams] == [True]


def test_refusals_keep_their_words(broker: Broker, listen: Listen, secure: Make, tmp_path: Path) -> None:
    expired = server_context(tmp_path, AUTHORITY.issue("broker", days=-3))
    error = outcome(secure(listen(passes_on(expired, broker.bootstrap_servers))))
    assert isinstance(error, AuthError | ConnectError)
    assert "certificate has expired on" in str(error)
    wants_certificates = server_context(tmp_path, clients=Authority())
    error = outcome(secure(listen(passes_on(wants_certificates, broker.bootstrap_servers))))
    assert isinstance(error, AuthError | ConnectError)
    assert "certificate_required: it wants a certificate" in str(error)


def test_a_handshake_without_an_answer_ends_in_time_and_stops_nothing_else(
    broker: Broker, listen: Listen, secure: Make, tmp_path: Path
) -> None:
    silent = listen(lambda near: time.sleep(PATIENT))
    good = listen(passes_on(server_context(tmp_path), broker.bootstrap_servers))
    reactor = secure(silent, socket_connection_setup_timeout_ms=300)
    waiting = Answer(reactor)
    assert isinstance(outcome(secure(good)), protocol.MetadataResponse)
    assert reactor.wait(waiting.here, PATIENT)
    assert isinstance(waiting.outcomes[0], ConnectError)
    assert "within 300 ms" in str(waiting.outcomes[0])


def test_the_tickets_of_tls_are_no_answer(listen: Listen, secure: Make, tmp_path: Path) -> None:
    """Of a broker that ends the handshake and says nothing more."""
    context = server_context(tmp_path)

    def serve(near: socket.socket) -> None:
        side = ServerSide(context)
        while data := near.recv(65536):
            near.sendall(side.feed(data))

    error = str(outcome(secure(listen(serve), socket_connection_setup_timeout_ms=600)))
    assert "neither ApiVersions nor Metadata was answered" in error


def test_a_connection_that_ends_after_the_handshake_is_not_asked_about_tls(
    listen: Listen, secure: Make, tmp_path: Path
) -> None:
    context = server_context(tmp_path)

    def serve(near: socket.socket) -> None:
        side = ServerSide(context)
        while not side.received:
            near.sendall(side.feed(near.recv(65536)))

    assert "listener for SASL, or a ZooKeeper?" in str(outcome(secure(listen(serve))))


def test_an_alert_is_read_also_where_writing_failed_first(listen: Listen, secure: Make, tmp_path: Path) -> None:
    """With TLS 1.3 the client may write on before it reads that its certificate is refused."""
    context = server_context(tmp_path, clients=Authority())
    connected, refused = threading.Event(), threading.Event()

    def refuse(near: socket.socket) -> None:
        side = ServerSide(context)
        near.sendall(side.feed(near.recv(65536)))
        finished = near.recv(65536)
        assert connected.wait(PATIENT)
        near.sendall(side.feed(finished))
        near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        near.close()
        refused.set()

    reactor = secure(listen(refuse))
    answer = Answer(reactor)
    while not any(sock.connected for sock in reactor._sockets.values()):
        reactor.poll_once()
    connected.set()
    assert refused.wait(PATIENT)
    [connection] = reactor._sockets
    token = Request(0, -1, None, _ignore, _ignore, versions=(0,), timeout=1.0, raw=True)
    reactor.call(lambda now: connection.write_token(token, bytes(100), now))
    assert not reactor._sockets
    assert reactor.wait(answer.here, PATIENT)
    assert "certificate_required" in str(answer.outcomes[0])


def test_what_came_with_the_end_of_the_handshake_is_read_before_the_end_of_the_connection(
    listen: Listen, secure: Make, tmp_path: Path
) -> None:
    context = server_context(tmp_path)
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    def answer_unasked(near: socket.socket) -> None:
        side = ServerSide(context)
        while not side.established:
            flight = side.feed(near.recv(65536))
            if not side.established:
                near.sendall(flight)
        near.sendall(flight + side.send(b"\0\0\0\x04\0\0\0\x63"), getattr(socket, "MSG_MORE", 0))
        near.shutdown(socket.SHUT_WR)  # in the same segment
        time.sleep(0.2)

    assert "correlation id 99" in str(outcome(secure(listen(answer_unasked))))


def _ignore(*outcome: object) -> None:
    """No matter."""


def test_a_forked_child_leaves_the_connection_to_its_parent(
    broker: Broker, listen: Listen, secure: Make, tmp_path: Path
) -> None:
    """Were it to say goodbye in TLS, the parent's session would be over."""
    reactor = secure(listen(passes_on(server_context(tmp_path), broker.bootstrap_servers)))
    assert isinstance(outcome(reactor), protocol.MetadataResponse)
    child = os.fork()
    if child == 0:
        try:
            reactor.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    [sock] = reactor._sockets
    assert isinstance(outcome(reactor), protocol.MetadataResponse)
    assert list(reactor._sockets) == [sock]


def test_close_says_goodbye(listen: Listen, secure: Make, broker: Broker, tmp_path: Path) -> None:
    ended: list[bool] = []
    serve = passes_on(server_context(tmp_path), broker.bootstrap_servers, on_end=ended.append)
    reactor = secure(listen(serve))
    assert isinstance(outcome(reactor), protocol.MetadataResponse)
    reactor.close()
    until(lambda: bool(ended))
    assert ended == [True]


def failure(reactor: Reactor, words: str) -> str:
    """The error that a request ends in, once one has these words."""
    give_up = time.monotonic() + PATIENT
    while words not in (found := str(outcome(reactor))):
        assert time.monotonic() < give_up, found
    return found


def test_a_broker_without_tls_is_recognized(broker: Broker, secure: Make) -> None:
    assert "answers in plaintext: is" in failure(secure(broker.bootstrap_servers), "plaintext: is")


def test_a_port_that_hangs_up_may_still_become_a_broker(
    broker: Broker, listen: Listen, secure: Make, tmp_path: Path
) -> None:
    """As behind a load balancer."""
    good = passes_on(server_context(tmp_path), broker.bootstrap_servers)
    ready = False
    reactor = secure(listen(lambda near: good(near) if ready else None))
    failure(reactor, "does not answer in plaintext either")
    ready = True
    failure(reactor, "MetadataResponse")


def test_a_listener_with_tls_is_recognized_without_it(listen: Listen, make: Make) -> None:
    def alert(near: socket.socket) -> None:
        near.recv(1000)
        near.sendall(bytes.fromhex("15 03 03 00 02 02 0a"))

    assert "the broker speaks TLS on this port" in str(outcome(make(listen(alert))))


def test_without_tls_ssl_is_not_imported() -> None:
    code = "import sys, kwire; kwire.Producer('127.0.0.1:1').close(); assert 'ssl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
