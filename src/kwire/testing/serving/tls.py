"""TLS between the sockets of the embedded broker and its frames, over memory: the broker's thread never waits for it.

As with Kafka, a client that does not speak TLS gets an alert before the connection closes. So does one that lacks a
certificate: with TLS 1.3 after its side of the handshake, when it first reads.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kwire._codec import FrameReceiver
from kwire.testing.certificates import Certificates

if TYPE_CHECKING:
    from kwire._codec import Buffer

_READ = 1 << 16
_WRITE = 1 << 18
_HANDSHAKE = 22
# Java's answer to bytes that are not TLS. A record (type 21, version 3.3, 2 bytes): fatal, internal_error.
_ALERT = bytes((21, 3, 3, 0, 2, 2, 80))


def server_context(certificates: Certificates, *, client_certificate: bool, tls_1_3: bool) -> ssl.SSLContext:
    """A context for TLS 1.2, and 1.3 where the release has it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_3 if tls_1_3 else ssl.TLSVersion.TLSv1_2
    with tempfile.TemporaryDirectory() as folder:  # ssl reads keys from files only
        file = Path(folder, "server.pem")
        file.write_text(certificates.server_certificate_pem + certificates.server_key_pem)
        context.load_cert_chain(file)
    if client_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=certificates.ca_pem)
    return context


class TlsTransport:
    """One connection. `receive` drives the handshake, too, and decrypts all that came: the selector sees none of it."""

    def __init__(self, context: ssl.SSLContext, sock: socket.socket) -> None:
        self._socket = sock
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._greeted = self._established = False
        self._unsent = memoryview(b"")
        self.ended = False

    @property
    def unsent(self) -> bool:
        return bool(self._unsent)

    def receive(self, receiver: FrameReceiver) -> list[Buffer] | None:
        data = self._socket.recv(_READ)
        if not data:
            return None
        if not self._greeted and data[0] != _HANDSHAKE:
            self._outgoing.write(_ALERT)
            self._flush()
            raise ConnectionError("the client does not speak TLS")
        self._greeted = True
        self._incoming.write(data)
        try:
            return self._decrypt(receiver) if self._shake_hands() else []
        finally:
            self._flush()

    def send(self, parts: Sequence[memoryview]) -> int:
        self._flush()
        if self._unsent:
            raise BlockingIOError
        done = 0
        for part in parts:
            done += self._tls.write(part[: _WRITE - done])
            if done == _WRITE:
                break
        self._flush()
        return done

    def _flush(self) -> None:
        while self._unsent or self._outgoing.pending:
            if not self._unsent:
                self._unsent = memoryview(self._outgoing.read())
            try:
                sent = self._socket.send(self._unsent)
            except BlockingIOError:
                return
            self._unsent = self._unsent[sent:]

    def close(self) -> None:
        """Tells the client that this is the end, if the socket takes it, and closes."""
        with contextlib.suppress(OSError):
            self._tls.unwrap()
        with contextlib.suppress(OSError):
            self._flush()
        self._socket.close()

    def _shake_hands(self) -> bool:
        """Whether the handshake is done, by now or before."""
        if not self._established:
            with contextlib.suppress(ssl.SSLWantReadError):
                self._tls.do_handshake()
                self._established = True
        return self._established

    def _decrypt(self, receiver: FrameReceiver) -> list[Buffer]:
        frames: list[Buffer] = []
        while receiver.fault is None:
            try:
                data = self._tls.read(_READ)
            except ssl.SSLWantReadError:
                break
            if not data:
                self.ended = True
                break
            frames += receiver.feed(data)
        return frames
