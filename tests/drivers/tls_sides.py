"""The server's side of TLS for the drivers' tests: in memory, and as a listener in front of a plaintext broker."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

from tests.certificates import Authority, Issued

AUTHORITY = Authority()
HOST = "broker.test"
BROKER = AUTHORITY.issue("broker", hosts=(HOST, "127.0.0.1"))


def server_context(folder: Path | str, issued: Issued = BROKER, *, clients: Authority | None = None) -> ssl.SSLContext:
    """A context that shows `issued`, and wants a certificate of `clients` if given."""
    files = issued.write(Path(folder))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    if clients is not None:
        context.load_verify_locations(cadata=clients.pem)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(trusted: Authority = AUTHORITY) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=trusted.pem)
    return context


class ServerSide:
    """A server's end of TLS in memory."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.object = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.established = False
        self.received = bytearray()
        self.closed = False
        self.ended = False

    def feed(self, data: bytes | memoryview) -> bytes:
        """Takes the client's bytes; returns what is to be sent back."""
        self.incoming.write(data)
        try:
            if not self.established:
                self.object.do_handshake()
                self.established = True
            while not self.closed:
                data = self.object.read(65536)
                self.received += data
                self.closed = self.ended = not data
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError:
            self.closed = True
        return self.outgoing.read()

    def send(self, data: bytes) -> bytes:
        """Returns `data` encrypted."""
        self.object.write(data)
        return self.outgoing.read()

    def close(self) -> bytes:
        """Returns the close_notify."""
        try:
            self.object.unwrap()
        except ssl.SSLError:
            pass
        return self.outgoing.read()


class Listener:
    """Accepts connections and runs `serve(socket)` for each on a thread."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.accepted: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()  # or it would accept from whatever has the listener's number next
        self._listener.close()
        for each in self.accepted:
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.accepted.append(near)
            threading.Thread(target=self._run, args=(near,), daemon=True).start()

    def _run(self, near: socket.socket) -> None:
        try:
            self._serve(near)
        except OSError:
            pass
        finally:
            near.close()


def passes_on(
    context: ssl.SSLContext,
    target: str,
    *,
    piece: int = 65536,
    on_end: Callable[[bool], object] = lambda closed: None,
) -> Callable[[socket.socket], None]:
    """Speaks TLS with whoever connects, and plaintext with the broker at `target`; sends `piece` bytes at a time.

    `on_end` is told whether the client said in TLS that it closes.
    """
    port = int(target.rpartition(":")[2])

    def serve(near: socket.socket) -> None:
        side = ServerSide(context)
        far = socket.create_connection(("127.0.0.1", port))
        lock = threading.Lock()

        def send(data: bytes) -> None:
            for at in range(0, len(data), piece):
                near.sendall(data[at : at + piece])

        def back() -> None:
            try:
                while data := far.recv(65536):
                    with lock:
                        send(side.send(data))
                with lock:
                    send(side.close())
            except OSError:
                pass
            finally:
                near.close()

        thread = threading.Thread(target=back, daemon=True)
        thread.start()
        while not side.closed and (data := near.recv(65536)):
            with lock:
                send(side.feed(data))
                received, side.received = bytes(side.received), bytearray()
            far.sendall(received)
        on_end(side.ended)
        far.close()

    return serve
