"""A connection with TLS on an event loop: a `TlsConnection` between the transport and the core.

Layer 4. Imported only where TLS is wanted. The transport is a plain one: it receives ciphertext into the room that all
connections of the client share, and is decrypted straight into the core's blocks. The loop's own TLS transport would
keep a buffer of its own, which cannot be taken back; it takes a fifth more time on asyncio's loop, as much on uvloop's.
"""

from __future__ import annotations

from functools import partial

from kwire._typing import TYPE_CHECKING, Any, override
from kwire.drivers.loop_socket import LoopSocket
from kwire.drivers.sockets import TLS_READS_AT_ONCE
from kwire.drivers.tls import TlsClient
from kwire.errors import AuthError, FrameError

if TYPE_CHECKING:
    from kwire.drivers.loop import LoopDriver
    from kwire.drivers.tls import TlsConnection
    from kwire.engine.connections.connection import Connection

HANDED_OVER = 4096
"""Bytes that the transport is given when the socket is full, to be told when it may go on."""


class TlsSocket(LoopSocket):
    """See the module's text. `connected` turns True with the end of the handshake."""

    def __init__(self, client: TlsClient, driver: LoopDriver, connection: Connection) -> None:
        super().__init__(driver, connection)
        self.plain = False
        self._client = client
        self._tls: TlsConnection | None = None

    # -- what the transport calls -----------------------------------------------------------------------------------

    @override
    def get_buffer(self, hint: int) -> Any:
        return self._client.room

    @override
    def buffer_updated(self, count: int) -> None:
        if self.fd >= 0:
            self.driver.step(partial(self._receive, count))

    # -- steps ------------------------------------------------------------------------------------------------------

    @override
    def begin(self, now: float) -> None:
        """Begins the handshake."""
        try:
            self._tls = self._client.begin(self.connection)
            self._shake_hands(self._tls, now)
        except (AuthError, OSError) as error:
            self.driver._lost(self, error, now)

    def _receive(self, count: int, now: float) -> None:
        connection, tls = self.connection, self._tls
        if tls is None or self.fd < 0:
            return
        try:
            self._take_in(tls, count, now)
            for _ in range(TLS_READS_AT_ONCE - 1):
                if count < len(self._client.room) or not connection.open or not (count := self._receive_more()):
                    break
                self._take_in(tls, count, now)
        except (AuthError, FrameError, OSError) as error:
            if self.fd >= 0:
                self.driver._lost(self, error, now)
            return
        self.await_frame(self.driver.core, tls.stream.cut, now)
        if self.fd >= 0 and (tls.stream.has_outgoing or connection.wants_write):
            self.write_tls(now)

    def _receive_more(self) -> int:
        """The transport receives once only when it is told that there is something; an end is left to it."""
        assert self.socket is not None
        try:
            return self.socket.recv_into(self._client.room)
        except BlockingIOError:
            return 0

    def _take_in(self, tls: TlsConnection, count: int, now: float) -> None:
        tls.stream.feed(self._client.room[:count])
        if tls.stream.established or self._shake_hands(tls, now):
            tls.hand_on(self.driver.core, now)

    def _shake_hands(self, tls: TlsConnection, now: float) -> bool:
        done = tls.stream.handshake()
        if done:
            self.driver.core.connection_made(self.connection, now)  # its first request leaves with the handshake's end
        else:
            tls.flush(self._send)
        return done

    @override
    def write_tls(self, now: float) -> None:
        tls = self._tls
        assert tls is not None
        try:
            if not tls.write(self._send, now) and not self.paused:
                self.driver.write_soon(self)
        except (AuthError, OSError) as error:
            reason = tls.refusal_or(error, partial(self._receive_last, tls, now))
            if self.fd >= 0:
                self.driver._lost(self, reason, now)

    def _receive_last(self, tls: TlsConnection, now: float) -> None:
        if self.socket is not None and (count := self.socket.recv_into(self._client.room)):
            self._take_in(tls, count, now)

    def _send(self, data: memoryview, flags: int) -> int:
        """Where the socket is full, the transport tells when to go on."""
        if self.paused:
            raise BlockingIOError
        assert self.socket is not None
        try:
            return self.socket.send(data, flags)
        except BlockingIOError:
            count = min(len(data), HANDED_OVER)
            self.hand_over(bytes(data[:count]))
            return count

    @override
    def why_ended(self, reason: str) -> Exception | str:
        return reason if self._tls is None else self._tls.stream.end(reason)

    @override
    def say_goodbye(self) -> None:
        tls, self._tls = self._tls, None
        if tls is not None and self.fd >= 0 and not self.paused:
            tls.say_goodbye(self._send)
