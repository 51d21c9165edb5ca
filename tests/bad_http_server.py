"""A server on loopback that speaks HTTP badly: what it does with each connection is for its user to say.

Standard library only, no kwire. A script runs until it returns or the other side goes away.
"""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

Script = Callable[[socket.socket], None]

_PAUSE_S = 0.05
_ENDS_AFTER = 2400
"""Pauses after which a script that drips gives up: two minutes."""


class BadServer:
    """Each connection goes through `script`, which may be another one from the next connection on."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.connections = 0
        self.ended = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def drip(self, connection: socket.socket, parts: Iterable[bytes]) -> None:
        """Sends the parts with pauses, for as long as the other side is there."""
        for part in itertools.islice(parts, _ENDS_AFTER):
            if self.ended.wait(_PAUSE_S):
                return
            connection.sendall(part)

    def _run(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.script(connection)

    def serve(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self.connections += 1
                threading.Thread(target=self._run, args=(connection,), daemon=True).start()


@contextmanager
def bad_server(script: Callable[[BadServer, socket.socket], None]) -> Iterator[BadServer]:
    """A server whose script gets the server, too."""
    server = BadServer(lambda connection: script(server, connection))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server.port = listener.getsockname()[1]
        thread = threading.Thread(target=server.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.ended.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def read_head(connection: socket.socket) -> bytes:
    """A request up to its empty line."""
    head = b""
    while b"\r\n\r\n" not in head:
        part = connection.recv(65536)
        if not part:
            break
        head += part
    return head


# --- scripts that do not end: dripping ones, and floods ---

_OK = b"HTTP/1.1 200 OK\r\n"


def says_nothing(server: BadServer, connection: socket.socket) -> None:
    server.ended.wait(120)


def drips_status(server: BadServer, connection: socket.socket) -> None:
    read_head(connection)
    server.drip(connection, itertools.chain([b"HTTP/1.1 200 "], itertools.repeat(b"x")))


def drips_headers(server: BadServer, connection: socket.socket) -> None:
    read_head(connection)
    server.drip(connection, itertools.chain([_OK], itertools.repeat(b"x")))


def drips_continue(server: BadServer, connection: socket.socket) -> None:
    read_head(connection)
    server.drip(connection, itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n"))


def drips_body(server: BadServer, connection: socket.socket) -> None:
    read_head(connection)
    server.drip(connection, itertools.chain([_OK + b"Content-Length: 9000\r\n\r\n"], itertools.repeat(b"x")))


def drips_refusal(server: BadServer, connection: socket.socket) -> None:
    read_head(connection)
    head = b"HTTP/1.1 503 Busy\r\nContent-Length: 9000\r\n\r\n"
    server.drip(connection, itertools.chain([head], itertools.repeat(b"x")))


def drips_chunks(server: BadServer, connection: socket.socket) -> None:
    read_head(connection)
    server.drip(connection, itertools.chain([_OK + b"Transfer-Encoding: chunked\r\n\r\n"], itertools.repeat(b"1;")))


def drips_trailers(server: BadServer, connection: socket.socket) -> None:
    read_head(connection)
    head = _OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    server.drip(connection, itertools.chain([head], itertools.repeat(b"x: y\r\n")))


def floods_continue(server: BadServer, connection: socket.socket) -> None:
    read_head(connection)
    while not server.ended.is_set():
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000)


def floods_trailers(server: BadServer, connection: socket.socket) -> None:
    read_head(connection)
    connection.sendall(_OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n")
    while not server.ended.is_set():
        connection.sendall(b"x: y\r\n" * 10_000)


def floods_headers(server: BadServer, connection: socket.socket) -> None:
    read_head(connection)
    connection.sendall(_OK)
    while not server.ended.is_set():
        connection.sendall(b"x: " + b"y" * 60_000 + b"\r\n")


DRIPPING = (
    says_nothing,
    drips_status,
    drips_headers,
    drips_continue,
    drips_body,
    drips_chunks,
    drips_trailers,
)
FLOODS = (floods_continue, floods_trailers, floods_headers)
