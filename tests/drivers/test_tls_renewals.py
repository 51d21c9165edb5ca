"""New keys and new handshakes in the middle of a connection, as OpenSSL's own server asks for them."""

from __future__ import annotations

import fcntl
import shutil
import socket
import subprocess
import termios
import threading
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwire.drivers.tls import TlsClient, TlsStream
from kwire.engine.common.addresses import Address
from tests.drivers.tls_sides import BROKER, client_context
from tests.drivers.waiting import Answer, Make, until

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command")


class Server:
    """`openssl s_server`: lines on its standard input are data for the client, or commands if they are one letter."""

    def __init__(self, folder: Path, version: str) -> None:
        files = BROKER.write(folder)
        command = ["openssl", "s_server", "-accept", "127.0.0.1:0", f"-{version}", "-naccept", "1"]
        self.process = subprocess.Popen(
            [*command, "-cert", files.certificate, "-key", files.key],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        self.said = b""
        line = b""
        while not line.startswith(b"ACCEPT"):
            line = self.process.stdout.readline()
            assert line
        self.port = int(line.rpartition(b":")[2])
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while data := self.process.stdout.read(1):
            self.said += data

    def command(self, letter: str) -> None:
        """Alone: what it reads together with a letter is lost."""
        assert self.process.stdin is not None
        waiting = array("i", [1])
        self.type(letter)
        while waiting[0]:
            fcntl.ioctl(self.process.stdin, termios.FIONREAD, waiting)

    def wait_for(self, text: bytes) -> None:
        until(lambda: text in self.said)

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path, request.param)
    yield made
    made.process.kill()
    made.process.wait()


class Client:
    """A stream on a blocking socket."""

    def __init__(self, port: int) -> None:
        stream = TlsClient(client_context()).stream(Address("127.0.0.1", port))
        assert isinstance(stream, TlsStream)
        self.stream = stream
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(10)
        self.received = b""
        while not stream.handshake():
            self.flush()
            stream.feed(self.socket.recv(65536))
        self.flush()

    def flush(self) -> None:
        while data := self.stream.outgoing():
            self.stream.sent(self.socket.send(data))

    def read(self) -> None:
        """Reads once, and sends what that makes outgoing."""
        self.stream.feed(self.socket.recv(65536))
        room = memoryview(bytearray(65536))
        while self.stream.readable:
            self.received += room[: self.stream.read_into(room)]
        self.flush()

    def read_until(self, text: bytes) -> None:
        while text not in self.received:
            self.read()

    def say(self, data: bytes) -> None:
        """Encrypts and sends; reads where a handshake of the server's comes first."""
        while not self.stream.encrypt([data]):
            self.flush()
            self.read()
        self.flush()


@pytest.mark.parametrize("server", ["tls1_3"], indirect=True)
def test_a_key_update_is_answered_by_reading_alone(server: Server) -> None:
    client = Client(server.port)
    for round_ in range(3):
        server.command("K")
        server.type(f"after {round_}")
        client.read_until(f"after {round_}".encode())
        assert not client.stream.has_outgoing
        client.say(f"mine {round_}\n".encode())
        server.wait_for(f"mine {round_}".encode())
    client.socket.close()


@pytest.mark.parametrize("server", ["tls1_2"], indirect=True)
def test_a_new_handshake_in_the_middle_lets_writes_wait_and_loses_nothing(server: Server) -> None:
    client = Client(server.port)
    for round_ in range(3):
        server.command("r")
        waits = False
        while not waits:
            client.read()
            waits = not client.stream.encrypt([b"early\n"])
        client.say(f"mine {round_}\n".encode())
        server.wait_for(f"mine {round_}".encode())
        server.type(f"after {round_}")
        client.read_until(f"after {round_}".encode())
    client.socket.close()


@pytest.mark.parametrize("server", ["tls1_2"], indirect=True)
def test_a_new_handshake_in_the_middle_of_a_large_answer_is_answered(server: Server, make: Make) -> None:
    """The driver sleeps until much of the answer is there, and a handshake is little."""
    reactor = make(f"127.0.0.1:{server.port}", security_protocol="SSL", ssl_context=client_context())
    waiting = Answer(reactor)
    until(lambda: reactor.poll_once() is None and b"kwire" in server.said)
    [sock] = reactor._sockets.values()
    size, part = 0x030303, 50_000
    server.type("\0\3\3\3" + "x" * part)
    until(lambda: reactor.poll_once() is None and sock.connection.receiver.pending > part // 2)
    server.command("r")
    server.type("x" * (size - part))
    until(lambda: reactor.poll_once() is None and sock.connection not in reactor._sockets)
    assert not waiting.outcomes, "it is asked again at another connection"
